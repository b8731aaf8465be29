package httpsystem_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// A version is asked for again where that may help, and an error names the place
// and no secret.
func TestDeployed(t *testing.T) {
	tests := []struct {
		name    string
		handler func(try int, w http.ResponseWriter, r *http.Request)
		tries   int32
		want    string // the version
		fault   string // of the error
	}{
		{"a body", func(_ int, w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Method, r.Header.Get("X-Key"), r.Header.Get("User-Agent"))
		}, 1, "GEThunter2-secrettest", ""},
		{"busy once", func(try int, w http.ResponseWriter, _ *http.Request) {
			if try == 1 {
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, "v2")
		}, 2, "v2", ""},
		{"always busy", func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, 4, "", "status 502 Bad Gateway"},
		{"not found", func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) }, 1, "", "status 404 Not Found"},
		{"redirect", func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}, 1, "", "status 302 Found"},
		{"nothing", func(int, http.ResponseWriter, *http.Request) {}, 1, "", "no version"},
		{"the secret itself", func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("X-Key"), http.StatusTeapot)
		}, 1, "", "status 418"},
		{"endless", func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 3<<20))
		}, 1, strings.Repeat("0", 1<<20), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tt.handler(int(tries.Add(1)), w, r) }))
			defer server.Close()
			got, err := deployed(server.URL+"/version?token=hunter2-secret", nil).Ask(t.Context())
			if got != tt.want || tries.Load() != tt.tries || (err == nil) != (tt.fault == "") {
				t.Errorf("%.40q after %d tries, %v", got, tries.Load(), err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), server.URL+"/version:") || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func deployed(url string, transport http.RoundTripper) httpsystem.Deployed {
	return httpsystem.Deployed{
		URL: url, Headers: [][2]string{{"X-Key", "hunter2-secret"}}, Timeout: time.Minute, UserAgent: "test", Transport: transport,
		Redact: redact.New([]string{"hunter2-secret"}), Now: time.Now, Random: func() float64 { return 0.5 },
		Sleep: func(context.Context, time.Duration) error { return nil },
		Read: func(_ func(string) string, body []byte) (string, error) {
			if len(body) == 0 {
				return "", errors.New("no version")
			}
			return string(body), nil
		},
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDeployedWithoutAnswer(t *testing.T) {
	tries := 0
	_, err := deployed("http://rag.test/v", roundTrip(func(*http.Request) (*http.Response, error) {
		tries++
		return nil, errors.New("connection refused")
	})).Ask(t.Context())
	if err == nil || tries != 4 || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%d tries, %v", tries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := deployed("http://rag.test/v", roundTrip(func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() })).Ask(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := deployed("http://[bad", nil).Ask(t.Context()); err == nil || strings.Contains(err.Error(), "bad") {
		t.Errorf("error %v", err)
	}
}

// Only answers say a version: neither a failure nor a status that is none.
func TestWatch(t *testing.T) {
	var answer *http.Response
	w := &httpsystem.Watch{Header: "x-version", Base: roundTrip(func(*http.Request) (*http.Response, error) {
		if answer == nil {
			return nil, errors.New("gone")
		}
		return answer, nil
	})}
	for _, said := range []struct {
		status  int
		version string
	}{{200, "v1"}, {503, "v9"}, {0, ""}, {201, "v1"}, {200, ""}, {200, "v2"}, {200, "v1"}} {
		answer = nil
		if said.status != 0 {
			answer = &http.Response{StatusCode: said.status, Header: http.Header{}}
			if said.version != "" {
				answer.Header.Set("X-Version", said.version)
			}
		}
		_, _ = w.RoundTrip(nil)
	}
	if got := w.Seen(); !slices.Equal(got, []string{"v1", "", "v2"}) {
		t.Errorf("seen %q", got)
	}
}
