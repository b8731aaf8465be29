package mapping

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// FieldsOf lists the fields that an element of an artifact's list may have; nil
// is any.
func FieldsOf(kind string) []string {
	switch kind {
	case evidence.RetrievalKind:
		return []string{"doc_id", "chunk_id", "score", "text", "metadata"}
	case evidence.ContextKind:
		return []string{"doc_id", "chunk_id", "position", "tokens", "text"}
	case evidence.CitationsKind:
		return []string{"doc_id", "chunk_id"}
	}
	return nil
}

// wantedOf is the type of a field of an artifact's element.
func wantedOf(kind, field string) string {
	if FieldsOf(kind) == nil {
		return wantAny
	}
	switch field {
	case "doc_id", "chunk_id":
		return wantID
	case "text":
		return wantText
	case "metadata":
		return wantObject
	}
	return wantNumber
}

// maker makes the artifacts of one kind.
type maker struct {
	spec   Artifact
	fixed  *taker // a path: the fixed shape
	made   *taker // an expression
	items  *taker
	stars  []string // of items: the paths between its steps *
	listed string   // the same for the same items
	fields map[string]*taker
	query  *taker
	marks  *marks
}

// misfit is what is wrong with an artifact: where in it, and around what.
type misfit struct {
	at     string // such as candidates[2].doc_id
	path   string // where it was looked for, as written
	fault  fault
	absent bool // the whole artifact
}

func (m *misfit) in(at string) *misfit {
	if m != nil {
		m.at = strings.TrimSuffix(at+"."+m.at, ".")
	}
	return m
}

func (c *compiler) maker(spec Artifact) *maker {
	m := &maker{spec: spec}
	switch {
	case spec.Markers != nil:
		m.marks = c.marks(spec.Markers, spec.Key)
	case spec.Items != nil:
		v := *spec.Items
		if len(v.Paths) == 1 && slices.Contains(strings.Split(v.Paths[0], "."), "*") {
			m.stars = strings.Split(strings.TrimSuffix("."+v.Paths[0], ".*")+".", ".*.")
			for i := range m.stars {
				m.stars[i] = strings.Trim(m.stars[i], ".")
			}
		}
		m.items = c.taker(&v, wantAny)
		m.listed = fmt.Sprintf("%s %q %s", v.From, v.Paths, v.JQ)
	case spec.Value != nil && spec.Value.JQ != "":
		m.made = c.taker(spec.Value, wantAny)
	default:
		m.fixed = c.taker(spec.Value, wantAny)
	}
	if spec.Fields != nil {
		m.fields = map[string]*taker{}
		for _, f := range spec.Fields {
			m.fields[f.Name] = c.maybe(&f.Value, wantedOf(spec.Kind, f.Name))
		}
	}
	m.query = c.maybe(spec.Query, wantAny)
	return m
}

// make adds the artifact to those of the answer. A nil misfit without an
// artifact is one that is absent and may be.
func (m *maker) make(a *answer, depth int, into *evidence.Artifacts) *misfit {
	switch {
	case m.fixed != nil:
		return m.fixedShape(a, into)
	case m.made != nil:
		v, _, f := m.made.take(a, nil)
		if f != nil {
			return &misfit{path: m.made.shown(), fault: *f}
		}
		return m.from(a, v, depth, into)
	}
	list, fault := m.list(a)
	if fault != nil {
		if m.spec.Optional && fault.missing {
			return nil
		}
		return &misfit{path: m.items.shown(), fault: *fault, absent: fault.missing}
	}
	return m.build(a, list, nil, depth, into)
}

// fixedShape takes an artifact that already has its shape.
func (m *maker) fixedShape(a *answer, into *evidence.Artifacts) *misfit {
	v, _, f := m.fixed.take(a, nil)
	absent := f != nil
	if f == nil && evidence.IsNull(v) {
		f = &fault{missing: true, text: "want an artifact, found null", around: v}
	}
	if f != nil {
		if m.spec.Optional && f.missing {
			return nil
		}
		return &misfit{path: m.fixed.shown(), fault: *f, absent: absent}
	}
	if err := evidence.DecodeArtifact(m.spec.Kind, v, into); err != nil {
		text := err.Error()
		if v.Kind() == '[' {
			text += " (where that is meant, write {items: PATH})"
		}
		return &misfit{path: m.fixed.shown(), fault: fault{text: text, around: v}}
	}
	return nil
}

// list returns the elements of items. Artifacts that are made of one list share
// its elements.
func (m *maker) list(a *answer) ([]element, *fault) {
	for i := range a.lists {
		if a.lists[i].of == m.listed {
			return a.lists[i].elements, nil
		}
	}
	list, f := m.elements(a)
	if f == nil {
		a.lists = append(a.lists, elements{m.listed, list})
	}
	return list, f
}

func (m *maker) elements(a *answer) ([]element, *fault) {
	if m.stars == nil {
		v, _, f := m.items.take(a, nil)
		if f != nil {
			return nil, f
		}
		if evidence.IsNull(v) {
			return nil, &fault{missing: true, text: "want a list, found null", around: a.get(m.items.spec.From)}
		}
		if v.Kind() != '[' {
			return nil, &fault{text: "want a list, found " + found(v), around: v}
		}
		return a.elementsOf(v), nil
	}
	base := a.get(m.items.spec.From)
	all := []element{{raw: base}}
	for i, path := range m.stars {
		var next []element
		for _, el := range all {
			at, err := evidence.Lookup(el.raw, path)
			switch {
			case i == 0 && (err != nil || evidence.IsNull(at)):
				return nil, &fault{missing: true, text: fmt.Sprintf("nothing at %q", path), around: base}
			case err != nil || evidence.IsNull(at): // an element without it
			case at.Kind() == '[':
				next = append(next, a.elementsOf(at)...)
			case i == len(m.stars)-1:
				next = append(next, element{raw: at})
			default:
				return nil, &fault{text: fmt.Sprintf("want a list before the step *, found %s", found(at)), around: el.raw}
			}
		}
		all = next
	}
	return all, nil
}

// from reads what an expression gives: the artifact, or its list.
func (m *maker) from(a *answer, v evidence.Value, depth int, into *evidence.Artifacts) *misfit {
	if evidence.IsNull(v) {
		if m.spec.Optional {
			return nil
		}
		return &misfit{path: m.made.shown(), fault: fault{missing: true, text: "jq gives null"}, absent: true}
	}
	list := map[string]string{evidence.RetrievalKind: "candidates", evidence.ContextKind: "items", evidence.CitationsKind: "ids"}[m.spec.Kind]
	if list == "" {
		return m.keep(v, into)
	}
	switch v.Kind() {
	case '[':
		return m.build(a, a.elementsOf(v), nil, depth, into)
	case '{':
		member, ok := evidence.Member(v, list)
		if ok && member.Kind() == '[' {
			return m.build(a, a.elementsOf(member), v, depth, into)
		}
		return &misfit{path: m.made.shown(), fault: fault{text: fmt.Sprintf("want a list, or an object with the list %s, found an object without it", list), around: v}}
	}
	return &misfit{path: m.made.shown(), fault: fault{text: "want a list or an object, found " + found(v), around: v}}
}

func (m *maker) keep(v evidence.Value, into *evidence.Artifacts) *misfit {
	if err := evidence.DecodeArtifact(m.spec.Kind, v, into); err != nil {
		return &misfit{fault: fault{text: err.Error(), around: v}}
	}
	return nil
}

// build makes the artifact of the elements of a list; outer, when not nil, has
// its other members.
func (m *maker) build(a *answer, list []element, outer evidence.Value, depth int, into *evidence.Artifacts) *misfit {
	switch m.spec.Kind {
	case evidence.RetrievalKind:
		return m.retrieval(a, list, outer, depth, into)
	case evidence.ContextKind:
		return m.context(a, list, outer, into)
	case evidence.CitationsKind:
		c := evidence.Citations{IDs: make([]string, 0, len(list))}
		for i := range list {
			doc, chunk, f := m.ids(a, &list[i])
			if f != nil {
				return f.in(fmt.Sprintf("ids[%d]", i))
			}
			c.IDs = append(c.IDs, citation(doc, chunk))
		}
		into.Citations = append(into.Citations, c)
		return nil
	}
	return m.other(a, list, into)
}

func (m *maker) retrieval(a *answer, list []element, outer evidence.Value, depth int, into *evidence.Artifacts) *misfit {
	r := evidence.Retrieval{Depth: depth, Candidates: make([]evidence.Passage, 0, len(list))}
	if m.spec.Source != SourceRetrieval {
		r.Source = m.spec.Source
	}
	if m.query != nil {
		v, ok, f := m.query.take(a, nil)
		if f != nil {
			return &misfit{at: "query", path: m.query.shown(), fault: *f}
		}
		if ok {
			r.Query = v.Clone()
		}
	} else if v, ok := evidence.Member(outer, "query"); ok && !evidence.IsNull(v) {
		r.Query = v.Clone()
	}
	if v, ok := evidence.Member(outer, "depth"); ok && !evidence.IsNull(v) {
		n, whole := wholeNumber(v)
		if !whole || n < 1 {
			return &misfit{at: "depth", fault: fault{text: "want a whole number of at least 1, found " + found(v), around: outer}}
		}
		r.Depth = n
	}
	if r.Depth == 0 {
		return &misfit{at: "depth", fault: fault{text: "no depth is known: add system.http.depth, the number of candidates that the search is asked for"}}
	}
	for i := range list {
		p, f := m.passage(a, &list[i])
		if f != nil {
			return f.in(fmt.Sprintf("candidates[%d]", i))
		}
		r.Candidates = append(r.Candidates, p)
	}
	if len(r.Candidates) > r.Depth {
		return &misfit{at: "candidates", fault: fault{text: fmt.Sprintf(
			"%d of them exceed the depth %d: depth is how many the search is asked for; set it to that, or leave the others out with jq (.[:%d])", len(r.Candidates), r.Depth, r.Depth)}}
	}
	into.Retrieval = append(into.Retrieval, r)
	return nil
}

func (m *maker) passage(a *answer, v *element) (p evidence.Passage, f *misfit) {
	if p.DocID, p.ChunkID, f = m.ids(a, v); f != nil {
		return p, f
	}
	n, ok, f := m.field(a, v, "score")
	if f != nil {
		return p, f
	}
	if ok {
		x, _ := aNumber(n)
		p.Score = &x
	}
	if p.Text, f = m.text(a, v); f != nil {
		return p, f
	}
	if data, ok, f := m.field(a, v, "metadata"); f != nil {
		return p, f
	} else if ok {
		p.Metadata = data.Clone()
	}
	return p, nil
}

func (m *maker) context(a *answer, list []element, outer evidence.Value, into *evidence.Artifacts) *misfit {
	c := evidence.Context{Items: make([]evidence.ContextItem, 0, len(list)), Dropped: []evidence.DroppedItem{}, Source: "retrieval"}
	for i := range list {
		item, f := m.item(a, &list[i])
		if f != nil {
			return f.in(fmt.Sprintf("items[%d]", i))
		}
		c.Items = append(c.Items, item)
	}
	dropped, _ := evidence.Member(outer, "dropped")
	for i, el := range a.elementsOf(dropped) {
		at, v := fmt.Sprintf("dropped[%d]", i), el.raw
		item, f := m.item(a, &el)
		if f != nil {
			return f.in(at)
		}
		why, _ := evidence.Member(v, "reason")
		reason, _ := evidence.Text(why)
		if reason != "top_k" && reason != "token_budget" {
			return &misfit{at: at + ".reason", fault: fault{text: "want top_k or token_budget, found " + found(why), around: v}}
		}
		c.Dropped = append(c.Dropped, evidence.DroppedItem{ContextItem: item, Reason: reason})
	}
	if v, ok := evidence.Member(outer, "token_budget"); ok && !evidence.IsNull(v) {
		n, whole := wholeNumber(v)
		if !whole || n < 0 {
			return &misfit{at: "token_budget", fault: fault{text: "want a whole number, found " + found(v), around: outer}}
		}
		c.TokenBudget = &n
	}
	if v, ok := evidence.Member(outer, "source"); ok && !evidence.IsNull(v) {
		source, _ := evidence.Text(v)
		if !slices.Contains([]string{"retrieval", "gold_context", "top_k_replay", "reranker"}, source) {
			return &misfit{at: "source", fault: fault{text: "want one of retrieval, gold_context, top_k_replay, reranker, found " + found(v), around: outer}}
		}
		c.Source = source
	}
	into.Context = append(into.Context, c)
	return nil
}

func (m *maker) item(a *answer, v *element) (item evidence.ContextItem, f *misfit) {
	if item.DocID, item.ChunkID, f = m.ids(a, v); f != nil {
		return item, f
	}
	if item.Position, f = m.count(a, v, "position", 1); f != nil {
		return item, f
	}
	if item.Tokens, f = m.count(a, v, "tokens", 0); f != nil {
		return item, f
	}
	item.Text, f = m.text(a, v)
	return item, f
}

// other makes a list of objects of a kind without a schema.
func (m *maker) other(a *answer, list []element, into *evidence.Artifacts) *misfit {
	out := evidence.Value{'['}
	for i := range list {
		v := &list[i]
		if i > 0 {
			out = append(out, ',')
		}
		if m.fields == nil {
			out = append(out, v.raw...)
			continue
		}
		out = append(out, '{')
		for j, spec := range m.spec.Fields {
			value, ok, f := m.fields[spec.Name].take(a, v)
			if f != nil {
				return &misfit{at: fmt.Sprintf("[%d].%s", i, spec.Name), path: m.fields[spec.Name].shown(), fault: *f}
			}
			if !ok {
				value = evidence.Value("null")
			}
			if j > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, quote(spec.Name)...), ':'), value...)
		}
		out = append(out, '}')
	}
	return m.keep(append(out, ']'), into)
}

// ids returns the document and chunk of an element: text and numbers are a
// document each.
func (m *maker) ids(a *answer, v *element) (doc, chunk string, f *misfit) {
	if m.fields == nil && v.raw.Kind() != '{' {
		text, ok := asText(v.raw)
		if !ok || text == "" {
			return "", "", &misfit{fault: fault{text: "want an object, text or a number, found " + found(v.raw), around: v.raw}}
		}
		return text, "", nil
	}
	id, ok, f := m.field(a, v, "doc_id")
	if f != nil {
		return "", "", f
	}
	if !ok {
		at := "doc_id"
		if t := m.fields["doc_id"]; t != nil {
			at = t.shown()
		}
		return "", "", &misfit{at: "doc_id", path: at, fault: fault{text: fmt.Sprintf("nothing at %s, and every element needs a document", strconv.Quote(at)), around: v.raw}}
	}
	doc, _ = asText(id)
	if id, ok, f = m.field(a, v, "chunk_id"); f != nil {
		return "", "", f
	}
	if ok {
		chunk, _ = asText(id)
	}
	return doc, chunk, nil
}

// field returns a field of an element; ok is false when it is absent or null.
func (m *maker) field(a *answer, v *element, name string) (field evidence.Value, ok bool, f *misfit) {
	if m.fields != nil {
		t := m.fields[name]
		if t == nil {
			return nil, false, nil
		}
		field, ok, fault := t.take(a, v)
		if fault != nil {
			return nil, false, &misfit{at: name, path: t.shown(), fault: *fault}
		}
		return field, ok, nil
	}
	field, ok = v.member(a, name)
	if !ok || evidence.IsNull(field) {
		return nil, false, nil
	}
	t := taker{want: wantedOf(m.spec.Kind, name)}
	if text := t.mismatch(field); text != "" {
		return nil, false, &misfit{at: name, path: name, fault: fault{text: text, around: v.raw}}
	}
	return field, true, nil
}

func (m *maker) text(a *answer, v *element) (*string, *misfit) {
	field, ok, f := m.field(a, v, "text")
	if !ok || f != nil {
		return nil, f
	}
	text := v.said(field)
	return &text, nil
}

func (m *maker) count(a *answer, v *element, name string, least int) (*int, *misfit) {
	field, ok, f := m.field(a, v, name)
	if !ok || f != nil {
		return nil, f
	}
	n, whole := wholeNumber(field)
	if !whole || n < least {
		return nil, &misfit{at: name, fault: fault{text: fmt.Sprintf("want a whole number of at least %d, found %s", least, found(field)), around: v.raw}}
	}
	return &n, nil
}

// wholeNumber returns the whole number that a value is, or that its text spells.
func wholeNumber(v evidence.Value) (int, bool) {
	x, ok := aNumber(v)
	return int(x), ok && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// citation names a passage as citations do.
func citation(doc, chunk string) string {
	if chunk == "" {
		return doc
	}
	return doc + "#" + chunk
}

// contract makes the error of an artifact that is not as it must be.
func (m *maker) contract(caseID string, f *misfit) error {
	e := &evidence.ContractError{CaseID: caseID, Artifact: m.spec.Kind, Path: f.path, Problem: f.fault.text}
	around := string(f.fault.around[:min(len(f.fault.around), maxAround)])
	switch {
	case f.absent:
		e.Problem, e.Found = evidence.ProblemMissing, f.fault.text
	case f.at != "":
		e.Problem = f.at + ": " + f.fault.text
	case m.fixed != nil:
		e.Found = around
	}
	if m.fixed == nil || m.fixed.spec.From != "" {
		e.Key, e.Around = m.spec.Key, around
	}
	return e
}

// maxAround is how much of the object around a fault is copied, in bytes; it is
// redacted before it is cut to what is shown.
const maxAround = 16 << 10
