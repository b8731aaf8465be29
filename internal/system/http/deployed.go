package httpsystem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
)

// versionRetries is how often a version is asked for again.
const versionRetries = 3

// maxVersionBody is how much is read of a body that holds a version.
const maxVersionBody = 1 << 20

// Deployed asks a service which version of it is deployed.
type Deployed struct {
	URL       string
	Headers   [][2]string
	Timeout   time.Duration // of one attempt
	UserAgent string
	// Read takes the version out of a response.
	Read      func(header func(name string) string, body []byte) (string, error)
	Redact    *redact.Redactor
	Transport http.RoundTripper
	Now       func() time.Time
	Sleep     func(ctx context.Context, d time.Duration) error
	Random    func() float64
}

// Ask returns the version. What may pass by is tried again, three times at most.
func (d Deployed) Ask(ctx context.Context) (string, error) {
	for attempt := 0; ; attempt++ {
		version, again, wait, err := d.once(ctx)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err == nil || !again || attempt == versionRetries {
			if err != nil {
				err = errors.New(d.Redact.String(fmt.Sprintf("GET %s: %v", PublicURL(d.URL), err)))
			}
			return version, err
		}
		if err := d.Sleep(ctx, wait+jitter(attempt, d.Random())); err != nil {
			return "", err
		}
	}
}

// once asks once, and says whether and after which wait to ask again.
func (d Deployed) once(ctx context.Context) (version string, again bool, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return "", false, 0, withoutURL(err)
	}
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	req.Header.Set("User-Agent", d.UserAgent)
	for _, h := range d.Headers {
		req.Header.Set(h[0], h[1])
	}
	client := &http.Client{Transport: d.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(req)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", true, 0, fmt.Errorf("no answer within %s", d.Timeout)
		}
		return "", !isPermanent(err), 0, errors.New(reason(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxVersionBody))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		return "", isTransient(response.StatusCode), retryAfter(response.Header, d.Now()), fmt.Errorf("status %s", response.Status)
	case err != nil:
		return "", true, 0, errors.New(reason(err))
	}
	version, err = d.Read(response.Header.Get, trim(body))
	return version, false, 0, err
}

// Watch notes a header of every answer that goes through it.
type Watch struct {
	Base   http.RoundTripper
	Header string

	mu   sync.Mutex
	seen []string // different values, in the order in which they came; "" is an answer without
}

// RoundTrip implements [http.RoundTripper].
func (w *Watch) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := w.Base.RoundTrip(req)
	if err == nil && response.StatusCode >= 200 && response.StatusCode <= 299 {
		w.note(response.Header.Get(w.Header))
	}
	return response, err
}

func (w *Watch) note(value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.seen, value) {
		w.seen = append(w.seen, value)
	}
}

// Seen returns the different values of the header, the first one first; "" stands
// for answers without it.
func (w *Watch) Seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}
