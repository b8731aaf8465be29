package probe

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// marker is a form in which answers cite by number.
type marker struct {
	name    string
	pattern func() *regexp.Regexp // its first group is the number
}

var markers = []marker{
	{"[doc1]", lazily(`\[doc(\d{1,3})\]`)},
	{"##0$$", lazily(`##(\d{1,3})\$\$`)},
	{"[ID:0]", lazily(`\[ID:\s?(\d{1,3})\]`)},
	{"[[1]](url)", lazily(`\[\[(\d{1,3})\]\]\(`)},
	{"【4:0†f】", lazily(`【\d+:(\d{1,3})†[^】]*】`)},
	{"[1]", lazily(`\[(\d{1,3})\]`)},
}

// lettered are markers of no service that has a name: [S1], (src:1), [Source 1].
var lettered = lazily(`[\[(](?i:s|src|source|ref|reference|passage|doc|document|cit|citation|chunk)[ :#_-]?(\d{1,3})[\])]`)

// named is a marker that holds an id.
var namedMarker = lazily(`\[(?:citation:)?([A-Za-z0-9][A-Za-z0-9._:/#-]{1,80})\]`)

var smallNumber = lazily(`^\d{0,3}$`)

// citations finds what the answer cites: ids beside it, or markers in it.
func (p *Proposal) citations(places []*place, lists []*list) {
	if c := citedList(places, lists); c != nil {
		p.Citations = c
		return
	}
	if p.Answer == nil {
		return
	}
	for _, m := range slices.Concat(markers, []marker{{"", lettered}}) {
		found := m.pattern().FindAllStringSubmatch(p.Answer.Text, -1)
		if len(found) == 0 || m.name == "" && p.Sources == nil {
			continue
		}
		c := &Citations{Markers: m.name, Base: 1, Sure: Likely}
		if strings.Contains(m.name, "0") {
			c.Base = 0
		}
		if m.name == "" {
			c.Regex, c.Markers = m.pattern().String(), found[0][0]
		}
		count := 0
		if p.Sources != nil {
			count = len(p.Sources.DocIDs)
		}
		for _, f := range found {
			n, _ := strconv.Atoi(f[1])
			if n == 0 {
				c.Base = 0
			}
			if n > count {
				c.Sure = Unsure
			}
		}
		for _, f := range found {
			if n, _ := strconv.Atoi(f[1]); p.Sources != nil && n-c.Base >= 0 && n-c.Base < count {
				c.IDs = append(c.IDs, p.Sources.DocIDs[n-c.Base])
			}
		}
		c.Why = "the answer holds " + found[0][0] + ", counted from " + strconv.Itoa(c.Base)
		if p.Sources == nil {
			c.Sure = Unsure
			c.Why += ", and there is no list that it could count"
		}
		p.Citations = c
		return
	}
	if p.Sources == nil {
		return
	}
	for _, f := range namedMarker().FindAllStringSubmatch(p.Answer.Text, -1) {
		if slices.Contains(p.Sources.DocIDs, f[1]) {
			p.Citations = &Citations{Regex: namedMarker().String(), IDs: []string{f[1]}, Sure: Likely, Why: "the answer holds " + f[0] + ", the id of a source"}
			return
		}
	}
}

// citedList finds the list of what the answer cites.
func citedList(places []*place, lists []*list) *Citations {
	var docs []string
	for _, l := range lists {
		if !l.cited && l.doc.ok() {
			docs = append(docs, l.doc.texts...)
		}
	}
	var best *Citations
	bestPoints := 0.0
	for _, p := range places {
		n := len(p.path)
		if n == 0 || !p.path[n-1].each || p.kind() != '{' || hasStep(p.path, "context") {
			continue
		}
		if !ofCitations(p.path) {
			continue
		}
		cols := slices.DeleteFunc(columns(p.nodes), func(c *column) bool {
			return !slices.ContainsFunc(c.path, func(k string) bool { return docWord(k, "") >= 0 }) || has(flat(c.key()), "text", "quote", "tool") || is(flat(c.key()), "title", "name") && spaced(c)
		})
		known := map[string]bool{}
		for _, d := range docs {
			known[d] = true
		}
		doc := documents(cols, "", known)
		if !doc.ok() {
			doc = coalesced(cols)
		}
		if !doc.ok() || doc.points <= bestPoints || !slices.ContainsFunc(doc.texts, func(t string) bool { return !smallNumber().MatchString(t) }) {
			continue // numbers of a list are no ids
		}
		bestPoints = doc.points
		var parts []string
		for _, c := range doc.columns {
			parts = append(parts, jqColumn(c.path))
		}
		expression := "[" + jq(firsts(p.path)) + " | " + strings.Join(parts, " // ")
		if doc.cut {
			expression += " | split(\"/\") | last"
		}
		expression += " | select(. != null) | tostring] | reduce .[] as $c ([]; if index([$c]) then . else . + [$c] end)"
		c := &Citations{JQ: expression, Sure: Likely, Why: "the list " + strconv.Quote(lastKey(p.path)) + " names a document under " + strings.Join(doc.names(), " or ")}
		for _, id := range doc.texts {
			if id != "" && !slices.Contains(c.IDs, id) {
				c.IDs = append(c.IDs, id)
			}
		}
		if doc.cut {
			c.IDs = cutAll(c.IDs)
		}
		if len(docs) > 0 && slices.ContainsFunc(c.IDs, func(id string) bool { return !known[id] }) {
			c.Sure, c.Why = Unsure, c.Why+", though not all of them are ids of the sources"
		}
		best = c
	}
	return best
}

// spaced reports whether a column holds phrases rather than ids.
func spaced(c *column) bool {
	return slices.ContainsFunc(c.values, func(v *node) bool {
		return v != nil && strings.Contains(v.text, " ") && !fileLike().MatchString(v.text)
	})
}

// coalesced joins columns of which the first that is there counts.
func coalesced(cols []*column) *choice {
	all := &choice{}
	for _, c := range cols {
		texts, ok := c.texts()
		if !ok || docWord(c.key(), c.parent()) < 4 {
			continue
		}
		if all.texts == nil {
			all.texts, all.points = make([]string, len(texts)), 4
		}
		all.columns = append(all.columns, c)
		for i, t := range texts {
			if all.texts[i] == "" {
				all.texts[i] = t
			}
		}
	}
	return all
}

// ok proposes what must hold for an answer to be one.
func (p *Proposal) ok(root *node) {
	if root.kind != '{' {
		return
	}
	for _, key := range root.keys {
		v := root.value[key]
		k := flat(key)
		switch {
		case is(k, "error", "errormessage", "errormsg") && (v.kind == 'n' || v.kind == '"' && v.text == "" || v.text == "false"):
			p.OK, p.OKWhy = jqKey(key)+" == "+v.String(), "the service has a place for an error, empty here"
			return
		case k == "status" && v.kind == '"' && is(flat(v.text), "completed", "success", "succeeded", "ok", "complete"):
			p.OK, p.OKWhy = jqKey(key)+" == "+v.String(), "the service says that it has finished"
			return
		case k == "code" && v.kind == '0' && v.text == "0", k == "success" && v.text == "true":
			p.OK, p.OKWhy = jqKey(key)+" == "+v.text, "the service says that all is well"
			return
		}
	}
}

// usage finds the counts of tokens.
func (p *Proposal) usage(places []*place) {
	u := &Usage{}
	for _, at := range places {
		if len(at.nodes) != 1 || at.nodes[0].kind != '0' {
			continue
		}
		path, ok := dotted(at.path)
		if !ok {
			continue
		}
		switch flat(lastKey(at.path)) {
		case "prompttokens", "inputtokens", "prompttokencount":
			u.Input = firstOf(u.Input, path)
		case "completiontokens", "outputtokens", "candidatestokencount":
			u.Output = firstOf(u.Output, path)
		}
	}
	if u.Input != "" || u.Output != "" {
		p.Usage = u
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// missing says what could not be found and what that means.
func (p *Proposal) missing() {
	add := func(text string) { p.Missing = append(p.Missing, text) }
	switch {
	case p.Fault != "":
		add("an answer: the body looks like an error, " + p.Fault)
	case p.Answer == nil:
		add("an answer: no text of the body looks like one; retrieval can still be judged")
	}
	if p.Sources == nil {
		add("a list of sources: hit_rate, recall, mrr and ndcg need one; many services send it when asked to (a debug or return_documents setting)")
	} else {
		if len(p.Sources.Score.Paths) == 0 && !strings.Contains(p.Sources.JQ, "score:") {
			add("scores of the sources: no metric needs them")
		}
		if len(p.Sources.Text.Paths) == 0 && !strings.Contains(p.Sources.JQ, "text:") {
			add("texts of the sources: no metric needs them, a person who reads a failure does")
		}
		if p.Sources.Kind == "cited" {
			add("what was retrieved: the list holds only what the answer cites, so recall and ndcg over it would mislead")
		}
	}
	if p.Citations == nil {
		add("citations: citation_validity needs them")
	}
	if p.Sources == nil {
		return
	}
	add("the depth of the retrieval: no service says it, so write how many sources you ask for (depth)")
}
