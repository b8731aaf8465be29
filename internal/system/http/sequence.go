package httpsystem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/stream"
)

// sequence makes the requests of one attempt: setup, those before, that of the
// case, its poll, and those after. The answer that it returns is that of the
// case, or that of the first request that failed.
type sequence struct {
	s     *System
	t     *attempts
	req   *http.Request // a request of the case without templates, its context the attempt's
	scope mapping.Scope
	docs  mapping.Documents
	sent  int // requests so far
}

// several lets the attempts make all the requests of the suite.
func (s *System) several(t *attempts) {
	if p := s.cfg.Calls.Poll; p != nil {
		t.longer = p.Deadline
	}
	if t.limit != nil { // the further requests wait for their turn within the attempt
		t.longer += time.Duration(s.cfg.Calls.Further()*s.cfg.Concurrency) * t.limit.every
	}
	t.several = func(req *http.Request, c *call) (*http.Response, answer) {
		q := &sequence{s: s, t: t, req: req, docs: mapping.Documents{Named: map[string]evidence.Value{}}}
		maps.Copy(q.docs.Named, c.given)
		q.scope = mapping.Scope{Case: c.of, Docs: &q.docs, UUID: s.cfg.UUID(), Attempt: len(c.attempts) + 1}
		a := q.attempt()
		a.documents = &q.docs
		return seen(req, a.status), a
	}
}

func (q *sequence) attempt() answer {
	calls, m := q.s.cfg.Calls, q.s.cfg.Mapping
	if m != nil {
		var err *mapping.Error
		if q.scope.Depth, err = m.Depth(q.scope.Case); err != nil {
			return answer{fault: &fault{kind: err.Kind, text: err.Error()}}
		}
	}
	if calls.Setup != nil {
		if a := q.further(calls.Setup); a.fault != nil {
			return a
		}
	}
	for _, call := range calls.Before {
		if a := q.further(call); a.fault != nil {
			return a
		}
	}
	main := q.send(calls.Main)
	if calls.Single() || main.fault != nil {
		return main
	}
	if q.docs.Main, main.fault = main.document(); main.fault != nil {
		return main
	}
	q.docs.Frames = q.s.frames(q.docs.Main)
	main.parsed = q.docs.Main
	if calls.Poll != nil {
		q.docs.Accepted = q.docs.Main
		if main = q.poll(calls.Poll); main.fault != nil {
			return main
		}
	}
	if m != nil && m.Check(&q.docs) != nil {
		return main // an answer that is none has nothing to ask after
	}
	for _, call := range calls.After {
		if a := q.further(call); a.fault != nil {
			return a
		}
	}
	return main
}

// further makes a request beside that of the case and keeps its answer. An
// empty body is none, and no fault.
func (q *sequence) further(call *mapping.Call) answer {
	a := q.send(call)
	var document evidence.Value
	if a.fault != nil && a.fault.kind == evidence.ErrEmptyBody {
		a.fault, document = nil, evidence.Value("null")
	} else if a.fault == nil {
		document, a.fault = a.document()
	}
	if a.fault != nil {
		a.of = call.Key
		return a
	}
	if call.Name == mapping.Setup {
		q.docs.Setup = document
	} else {
		q.docs.Named[call.Name] = document
	}
	return a
}

// poll asks until the work is done, has failed, or takes too long. An answer
// that asks for another attempt, as when there are too many requests, is asked
// again.
func (q *sequence) poll(p *mapping.PollCall) answer {
	end := q.s.cfg.Now().Add(p.Deadline)
	var last answer
	for wait := p.Interval; ; {
		if q.s.cfg.Now().Add(wait).After(end) {
			text := fmt.Sprintf("the work is not done within %s (poll.deadline_s)", p.Deadline)
			if last.status != 0 {
				text += ", the last answer has status " + statusText(last.status) + ","
			} else if last.fault != nil {
				text += ", at last " + last.fault.text + ","
			}
			return answer{of: p.Key, url: last.url, status: last.status, body: last.body, fault: &fault{kind: evidence.ErrTimeout, text: text, retry: true}}
		}
		if err := q.s.cfg.Sleep(q.req.Context(), wait); err != nil {
			return answer{of: p.Key, fault: q.t.transportFault(q.req.Context(), "no answer", err)}
		}
		a := q.send(&p.Call)
		last, wait = a, p.Interval
		if a.fault != nil && a.fault.retry && q.req.Context().Err() == nil {
			wait = max(wait, a.retryAfter)
			continue
		}
		if a.fault == nil {
			q.docs.Main, a.fault = a.document()
		}
		if a.fault != nil {
			a.of = p.Key
			return a
		}
		a.parsed = q.docs.Main
		switch state, err := p.Judge(&q.docs); {
		case err != nil:
			a.fault = faultOf(err)
			return a
		case state == mapping.PollFailed:
			text := "the work has failed (poll.fail_when holds)"
			if q.s.cfg.Mapping != nil {
				if message := q.s.cfg.Mapping.Message(&q.docs); message != "" {
					text += ": " + message
				}
			}
			a.fault = &fault{kind: evidence.ErrReported, text: text}
			return a
		case state == mapping.PollDone:
			return a
		}
	}
}

// send fills in a request, sends it and reads its answer.
func (q *sequence) send(call *mapping.Call) answer {
	filled, err := call.Fill(&q.scope)
	if err != nil {
		return answer{fault: &fault{kind: evidence.ErrMapping, text: "a request that cannot be filled in, " + err.Error() + ", no answer"}}
	}
	req, err := q.s.request(q.req, filled)
	if err != nil {
		return answer{fault: &fault{kind: evidence.ErrMapping, text: "a request that cannot be made, " + call.Key + ": " + reason(err) + ", no answer"}}
	}
	if q.sent++; q.sent > 1 { // the attempt itself has waited for the first
		waited, err := q.t.limit.wait(req.Context())
		callOf(req.Context()).idle += waited
		if err != nil {
			return answer{fault: q.t.transportFault(req.Context(), "no answer", err)}
		}
	}
	var pieces *stream.Options
	if call == q.s.cfg.Calls.Main {
		pieces = q.s.cfg.Stream
	}
	_, a := q.t.try(req, pieces)
	a.url = q.s.cfg.Redact.String(shown(req.URL))
	return a
}

// request makes the request of what was filled in. The headers of the system go
// to its own scheme, host and port only.
func (s *System) request(base *http.Request, f *mapping.Filled) (*http.Request, error) {
	u := *s.template.URL
	own := true
	if f.URL != "" {
		other, err := url.Parse(f.URL)
		if err != nil {
			return nil, withoutURL(err)
		}
		own = strings.EqualFold(other.Scheme, u.Scheme) && strings.EqualFold(other.Host, u.Host)
		u = *other
	}
	if f.Path != "" {
		path := strings.TrimSuffix(u.EscapedPath(), "/") + f.Path
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return nil, fmt.Errorf("its path is no path of a URL: %w", err)
		}
		u.Path, u.RawPath = decoded, path
	}
	if f.Query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+f.Query, "&")
	}
	var body io.Reader = http.NoBody
	if f.Body != nil {
		body = bytes.NewReader(f.Body)
	}
	req, err := http.NewRequestWithContext(base.Context(), f.Method, u.String(), body)
	if err != nil {
		return nil, withoutURL(err)
	}
	switch {
	case own: // with the credentials that the client made of the URL
		req.Header, req.Host = base.Header.Clone(), s.template.Host
	case u.User != nil:
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
		fallthrough
	default:
		setOwnHeaders(req, s.cfg)
	}
	if f.Body == nil {
		req.Header.Del("Content-Type")
	}
	for _, h := range f.Headers {
		if http.CanonicalHeaderKey(h[0]) == "Host" {
			req.Host = h[1]
			continue
		}
		req.Header.Set(h[0], h[1])
	}
	return req, nil
}

// mapped fills in an execution by the mapping.
func (s *System) mapped(e *evidence.Execution, c *evidence.Case, call *call, document evidence.Value) error {
	documents := call.last.documents
	if documents == nil {
		documents = &mapping.Documents{}
	}
	documents.Main = document
	if documents.Frames == nil {
		documents.Frames = s.frames(document)
	}
	result, err := s.cfg.Mapping.Map(documents, c)
	var broken *evidence.ContractError
	switch {
	case errors.As(err, &broken):
		broken.Problem, broken.Found = s.safe(broken.Problem, maxReason), s.quoted(broken.Found, maxSnippet)
		broken.Around, broken.Path = s.quoted(broken.Around, maxAround), s.safe(broken.Path, maxReason)
		return broken
	case err != nil:
		s.fail(e, &call.last, faultOf(err))
		return nil
	}
	e.Output, e.RawOutput, e.Artifacts, e.Usage = result.Output, result.Raw, result.Artifacts, result.Usage
	return nil
}

// frames is the list of the frames of a stream that is collected, else nil.
func (s *System) frames(document evidence.Value) evidence.Value {
	if s.cfg.Stream != nil && s.cfg.Stream.Assemble == stream.Collect && document.Kind() == '[' {
		return document
	}
	return nil
}

// faultOf makes a fault of what a mapping says.
func faultOf(err error) *fault {
	var e *mapping.Error
	if !errors.As(err, &e) {
		return &fault{kind: evidence.ErrMapping, text: err.Error()}
	}
	text := "an answer that cannot be mapped, " + e.Error() + ","
	switch e.Kind {
	case evidence.ErrMissingOutput:
		text = "an answer without output, " + e.Error() + ","
	case evidence.ErrReported:
		text = fmt.Sprintf("an error in an answer that %s finds: %s,", e.Key, e.Text)
	}
	return &fault{kind: e.Kind, text: text, around: e.Around}
}
