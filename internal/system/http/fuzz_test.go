package httpsystem_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/evidence"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Whatever a server says, an execution has either a valid output or an error
// of one line.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", "", []byte(`{"result":{"a":1}}`))
	f.Add(200, "text/html; charset=\"", "gzip", gzipped(`{"result":1}`))
	f.Add(302, "", "", []byte("\x1b[2J\u202e"))
	f.Add(429, "text/plain", "", []byte(`{"result":NaN}`))
	f.Add(101, "", "br", []byte{})
	f.Fuzz(func(t *testing.T, status int, contentType, encoding string, body []byte) {
		cfg := config("http://service.example/answer")
		cfg.MaxBody = 1000
		cfg.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {contentType}, "Content-Encoding": {encoding}, "Location": {string(body)}, "Retry-After": {contentType}}
			return &http.Response{StatusCode: status, Header: header, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
		s, err := httpsystem.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if (e.Status == evidence.StatusOK) != (e.Error == nil) || len(e.Attempts) == 0 {
			t.Fatalf("Execute = %+v", e)
		}
		if e.Error == nil {
			if !e.Output.IsValid() || status < 200 || status > 299 {
				t.Errorf("output %q of status %d", e.Output, status)
			}
			return
		}
		for _, text := range []string{e.Error.Message, e.Error.URL, e.Error.Snippet} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || utf8.RuneCountInString(text) > 1500 {
				t.Errorf("error text %q", text)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:49 GMT")
	f.Add("0x1p-2", "-1")
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		if d := httpsystem.RetryAfter(h, time.Unix(0, 0)); d < 0 || d > httpsystem.MaxRetryAfter {
			t.Errorf("retryAfter(%q, Date %q) = %s", value, date, d)
		}
	})
}

// A clock that stands still, as tests have it, holds nobody in the pause.
func TestPauseUnderAClockThatStandsStill(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	cfg := config(server.URL)
	cfg.Now = func() time.Time { return time.Unix(1e9, 0) }
	waits := 0
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error { waits++; return ctx.Err() }
	e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
	if err != nil || len(e.Attempts) != 4 || e.LatencyMS != 0 || waits != 6 {
		t.Errorf("Execute = %+v, %v after %d waits, want 4 attempts, no latency and 2 waits before each retry", e, err, waits)
	}
}
