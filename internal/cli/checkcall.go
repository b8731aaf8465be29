package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/runner"
)

// exchange is one request of a call and what came back, as far as it tells
// something of the endpoint.
type exchange struct {
	host      string
	addresses []string // that the name led to; nil when nothing was looked up
	lookup    time.Duration
	connect   time.Duration // until the request could be sent, on a new connection
	state     *tls.ConnectionState
	status    int
	header    http.Header // of the answer
	sent      []string    // names of headers that carry a secret
	body      bytes.Buffer
	err       error
}

// maxWatched is how much of a body is looked at.
const maxWatched = 1 << 20

// watch looks at the requests of a system.
type watch struct {
	base http.RoundTripper
	now  func() time.Time
	mu   sync.Mutex
	all  []*exchange
}

// RoundTrip implements [http.RoundTripper].
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{host: req.URL.Hostname()}
	for name := range req.Header {
		if secretHeader(name) {
			x.sent = append(x.sent, name)
		}
	}
	slices.Sort(x.sent)
	w.mu.Lock()
	w.all = append(w.all, x)
	w.mu.Unlock()
	var asked, wanted time.Time
	trace := &httptrace.ClientTrace{
		GetConn:  func(string) { wanted = w.now() },
		DNSStart: func(httptrace.DNSStartInfo) { asked = w.now() },
		DNSDone: func(d httptrace.DNSDoneInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			x.lookup = w.now().Sub(asked)
			for _, a := range d.Addrs {
				x.addresses = append(x.addresses, a.String())
			}
		},
		GotConn: func(c httptrace.GotConnInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !c.Reused {
				x.connect = w.now().Sub(wanted)
			}
		},
	}
	resp, err := w.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	w.mu.Lock()
	defer w.mu.Unlock()
	x.err = err
	if resp != nil {
		x.status, x.header, x.state = resp.StatusCode, resp.Header, resp.TLS
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, &limited{&x.body}), resp.Body}
	}
	return resp, err
}

// limited keeps the beginning of what is written.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), max(maxWatched-l.b.Len(), 0))])
	return len(p), nil
}

// first is the first exchange with a host, or else the first of all: one with
// an issuer of tokens may come before it.
func (w *watch) first(host string) *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.all {
		if e.host == host {
			return e
		}
	}
	if len(w.all) == 0 {
		return nil
	}
	return w.all[0]
}

// host is the name that the suite calls.
func (x *activeRun) host() string {
	u, err := url.Parse(x.resolved.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// endpointLine prints one line of what was found.
func endpointLine(out io.Writer, what, format string, args ...any) {
	fmt.Fprintf(out, "  %-11s %s\n", what, report.Clean(fmt.Sprintf(format, args...)))
}

// describeConnection says how the endpoint is reached: its address, its
// certificate, and whether it lets us in.
func (x *activeRun) describeConnection(w *watch) {
	out := x.env.Stdout
	e := w.first(x.host())
	if e == nil {
		return
	}
	fmt.Fprintf(out, "\nEndpoint:\n")
	switch {
	case len(e.addresses) > 1:
		endpointLine(out, "address", "%s is %s and %d more, looked up in %s", e.host, e.addresses[0], len(e.addresses)-1, millis(e.lookup))
	case len(e.addresses) == 1:
		endpointLine(out, "address", "%s is %s, looked up in %s", e.host, e.addresses[0], millis(e.lookup))
	default:
		endpointLine(out, "address", "%s, nothing to look up", e.host)
	}
	switch {
	case e.state != nil:
		endpointLine(out, "TLS", "%s", certificate(e.state, x.env.Now()))
	case tlsTrouble(e.err) != "":
		endpointLine(out, "TLS", "%s", tlsTrouble(e.err))
	case e.status != 0 && strings.HasPrefix(x.resolved.URL, "http://") && !isLocal(e.host):
		endpointLine(out, "TLS", "none: questions, answers and credentials go in the clear")
	}
	last := w.last()
	sent := slices.Clone(last.sent)
	if a := x.project.suite.System.HTTP.Auth; a != nil {
		switch name := http.CanonicalHeaderKey(a.Name); {
		case a.Kind == "query":
			sent = append(sent, "the parameter "+a.Name)
		case a.Kind == "header" && !slices.Contains(sent, name):
			sent = append(sent, name)
		}
	}
	for _, h := range x.project.suite.System.HTTP.Headers {
		if name := http.CanonicalHeaderKey(h.Name); strings.Contains(h.Value, "${") && !slices.Contains(sent, name) {
			sent = append(sent, name)
		}
	}
	switch with := strings.Join(sent, ", "); {
	case last.status == http.StatusUnauthorized && with == "":
		endpointLine(out, "auth", "401: the service wants to know who calls, and nothing was sent; add system.http.auth")
	case last.status == http.StatusUnauthorized:
		endpointLine(out, "auth", "401: what %s holds does not let us in: is it the right value, and has it expired?", with)
	case last.status == http.StatusForbidden && with == "":
		endpointLine(out, "auth", "403: refused, and nothing was sent that says who calls; add system.http.auth")
	case last.status == http.StatusForbidden:
		endpointLine(out, "auth", "403: the service knows who calls by %s and refuses: it may lack a role, or this address may not call", with)
	case last.status >= 400 || last.status == 0:
	case with == "":
		endpointLine(out, "auth", "nothing sent, nothing asked for")
	default:
		endpointLine(out, "auth", "let in with %s", with)
	}
}

func (w *watch) last() *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[len(w.all)-1]
}

func isLocal(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// soon is how many days before its end a certificate is worth a word.
const soon = 14

// certificate describes a connection and the certificate behind it.
func certificate(s *tls.ConnectionState, now time.Time) string {
	text := tls.VersionName(s.Version)
	if len(s.PeerCertificates) == 0 {
		return text
	}
	c := s.PeerCertificates[0]
	names := c.DNSNames
	if len(names) == 0 {
		names = []string{c.Subject.CommonName}
	}
	issuer := c.Issuer.CommonName
	if issuer == "" {
		issuer = strings.Join(c.Issuer.Organization, " ")
	}
	days := int(math.Floor(c.NotAfter.Sub(now).Hours() / 24))
	text += fmt.Sprintf(", certificate of %s by %s, good until %s (%d days)", names[0], issuer, c.NotAfter.UTC().Format(time.DateOnly), days)
	if days < soon {
		text += ": renew it before a run meets its end"
	}
	return text
}

// tlsTrouble explains why a certificate was not taken; "" when that is not what
// went wrong.
func tlsTrouble(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "the certificate comes from an authority that this machine does not know: name its certificate in system.http.tls.ca"
	case errors.As(err, &host):
		return "the certificate is for another name: call the service by the name it has, or let the certificate name this one"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or the clock of this machine is wrong"
	case errors.As(err, &invalid):
		return "the certificate cannot be used: " + invalid.Error()
	case errors.As(err, &record):
		return "the service speaks no TLS here: begin the URL with http://, or name its TLS port"
	}
	return ""
}

// describeCalls calls the case again and says what two calls tell: latency, rate
// limits, whether cases see each other, and what the whole suite will take.
func (x *activeRun) describeCalls(ctx context.Context, s *system, w *watch, c *evidence.Case, first *evidence.Execution, once bool) error {
	out := x.env.Stdout
	latency := first.LatencyMS
	var second *evidence.Execution
	var before int
	if w != nil {
		before = len(w.all)
	}
	if !once {
		e, err := s.Execute(ctx, c)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			runner.Redact(x.redact, &e, nil)
			second = &e
		}
	}
	if w == nil {
		fmt.Fprintf(out, "\nSystem:\n")
	}
	switch {
	case second != nil && second.Error == nil && w != nil && w.first(x.host()).connect > 0:
		latency = second.LatencyMS
		endpointLine(out, "latency", "%.1f ms with the connection (%s), %.1f ms on the second call", first.LatencyMS, millis(w.first(x.host()).connect), latency)
	case second != nil && second.Error == nil:
		latency = second.LatencyMS
		endpointLine(out, "latency", "%.1f ms, %.1f ms on the second call", first.LatencyMS, latency)
	default:
		endpointLine(out, "latency", "%.1f ms", latency)
	}
	if w != nil {
		x.describeLimits(w)
	}
	if second != nil {
		x.describeSessions(w, before, first, second)
	}
	endpointLine(out, "whole suite", "%s", x.price(latency, max(1, before), s.bounded(x.project.suite.Concurrency.System)))
	return nil
}

// describeLimits repeats what the service said of its limits.
func (x *activeRun) describeLimits(w *watch) {
	seen := map[string]string{}
	for _, e := range w.all {
		for name, values := range e.header {
			k := strings.ToLower(name)
			if (strings.Contains(k, "ratelimit") || strings.Contains(k, "rate-limit") || strings.HasPrefix(k, "retry-after") || strings.Contains(k, "quota")) && len(values) > 0 {
				seen[name] = x.redact.String(values[0])
			}
		}
	}
	if len(seen) == 0 {
		endpointLine(x.env.Stdout, "rate limits", "none said")
		return
	}
	var all []string
	cases := x.project.data.Len()
	short := ""
	for name, value := range seen {
		all = append(all, name+": "+value)
		k := strings.ToLower(name)
		if left, err := strconv.Atoi(value); err == nil && strings.Contains(k, "remaining") && !strings.Contains(k, "token") && left < cases {
			short = fmt.Sprintf("; %d requests are left and the suite has %s: set system.http.limits", left, countCases(cases))
		}
	}
	slices.Sort(all)
	endpointLine(x.env.Stdout, "rate limits", "%s%s", strings.Join(all, ", "), short)
}

var sessionInBody = lazily(`"((?i:session|conversation|chat|thread)_?(?i:id))"\s*:\s*"([^"\\]{1,200})"`)

// sessions returns the ids of sessions in the bodies of exchanges, by their keys.
func sessions(all []*exchange) map[string]string {
	found := map[string]string{}
	for _, e := range all {
		for _, m := range sessionInBody().FindAllSubmatch(e.body.Bytes(), -1) {
			found[string(m[1])] = string(m[2])
		}
	}
	return found
}

// describeSessions says whether two calls of one case show that cases see each
// other, and what that cannot tell.
func (x *activeRun) describeSessions(w *watch, before int, first, second *evidence.Execution) {
	label := "sessions"
	say := func(format string, args ...any) {
		endpointLine(x.env.Stdout, label, format, args...)
		label = ""
	}
	if second.Error != nil {
		say("the second call of the same case failed: %s", second.Error.Message)
		return
	}
	same := bytes.Equal(first.Output, second.Output)
	sources := slices.Equal(sourceIDs(first), sourceIDs(second))
	switch {
	case same && sources:
		say("the case twice: the same answer and the same sources")
	case same:
		say("the case twice: the same answer, other sources")
	case sources && len(sourceIDs(first)) > 0:
		say("the case twice: another answer from the same sources, as a model's own variation gives")
	default:
		say("the case twice: another answer; a model varies, and a session that goes on does too")
	}
	told := false
	if w != nil && before < len(w.all) {
		one, two := sessions(w.all[:before]), sessions(w.all[before:])
		for _, key := range sortedKeys(one) {
			switch other, ok := two[key]; {
			case !ok:
			case other == one[key]:
				told = true
				say("both calls were in one session (%s): cases may see each other; send a new id with each, such as {{uuid}}, or open one under setup", key)
			default:
				told = true
				say("each call had a session of its own (%s)", key)
			}
		}
	}
	if a, b := inputTokens(first), inputTokens(second); a > 0 && b > a {
		told = true
		say("the same question took %d input tokens, then %d: the service seems to add what was said before", a, b)
	}
	if !told {
		say("nothing in the answers names a session; a memory kept elsewhere, such as with the key, shows in no two calls")
	}
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sourceIDs(e *evidence.Execution) []string {
	var ids []string
	for _, r := range e.Artifacts.Retrieval {
		for _, c := range r.Candidates {
			ids = append(ids, named(c.DocID, c.ChunkID))
		}
	}
	return ids
}

func inputTokens(e *evidence.Execution) int64 {
	if e.Usage == nil || e.Usage.InputTokens == nil {
		return 0
	}
	return *e.Usage.InputTokens
}

// price says what all cases take, at so many at a time, if each takes as long and
// as many requests as one did.
func (x *activeRun) price(latencyMS float64, requests, at int) string {
	s := x.project.suite
	cases := x.project.data.Len()
	rounds := (cases + at - 1) / at
	took := time.Duration(float64(rounds) * latencyMS * float64(time.Millisecond))
	text := fmt.Sprintf("%s, %d at a time", countCases(cases), at)
	if h := s.System.HTTP; h != nil && h.Limits.PerSecond > 0 {
		if bound := time.Duration(float64(cases*requests) / h.Limits.PerSecond * float64(time.Second)); bound > took {
			took = bound
		}
		text += fmt.Sprintf(", at most %g requests a second", h.Limits.PerSecond)
		if requests > 1 {
			text += fmt.Sprintf(" and %d a case", requests)
		}
	}
	return text + ": " + about(took)
}

func about(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than a second"
	case d < 90*time.Second:
		return fmt.Sprintf("about %.0f s", math.Ceil(d.Seconds()))
	case d < 90*time.Minute:
		return fmt.Sprintf("about %.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("about %.1f h", d.Hours())
}
