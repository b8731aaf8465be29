package mapping

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// style is a way of citing in the text of an answer.
type style struct {
	name    string
	pattern string // its first group is the number, several with commas, or the id
	base    int    // of the first number
	ids     bool
}

func styles() []style {
	return []style{
		{name: "[1]", pattern: `\[([0-9]+(?:\s*,\s*[0-9]+)*)\]`, base: 1},
		{name: "[doc1]", pattern: `\[doc([0-9]+)\]`, base: 1},
		{name: "##0$$", pattern: `##([0-9]+)\$\$`},
		{name: "[ID:0]", pattern: `\[ID:\s*([0-9]+)\]`},
		{name: "[[1]](url)", pattern: `\[\[([0-9]+)\]\]\([^()\s]*\)`, base: 1},
		{name: "【4:0†f】", pattern: `【[0-9]+:([0-9]+)†[^】]*】`},
		{name: "[citation:ID]", pattern: `\[citation:\s*([^\[\]\s]+)\s*\]`, ids: true},
	}
}

// MarkerStyles lists the ways of citing that have a name.
func MarkerStyles() []string {
	var names []string
	for _, s := range styles() {
		names = append(names, s.name)
	}
	return names
}

// marks finds what the text of an answer cites.
type marks struct {
	pattern *regexp.Regexp
	base    int
	ids     bool
	of      string // kind of the list that is counted
	docs    bool   // numbers count documents
	in      *taker // nil is the output
}

func (c *compiler) marks(spec *Markers, key string) *marks {
	m := &marks{of: spec.Of, docs: spec.Distinct, ids: spec.IDs, in: c.taker(spec.In, wantText)}
	pattern := spec.Regex
	if i := slices.IndexFunc(styles(), func(s style) bool { return s.name == spec.Style }); i >= 0 {
		s := styles()[i]
		pattern, m.base, m.ids = s.pattern, s.base, s.ids
	} else if m.base = 1; spec.Regex == "" {
		c.problem(key, "markers: unknown style %q (there are %s, or {regex: …})", spec.Style, strings.Join(MarkerStyles(), "  "))
		return m
	}
	if spec.Base != nil {
		m.base = *spec.Base
	}
	var err error
	if m.pattern, err = regexp.Compile(pattern); err != nil {
		c.problem(key, "markers: %s", regexFault(err))
	} else if m.pattern.NumSubexp() == 0 {
		c.problem(key, "markers: the regular expression needs a group, ( and ), around the number or id")
	}
	return m
}

// outOfRange begins an id that no passage can have: that of a marker that
// points to nothing.
const outOfRange = "out of range: "

// find returns what a text cites, each passage once, in the order of the text.
func (m *marks) find(text string, artifacts *evidence.Artifacts) []string {
	ids := []string{}
	list := m.list(artifacts)
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, at := range m.pattern.FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			continue // a group that took no part
		}
		whole, group := text[at[0]:at[1]], text[at[2]:at[3]]
		if m.ids {
			add(named(group, list))
			continue
		}
		for number := range strings.SplitSeq(group, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if n -= m.base; err != nil || n < 0 || n >= len(list) {
				add(outOfRange + whole)
				continue
			}
			add(citation(list[n].doc, list[n].chunk))
		}
	}
	return ids
}

// passage is what a marker points to.
type passage struct{ doc, chunk string }

// list returns what numbers count.
func (m *marks) list(a *evidence.Artifacts) []passage {
	all := make([]passage, 0, 16)
	add := func(doc, chunk string) {
		if m.docs {
			chunk = ""
			if slices.Contains(all, passage{doc, ""}) {
				return
			}
		}
		all = append(all, passage{doc, chunk})
	}
	if m.of == evidence.ContextKind {
		for _, c := range a.Context {
			for i := range c.Items {
				add(c.Items[i].DocID, c.Items[i].ChunkID)
			}
		}
		return all
	}
	for _, r := range a.Retrieval {
		for i := range r.Candidates {
			add(r.Candidates[i].DocID, r.Candidates[i].ChunkID)
		}
	}
	return all
}

// named returns the passage that an id names: by its chunk, else by its
// document, else the id itself.
func named(id string, list []passage) string {
	for _, p := range list {
		if p.chunk == id {
			return citation(p.doc, p.chunk)
		}
	}
	return id
}

// cited makes the citations of the answer's text.
func (m *maker) cited(a *answer, text func() (string, *fault), into *evidence.Artifacts) *misfit {
	var answerText string
	var f *fault
	if m.marks.in != nil {
		var v evidence.Value
		if v, _, f = m.marks.in.take(a, nil); f == nil {
			answerText, _ = evidence.Text(v)
		}
	} else {
		answerText, f = text()
	}
	if f != nil {
		if m.spec.Optional && f.missing {
			return nil
		}
		return &misfit{path: fmt.Sprintf("markers %s", m.marks.pattern), fault: *f}
	}
	into.Citations = append(into.Citations, evidence.Citations{IDs: m.marks.find(answerText, into)})
	return nil
}
