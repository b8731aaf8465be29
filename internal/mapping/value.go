package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Documents are the answers of one attempt, each as JSON; nil is none.
type Documents struct {
	Main     evidence.Value // the answer
	Setup    evidence.Value
	Accepted evidence.Value
	Frames   evidence.Value            // a list
	Named    map[string]evidence.Value // of further requests
}

func (d *Documents) get(name string) evidence.Value {
	switch name {
	case "", Main:
		return d.Main
	case Setup:
		return d.Setup
	case Accepted:
		return d.Accepted
	case Frames:
		return d.Frames
	}
	return d.Named[name]
}

// answer is what is mapped: the documents, decoded for jq when that is asked for.
type answer struct {
	*Documents
	decoded map[string]any
	values  []any // for the variables of expressions
	main    element
	lists   []elements
	members []member  // of all elements
	store   []element // of all lists
}

// answers are used again: what they hold is as large as the answers are.
var answers = sync.Pool{New: func() any { return new(answer) }}

func newAnswer(d *Documents) *answer {
	a := answers.Get().(*answer)
	a.Documents = d
	return a
}

// release gives the answer back. Nothing of it may be used any more.
func (a *answer) release() {
	const most = 4096 // elements and members that are kept for the next one
	clear(a.members)
	clear(a.store)
	clear(a.lists)
	kept := answer{lists: a.lists[:0]}
	if cap(a.members) <= most && cap(a.store) <= most {
		kept.members, kept.store = a.members[:0], a.store[:0]
	}
	*a = kept
	answers.Put(a)
}

// elementsOf returns the elements of a list.
func (a *answer) elementsOf(list evidence.Value) []element {
	start := len(a.store)
	for v := range evidence.Elements(list) {
		a.store = append(a.store, element{raw: v})
	}
	return a.store[start:len(a.store):len(a.store)]
}

// elements are those of a list that several artifacts may be made of.
type elements struct {
	of       string // where the list stands
	elements []element
}

// element is a value through which many paths lead: its members are found once.
type element struct {
	raw     evidence.Value
	members []member
	found   bool // members holds what there is
	decoded any
	known   bool // decoded is raw in the types of jq
	text    text // the last one that was decoded
}

// text is a JSON string and what it says.
type text struct {
	raw evidence.Value
	s   string
}

// said returns the text of a JSON string in the element. Several artifacts ask
// for the same one.
func (e *element) said(v evidence.Value) string {
	if len(v) == 0 || len(e.text.raw) == len(v) && &e.text.raw[0] == &v[0] {
		return e.text.s
	}
	s, _ := evidence.Text(v)
	e.text = text{v, s}
	return s
}

type member struct {
	name  []byte
	value evidence.Value
}

// member returns a member of an object.
func (e *element) member(a *answer, name string) (evidence.Value, bool) {
	if !e.found {
		start := len(a.members)
		for name, v := range evidence.RawMembers(e.raw) {
			a.members = append(a.members, member{name, v})
		}
		e.found, e.members = true, a.members[start:]
	}
	for i := range e.members {
		if string(e.members[i].name) == name {
			return e.members[i].value, true
		}
	}
	return nil, false
}

// lookup returns what stands at a path; ok is false when it leads nowhere.
func (e *element) lookup(a *answer, path string) (v evidence.Value, ok bool) {
	if path == "" || len(e.raw) == 0 || e.raw[0] != '{' {
		v, err := evidence.Lookup(e.raw, path)
		return v, err == nil
	}
	name, rest, more := strings.Cut(path, ".")
	if v, ok = e.member(a, name); !ok || !more {
		return v, ok
	}
	if v[0] == '{' || v[0] == '[' {
		v, err := evidence.Lookup(v, rest)
		return v, err == nil
	}
	return nil, false
}

// decode returns the element in the types of jq.
func (e *element) decode() any {
	if !e.known {
		e.known, e.decoded = true, decode(e.raw)
	}
	return e.decoded
}

// document returns a document as an element.
func (a *answer) document(name string) *element {
	if name != "" && name != Main {
		return &element{raw: a.get(name)}
	}
	if a.main.raw == nil {
		a.main.raw = a.Main
	}
	return &a.main
}

func (a *answer) decode(name string) any {
	if v, ok := a.decoded[name]; ok {
		return v
	}
	if a.decoded == nil {
		a.decoded = map[string]any{}
	}
	var v any
	if raw := a.get(name); raw != nil {
		v = decode(raw)
	}
	a.decoded[name] = v
	return v
}

// variables returns the documents that an expression names.
func (a *answer) variables(p *program) []any {
	if a.values == nil {
		a.values = make([]any, len(p.variables))
	}
	for i, used := range p.used {
		if used {
			a.values[i] = a.decode(p.variables[i][1:])
		}
	}
	return a.values
}

// taker takes a value out of an answer, or out of an element of its list.
type taker struct {
	spec  Value
	want  string // a type
	maybe bool   // absent and null are no fault
	jq    *program
	cut   *regexp.Regexp
}

// fault says why a value could not be taken. Where it was looked for is the
// taker's.
type fault struct {
	missing bool           // nothing is there
	text    string         // what is wrong, such as "want text, found a list of 2"
	around  evidence.Value // the smallest object or list around it
}

// Types of a value.
const (
	wantText    = "text"
	wantNumber  = "number"
	wantBoolean = "boolean"
	wantList    = "list"
	wantObject  = "object"
	wantAny     = "any"
	wantID      = "id" // text that is not empty, or a number
)

// wanted names a type in messages.
func wanted(kind string) string {
	switch kind {
	case wantText:
		return "text"
	case wantID:
		return "text or a number"
	case wantObject:
		return "an object"
	}
	return "a " + kind
}

// shown is what is looked for, for messages.
func (t *taker) shown() string {
	if t.jq != nil {
		return t.jq.source
	}
	return strings.Join(t.spec.Paths, " or ")
}

// take returns the value in the document of the answer, or when element is not
// nil in that element of a list. ok is false when nothing is there and nothing
// has to be.
func (t *taker) take(a *answer, of *element) (v evidence.Value, ok bool, f *fault) {
	base := of
	if base == nil {
		base = a.document(t.spec.From)
	}
	path := ""
	if t.jq != nil {
		if v, f = t.evaluate(a, of); f != nil {
			f.around = base.raw
			return nil, false, f
		}
	} else if v, path = t.lookup(a, base); v == nil {
		if t.maybe {
			return nil, false, nil
		}
		return nil, false, t.nothing(base.raw)
	}
	if t.maybe && evidence.IsNull(v) {
		return nil, false, nil
	}
	text := ""
	if t.spec.Cut != nil && v.Kind() != 'n' {
		v, text = t.part(v)
	}
	if text == "" {
		text = t.mismatch(v)
	}
	if text != "" {
		return nil, false, &fault{text: text, around: enclosing(base.raw, path), missing: evidence.IsNull(v)}
	}
	return v, true, nil
}

// evaluate runs the expression over the document, or over the element.
func (t *taker) evaluate(a *answer, of *element) (evidence.Value, *fault) {
	var input any
	if of != nil {
		input = of.decode()
	} else {
		input = a.decode(choose(t.spec.From == "", Main, t.spec.From))
	}
	v, err := t.jq.run(input, a.variables(t.jq))
	if err != nil {
		return nil, &fault{text: err.Error()}
	}
	return v, nil
}

// lookup returns what stands at the first path that leads to something that is
// not null, with the path. Where all are absent or null, null counts; without
// that the value is nil.
func (t *taker) lookup(a *answer, base *element) (v evidence.Value, path string) {
	if base.raw == nil {
		return nil, ""
	}
	for _, p := range t.spec.Paths {
		at, ok := base.lookup(a, p)
		switch {
		case ok && !evidence.IsNull(at):
			return at, p
		case ok && v == nil:
			v, path = at, p
		}
	}
	return v, path
}

// nothing says that the paths lead nowhere, and how far the first one leads.
func (t *taker) nothing(base evidence.Value) *fault {
	if base == nil {
		return &fault{missing: true, text: fmt.Sprintf("there is no document %s", choose(t.spec.From == "", Main, t.spec.From))}
	}
	f := &fault{missing: true, text: "nothing at " + t.shown(), around: base}
	var e *evidence.PathError
	if _, err := evidence.Lookup(base, t.spec.Paths[0]); errors.As(err, &e) {
		if f.around = enclosing(base, e.At+".x"); len(t.spec.Paths) == 1 {
			f.text = e.Error()
		}
	}
	return f
}

// enclosing returns the object or list that a path leads through last.
func enclosing(base evidence.Value, path string) evidence.Value {
	for {
		i := strings.LastIndexByte(path, '.')
		if i <= 0 {
			return base
		}
		path = path[:i]
		if v, err := evidence.Lookup(base, path); err == nil && (v.Kind() == '{' || v.Kind() == '[') {
			return v
		}
	}
}

// mismatch says why a value is not of the type that is wanted, or "".
func (t *taker) mismatch(v evidence.Value) string {
	ok := true
	switch t.want {
	case wantText:
		ok = v.Kind() == '"'
	case wantID:
		text, is := asText(v)
		if is && text == "" {
			return "want text that is not empty"
		}
		ok = is
	case wantNumber:
		_, ok = aNumber(v)
	case wantBoolean:
		ok = v.Kind() == 't' || v.Kind() == 'f'
	case wantList:
		ok = v.Kind() == '['
	case wantObject:
		ok = v.Kind() == '{'
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("want %s, found %s", wanted(t.want), found(v))
}

// part returns the part of a text that counts, or what is wrong with it.
func (t *taker) part(v evidence.Value) (evidence.Value, string) {
	text, ok := asText(v)
	if !ok {
		return v, "cut: want text, found " + found(v)
	}
	if t.cut == nil {
		return quote(lastSegment(text)), ""
	}
	m := t.cut.FindStringSubmatch(text)
	if m == nil {
		return v, fmt.Sprintf("cut: the pattern does not match text, %q", shorten(text, 60))
	}
	return quote(m[min(1, len(m)-1)]), ""
}

// lastSegment returns what follows the last slash of a path or URL, its query
// and fragment left out of a URL.
func lastSegment(text string) string {
	if strings.Contains(text, "://") {
		text = text[:strings.IndexAny(text+"?", "?#")]
	}
	text = strings.TrimRight(text, "/")
	return text[strings.LastIndexAny(text, `/\`)+1:]
}

// compiler makes takers and collects what is wrong with them.
type compiler struct {
	documents []string // that there are
	problems  []Problem
}

// Problem is what is wrong with a key of a suite.
type Problem struct {
	Key     string // such as system.http.output
	Message string // begins with the key
}

func (c *compiler) problem(key, format string, args ...any) {
	c.problems = append(c.problems, Problem{Key: key, Message: key + ": " + fmt.Sprintf(format, args...)})
}

// taker compiles a value; want is its type unless it says another.
func (c *compiler) taker(v *Value, want string) *taker {
	if v == nil {
		return nil
	}
	t := &taker{spec: *v, want: choose(v.Type != "", v.Type, want)}
	if v.From != "" && v.JQ == "" && len(v.Paths) == 0 { // a whole document
		t.spec.Paths = []string{""}
		v = &t.spec
	}
	switch {
	case v.JQ != "" && len(v.Paths) > 0:
		c.problem(v.Key, "path and jq both say where it stands: keep one")
	case v.JQ == "" && len(v.Paths) == 0:
		c.problem(v.Key, "it says not where it stands: write a dotted path, or one of path and jq")
	}
	if v.JQ != "" {
		var err error
		if t.jq, err = compileJQ(v.JQ, c.documents); err != nil {
			c.problem(choose(v.Key != "", v.Key, "jq"), "%v", err)
			t.jq = nil
		}
	}
	if v.From != "" && !slices.Contains(c.documents, v.From) {
		c.problem(v.Key, "from: there is no document %s%s (there are %s)", v.From, didYouMean(v.From, c.documents), strings.Join(c.documents, ", "))
	}
	if v.Cut != nil && v.Cut.Regex != "" {
		var err error
		if t.cut, err = regexp.Compile(v.Cut.Regex); err != nil {
			c.problem(v.Key, "cut: %s", regexFault(err))
		}
	}
	return t
}

// maybe compiles a value that need not be there.
func (c *compiler) maybe(v *Value, want string) *taker {
	t := c.taker(v, want)
	if t != nil {
		t.maybe = true
	}
	return t
}
