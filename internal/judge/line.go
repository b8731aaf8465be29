package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	maxAttempts = 4
	// The wait before an attempt is uniform between 0 and firstBackoff·2^n, at
	// most maxBackoff ("full jitter",
	// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// maxRetryAfter is the longest that an API's wish to wait is obeyed.
	maxRetryAfter = 60 * time.Second
	maxBody       = 8 << 20 // bytes of an answer
	dialTimeout   = 10 * time.Second
	// deadAfter is how many questions in a row, at the least, must have brought no
	// answer before a judge is called dead.
	deadAfter = 8
)

// UnusableError says that a judge cannot be asked at all: another call would end
// in the same way.
type UnusableError struct {
	Judge   string
	Message string
}

// Error names the judge and the cause.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("the judge %s cannot be asked: %s", e.Judge, e.Message)
}

// line is the way to one model of one provider: so many calls at a time, one
// pause for all of them. It is safe for concurrent use.
type line struct {
	cfg   *Config
	slots chan struct{}

	mu     sync.Mutex
	until  time.Time // of the pause
	failed int       // questions in a row without an answer
}

func newLine(cfg *Config, slots int) *line {
	return &line{cfg: cfg, slots: make(chan struct{}, max(1, slots))}
}

// NewTransport returns the transport of judges without one: proxies from the
// environment, and a connection kept open for each call that there may be at one
// time.
func NewTransport(concurrency int) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        concurrency,
		MaxIdleConnsPerHost: concurrency,
		IdleConnTimeout:     90 * time.Second,
	}
}

// attempt is what one request brought.
type attempt struct {
	reply      reply
	fault      *Fault
	retry      bool
	unanswered bool // nothing came back, or an error of the server
	retryAfter time.Duration
	err        error
}

// send asks a question until there is an answer. The fault concerns this
// question only; the error is the context's, or an [*UnusableError].
func (l *line) send(ctx context.Context, p provider, prompt string) (reply, *Fault, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return reply{}, nil, ctx.Err()
	}
	var a attempt
	for n := range maxAttempts {
		if err := l.wait(ctx); err != nil {
			return reply{}, nil, err
		}
		a = l.try(ctx, p, prompt)
		switch {
		case a.err != nil:
			return reply{}, nil, a.err
		case !a.retry || n == maxAttempts-1:
			return a.reply, a.fault, l.count(p, a)
		}
		backoff := time.Duration(l.cfg.Random() * float64(min(maxBackoff, firstBackoff<<n)))
		if err := l.cfg.Sleep(ctx, a.retryAfter+backoff); err != nil {
			return reply{}, nil, err
		}
	}
	return a.reply, a.fault, nil
}

// count notices a judge that is dead.
func (l *line) count(p provider, a attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !a.unanswered {
		l.failed = 0
		return nil
	}
	if l.failed++; l.failed < max(deadAfter, cap(l.slots)) {
		return nil
	}
	return &UnusableError{Judge: p.name(), Message: fmt.Sprintf("%d questions in a row brought no answer, the last one: %s", l.failed, a.fault.Message)}
}

// wait holds back while the API asks to be left alone.
func (l *line) wait(ctx context.Context) error {
	for over := (time.Time{}); ; {
		l.mu.Lock()
		until := l.until
		l.mu.Unlock()
		now := l.cfg.Now()
		if !until.After(now) || until.Equal(over) {
			return ctx.Err()
		}
		if err := l.cfg.Sleep(ctx, until.Sub(now)); err != nil {
			return err
		}
		over = until
	}
}

// pause holds back every call of the line.
func (l *line) pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.cfg.Now().Add(d); until.After(l.until) {
		l.until = until
	}
}

// try makes one request.
func (l *line) try(ctx context.Context, p provider, prompt string) attempt {
	url, header, body, err := p.request(prompt)
	if err != nil {
		return attempt{err: err}
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return attempt{err: &UnusableError{p.name(), "its URL is not valid"}}
	}
	req.Header = header
	start := l.cfg.Now()
	resp, err := l.cfg.Transport.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	}
	if ctx.Err() != nil {
		return attempt{err: ctx.Err()}
	}
	if err != nil {
		message := "no answer: " + l.safe(unwrapped(err))
		if errors.Is(limited.Err(), context.DeadlineExceeded) {
			message = fmt.Sprintf("no answer within %s", p.timeout())
		}
		return attempt{retry: true, unanswered: true, fault: &Fault{Reason: evidence.ReasonJudgeFailed, Message: message}}
	}
	latency := l.cfg.Now().Sub(start)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		r, fault := p.read(body)
		r.latencyMS = float64(latency) / float64(time.Millisecond)
		if fault != nil {
			fault.Reply = l.safe(cut(fault.Reply))
		} else if r.text == "" {
			if e := readAPIError(resp.StatusCode, body); e.told { // as gateways do whose model fails
				return attempt{retry: true, unanswered: true, fault: l.fault(e, body)}
			}
			r.raw = l.safe(cut(string(body)))
		}
		return attempt{reply: r, fault: fault}
	}
	return l.refused(p, resp, body)
}

// refused reads an answer with a status outside 2xx.
func (l *line) refused(p provider, resp *http.Response, body []byte) attempt {
	e := readAPIError(resp.StatusCode, body)
	fault := l.fault(e, body)
	unusable := func(fix string) attempt {
		return attempt{err: &UnusableError{p.name(), strings.TrimSuffix(fault.Message, ".") + fix}}
	}
	quota := e.code == "insufficient_quota" || e.kind == "insufficient_quota" || e.kind == "billing_error" || e.status == http.StatusPaymentRequired
	switch {
	case quota:
		return unusable("; its quota is used up")
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return unusable("; check its key")
	case e.status == http.StatusNotFound:
		return unusable("; check model and base_url")
	case e.status >= 300 && e.status <= 399:
		return unusable("; redirects are not followed: put the final address into base_url")
	case p.mend(e):
		return attempt{retry: true, fault: fault}
	case e.status == http.StatusBadRequest && p.unmendable(e) != "":
		return unusable("; " + p.unmendable(e))
	}
	retry := e.status == http.StatusRequestTimeout || e.status == http.StatusConflict || e.status == http.StatusTooEarly || e.status == http.StatusTooManyRequests || e.status >= 500
	switch resp.Header.Get("X-Should-Retry") { // of both providers
	case "true":
		retry = true
	case "false":
		retry = false
	}
	a := attempt{fault: fault, retry: retry, unanswered: retry}
	if retry {
		a.retryAfter = retryAfter(resp.Header, l.cfg.Now())
		if a.retryAfter > 0 && (e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable || e.status == 529) {
			l.pause(a.retryAfter)
			a.retryAfter = 0 // the pause holds this call as well
		}
	}
	return a
}

// fault is what an API says of a question that it does not answer.
func (l *line) fault(e apiError, body []byte) *Fault {
	message := fmt.Sprintf("HTTP %d", e.status)
	if e.status < 300 {
		message += " with an error"
	}
	if e.message != "" {
		message += ": " + l.safe(e.message)
	}
	return &Fault{Reason: evidence.ReasonJudgeFailed, Message: message, Reply: l.safe(cut(string(body)))}
}

// safe makes one line of a foreign text, without secrets and not long.
func (l *line) safe(text string) string {
	return l.cfg.Redact.String(strings.ToValidUTF8(text, "\uFFFD"))
}

// unwrapped is what an error says without the URL of the request.
func unwrapped(err error) string {
	for inner := errors.Unwrap(err); inner != nil && strings.Contains(err.Error(), "http"); inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// retryAfter returns how long the API asks to wait: Retry-After-Ms, or
// Retry-After in seconds or as a date; 0 when it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	bound := func(d float64) time.Duration { // in seconds
		if !(d > 0) { // NaN too
			return 0
		}
		return time.Duration(math.Min(d, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bound(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return bound(seconds)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return bound(until.Sub(now).Seconds())
}
