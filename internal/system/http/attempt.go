package httpsystem

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/stream"
)

const (
	// maxErrorBody is how much is read of a body that holds no answer, in bytes:
	// enough to show its start and to keep the connection in most cases.
	maxErrorBody = 64 << 10
	// firstRead bounds what is allocated before a byte has come, whatever length
	// the answer claims.
	firstRead = 64 << 10
	// maxHeader bounds the headers of an answer, in bytes.
	maxHeader = 1 << 20
	// dialTimeout bounds the making of a connection, so that a host that drops
	// packets is found dead in less than a minute. The attempt's deadline, which
	// is for answers, may be long.
	dialTimeout = 10 * time.Second
)

// call is what happens for one case. It travels in the context of its request,
// because that is all that the client hands to its callbacks.
type call struct {
	of       *evidence.Case
	given    map[string]evidence.Value // documents beside the case
	attempts []evidence.Attempt
	started  time.Time // of the first attempt
	waited   time.Duration
	last     answer
	idle     time.Duration // waited within the attempt
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// answer is what one attempt brought.
type answer struct {
	status      int // 0 when there was none
	contentType string
	location    string // of a redirect, without userinfo and query
	body        []byte // as much as was read
	retryAfter  time.Duration
	heard       bool          // text of a stream has come,
	firstText   time.Duration // so long after its request
	fault       *fault        // nil when a body came with a status of 2xx

	of        string             // which request of several it answers, for messages; "" is the case's
	url       string             // of that request, as it may be shown
	parsed    evidence.Value     // the body as JSON, once it was read
	documents *mapping.Documents // answers of the other requests
}

// fault is why there is no output.
type fault struct {
	kind   evidence.ErrorKind
	text   string // start of a sentence, which goes on with "from URL"
	retry  bool   // another attempt may help
	hint   string // what may be the reason; the end of the message
	around string // the object around a value that could not be mapped
}

// attempts makes the attempts of calls: each waits for the shared pause, has a
// deadline for the whole answer, and leaves in its call what it brought. The
// body of the response that it returns is read and closed, so that deadline
// and retries cover the body as well.
type attempts struct {
	base    http.RoundTripper
	timeout time.Duration
	maxBody int64
	now     func() time.Time
	pause   *pause
	// several makes the requests of an attempt; nil is the one that is given. It
	// takes at most longer than the timeout.
	several     func(*http.Request, *call) (*http.Response, answer)
	longer      time.Duration
	limit       *bucket
	home        *url.URL        // of the system
	credentials credentials     // nil is none
	stream      *stream.Options // of the answer of a case; nil: it comes in one piece
}

// RoundTrip implements [http.RoundTripper].
func (t *attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req.Context())
	waited, err := t.pause.wait(req.Context())
	c.waited += waited
	if err == nil {
		waited, err = t.limit.wait(req.Context())
		c.waited += waited
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout+t.longer)
	defer cancel()
	c.idle = 0
	start := t.now()
	var resp *http.Response
	var a answer
	if t.several == nil {
		resp, a = t.try(req.WithContext(ctx), t.stream)
	} else {
		resp, a = t.several(req.WithContext(ctx), c)
	}
	latency := t.now().Sub(start) - c.idle
	if a.fault != nil && req.Context().Err() != nil {
		return nil, req.Context().Err() // interrupted: not an attempt
	}
	if len(c.attempts) == 0 {
		c.started = start
	}
	c.last = a
	record := evidence.Attempt{HTTPStatus: a.status, LatencyMS: milliseconds(latency), WaitMS: milliseconds(c.waited)}
	if a.fault != nil {
		record.Error = a.fault.kind
	}
	c.attempts = append(c.attempts, record)
	c.waited = 0
	if a.retryAfter > 0 && (a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable || a.status == statusOverloaded) {
		t.pause.extend(t.now().Add(a.retryAfter))
	}
	return resp, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// try sends a request, with the credentials on it, and reads its answer. The
// response stands in for a real one: the client must neither read a body nor
// follow a redirect.
func (t *attempts) try(req *http.Request, o *stream.Options) (*http.Response, answer) {
	a := t.authorized(req, func(req *http.Request) answer { return t.exchange(req, o) })
	return seen(req, a.status), a
}

// exchange sends a request and reads its answer.
func (t *attempts) exchange(req *http.Request, o *stream.Options) answer {
	start := t.now()
	ctx := req.Context()
	var cancel context.CancelFunc
	if o != nil { // behind its end signal a stream may go on
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	var connecting atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connecting.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connecting.Store(false) },
	}))
	resp, err := t.base.RoundTrip(req)
	if err != nil && connecting.Load() {
		return answer{fault: t.connectFault(req.Context(), err)}
	}
	if err != nil {
		return answer{fault: t.transportFault(req.Context(), "no answer", err)}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	switch {
	case a.status >= 200 && a.status <= 299 && o != nil:
		if t.readStream(req.Context(), resp, o, start, &a) {
			drain(resp.Body, cancel)
		}
	case a.status >= 200 && a.status <= 299:
		t.readAnswer(req.Context(), resp, &a)
	default:
		a.location = location(resp)
		if a.status >= 200 { // what follows a 101 is no body
			body, _ := decoded(resp)
			a.body, _, _ = readAll(body, resp.ContentLength, maxErrorBody)
		}
		a.fault = statusFault(resp, a.body)
		if a.fault.retry {
			a.retryAfter = waitAsked(resp.Header, a.body, t.now())
		}
	}
	return a
}

// seen is a response that holds only its status.
func seen(req *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req}
}

// readAnswer reads the body of an answer with a status of 2xx.
func (t *attempts) readAnswer(ctx context.Context, resp *http.Response, a *answer) {
	body, err := decoded(resp)
	if err != nil {
		a.fault = &fault{kind: evidence.ErrContentType, text: err.Error()}
		return
	}
	limit := t.maxBody
	if resp.ContentLength > t.maxBody { // its start is enough
		limit = min(limit, maxErrorBody)
	}
	var more bool
	a.body, more, err = readAll(body, resp.ContentLength, limit)
	var corrupt flate.CorruptInputError
	switch {
	case more, resp.ContentLength > t.maxBody:
		a.fault = &fault{kind: evidence.ErrTooLarge, text: fmt.Sprintf("an answer of more than %d bytes", t.maxBody)}
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		a.fault = &fault{kind: evidence.ErrContentType, text: "a body that is not gzip, although the answer says so,"}
		a.body = nil
	case err != nil:
		a.fault = t.transportFault(ctx, fmt.Sprintf("a broken answer with status %d", a.status), err)
	case len(trim(a.body)) == 0:
		a.fault = &fault{kind: evidence.ErrEmptyBody, text: fmt.Sprintf("an empty body with status %s", statusText(a.status))}
	}
}

// decoded returns the body as it was before gzip. The transport has undone that
// itself unless the user's headers ask for it or the server does it unasked.
func decoded(resp *http.Response) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		resp.ContentLength = -1
		return &lazyGzip{source: resp.Body}, nil
	default:
		return bytes.NewReader(nil), fmt.Errorf("an answer with content encoding %s (gzip and none are understood)", clean(encoding, 40))
	}
}

// lazyGzip reads the gzip header at the first read, so that its errors come
// where those of the body come. An empty body is empty.
type lazyGzip struct {
	source io.Reader
	zip    *gzip.Reader
}

func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.zip == nil {
		zip, err := gzip.NewReader(l.source)
		if err != nil {
			return 0, err
		}
		l.zip = zip
	}
	return l.zip.Read(p)
}

// readAll reads up to limit bytes; more says that there were more. size is the
// length that the sender claims, or -1.
func readAll(r io.Reader, size, limit int64) (body []byte, more bool, err error) {
	first := int64(4 << 10)
	if size >= 0 {
		first = min(size, firstRead)
	}
	body = make([]byte, 0, first+1) // one more, to meet the end without growing
	for {
		if int64(len(body)) > limit {
			return body[:limit], true, nil
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, int(min(int64(len(body)), limit+1-int64(len(body)))))
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body[:min(int64(len(body)), limit)], int64(len(body)) > limit, nil
		}
		if err != nil {
			return body, false, err
		}
	}
}

// connectFault says why there was no connection. A host that lets the deadline
// pass is one that cannot be reached, as one that refuses is, not a slow one.
func (t *attempts) connectFault(ctx context.Context, err error) *fault {
	if ctx.Err() != nil {
		return &fault{kind: evidence.ErrConnection, text: fmt.Sprintf("no connection within %s", t.timeout), retry: true}
	}
	return &fault{kind: evidence.ErrConnection, text: fmt.Sprintf("no answer (%s)", reason(err)), retry: !isPermanent(err), hint: netguard.Hint(err)}
}

// transportFault says why no whole answer came.
func (t *attempts) transportFault(ctx context.Context, what string, err error) *fault {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		text := fmt.Sprintf("no answer within %s", t.timeout)
		if what != "no answer" {
			text = fmt.Sprintf("%s, not complete within %s,", what, t.timeout)
		}
		return &fault{kind: evidence.ErrTimeout, text: text, retry: true}
	}
	return &fault{
		kind:  evidence.ErrConnection,
		text:  fmt.Sprintf("%s (%s)", what, reason(err)),
		retry: !isPermanent(err),
	}
}

// statusFault says what a status outside 2xx means.
func statusFault(resp *http.Response, body []byte) *fault {
	status := resp.StatusCode
	if status >= 300 && status <= 399 {
		return &fault{kind: evidence.ErrRedirect, text: "a redirect with status " + statusText(status)}
	}
	text := "status " + statusText(status)
	if code := quotaCode(resp, body); code != "" {
		return &fault{kind: evidence.ErrQuota, text: text + ", which says that the quota is used up (" + code + "): raise it or use another key, since waiting does not help,"}
	}
	retry := isTransient(status)
	switch strings.ToLower(resp.Header.Get("X-Should-Retry")) {
	case "true":
		retry = status >= 400
	case "false":
		retry = false
	}
	return &fault{kind: evidence.ErrStatus, text: text, retry: retry}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// location returns the target of a redirect, without userinfo and query, or "".
func location(resp *http.Response) string {
	if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.Header.Get("Location") == "" {
		return ""
	}
	target, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
	if err != nil {
		return "an address that is none"
	}
	return shown(target)
}

// document returns the answer as JSON, or why it is none.
func (a *answer) document() (evidence.Value, *fault) {
	if a.fault != nil {
		return nil, a.fault
	}
	if a.parsed != nil {
		return a.parsed, nil
	}
	body := trim(a.body)
	if looksLikeStream(mediaType(a.contentType), body) {
		return nil, &fault{kind: evidence.ErrContentType, text: "an answer that is a stream (write under system.http.stream how it is put together)"}
	}
	if kind := mediaType(a.contentType); !mayBeJSON(kind) {
		text := fmt.Sprintf("an answer of content type %s, not JSON,", clean(kind, 80))
		if body[0] == '{' || body[0] == '[' {
			text = fmt.Sprintf("an answer of content type %s (if it is JSON, the service must say application/json)", clean(kind, 80))
		}
		return nil, &fault{kind: evidence.ErrContentType, text: text}
	}
	v, err := evidence.ParseJSON(body)
	if err != nil {
		return nil, &fault{kind: evidence.ErrInvalidJSON, text: fmt.Sprintf("an answer with status %d that is not valid JSON, %s,", a.status, err)}
	}
	return v, nil
}

// mediaType returns the type of a Content-Type header, without parameters.
func mediaType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// mayBeJSON reports whether a body of this type is read as JSON: a JSON type,
// and what servers send when nobody chose a type.
func mayBeJSON(kind string) bool {
	switch kind {
	case "", "application/json", "text/json", "application/x-json", "text/plain":
		return true
	}
	return strings.HasSuffix(kind, "+json")
}

// NewTransport returns the transport of a system without one: proxies from the
// environment, HTTP/2 over TLS, and a connection kept open for each of the calls
// that there are at one time, at least 1.
func NewTransport(concurrency int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           concurrency,
		MaxIdleConnsPerHost:    concurrency,
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        90 * time.Second, // that of http.DefaultTransport
	}
}
