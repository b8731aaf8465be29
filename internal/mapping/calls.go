package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Documents lists the names of the answers that the requests bring beside the
// one that is mapped.
func (c *Calls) Documents() []string {
	names := slices.Clone(c.Given)
	if c.Setup != nil {
		names = append(names, Setup)
	}
	if c.Poll != nil {
		names = append(names, Accepted)
	}
	for _, r := range c.Requests {
		if !slices.Contains(reserved, r.Name) && !slices.Contains(c.Given, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Sequence is the requests of an attempt, ready to be filled in. It is safe for
// concurrent use.
type Sequence struct {
	Setup  *Call // nil without
	Before []*Call
	Main   *Call
	Poll   *PollCall // nil without
	After  []*Call
}

// Single reports whether a case takes one request only.
func (s *Sequence) Single() bool {
	return s.Setup == nil && s.Poll == nil && len(s.Before) == 0 && len(s.After) == 0
}

// Further is how many requests an attempt makes beside that of the case, those of
// the poll not counted.
func (s *Sequence) Further() int {
	n := len(s.Before) + len(s.After)
	if s.Setup != nil {
		n++
	}
	return n
}

// Call is one request, ready to be filled in.
type Call struct {
	Name    string // of its answer
	Key     string
	Method  string
	URL     string // in place of the system's; "" is that
	path    *Text
	query   []template
	headers []template
	body    *body // nil: none, or the input of the case
	input   bool  // the body is the input of the case
}

// PollCall asks for the answer until it is there.
type PollCall struct {
	Call
	Interval, Deadline time.Duration
	until, failed      *condition
}

type template struct {
	name, key string
	*Text
}

// Filled is a request to be sent.
type Filled struct {
	Method  string
	URL     string // in place of the system's; "" is that
	Path    string // to be appended to the path of the URL, escaped
	Query   string // to be appended to its parameters, escaped
	Headers [][2]string
	Body    []byte // JSON; nil is none
}

// reserved are names that no further request can have.
var reserved = []string{Main, Setup, Accepted, Frames, "case", "uuid", "attempt", "depth", "poll"}

// CompileCalls checks the requests of a suite. expand replaces what of a text
// comes from the environment; nil keeps it. Without problems the sequence is
// ready.
func CompileCalls(calls *Calls, expand func(key, text string) string) (*Sequence, []Problem) {
	c := &compiler{}
	s := &Sequence{}
	if expand == nil {
		expand = func(_, text string) string { return text }
	}
	known := slices.Clone(calls.Given)
	if calls.Setup != nil {
		s.Setup = c.call(calls.Setup, Setup, "POST", known, expand)
		known = append(known, Setup)
	}
	for i := range calls.Requests {
		r := &calls.Requests[i]
		if slices.Contains(reserved, r.Name) || slices.Contains(calls.Given, r.Name) {
			c.problem(r.Key, "the name %s is taken: give the request another one", r.Name)
			continue
		}
		if !r.After {
			s.Before = append(s.Before, c.call(r, r.Name, "POST", known, expand))
			known = append(known, r.Name)
		}
	}
	s.Main = c.call(&calls.Main, Main, "POST", known, expand)
	s.Main.input = s.Main.body == nil && !bodiless(s.Main.Method)
	if p := calls.Poll; p != nil {
		known = append(known, Accepted)
		all := append([]string{Main}, known...)
		conditions := &compiler{documents: all}
		s.Poll = &PollCall{Call: *c.call(&p.Request, Main, "GET", known, expand), Interval: p.Interval, Deadline: p.Deadline}
		s.Poll.until = conditions.condition(&p.Until)
		if p.FailWhen != nil {
			s.Poll.failed = conditions.condition(p.FailWhen)
		}
		c.problems = append(c.problems, conditions.problems...)
	}
	known = append(known, Main)
	for i := range calls.Requests {
		if r := &calls.Requests[i]; r.After && !slices.Contains(reserved, r.Name) {
			s.After = append(s.After, c.call(r, r.Name, "POST", known, expand))
			known = append(known, r.Name)
		}
	}
	return s, c.problems
}

// bodiless reports whether a method sends no body of itself.
func bodiless(method string) bool { return method == "GET" || method == "DELETE" }

func (c *compiler) call(r *Request, name, method string, documents []string, expand func(key, text string) string) *Call {
	out := &Call{Name: name, Key: r.Key, Method: cmp.Or(r.Method, method), URL: r.URL}
	text := func(key, source string) *Text {
		return c.expanded(source, key, documents, func(text string) string { return expand(key, text) })
	}
	if r.URL != "" {
		out.URL = expand(r.Key+".url", r.URL)
	}
	if r.Path != "" {
		out.path = text(r.Key+".path", r.Path)
	}
	for _, p := range r.Query {
		out.query = append(out.query, template{p.Name, p.Key, text(p.Key, p.Value)})
	}
	for _, p := range r.Headers {
		out.headers = append(out.headers, template{p.Name, p.Key, text(p.Key, p.Value)})
	}
	if r.Body != nil {
		key := r.Key + ".body"
		if out.Method == "GET" {
			c.problem(key, "a GET request has no body: write parameters under query, or another method")
		}
		out.body = compileBody(r.Body, documents, func(text string) string { return expand(key, text) }, func(err error) { c.problem(key, "%v", err) })
	}
	return out
}

// FillError says which template of a request could not be filled in.
type FillError struct {
	Key string
	Err error
}

// Error names the key.
func (e *FillError) Error() string { return fmt.Sprintf("%s: %v", e.Key, e.Err) }

// Unwrap returns what is wrong.
func (e *FillError) Unwrap() error { return e.Err }

// Fill fills in the templates of the request. The error is a [*FillError].
func (c *Call) Fill(s *Scope) (*Filled, error) {
	f := &Filled{Method: c.Method, URL: c.URL}
	var err error
	if c.path != nil {
		if f.Path, err = c.path.render(s, segment); err == nil {
			err = checkPath(f.Path)
		}
		if err != nil {
			return nil, &FillError{c.Key + ".path", err}
		}
	}
	var query []string
	for _, q := range c.query {
		text, err := q.Render(s)
		if err != nil {
			return nil, &FillError{q.key, err}
		}
		query = append(query, url.QueryEscape(q.name)+"="+url.QueryEscape(text))
	}
	f.Query = strings.Join(query, "&")
	for _, h := range c.headers {
		text, err := h.Render(s)
		if err == nil {
			err = checkHeader(text)
		}
		if err != nil {
			return nil, &FillError{h.key, err}
		}
		f.Headers = append(f.Headers, [2]string{h.name, text})
	}
	switch {
	case c.body != nil:
		if f.Body, err = c.body.render(s); err != nil {
			return nil, &FillError{c.Key + ".body", err}
		}
	case c.input:
		body := s.Case.Input.Clone()
		if err := body.Compact(); err != nil {
			return nil, &FillError{c.Key, err}
		}
		f.Body = body
	}
	return f, nil
}

// checkPath refuses a segment that is only dots, written or escaped: a server or
// a proxy would go up by it, to a place that the suite does not name.
func checkPath(path string) error {
	for s := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(s); err == nil && (plain == "." || plain == "..") {
			return fmt.Errorf("a segment of it is %q, which leads to another path", plain)
		}
	}
	return nil
}

// checkHeader refuses what would begin another header.
func checkHeader(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return errors.New("the value holds a line break or another control character, which no header may have")
	}
	return nil
}

// CheckCase asks that the case have what the templates name of it, that this may
// stand where it is put, and the depth where that comes from the case. A nil
// sequence names nothing.
func (s *Sequence) CheckCase(c *evidence.Case, depth *Mapping) []error {
	var faults []error
	scope := &Scope{Case: c}
	if depth != nil && depth.from != nil {
		if _, e := depth.Depth(c); e != nil {
			faults = append(faults, e)
		}
	}
	check := func(key string, parts []part, lone bool) {
		for _, p := range parts {
			if p.ref == nil || !strings.HasPrefix(p.ref.name, "case.") {
				continue
			}
			var err error
			if lone && len(parts) == 1 && !p.ref.tojson {
				_, err = p.ref.value(scope)
			} else {
				_, err = p.ref.text(scope)
			}
			if err != nil {
				faults = append(faults, &FillError{key, err})
			}
		}
	}
	if s == nil {
		return faults
	}
	fits := func(key string, t *Text, escape func(string) string, allowed func(string) error) {
		text, err := t.render(scope, escape)
		if err != nil {
			return // names more than the case, or was told above
		}
		if err := allowed(text); err != nil {
			faults = append(faults, &FillError{key, err})
		}
	}
	for _, call := range s.calls() {
		if call.path != nil {
			check(call.Key+".path", call.path.parts, false)
			fits(call.Key+".path", call.path, segment, checkPath)
		}
		for _, t := range slices.Concat(call.query, call.headers) {
			check(t.key, t.parts, false)
		}
		for _, t := range call.headers {
			fits(t.key, t.Text, nil, checkHeader)
		}
		if call.body != nil {
			for _, p := range call.body.parts {
				if p.text != nil {
					check(call.Key+".body", p.text.parts, true)
				}
			}
		}
	}
	return faults
}

// calls lists all requests of the sequence.
func (s *Sequence) calls() []*Call {
	all := slices.Concat(s.Before, []*Call{s.Main}, s.After)
	if s.Setup != nil {
		all = append(all, s.Setup)
	}
	if s.Poll != nil {
		all = append(all, &s.Poll.Call)
	}
	return all
}

// Polled is what the answer of a poll comes to.
type Polled int

// What the answer of a poll comes to.
const (
	PollAgain Polled = iota
	PollDone
	PollFailed
)

// Judge says whether the work is done. The answer of the poll is the main one.
// The error is an [*Error].
func (p *PollCall) Judge(d *Documents) (Polled, error) {
	a := &answer{Documents: d}
	if p.failed != nil {
		failed, _, f := p.failed.holds(a)
		if f != nil {
			return PollFailed, fail(evidence.ErrMapping, p.failed.spec.Key, p.failed.shown(), f)
		}
		if failed {
			return PollFailed, nil
		}
	}
	done, _, f := p.until.holds(a)
	switch {
	case f != nil:
		return PollFailed, fail(evidence.ErrMapping, p.until.spec.Key, p.until.shown(), f)
	case done:
		return PollDone, nil
	}
	return PollAgain, nil
}
