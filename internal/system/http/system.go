// Package httpsystem calls a system under test over HTTP: one request for each
// case, repeated when that may help, and from its answer the output and the
// artifacts.
package httpsystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/stream"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// Config says what to call and how.
type Config struct {
	URL        string        // http or https; userinfo becomes basic authentication
	Method     string        // each method sends the case's input as its body, GET too
	Headers    [][2]string   // name and value; they win over our own
	Timeout    time.Duration // for an attempt, the whole answer read
	OutputPath string        // dotted path of the output in the answer; "" is all of it
	Artifacts  []suite.ArtifactPath
	// Mapping says what an answer means, in place of OutputPath and Artifacts; nil
	// leaves it to those. Calls are the requests of each attempt; nil is one, with
	// the case's input as its body. UUID returns a new id for each attempt; it is
	// needed with Calls and safe for concurrent use.
	Mapping *mapping.Mapping
	Calls   *mapping.Sequence
	UUID    func() string
	MaxBody int64 // largest answer, in bytes after decompression
	// Stream says how the answer of a case that comes in pieces is put together.
	// Nil: it comes in one.
	Stream *stream.Options
	// Auth tells the service who calls, its secrets filled in. Nil: what Headers
	// hold. Command runs the program of its kind command and returns what that
	// prints.
	Auth    *suite.Auth
	Command func(context.Context) ([]byte, error)
	// Limits bound how often the service is called; those of the run are the
	// caller's.
	Limits suite.Limits
	// Concurrency is how many calls there are at one time, hence how many
	// connections are kept open.
	Concurrency int
	UserAgent   string
	// Redact takes secrets out of what is said of errors. Outputs and artifacts
	// are left as they came, so that they are judged as they are: the runner
	// redacts them before they are kept.
	Redact *redact.Redactor

	Now    func() time.Time                                 // the clock
	Sleep  func(ctx context.Context, d time.Duration) error // waits; ends early with the context's error
	Random func() float64                                   // uniform in [0,1); safe for concurrent use

	// Transport makes the requests. Nil is that of [NewTransport]. Another one's
	// connections are its owner's to close.
	Transport http.RoundTripper
}

// System is an HTTP endpoint under test. It is safe for concurrent use.
type System struct {
	cfg      Config
	shownURL string // without userinfo and query, redacted
	template *http.Request
	client   *retryablehttp.Client
	pause    *pause
	close    func()
}

var _ runner.System = (*System)(nil)

// New checks the configuration and returns the system. It calls nothing.
func New(cfg Config) (*System, error) {
	if err := check(cfg); err != nil {
		return nil, err
	}
	template, err := http.NewRequest(cfg.Method, cfg.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("url or method of the system: %w", withoutURL(err))
	}
	if template.URL.Scheme != "http" && template.URL.Scheme != "https" || template.URL.Hostname() == "" {
		return nil, errors.New("url of the system: want http://HOST/PATH or https://HOST/PATH")
	}
	if err := setHeaders(template, cfg); err != nil {
		return nil, err
	}
	s := &System{
		cfg:      cfg,
		shownURL: cfg.Redact.String(shown(template.URL)),
		template: template,
		pause:    &pause{now: cfg.Now, sleep: cfg.Sleep},
		close:    func() {},
	}
	base := cfg.Transport
	if base == nil {
		own := NewTransport(cfg.Concurrency)
		base, s.close = own, own.CloseIdleConnections
	}
	if s.client, err = s.newClient(base); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the connections that are kept open.
func (s *System) Close() { s.close() }

func check(cfg Config) error {
	switch {
	case cfg.Now == nil || cfg.Sleep == nil || cfg.Random == nil:
		return errors.New("an HTTP system needs a clock, a way to wait and a source of random numbers")
	case cfg.Timeout <= 0:
		return fmt.Errorf("timeout of the system: want more than 0, found %s", cfg.Timeout)
	case cfg.MaxBody <= 0:
		return fmt.Errorf("largest answer of the system: want at least 1 byte, found %d", cfg.MaxBody)
	case cfg.Calls != nil && cfg.UUID == nil:
		return errors.New("requests with templates need a source of ids")
	case cfg.Concurrency < 1:
		return fmt.Errorf("concurrency of the system: want at least 1, found %d", cfg.Concurrency)
	}
	return nil
}

// setHeaders puts our headers and then the user's on every request.
func setHeaders(req *http.Request, cfg Config) error {
	setOwnHeaders(req, cfg)
	seen := map[string]bool{}
	for _, h := range cfg.Headers {
		name := http.CanonicalHeaderKey(h[0])
		switch {
		case !isToken(h[0]):
			return fmt.Errorf("header %q of the system: a name holds letters, digits and !#$%%&'*+-.^_`|~ only", h[0])
		case strings.ContainsFunc(h[1], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf("header %s of the system: its value holds a control character, such as the end of a line", h[0])
		case name == "Host":
			req.Host = h[1]
		case seen[name]:
			req.Header.Add(name, h[1])
		default:
			req.Header.Set(name, h[1])
		}
		seen[name] = true
	}
	return nil
}

func setOwnHeaders(req *http.Request, cfg Config) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "*/*")
	if cfg.UserAgent != "" {
		req.Header.Set("User-Agent", cfg.UserAgent)
	}
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// Execute calls the system for one case. See [runner.System].
func (s *System) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	return s.ExecuteWith(ctx, c, nil)
}

// ExecuteWith calls the system for one case, with documents beside it that the
// requests and the mapping may name.
func (s *System) ExecuteWith(ctx context.Context, c *evidence.Case, given map[string]evidence.Value) (evidence.Execution, error) {
	call := &call{of: c, given: given}
	req := &retryablehttp.Request{Request: s.template.WithContext(context.WithValue(ctx, callKey{}, call))}
	if s.cfg.Calls == nil {
		body := c.Input.Clone()
		if err := body.Compact(); err != nil {
			return evidence.Execution{}, fmt.Errorf("input of case %s: %w", c.ID, err)
		}
		if err := req.SetBody([]byte(body)); err != nil {
			return evidence.Execution{}, err
		}
	}
	_, err := s.client.Do(req) // what was seen is in the call, its body read and closed
	if len(call.attempts) == 0 || call.last.fault != nil {
		if ctx.Err() != nil {
			return evidence.Execution{}, ctx.Err()
		}
		if len(call.attempts) == 0 {
			return evidence.Execution{}, fmt.Errorf("the request for case %s could not be made: %s", c.ID, s.safe(reason(err), maxReason))
		}
	}
	return s.read(c, call)
}

// read makes an execution of the last answer of a call. It looks at the answer
// in one order: transport, status, content type, JSON, output, artifacts.
func (s *System) read(c *evidence.Case, call *call) (evidence.Execution, error) {
	e := evidence.Execution{
		Status:    evidence.StatusOK,
		Attempts:  call.attempts,
		StartedAt: call.started,
		LatencyMS: call.attempts[len(call.attempts)-1].LatencyMS,
	}
	document, fault := call.last.document()
	if s.cfg.Mapping != nil && fault == nil {
		if err := s.mapped(&e, c, call, document); err != nil {
			return evidence.Execution{}, err
		}
		call.timed(&e)
		return e, nil
	}
	if fault == nil {
		e.Output, fault = s.output(document)
	}
	if fault != nil {
		s.fail(&e, &call.last, fault)
		return e, nil
	}
	if call.last.heard {
		first := milliseconds(call.last.firstText)
		e.Usage = &evidence.Usage{FirstTokenMS: &first}
	}
	if err := s.artifacts(c, document, &e.Artifacts); err != nil {
		return evidence.Execution{}, err
	}
	call.timed(&e)
	return e, nil
}

// timed records when the first text of a streamed answer came.
func (c *call) timed(e *evidence.Execution) {
	if !c.last.heard || e.Error != nil {
		return
	}
	if e.Usage == nil {
		e.Usage = &evidence.Usage{}
	}
	first := milliseconds(c.last.firstText)
	e.Usage.FirstTokenMS = &first
}

// output takes the output out of an answer. JSON null is an output.
func (s *System) output(document evidence.Value) (evidence.Value, *fault) {
	output, err := evidence.Lookup(document, s.cfg.OutputPath)
	if err != nil {
		return nil, &fault{kind: evidence.ErrMissingOutput, text: "an answer without output, " + err.Error() + ","}
	}
	return output, nil
}

// artifacts takes the artifacts out of an answer.
func (s *System) artifacts(c *evidence.Case, document evidence.Value, into *evidence.Artifacts) error {
	for _, a := range s.cfg.Artifacts {
		v, err := evidence.Lookup(document, a.Path)
		if a.Optional && (err != nil || evidence.IsNull(v)) {
			continue
		}
		if err != nil {
			return &evidence.ContractError{CaseID: c.ID, Artifact: a.Kind, Path: a.Path, Problem: evidence.ProblemMissing, Found: s.safe(err.Error(), maxReason)}
		}
		if evidence.IsNull(v) { // kinds without a schema would take it
			err = errors.New("want an artifact, found null")
		} else {
			err = evidence.DecodeArtifact(a.Kind, v, into)
		}
		if err != nil {
			return &evidence.ContractError{CaseID: c.ID, Artifact: a.Kind, Path: a.Path, Problem: s.safe(err.Error(), maxReason), Found: s.safe(start(v), maxSnippet)}
		}
	}
	return nil
}

// fail writes what went wrong into an execution.
func (s *System) fail(e *evidence.Execution, a *answer, f *fault) {
	e.Status = evidence.StatusError
	if f.kind == evidence.ErrTimeout {
		e.Status = evidence.StatusTimeout
	}
	e.Attempts[len(e.Attempts)-1].Error = f.kind
	snippet := s.quoted(start(trim(a.body)), maxSnippet)
	url := s.shownURL
	if a.url != "" {
		url = a.url
	}
	e.Error = &evidence.ExecutionError{
		Kind:       f.kind,
		HTTPStatus: a.status,
		URL:        url,
		Snippet:    snippet,
	}
	var message strings.Builder
	if a.of != "" {
		message.WriteString(a.of + ": ")
	}
	message.WriteString(s.safe(f.text, maxReason))
	message.WriteString(" from " + url)
	if a.location != "" {
		e.Error.URL = s.safe(a.location, maxReason)
		message.WriteString(" to " + e.Error.URL + " (redirects are not followed: put the final address into url)")
	}
	if n := len(e.Attempts); n > 1 {
		fmt.Fprintf(&message, " after %d attempts", n)
	}
	switch {
	case f.around != "":
		message.WriteString(", around it: " + s.quoted(f.around, maxAround))
	case snippet != "":
		message.WriteString(", the body starts: " + snippet)
	}
	if f.hint != "" {
		message.WriteString("; " + f.hint)
	}
	e.Error.Message = message.String()
}

// shown returns a URL as it may be shown: without userinfo, query and fragment.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// PublicURL returns a URL as it may be shown: without userinfo, query and
// fragment. What is no URL is not shown at all.
func PublicURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return shown(u)
}

// start returns as much of b as an error can need.
func start(b []byte) string { return string(b[:min(len(b), maxErrorBody)]) }

// trim drops the byte order mark that some servers put before JSON, and white space.
func trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
}
