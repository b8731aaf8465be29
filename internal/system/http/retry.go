package httpsystem

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/oloproof/oloproof-go/internal/netguard"
)

const (
	maxRetries = 3 // 4 attempts in all
	// firstBackoff and maxBackoff bound the wait before a retry, which is
	// uniform between 0 and firstBackoff·2^n, at most maxBackoff ("full jitter",
	// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// maxRetryAfter is the longest that a Retry-After header is obeyed, so that
	// no single answer holds a run for hours.
	maxRetryAfter = 60 * time.Second
)

// newClient returns a client that retries as this package says. Waiting is
// done in PrepareRetry, where the request's context and our clock are at hand;
// the client's own wait is none.
func (s *System) newClient(base http.RoundTripper) *retryablehttp.Client {
	t := &attempts{
		base:    base,
		timeout: s.cfg.Timeout,
		maxBody: s.cfg.MaxBody,
		now:     s.cfg.Now,
		pause:   s.pause,
	}
	if s.cfg.Calls != nil {
		s.several(t)
	}
	return &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: t},
		RetryMax:     maxRetries,
		CheckRetry:   checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 },
		PrepareRetry: s.backOff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// checkRetry implements [retryablehttp.CheckRetry] by what the attempt saw.
func checkRetry(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err // the request could not be made
	}
	last := callOf(ctx).last
	return last.fault != nil && last.fault.retry, nil
}

// backOff waits before a retry: as long as the answer asked for, and some more
// at random, so that calls that failed together do not come back together.
func (s *System) backOff(req *http.Request) error {
	c := callOf(req.Context())
	start := s.cfg.Now()
	err := s.cfg.Sleep(req.Context(), c.last.retryAfter+jitter(len(c.attempts)-1, s.cfg.Random()))
	c.waited += s.cfg.Now().Sub(start)
	return err
}

// jitter returns the random part of the wait before retry n, from 0; random is
// uniform in [0,1).
func jitter(n int, random float64) time.Duration {
	limit := min(maxBackoff, firstBackoff<<min(n, 10))
	return time.Duration(random * float64(limit))
}

// isTransient reports whether another attempt may help after a status.
func isTransient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// isPermanent reports whether a connection failed in a way that another attempt
// cannot mend: a host that may not be called, a certificate that is not trusted,
// or no TLS where it was asked for.
func isPermanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var refused *netguard.Refusal
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.As(err, &refused) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") // has no type of its own
}

// retryAfter returns how long a Retry-After header asks to wait: seconds, or a
// date, which is compared with the server's own clock where it tells it. It is
// at most maxRetryAfter, and 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds > 0) { // NaN too
			return 0
		}
		return time.Duration(math.Min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

// pause holds back all calls while the service asks to be left alone.
type pause struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex
	until time.Time
}

// extend makes the pause last at least until t.
func (p *pause) extend(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.After(p.until) {
		p.until = t
	}
}

func (p *pause) end() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until
}

// wait returns when the pause is over, with the time that it took, or ends
// early with the context's error. Each end is waited for once, so that a clock
// that stands still holds nobody.
func (p *pause) wait(ctx context.Context) (time.Duration, error) {
	start := p.now()
	for now, over := start, (time.Time{}); ; now = p.now() {
		until := p.end()
		if !until.After(now) || until.Equal(over) {
			return now.Sub(start), nil
		}
		if err := p.sleep(ctx, until.Sub(now)); err != nil {
			return p.now().Sub(start), err
		}
		over = until
	}
}
