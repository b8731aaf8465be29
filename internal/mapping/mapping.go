package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Mapping makes of answers what they mean. It is safe for concurrent use.
type Mapping struct {
	ok      *condition
	message *taker
	output  *taker // nil: fields, or else the whole document
	fields  []namedTaker
	key     string // of the output
	strip   *stripper
	makers  []*maker
	usage   [3]*taker
	depth   Depth
	from    *Text // of the depth
}

type namedTaker struct {
	name string
	*taker
}

// Compile checks a specification and makes the mapping. documents are the names
// of the documents that there are beside the answer. Without problems the mapping is
// ready.
func Compile(spec Spec, documents []string) (*Mapping, []Problem) {
	c := &compiler{documents: append([]string{Main}, documents...)}
	m := &Mapping{
		message: c.maybe(spec.ErrorMessage, wantAny), strip: c.stripper(spec.Strip), depth: spec.Depth,
	}
	if spec.OK != nil {
		m.ok = c.condition(spec.OK)
	}
	if v := spec.Output.Value; v != nil && spec.Output.Fields != nil {
		c.problem(v.Key, "path or jq and fields both say what the output is: keep one")
	} else if v != nil {
		m.output, m.key = c.taker(v, wantText), v.Key
	}
	for i := range spec.Output.Fields {
		f := &spec.Output.Fields[i]
		m.fields = append(m.fields, namedTaker{f.Name, c.taker(&f.Value, wantText)})
	}
	for _, a := range spec.Artifacts {
		maker := c.maker(a)
		if mk := maker.marks; mk != nil && mk.in == nil && m.fields != nil && m.answerField() < 0 {
			c.problem(a.Key, "markers: the output has no field answer: say under in which text holds them")
		}
		m.makers = append(m.makers, maker)
	}
	// Markers count the lists of the others.
	slices.SortStableFunc(m.makers, func(a, b *maker) int { return cmp.Compare(rank(a), rank(b)) })
	for i, v := range []*Value{spec.Usage.InputTokens, spec.Usage.OutputTokens, spec.Usage.CostUSD} {
		m.usage[i] = c.maybe(v, wantNumber)
	}
	if spec.Depth.Template != "" {
		m.from = c.text(spec.Depth.Template, spec.Depth.Key, nil)
	}
	return m, c.problems
}

func rank(m *maker) int { return choose(m.marks != nil, 1, 0) }

// condition is something that must hold.
type condition struct {
	*taker
	equals []evidence.Value // one of them, in canonical form; nil is true
	absent bool
}

func (c *compiler) condition(spec *Condition) *condition {
	o := &condition{taker: c.maybe(&spec.Value, wantAny), absent: spec.Absent}
	if spec.Equals != nil {
		if spec.Absent {
			c.problem(spec.Key, "equals and absent exclude each other: keep one")
		}
		one := spec.Equals
		list := []evidence.Value{one}
		if one.Kind() == '[' {
			list = slices.Collect(evidence.Elements(one))
		}
		for _, v := range list {
			canonical, err := evidence.Canonical(v)
			if err != nil {
				c.problem(spec.Key, "equals: %v", err)
			}
			o.equals = append(o.equals, canonical)
		}
	}
	return o
}

// holds reports whether the condition holds, and what was found there.
func (o *condition) holds(a *answer) (bool, evidence.Value, *fault) {
	v, _, f := o.take(a, nil)
	if f != nil {
		return false, nil, f
	}
	switch {
	case o.absent:
		return empty(v), v, nil
	case o.equals == nil:
		if o.jq != nil && v.Kind() != 't' && v.Kind() != 'f' {
			return false, v, &fault{text: "want true or false, found " + found(v), around: a.get(o.spec.From)}
		}
		return v.Kind() == 't', v, nil
	}
	if v == nil {
		v = evidence.Value("null")
	}
	canonical, err := evidence.Canonical(v)
	return err == nil && slices.ContainsFunc(o.equals, func(e evidence.Value) bool { return string(e) == string(canonical) }), v, nil
}

// wanted says what the condition asks for.
func (o *condition) wanted() string {
	switch {
	case o.absent:
		return "nothing"
	case o.equals == nil:
		return "true"
	}
	var words []string
	for _, e := range o.equals {
		words = append(words, evidence.Shorten(e, 40))
	}
	return shorten(strings.Join(words, " or "), 120)
}

// empty reports whether a value says nothing.
func empty(v evidence.Value) bool {
	switch v.Kind() {
	case 'f', 'n':
		return true
	case '"':
		text, _ := evidence.Text(v)
		return text == ""
	case '[':
		for range evidence.Elements(v) {
			return false
		}
		return true
	}
	return len(v) == 0
}

// Result is what an answer means.
type Result struct {
	Output    evidence.Value
	Raw       evidence.Value // the output as it came; nil when nothing was stripped
	Artifacts evidence.Artifacts
	Usage     *evidence.Usage // nil when the answer tells none
}

// Error says why an answer has no output. Around is to be redacted and cut
// before it is shown.
type Error struct {
	Kind   evidence.ErrorKind
	Key    string // of the suite, such as system.http.output
	Path   string // path or expression, as written
	Text   string // what is wrong, what was there and its type
	Around string // the smallest object around, as JSON
}

// Error implements error; it leaves out what is around.
func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.Key, e.Text)
	}
	return fmt.Sprintf("%s at %q: %s", e.Key, shorten(e.Path, 120), e.Text)
}

func fail(kind evidence.ErrorKind, key, path string, f *fault) *Error {
	return &Error{Kind: kind, Key: key, Path: path, Text: f.text, Around: string(f.around[:min(len(f.around), maxAround)])}
}

// Check says why an answer is none, or nil: what `ok` asks for does not hold.
// The error is an [*Error].
func (m *Mapping) Check(d *Documents) error { return asError(m.check(&answer{Documents: d})) }

// asError keeps a nil pointer from becoming an error.
func asError(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

func (m *Mapping) check(a *answer) *Error {
	if m.ok == nil {
		return nil
	}
	holds, v, f := m.ok.holds(a)
	switch {
	case f != nil:
		return fail(evidence.ErrMapping, m.ok.spec.Key, m.ok.shown(), f)
	case holds:
		return nil
	}
	text := m.Message(a.Documents)
	if text == "" {
		there := "nothing"
		if v != nil {
			there = found(v)
		}
		text = fmt.Sprintf("the answer says that it is none, at %q want %s, found %s", shorten(m.ok.shown(), 120), m.ok.wanted(), there)
	}
	return fail(evidence.ErrReported, m.ok.spec.Key, m.ok.shown(), &fault{text: text, around: a.get(m.ok.spec.From)})
}

// Message returns what an answer says of its error, or "".
func (m *Mapping) Message(d *Documents) string {
	if m.message == nil {
		return ""
	}
	v, ok, f := m.message.take(&answer{Documents: d}, nil)
	if f != nil || !ok {
		return ""
	}
	if text, is := asText(v); is {
		return text
	}
	return evidence.Shorten(v, 200)
}

// Map returns what an answer means. The error is an [*Error] when there is no
// output, and an [*evidence.ContractError] when an artifact is missing or
// malformed.
func (m *Mapping) Map(d *Documents, c *evidence.Case) (*Result, error) {
	a := newAnswer(d)
	defer a.release()
	if e := m.check(a); e != nil {
		return nil, e
	}
	r := &Result{}
	if e := m.take(a, r); e != nil {
		return nil, e
	}
	depth := 0
	if len(m.makers) > 0 {
		var e *Error
		if depth, e = m.Depth(c); e != nil {
			return nil, e
		}
	}
	output := r.Output
	if r.Raw != nil {
		output = r.Raw
	}
	for _, maker := range m.makers {
		var f *misfit
		if maker.marks != nil {
			f = maker.cited(a, func() (string, *fault) { return m.said(output) }, &r.Artifacts)
		} else {
			f = maker.make(a, depth, &r.Artifacts)
		}
		if f != nil {
			return nil, maker.contract(c.ID, f)
		}
	}
	r.Usage = m.used(a)
	return r, nil
}

// Depth returns how many candidates the search is asked for in a case; 0 is
// unknown.
func (m *Mapping) Depth(c *evidence.Case) (int, *Error) {
	if m.from == nil {
		return m.depth.N, nil
	}
	text, err := m.from.Render(&Scope{Case: c})
	n, whole := wholeNumber(quote(text))
	if err == nil && (!whole || n < 1) {
		err = fmt.Errorf("want a whole number of at least 1, found %q", shorten(text, 40))
	}
	if err != nil {
		return 0, &Error{Kind: evidence.ErrMapping, Key: m.depth.Key, Path: m.depth.Template, Text: err.Error()}
	}
	return n, nil
}

// take puts the output into the result.
func (m *Mapping) take(a *answer, r *Result) *Error {
	switch {
	case m.fields != nil:
		out := evidence.Value{'{'}
		for i, f := range m.fields {
			v, _, fault := f.take(a, nil)
			if fault != nil {
				return m.noOutput(f.taker, fault)
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, quote(f.name)...), ':'), v...)
		}
		r.Output = append(out, '}')
	case m.output != nil:
		v, _, fault := m.output.take(a, nil)
		if fault != nil {
			return m.noOutput(m.output, fault)
		}
		r.Output = v
	default:
		r.Output = a.Main
	}
	if m.strip == nil {
		return nil
	}
	if stripped := m.stripped(r.Output); string(stripped) != string(r.Output) {
		r.Raw, r.Output = r.Output, stripped
	}
	return nil
}

func (m *Mapping) noOutput(t *taker, f *fault) *Error {
	kind := evidence.ErrMapping
	text := f.text
	if f.missing {
		kind = evidence.ErrMissingOutput
	} else if t.want == wantText && strings.HasPrefix(text, "want text") {
		text += " (where that is meant, add type: any)"
	}
	return fail(kind, t.spec.Key, t.shown(), &fault{text: text, around: f.around})
}

// stripped takes parts out of text, and of the texts of an object.
func (m *Mapping) stripped(v evidence.Value) evidence.Value {
	if text, ok := evidence.Text(v); ok {
		if judged := m.strip.judged(text); judged != text {
			return quote(judged)
		}
		return v
	}
	if v.Kind() != '{' {
		return v
	}
	out := evidence.Value{'{'}
	for name, member := range evidence.Members(v) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if text, ok := evidence.Text(member); ok {
			if judged := m.strip.judged(text); judged != text {
				member = quote(judged)
			}
		}
		out = append(append(append(out, quote(name)...), ':'), member...)
	}
	return append(out, '}')
}

func (m *Mapping) answerField() int {
	return slices.IndexFunc(m.fields, func(f namedTaker) bool { return f.name == "answer" })
}

// said returns the text of an output in which markers are looked for.
func (m *Mapping) said(output evidence.Value) (string, *fault) {
	text, ok := evidence.Text(output)
	if !ok {
		member, _ := evidence.Member(output, "answer")
		if text, ok = evidence.Text(member); !ok {
			return "", &fault{text: "want an output that is text, or that has a text answer, found " + found(output) + ": say under in which text holds the markers", around: output}
		}
	}
	return m.strip.said(text), nil
}

// used returns what the answer tells of tokens and cost. What is no number is
// as if it were not there: it does not make the answer wrong.
func (m *Mapping) used(a *answer) *evidence.Usage {
	var u evidence.Usage
	for i, t := range m.usage {
		if t == nil {
			continue
		}
		v, ok, f := t.take(a, nil)
		n, number := aNumber(v)
		if f != nil || !ok || !number || n < 0 {
			continue
		}
		switch i {
		case 0, 1:
			whole := int64(n)
			if float64(whole) != n {
				continue
			}
			if i == 0 {
				u.InputTokens = &whole
			} else {
				u.OutputTokens = &whole
			}
		case 2:
			u.CostUSD = &n
		}
	}
	if u == (evidence.Usage{}) {
		return nil
	}
	return &u
}
