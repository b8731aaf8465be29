package github

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	maxRetries   = 3 // 4 attempts in all
	firstBackoff = time.Second
	// attemptTime is how long one attempt may take, unless [Config] says otherwise.
	attemptTime = 20 * time.Second
	// secondaryWait is what GitHub asks for when a secondary rate limit comes
	// without a time (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	secondaryWait = 60 * time.Second
)

var errOutOfTime = errors.New("GitHub's API took too long")

// retries is the transport above [retryablehttp.Client]: it knows the method
// and the time that is left.
type retries struct {
	client *retryablehttp.Client
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	random func() float64
}

// call is the state of one request with its retries.
type call struct {
	repeatable bool
	until      time.Time
	made       int
	pause      time.Duration // before the next attempt
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// RoundTrip sends a request and retries it as [Client] says. The answer's body
// is in memory.
func (r *retries) RoundTrip(req *http.Request) (*http.Response, error) {
	until, ok := req.Context().Value(untilKey{}).(time.Time)
	if !ok {
		until = r.now().Add(callsTime)
	}
	ctx := context.WithValue(req.Context(), callKey{}, &call{repeatable: req.Method != http.MethodPost, until: until})
	ctx, cancel := context.WithTimeoutCause(ctx, callsTime, errOutOfTime)
	defer cancel()
	again, err := retryablehttp.FromRequest(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	res, err := r.client.Do(again)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return res, err
}

// check implements [retryablehttp.CheckRetry].
func (r *retries) check(ctx context.Context, res *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c := callOf(ctx)
	c.made++
	if !c.repeatable {
		return false, nil
	}
	wait, ok := r.waitAfter(c.made, res, err)
	if !ok || c.made > maxRetries {
		return false, nil
	}
	// Waiting that cannot help is not begun: the caller is told at once.
	if !r.now().Add(wait).Before(c.until) {
		return false, nil
	}
	c.pause = wait
	return true, nil
}

// wait implements [retryablehttp.PrepareRetry].
func (r *retries) wait(req *http.Request) error {
	return r.sleep(req.Context(), callOf(req.Context()).pause)
}

// waitAfter returns how long to wait before another attempt, and whether one
// may help.
func (r *retries) waitAfter(made int, res *http.Response, err error) (time.Duration, bool) {
	if err != nil {
		return r.backoff(made), !isPermanent(err)
	}
	switch s := res.StatusCode; {
	case isLimit(res):
		return limitWait(res.Header, r.now()), true
	case s >= 500 || s == http.StatusRequestTimeout:
		if wait, ok := retryAfter(res.Header, r.now()); ok {
			return wait, true
		}
		return r.backoff(made), true
	}
	return 0, false
}

// backoff returns the wait before retry n, from 1: between half and all of
// 1 s · 2^(n-1).
func (r *retries) backoff(n int) time.Duration {
	return time.Duration((1 + r.random()) / 2 * float64(firstBackoff<<min(n-1, 10)))
}

// isPermanent reports whether a connection failed in a way that another attempt
// cannot mend.
func isPermanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, errTooLarge) || errors.As(err, &certificate)
}

// isLimit reports whether an answer says that a rate limit was hit. go-github
// v62 sees the limits with status 403 only.
func isLimit(res *http.Response) bool {
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return res.Header.Get("X-RateLimit-Remaining") == "0" || res.Header.Get("Retry-After") != "" ||
			bytes.Contains(peek(res), []byte("secondary rate limit"))
	}
	return false
}

// peek returns the body of an answer and leaves it to be read.
func peek(res *http.Response) []byte {
	b, _ := io.ReadAll(res.Body) // in memory
	res.Body = io.NopCloser(bytes.NewReader(b))
	return b
}

// limitWait returns how long a rate limit asks to wait.
func limitWait(h http.Header, now time.Time) time.Duration {
	if wait, ok := retryAfter(h, now); ok {
		return wait
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return max(0, time.Unix(reset, 0).Sub(now)) + time.Second
		}
	}
	return secondaryWait
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 {
		return time.Duration(math.Min(seconds, 1e6) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
