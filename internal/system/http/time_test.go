package httpsystem_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// pipes is a network in memory, so that a whole server and its client live in
// a bubble of synctest, where time is fake.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inBubble runs f against a server with the handler, in fake time.
func inBubble(t *testing.T, handler http.HandlerFunc, f func(t *testing.T, s *httpsystem.System), change ...func(*httpsystem.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: handler, ErrorLog: discard()}
		go func() { _ = server.Serve(network) }()
		transport := httpsystem.NewTransport(8)
		transport.DialContext = network.dial
		transport.Proxy = nil
		cfg := config("http://service.example/answer")
		cfg.Transport = transport
		cfg.Sleep = sleep
		for _, change := range change {
			change(&cfg)
		}
		s := newSystem(t, cfg)
		f(t, s)
		transport.CloseIdleConnections()
		_ = server.Close()
		time.Sleep(time.Minute) // of the bubble: handlers that dripped notice that nobody listens
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestHostThatDropsPackets: nobody refuses and nobody answers, as behind a
// firewall. That is a dead endpoint, not a slow one.
func TestHostThatDropsPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := httpsystem.NewTransport(8)
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(time.Minute) // of the bubble; a transport goes on dialling when its caller has left
			return nil, errors.New("dropped")
		}
		transport.Proxy = nil
		cfg := config("http://service.example/answer")
		cfg.Transport = transport
		cfg.Sleep = sleep
		e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		const message = "no connection within 30s from http://service.example/answer after 4 attempts"
		if e.Status != evidence.StatusError || e.Error.Kind != evidence.ErrConnection || e.Error.Message != message {
			t.Errorf("Execute = %s, %s, %q; want ERROR, %s, %q", e.Status, e.Error.Kind, e.Error.Message, evidence.ErrConnection, message)
		}
		time.Sleep(time.Hour) // the dialling ends
	})
}

func TestTimeouts(t *testing.T) {
	hang := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		status  int
		message string
	}{
		{
			"before the headers", func(_ http.ResponseWriter, r *http.Request) { hang(r) }, 0,
			"no answer within 30s from http://service.example/answer after 4 attempts",
		},
		{
			"after the headers", func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, `{"result":`)
				w.(http.Flusher).Flush()
				hang(r)
			}, 200,
			`a broken answer with status 200, not complete within 30s, from http://service.example/answer after 4 attempts, the body starts: {"result":`,
		},
		{
			"a body that drips", func(w http.ResponseWriter, r *http.Request) {
				for range 100 {
					time.Sleep(time.Second)
					if _, err := io.WriteString(w, " "); err != nil {
						return
					}
					w.(http.Flusher).Flush()
				}
			}, 200,
			"a broken answer with status 200, not complete within 30s, from http://service.example/answer after 4 attempts",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.handler, func(t *testing.T, s *httpsystem.System) {
				start := time.Now()
				e, err := s.Execute(t.Context(), aCase(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				// Half of 0.5, 1 and 2 s are waited, since the random numbers are all 0.5.
				if took, want := time.Since(start), 4*30*time.Second+250*time.Millisecond+500*time.Millisecond+time.Second; took != want {
					t.Errorf("took %s, want %s", took, want)
				}
				attempt := func(wait float64) evidence.Attempt {
					return evidence.Attempt{HTTPStatus: tt.status, Error: evidence.ErrTimeout, LatencyMS: 30_000, WaitMS: wait}
				}
				if diff := cmp.Diff([]evidence.Attempt{attempt(0), attempt(250), attempt(500), attempt(1000)}, e.Attempts); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				if e.Status != evidence.StatusTimeout || e.LatencyMS != 30_000 || e.Error.Message != tt.message {
					t.Errorf("Execute = %s, %v ms, %q; want TIMEOUT, 30000 ms, %q", e.Status, e.LatencyMS, e.Error.Message, tt.message)
				}
			})
		})
	}
}

func TestRetryAfterHoldsEverybody(t *testing.T) {
	for _, header := range []string{"7", "date"} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			t.Run(header, func(t *testing.T) {
				var mu sync.Mutex
				var limited time.Time
				calls := 0
				inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					calls++
					switch now := time.Now(); {
					case calls == 3:
						limited = now
						value := header
						if header == "date" {
							value = now.Add(7 * time.Second).UTC().Format(http.TimeFormat)
						}
						w.Header().Set("Retry-After", value)
						w.WriteHeader(status)
					case calls > 3 && now.Sub(limited) < 7*time.Second:
						t.Errorf("call %d came %s after the answer that asked for 7s", calls, now.Sub(limited))
						fallthrough
					default:
						_, _ = io.WriteString(w, `{"result":1}`)
					}
				}, func(t *testing.T, s *httpsystem.System) {
					for range 2 { // one after the other, so that the third is the last of its moment
						mustAnswer(t, s)
					}
					var wg sync.WaitGroup
					wg.Go(func() { // the limited one waits 7 s and 0.25 s at random
						e := mustAnswer(t, s)
						want := []evidence.Attempt{{HTTPStatus: status, Error: evidence.ErrStatus}, {HTTPStatus: 200, WaitMS: 7250}}
						if diff := cmp.Diff(want, e.Attempts); diff != "" {
							t.Errorf("attempts of the limited call (-want +got):\n%s", diff)
						}
					})
					synctest.Wait()
					for range 5 {
						wg.Go(func() {
							e := mustAnswer(t, s)
							if diff := cmp.Diff([]evidence.Attempt{{HTTPStatus: 200, WaitMS: 7000}}, e.Attempts); diff != "" {
								t.Errorf("attempts of another call (-want +got):\n%s", diff)
							}
							if e.LatencyMS != 0 {
								t.Errorf("latency = %v ms, want none: a pause does not count", e.LatencyMS)
							}
						})
					}
					wg.Wait()
				})
			})
		}
	}
}

func mustAnswer(t *testing.T, s *httpsystem.System) evidence.Execution {
	e, err := s.Execute(t.Context(), aCase(`{}`))
	if err != nil || e.Status != evidence.StatusOK {
		t.Errorf("Execute = %+v, %v, want an answer", e, err)
	}
	return e
}

func TestPauseEndsWithTheContext(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(http.StatusServiceUnavailable)
	}, func(t *testing.T, s *httpsystem.System) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := s.Execute(ctx, aCase(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Execute: %v, want %v", err, context.DeadlineExceeded)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %s, want 10s", took)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	tests := []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"3", "", 3 * time.Second},
		{" 3 ", "", 3 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{"0", "", 0},
		{"-4", "", 0},
		{"NaN", "", 0},
		{"Inf", "", httpsystem.MaxRetryAfter},
		{"1e300", "", httpsystem.MaxRetryAfter},
		{"99999999999999999999", "", httpsystem.MaxRetryAfter},
		{"soon", "", 0},
		{date(20 * time.Second), "", 20 * time.Second},
		{date(-20 * time.Second), "", 0},
		{date(48 * time.Hour), "", httpsystem.MaxRetryAfter},
		{date(20 * time.Second), date(15 * time.Second), 5 * time.Second}, // a server whose clock is 15 s ahead
		{date(20 * time.Second), "yesterday", 20 * time.Second},
		{now.Add(9 * time.Second).Format(time.ANSIC), "", 9 * time.Second},
	}
	for _, tt := range tests {
		h := http.Header{"Retry-After": {tt.value}}
		if tt.date != "" {
			h.Set("Date", tt.date)
		}
		if got := httpsystem.RetryAfter(h, now); got != tt.want {
			t.Errorf("retryAfter(%q, Date %q) = %s, want %s", tt.value, tt.date, got, tt.want)
		}
	}
}

func TestJitterIsWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100).Draw(t, "n")
		random := rapid.Float64Range(0, 0.9999).Draw(t, "random")
		limit := min(30, 0.5*float64(uint64(1)<<min(n, 20)))
		if got := httpsystem.Jitter(n, random).Seconds(); got < 0 || got >= limit || got < random*limit-1e-6 {
			t.Errorf("jitter(%d, %v) = %v s, want %v of [0, %v)", n, random, got, random, limit)
		}
	})
}

func TestClean(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"  a\r\n\tb  ", 10, "a b"},
		{"\x1b[31mred\x07", 10, "[31mred"},
		{"a\u202eb\u200bc", 10, "a b c"},
		{"abcdef", 3, "abc…"},
		{"abc", 3, "abc"},
		{"abc   ", 3, "abc"},
		{"äöü€", 3, "äöü…"},
		{"\xff\xfe", 5, "\ufffd\ufffd"},
		{"", 5, ""},
	}
	for _, tt := range tests {
		if got := httpsystem.Clean(tt.in, tt.n); got != tt.want {
			t.Errorf("clean(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestReason(t *testing.T) {
	const secret = "s3cr3t"
	proxy := errors.New(`proxyconnect: invalid proxy address "http://u:` + secret + `/x@p": parse`)
	for _, err := range []error{
		&url.Error{Op: "Post", URL: "http://h/?k=" + secret, Err: errors.New("EOF")},
		&url.Error{Op: "Post", URL: secret, Err: &url.Error{Op: "x", URL: secret, Err: io.EOF}},
		proxy,
		errors.New("dial http://user:" + secret + "@proxy.example:80/ failed, then https://a@b@" + "h"),
	} {
		if got := httpsystem.Reason(err); strings.Contains(got, secret) {
			t.Errorf("reason(%v) = %q holds the secret", err, got)
		}
	}
	if got, want := httpsystem.WithoutUser("x http://u:p@h/a@b //c@d"), "x http://h/a@b //d"; got != want {
		t.Errorf("withoutUserinfo = %q, want %q", got, want)
	}
}

func TestPublicURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:pw@h.example:8443/a%2Fb/c?key=1#x": "https://h.example:8443/a%2Fb/c",
		"http://h":               "http://h",
		"http://user:p w@h/\x00": "(not a URL)",
		"user:s3cr3t":            "(not a URL)",
		"":                       "(not a URL)",
	} {
		if got := httpsystem.PublicURL(in); got != want {
			t.Errorf("PublicURL(%q) = %q, want %q", in, got, want)
		}
	}
}
