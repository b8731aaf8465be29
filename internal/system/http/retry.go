package httpsystem

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/netguard"
)

const (
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
func (s *System) newClient(base http.RoundTripper) (*retryablehttp.Client, error) {
	t := &attempts{
		base:    base,
		timeout: s.cfg.Timeout,
		maxBody: s.cfg.MaxBody,
		now:     s.cfg.Now,
		pause:   s.pause,
		limit:   newBucket(s.cfg.Limits.PerSecond, s.cfg.Limits.Burst, s.cfg.Now, s.cfg.Sleep),
		stream:  s.cfg.Stream,
		home:    s.template.URL,
	}
	var err error
	if t.credentials, err = s.newCredentials(t); err != nil {
		return nil, err
	}
	if s.cfg.Calls != nil {
		s.several(t)
	}
	return &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: t},
		RetryMax:     s.cfg.Limits.Retries,
		CheckRetry:   checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 },
		PrepareRetry: s.backOff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}, nil
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

// statusOverloaded is what some services send in place of 503.
const statusOverloaded = 529

// isPermanent reports whether a connection failed in a way that another attempt
// cannot mend: a host that may not be called, a certificate that is not trusted
// here or there, or no TLS where it was asked for.
func isPermanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var refused *netguard.Refusal
	return errors.As(err, &certificate) || errors.As(err, &plain) || errors.As(err, &refused) ||
		// These have no type of their own.
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") ||
		strings.Contains(err.Error(), "remote error: tls: ") && strings.Contains(err.Error(), "certificate")
}

// waitAsked returns how long an answer asks to wait before another attempt: by
// retry-after-ms, Retry-After, the header that says when a used-up limit is
// reset, or Google's RetryInfo in the body, the first of these that is there. It is
// at most maxRetryAfter, and 0 when there is none.
func waitAsked(h http.Header, body []byte, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	if h.Get("Retry-After") != "" {
		return retryAfter(h, now)
	}
	if d := resetAfter(h, now); d > 0 {
		return d
	}
	return retryInfo(body)
}

func seconds(s float64) time.Duration {
	if !(s > 0) { // NaN too
		return 0
	}
	return time.Duration(math.Min(s, maxRetryAfter.Seconds()) * float64(time.Second))
}

// retryAfter returns how long a Retry-After header asks to wait: seconds, or a
// date, which is compared with the server's own clock where it tells it.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds(s)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(until.Sub(clock(h, now)), 0), maxRetryAfter)
}

// clock is the server's own clock, where it tells it.
func clock(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// resetAfter returns the longest time until a limit is reset, as the headers
// x-ratelimit-reset, x-ratelimit-reset-NAME, ratelimit-reset and
// anthropic-ratelimit-NAME-reset tell it; those of a limit of which something
// remains do not count.
func resetAfter(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for name := range h {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "reset") {
			continue
		}
		if left := h.Get(strings.Replace(lower, "reset", "remaining", 1)); left != "" && left != "0" {
			continue
		}
		longest = max(longest, untilReset(h.Get(name), clock(h, now)))
	}
	return longest
}

// untilReset reads a time as such headers hold it: 1s or 6m0s, seconds, a date, or
// a point in time in seconds or milliseconds since 1970.
func untilReset(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case n > 1e12:
			n = n/1000 - float64(now.UnixMilli())/1000
		case n > 1e9:
			n -= float64(now.UnixMilli()) / 1000
		}
		return seconds(n)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return seconds(d.Seconds())
	}
	for _, layout := range []string{time.RFC3339, http.TimeFormat} {
		if until, err := time.Parse(layout, text); err == nil {
			return seconds(until.Sub(now).Seconds())
		}
	}
	return 0
}

// retryInfo reads the delay of a google.rpc.RetryInfo in the details of an error.
func retryInfo(body []byte) time.Duration {
	v, err := evidence.ParseJSON(trim(body))
	if err != nil {
		return 0
	}
	details, err := evidence.Lookup(v, "error.details")
	if err != nil {
		return 0
	}
	for detail := range evidence.Elements(details) {
		delay, _ := evidence.Member(detail, "retryDelay")
		if text, ok := evidence.Text(delay); ok {
			return untilReset(text, time.Time{})
		}
	}
	return 0
}

// quotaCodes are how services say that the money is spent, which looks like a
// rate that is too high and is none.
var quotaCodes = []string{
	"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded", "quotaexceeded", "provider_quota_exceeded",
	"insufficient_balance", "credits_exhausted", "payment_required", "servicequotaexceededexception",
}

// quotaCode returns the code by which an answer says that a quota is used up, or "".
func quotaCode(resp *http.Response, body []byte) string {
	if resp.StatusCode == http.StatusPaymentRequired {
		return "payment required"
	}
	if resp.StatusCode < 400 || resp.StatusCode > 499 {
		return ""
	}
	kind, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
	codes := []string{kind}
	if v, err := evidence.ParseJSON(trim(body)); err == nil {
		for _, path := range []string{"error.code", "error.type", "error.innererror.code", "code", "type", "__type"} {
			if found, err := evidence.Lookup(v, path); err == nil {
				text, _ := evidence.Text(found)
				codes = append(codes, text)
			}
		}
		// Dify: the daily limit of an app; a limit per minute is too_many_requests.
		if code, _ := evidence.Member(v, "code"); resp.StatusCode == http.StatusTooManyRequests && string(code) == `"rate_limit_error"` {
			return "rate_limit_error"
		}
	}
	for _, code := range codes {
		if slices.Contains(quotaCodes, strings.ToLower(code)) {
			return clean(code, 60)
		}
	}
	return ""
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
