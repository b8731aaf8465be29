// Package probe looks at what a service answered and proposes how to map it:
// where the answer stands, which list holds the sources, what in it names a
// document, a passage, a score and a text, and what the answer cites. It knows
// no service: it goes by structure, by words and by values, and says why and
// how sure it is. It calls nothing and reads nothing but the body.
package probe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Sureness says how sure a proposal is.
type Sureness int

// How sure a proposal is.
const (
	Unsure Sureness = iota + 1 // a guess: look at it
	Likely
	Sure
)

// String returns a word for a table.
func (s Sureness) String() string {
	switch s {
	case Sure:
		return "sure"
	case Likely:
		return "likely"
	case Unsure:
		return "unsure"
	}
	return "not found"
}

// Value says where a value stands: a dotted path, or a jq expression when a
// path is not enough.
type Value struct {
	Path string
	JQ   string
}

// Answer is where the answer stands.
type Answer struct {
	Value
	Text  string // as found
	Sure  Sureness
	Why   string
	Strip []Strip // what stands in the answer and is no part of it
}

// Strip is something to take out of an answer.
type Strip struct {
	Name  string // think or references; "" for a pattern
	Regex string
}

// Field is what a source has: dotted paths below it, of which the first that
// is there counts.
type Field struct {
	Paths []string
	Cut   bool // of a long resource name only the last part
}

// Sources is the list of sources.
type Sources struct {
	Items  string // dotted path of the list; "" when only JQ can tell
	JQ     string // yields the candidates, when Items is ""
	Doc    Field
	Chunk  Field
	Score  Field
	Text   Field
	Kind   string // retrieval, context or cited: what the list holds
	DocIDs []string
	Sure   Sureness
	Why    string
}

// Citations are what the answer cites.
type Citations struct {
	JQ      string // yields the ids; "" when markers are meant
	Markers string // such as [1]: the form of the markers in the answer
	Regex   string // for markers of a form of their own: its group is an id, or with Markers the number
	Base    int    // number of the first source
	IDs     []string
	Sure    Sureness
	Why     string
}

// Usage says where the counts of tokens stand.
type Usage struct{ Input, Output string }

// Proposal is how a body can be mapped.
type Proposal struct {
	Answer    *Answer    // nil when there is none
	Sources   *Sources   // nil when there is none
	Citations *Citations // nil when there are none
	OK        string     // jq that is true for a good answer; ""
	OKWhy     string
	Fault     string // why the body looks like an error; ""
	Usage     *Usage
	Missing   []string // what could not be found, each with what that means

	list *list // that Sources are made of
}

// Propose looks at a body. question holds the texts that were sent, so that
// their echo is not taken for the answer.
func Propose(body evidence.Value, question []string) *Proposal {
	root := &place{nodes: []*node{parse(body, 0)}}
	places := walk(root)
	p := &Proposal{}
	p.fault(root.nodes[0])
	cited := citedValues(places)
	lists := findLists(places, cited)
	answers := findAnswers(places, question)
	p.sources(lists)
	answers = slices.DeleteFunc(answers, func(a *answer) bool {
		a.inside = p.list != nil && below(a.place.path, p.list.place.path)
		return a.inside && answerWord(lastKey(a.place.path)) < 10
	})
	if p.Fault == "" && len(answers) > 0 {
		p.Answer = answers[0].propose(answers)
	}
	p.citations(places, lists)
	p.ok(root.nodes[0])
	p.usage(places)
	p.missing()
	return p
}

// below reports whether a path leads into the elements of a list.
func below(path, list []step) bool {
	if len(path) <= len(list) || len(list) == 0 {
		return false
	}
	for i, s := range list {
		if s.key != path[i].key || s.each != path[i].each || s.json != path[i].json || s.on != path[i].on && s.on != "" && path[i].on != "" {
			return false
		}
		if s.on == path[i].on && s.is != path[i].is {
			return false // another kind of element
		}
	}
	return true
}

// fault finds an error in a body that came with a good status.
func (p *Proposal) fault(root *node) {
	if root.kind != '{' {
		return
	}
	for _, key := range root.keys {
		v := root.value[key]
		k := flat(key)
		if !is(k, "error", "errors", "errormessage", "errormsg", "exception") {
			continue
		}
		switch {
		case v.kind == '"' && v.text != "":
			p.Fault = key + ": " + v.text
		case v.kind == '{' && len(v.keys) > 0, v.kind == '[' && len(v.items) > 0:
			p.Fault = key
			for _, name := range []string{"message", "reason", "detail", "error"} {
				if m := v.value[name]; m != nil && m.kind == '"' {
					p.Fault = key + "." + name + ": " + m.text
					break
				}
			}
		}
	}
}

func (a *answer) propose(all []*answer) *Answer {
	path, expression := a.expression()
	out := &Answer{Value: Value{Path: path, JQ: expression}, Text: a.text}
	key := lastKey(a.place.path)
	second := 0.0
	for _, b := range all[1:] {
		if b.text != a.text {
			second = b.points
			break
		}
	}
	switch {
	case key == "":
		out.Why = "the only text of the body"
	case a.turn >= 0:
		out.Why = "what the assistant said " + a.newest + " in the conversation"
	case a.joins():
		out.Why = "the text blocks of " + strconv.Quote(a.outer()) + ", joined"
	default:
		out.Why = "a sentence under " + strconv.Quote(key)
	}
	switch margin := a.points - second; {
	case a.points >= 11 && margin >= 3:
		out.Sure = Sure
	case a.points >= 8 && margin >= 1:
		out.Sure = Likely
	default:
		out.Sure = Unsure
	}
	if a.partly {
		out.Sure, out.Why = Unsure, out.Why+", the first of several"
	}
	if a.inside {
		out.Sure, out.Why = Unsure, out.Why+" of the first source"
	}
	if second > 0 && out.Sure != Sure {
		out.Why += "; other texts could be meant too"
	}
	out.strip()
	return out
}

func (a *answer) outer() string {
	for _, s := range a.place.path {
		if s.key != "" {
			return s.key
		}
	}
	return ""
}

var (
	thinkBlock = lazily(`(?s)<think>.*?</think>`)
	fileMarker = lazily(`【[^】]*】`)
	references = lazily(`(?is)\n\s*(#+\s*|\*\*)?(references|sources)(\*\*)?:?\s*\n.*$`)
)

// strip finds what stands in the answer and is no part of it.
func (a *Answer) strip() {
	if thinkBlock().MatchString(a.Text) {
		a.Strip = append(a.Strip, Strip{Name: "think"})
		a.Text = thinkBlock().ReplaceAllString(a.Text, "")
	}
	if fileMarker().MatchString(a.Text) {
		a.Strip = append(a.Strip, Strip{Regex: fileMarker().String()})
		a.Text = fileMarker().ReplaceAllString(a.Text, "")
	}
	if references().MatchString(a.Text) {
		a.Strip = append(a.Strip, Strip{Name: "references"})
		a.Text = references().ReplaceAllString(a.Text, "")
	}
}

// sources takes the best list that is no mere list of citations.
func (p *Proposal) sources(lists []*list) {
	var best *list
	second := 0.0
	for _, l := range lists {
		if l.cited && !has(flat(l.key), "retriev") && !hasStep(l.place.path, "context") {
			continue
		}
		if best == nil {
			best = l
			continue
		}
		if second == 0 && !sameNodes(l.elements, best.elements) {
			second = l.points
		}
	}
	if best == nil {
		return
	}
	p.list = best
	p.Sources = best.propose()
	if best.points-second < 1 {
		p.Sources.Sure = Unsure
		p.Sources.Why += "; another list looks much like it"
	}
}

func hasStep(path []step, words ...string) bool {
	return slices.ContainsFunc(path, func(s step) bool { return is(flat(s.key), words...) })
}

func (l *list) propose() *Sources {
	s := &Sources{}
	switch k := flat(l.key); {
	case l.cited && !hasStep(l.place.path, "context"):
		s.Kind = "cited"
	case has(k, "retriev", "hits", "search", "result", "match"), hasStep(l.place.path, "searchresults", "hits"):
		s.Kind = "retrieval"
	default:
		s.Kind = "context"
	}
	doc := l.doc
	if !doc.ok() {
		doc = l.parent
	}
	s.Doc = Field{Paths: doc.names(), Cut: doc.cut}
	s.Chunk, s.Score, s.Text = field(l.chunk), field(l.score), field(l.text)
	s.DocIDs = slices.Clone(doc.texts)
	if doc.cut {
		s.DocIDs = cutAll(s.DocIDs)
	}
	items := firsts(l.place.path)
	if n := len(items); n > 0 && items[n-1].each && l.zip == nil && l.doc.ok() && !l.repeats && l.plain() {
		if path, ok := dotted(items[:n-1]); ok && singles(items[:n-1]) {
			s.Items = path
		}
	}
	if s.Items == "" {
		s.JQ = l.expression(items)
	}
	if l.repeats {
		s.DocIDs = l.distinct(s.DocIDs)
	}
	s.Why = l.why(s)
	switch {
	case l.points >= 14 && l.text.ok() && doc.points >= 6:
		s.Sure = Sure
	case l.points >= 9 && doc.points >= 4:
		s.Sure = Likely
	default:
		s.Sure = Unsure
	}
	if isTitle(doc.columns[0].key()) && slices.ContainsFunc(doc.texts, func(t string) bool { return t != "" && !fileLike().MatchString(t) }) {
		s.Sure = Unsure
		s.Why += ", which need not tell documents apart"
	}
	return s
}

// plain reports whether dotted paths lead to all that is taken of an element.
func (l *list) plain() bool {
	for _, c := range []*choice{l.doc, l.chunk, l.score, l.text} {
		if c == nil {
			continue
		}
		for _, col := range c.columns {
			if slices.ContainsFunc(col.path, func(key string) bool { return key == "" || strings.Contains(key, ".") }) {
				return false
			}
		}
	}
	return true
}

// singles reports whether a path goes through no list but those of
// alternatives, whose first element counts.
func singles(path []step) bool {
	return !slices.ContainsFunc(path, func(s step) bool { return s.each && !s.one })
}

func field(c *choice) Field {
	if !c.ok() {
		return Field{}
	}
	return Field{Paths: c.names()}
}

// distinct drops the ids of elements that occurred before.
func (l *list) distinct(ids []string) []string {
	var out []string
	seen := map[string]bool{}
	for i, e := range l.elements {
		if text := e.String(); !seen[text] {
			seen[text] = true
			out = append(out, ids[i])
		}
	}
	return out
}

func (l *list) why(s *Sources) string {
	var has []string
	if l.text.ok() {
		has = append(has, "a text")
	}
	if l.score.ok() {
		has = append(has, "a score")
	}
	n := len(l.elements)
	elements := strconv.Itoa(n) + " elements"
	if n == 1 {
		elements = "1 element"
	}
	why := "the list " + strconv.Quote(l.key) + " has " + elements + ", each with "
	if len(has) > 0 {
		why += strings.Join(has, ", ") + " and "
	}
	why += "a document under " + strings.Join(s.Doc.Paths, " or ")
	if l.parent.ok() && !l.doc.ok() {
		why += " of the element above"
	}
	if l.repeats {
		why += "; elements that come twice are taken once"
	}
	return why
}

// expression returns the jq that makes candidates of the list.
func (l *list) expression(items []step) string {
	object := func(prefix string) string {
		var parts []string
		add := func(name string, c *choice, root string, text bool) {
			if !c.ok() {
				return
			}
			var alternatives []string
			for _, col := range c.columns {
				alternatives = append(alternatives, root+jqColumn(col.path))
			}
			value := strings.Join(alternatives, " // ")
			if c.cut {
				value = "(" + value + " | split(\"/\") | last)"
			} else if text {
				value = "(" + value + " | if . == null then . else tostring end)"
			} else if len(alternatives) > 1 {
				value = "(" + value + ")"
			}
			parts = append(parts, name+": "+value)
		}
		doc, root := l.doc, prefix
		if !doc.ok() {
			doc, root = l.parent, "$above"
		}
		add("doc_id", doc, root, isNumber(doc))
		add("chunk_id", l.chunk, prefix, isNumber(l.chunk))
		add("score", l.score, prefix, false)
		add("text", l.text, prefix, false)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	var out string
	switch {
	case l.zip != nil:
		z := l.zip
		columns := []string{jqKey(z.texts), jqKey(z.facts)}
		if z.scores != "" {
			columns = append(columns, "("+jqKey(z.scores)+" // [])")
		}
		var parts []string
		add := func(name string, c *choice) {
			if !c.ok() {
				return
			}
			col := c.columns[0].path
			value := map[string]string{z.texts: ".[0]", z.facts: ".[1]", "score": ".[2]"}[col[0]]
			if len(col) > 1 {
				value += jqColumn(col[1:])
			}
			if isNumber(c) && name != "score" {
				value = "(" + value + " | if . == null then . else tostring end)"
			}
			parts = append(parts, name+": "+value)
		}
		add("doc_id", l.doc)
		add("chunk_id", l.chunk)
		add("score", l.score)
		add("text", l.text)
		head := jq(items)
		if len(items) == 0 {
			head = "."
		}
		return "[" + head + " | [" + strings.Join(columns, ", ") + "] | transpose[] | select(.[0] != null) | {" + strings.Join(parts, ", ") + "}]"
	case !l.doc.ok():
		up := len(items) - 1
		for up > 0 && !items[up-1].each {
			up--
		}
		out = "[" + jq(items[:up]) + " as $above | $above" + jq(items[up:]) + " | " + object("") + "]"
	default:
		out = "[" + jq(items) + " | " + object("") + "]"
	}
	if l.repeats {
		out += " | reduce .[] as $c ([]; if index([$c]) then . else . + [$c] end)"
	}
	return out
}

func jqColumn(path []string) string {
	var b strings.Builder
	for i, key := range path {
		if _, err := strconv.Atoi(key); err == nil && i > 0 {
			b.WriteString("[" + key + "]")
			continue
		}
		b.WriteString(jqKey(key))
	}
	return b.String()
}

func isNumber(c *choice) bool {
	return c.ok() && slices.ContainsFunc(c.columns[0].values, func(v *node) bool { return v != nil && v.kind == '0' })
}

// citedValues returns the short texts that stand among citations.
func citedValues(places []*place) map[string]bool {
	values := map[string]bool{}
	for _, p := range places {
		if !ofCitations(p.path) || slices.ContainsFunc(p.path, func(s step) bool { return has(flat(s.key), "retriev") }) {
			continue
		}
		if k := flat(lastKey(p.path)); !strings.HasSuffix(k, "id") {
			continue
		}
		for _, n := range p.nodes {
			if n.kind == '"' && len(n.text) < 100 && n.text != "" {
				values[n.text] = true
			}
		}
	}
	return values
}
