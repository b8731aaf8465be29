package httpsystem_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

// config returns a configuration that never really waits before a retry.
func config(url string) httpsystem.Config {
	return httpsystem.Config{
		URL:         url,
		Method:      "POST",
		Timeout:     30 * time.Second,
		OutputPath:  "result",
		MaxBody:     1 << 20,
		Concurrency: 4,
		Limits:      suite.Limits{Retries: suite.DefaultRetries},
		UserAgent:   "oloproof/test",
		Now:         time.Now,
		Sleep:       func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Random:      func() float64 { return 0.5 },
	}
}

func newSystem(t *testing.T, cfg httpsystem.Config) *httpsystem.System {
	t.Helper()
	s, err := httpsystem.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func aCase(input string) *evidence.Case {
	return &evidence.Case{ID: "one", Input: evidence.Value(input)}
}

// serve starts a server, and stops it before the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// rawServer answers each connection's first request with the bytes given, then
// closes the connection; with linger 0 the client sees a reset.
func rawServer(t *testing.T, answer string, reset bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, answer)
				if reset {
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String() + "/answer"
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.Bytes()
}

func TestRequest(t *testing.T) {
	type request struct {
		Method, Path, Body, Host string
		Header                   map[string][]string
	}
	tests := []struct {
		name   string
		change func(*httpsystem.Config)
		input  string
		want   request
	}{
		{
			"post", func(*httpsystem.Config) {}, "{\"n\": 50000000014435121,\n \"x\": 1.50, \"s\": \"a  \\u00e9 b\"}",
			request{"POST", "/answer?k=v", `{"n":50000000014435121,"x":1.50,"s":"a  \u00e9 b"}`, "", map[string][]string{
				"Content-Type": {"application/json"}, "Accept": {"*/*"}, "User-Agent": {"oloproof/test"},
			}},
		},
		{
			"get with a body", func(c *httpsystem.Config) { c.Method = "GET" }, `"q"`,
			request{"GET", "/answer?k=v", `"q"`, "", map[string][]string{
				"Content-Type": {"application/json"}, "Accept": {"*/*"}, "User-Agent": {"oloproof/test"},
			}},
		},
		{
			"own headers win", func(c *httpsystem.Config) {
				c.Method = "PUT"
				c.Headers = [][2]string{{"content-type", "application/vnd.x+json"}, {"X-Key", "a"}, {"x-key", "b"}, {"Host", "preview.example"}}
			}, `0`,
			request{"PUT", "/answer?k=v", `0`, "preview.example", map[string][]string{
				"Content-Type": {"application/vnd.x+json"}, "Accept": {"*/*"}, "User-Agent": {"oloproof/test"}, "X-Key": {"a", "b"},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got request
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = request{r.Method, r.URL.String(), string(body), "", map[string][]string{}}
				for _, name := range []string{"Content-Type", "Accept", "User-Agent", "X-Key"} {
					if v := r.Header.Values(name); v != nil {
						got.Header[name] = v
					}
				}
				if !strings.HasPrefix(r.Host, "127.0.0.1") {
					got.Host = r.Host
				}
				_, _ = io.WriteString(w, `{"result":null}`)
			})
			cfg := config(server.URL + "/answer?k=v")
			tt.change(&cfg)
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(tt.input))
			if err != nil || e.Status != evidence.StatusOK || string(e.Output) != "null" {
				t.Fatalf("Execute = %+v, %v, want JSON null as output", e, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	answer := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if contentType == "none" {
				w.Header()["Content-Type"] = nil
			} else {
				w.Header().Set("Content-Type", contentType)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const jsonType = "application/json"
	encoded := func(encoding string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(body)
		}
	}
	redirect := func(status int, target string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if target != "" {
				w.Header().Set("Location", target)
			}
			w.WriteHeader(status)
		}
	}
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		output   string // "" when there is none
		kind     evidence.ErrorKind
		attempts int
		message  string // URL is the server's
	}{
		{"json", answer(200, jsonType, `{"result":{"a":1e2}}`), `{"a":1e2}`, "", 1, ""},
		{"201", answer(201, jsonType, `{"result":1}`), `1`, "", 1, ""},
		{"problem json", answer(200, "application/problem+json; charset=utf-8", `{"result":"x"}`), `"x"`, "", 1, ""},
		{"no content type", answer(200, "none", `{"result":"x"}`), `"x"`, "", 1, ""},
		{"text", answer(200, "text/plain; charset=utf-8", `{"result":"x"}`), `"x"`, "", 1, ""},
		{"byte order mark", answer(200, jsonType, "\ufeff {\"result\":\"x\"}\n"), `"x"`, "", 1, ""},
		{"large integer", answer(200, jsonType, `{"result":50000000014435121}`), `50000000014435121`, "", 1, ""},
		{"gzip unasked", encoded("gzip", gzipped(`{"result":"x"}`)), `"x"`, "", 1, ""},
		{"line separator", answer(200, jsonType, "{\"result\":\"a\u2028b\"}"), "\"a\u2028b\"", "", 1, ""},

		{"204", answer(204, jsonType, ""), "", evidence.ErrEmptyBody, 1, "an empty body with status 204 No Content from URL"},
		{"empty", answer(200, jsonType, " \n"), "", evidence.ErrEmptyBody, 1, "an empty body with status 200 OK from URL"},
		{"empty html", answer(200, "text/html", ""), "", evidence.ErrEmptyBody, 1, "an empty body with status 200 OK from URL"},
		{
			"html", answer(200, "text/html; charset=utf-8", "<html>\n\t<b>Sign\x00in</b>"), "", evidence.ErrContentType, 1,
			"an answer of content type text/html, not JSON, from URL, the body starts: <html> <b>Sign in</b>",
		},
		{
			"json called html", answer(200, "text/html", `{"result":1}`), "", evidence.ErrContentType, 1,
			`an answer of content type text/html (if it is JSON, the service must say application/json) from URL, the body starts: {"result":1}`,
		},
		{
			"html called json", answer(200, jsonType, "<html>"), "", evidence.ErrInvalidJSON, 1,
			"an answer with status 200 that is not valid JSON, invalid character '<' at start of value (at byte 0), from URL, the body starts: <html>",
		},
		{
			"nan", answer(200, jsonType, `{"result":NaN}`), "", evidence.ErrInvalidJSON, 1,
			`an answer with status 200 that is not valid JSON, NaN is not JSON: a number must be finite, and null stands for none (at byte 10), from URL, the body starts: {"result":NaN}`,
		},
		{
			"lone surrogate", answer(200, jsonType, `{"result":"\ud800"}`), "", evidence.ErrInvalidJSON, 1,
			`an answer with status 200 that is not valid JSON, lone surrogate "\\ud800" in a string is no Unicode text (at byte 11), from URL, the body starts: {"result":"\ud800"}`,
		},
		{
			"not UTF-8", answer(200, jsonType, "{\"result\":\"\xff\"}"), "", evidence.ErrInvalidJSON, 1,
			"an answer with status 200 that is not valid JSON, byte 0xff is not UTF-8 (at byte 11), from URL, the body starts: {\"result\":\"\ufffd\"}",
		},
		{
			"duplicate name", answer(200, jsonType, `{"result":1,"result":2}`), "", evidence.ErrInvalidJSON, 1,
			`an answer with status 200 that is not valid JSON, key "result" stands twice in one object (at byte 12), from URL, the body starts: {"result":1,"result":2}`,
		},
		{
			"no output", answer(200, jsonType, `{"error":"overloaded"}`), "", evidence.ErrMissingOutput, 1,
			`an answer without output, nothing at "result": the value has no "result" (keys: "error"), from URL, the body starts: {"error":"overloaded"}`,
		},
		{
			"no object", answer(200, jsonType, `[1]`), "", evidence.ErrMissingOutput, 1,
			`an answer without output, nothing at "result": the value has no "result" (it is a list: indexes 0 to 0), from URL, the body starts: [1]`,
		},
		{"not found", answer(404, jsonType, `{"detail":"Not Found"}`), "", evidence.ErrStatus, 1, `status 404 Not Found from URL, the body starts: {"detail":"Not Found"}`},
		{"unauthorized", answer(401, "none", ""), "", evidence.ErrStatus, 1, "status 401 Unauthorized from URL"},
		{"unknown status", answer(499, "none", ""), "", evidence.ErrStatus, 1, "status 499 from URL"},
		{"too early", answer(425, "none", ""), "", evidence.ErrStatus, 4, "status 425 Too Early from URL after 4 attempts"},
		{"request timeout", answer(408, "none", ""), "", evidence.ErrStatus, 4, "status 408 Request Timeout from URL after 4 attempts"},
		{"too many", answer(429, "none", "slow down"), "", evidence.ErrStatus, 4, "status 429 Too Many Requests from URL after 4 attempts, the body starts: slow down"},
		{"server error", answer(500, "text/html", "<h1>oops</h1>"), "", evidence.ErrStatus, 4, "status 500 Internal Server Error from URL after 4 attempts, the body starts: <h1>oops</h1>"},
		{
			"redirect", redirect(302, "https://user:pw@login.example/sign?token=abc"), "", evidence.ErrRedirect, 1,
			"a redirect with status 302 Found from URL to https://login.example/sign (redirects are not followed: put the final address into url)",
		},
		{
			"redirect to itself", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/answer", http.StatusTemporaryRedirect)
			}, "", evidence.ErrRedirect, 1,
			"a redirect with status 307 Temporary Redirect from URL to URL (redirects are not followed: put the final address into url)",
		},
		{"redirect to nowhere", redirect(301, ""), "", evidence.ErrRedirect, 1, "a redirect with status 301 Moved Permanently from URL"},
		{
			"redirect to nonsense", redirect(308, "http://[::1/%zz"), "", evidence.ErrRedirect, 1,
			"a redirect with status 308 Permanent Redirect from URL to an address that is none (redirects are not followed: put the final address into url)",
		},
		{"redirect with json", answer(302, jsonType, `{"result":1}`), "", evidence.ErrRedirect, 1, `a redirect with status 302 Found from URL, the body starts: {"result":1}`},
		{"not modified", answer(304, "none", ""), "", evidence.ErrRedirect, 1, "a redirect with status 304 Not Modified from URL"},
		{"too large", answer(200, jsonType, `"`+strings.Repeat("x", 1<<20)+`"`), "", evidence.ErrTooLarge, 1, "an answer of more than 1048576 bytes from URL, the body starts: \"" + strings.Repeat("x", 199) + "…"},
		{
			"gzip bomb", encoded("gzip", gzipped(strings.Repeat(" ", 4<<20)+"1")), "", evidence.ErrTooLarge, 1,
			"an answer of more than 1048576 bytes from URL",
		},
		{"no gzip", encoded("gzip", []byte(`{"result":1}, which is no gzip`)), "", evidence.ErrContentType, 1, "a body that is not gzip, although the answer says so, from URL"},
		{"damaged gzip", encoded("gzip", append(gzipped("{}")[:10], 7, 7, 7)), "", evidence.ErrContentType, 1, "a body that is not gzip, although the answer says so, from URL"},
		{"brotli", encoded("br", []byte("\x0b\x02\x80")), "", evidence.ErrContentType, 1, "an answer with content encoding br (gzip and none are understood) from URL"},
		{"chunks", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"result":"`)
			for range 100 {
				_, _ = io.WriteString(w, strings.Repeat("y", 1000))
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, `"}`)
		}, `"` + strings.Repeat("y", 100_000) + `"`, "", 1, ""},
		{"early hints", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusProcessing)
			_, _ = io.WriteString(w, `{"result":1}`)
		}, "1", "", 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handler)
			url := server.URL + "/answer"
			e, err := newSystem(t, config(url+"?secret=1")).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			checkExecution(t, e, url, tt.output, tt.kind, tt.attempts, tt.message)
		})
	}
}

func checkExecution(t *testing.T, e evidence.Execution, url, output string, kind evidence.ErrorKind, attempts int, message string) {
	t.Helper()
	if got := string(e.Output); got != output {
		t.Errorf("output = %s, want %s", got, output)
	}
	if len(e.Attempts) != attempts {
		t.Errorf("attempts = %+v, want %d", e.Attempts, attempts)
	}
	if kind == "" {
		if e.Status != evidence.StatusOK || e.Error != nil {
			t.Errorf("status = %s, error %+v, want OK", e.Status, e.Error)
		}
		return
	}
	if e.Error == nil {
		t.Fatalf("no error, want %s", kind)
	}
	if e.Status != evidence.StatusError && e.Status != evidence.StatusTimeout || e.Error.Kind != kind {
		t.Errorf("status = %s, kind %s, want kind %s", e.Status, e.Error.Kind, kind)
	}
	if last := e.Attempts[len(e.Attempts)-1]; last.Error != kind || last.HTTPStatus != e.Error.HTTPStatus {
		t.Errorf("last attempt = %+v, want kind and status of the error %+v", last, e.Error)
	}
	if diff := cmp.Diff(strings.ReplaceAll(message, "URL", url), e.Error.Message); message != "" && diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestBrokenConnections(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	tests := []struct {
		name     string
		answer   string
		reset    bool
		output   string
		kind     evidence.ErrorKind
		status   int
		attempts int
	}{
		{"closed at once", "", false, "", evidence.ErrConnection, 0, 4},
		{"reset at once", "", true, "", evidence.ErrConnection, 0, 4},
		{"cut off in the body", head + "Content-Length: 100\r\n\r\n{\"result\":1}", false, "", evidence.ErrConnection, 200, 4},
		{"reset in the body", head + "Content-Length: 100\r\n\r\n{\"result\":1}", true, "", evidence.ErrConnection, 200, 4},
		{"cut off in a chunk", head + "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"result\":1}", false, "", evidence.ErrConnection, 200, 4},
		{"cut off before the last chunk", head + "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"result\":1}\r\n", false, "", evidence.ErrConnection, 200, 4},
		{"no length, ended by the connection", head + "\r\n{\"result\":1}", false, "1", "", 200, 1},
		{"more than the length", head + "Content-Length: 12\r\n\r\n{\"result\":1}{\"result\":2}", false, "1", "", 200, 1},
		{"less than the value", head + "Content-Length: 11\r\n\r\n{\"result\":1}", false, "", evidence.ErrInvalidJSON, 200, 1},
		{"a length that is none", head + "Content-Length: -5\r\n\r\n{\"result\":1}", false, "", evidence.ErrConnection, 0, 4},
		{"claims terabytes", head + "Content-Length: 9999999999999\r\n\r\n{", false, "", evidence.ErrTooLarge, 200, 1},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", false, "", evidence.ErrConnection, 0, 4},
		{"switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", false, "", evidence.ErrStatus, 101, 1},
		{"endless hints", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 100_000), false, "", evidence.ErrConnection, 0, 4},
		{"error with a cut off body", "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nnothing here", false, "", evidence.ErrStatus, 404, 1},
		{"cut off gzip", head + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + string(gzipped(`{"result":1}`)[:15]), false, "", evidence.ErrConnection, 200, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := rawServer(t, tt.answer, tt.reset)
			e, err := newSystem(t, config(url)).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			checkExecution(t, e, url, tt.output, tt.kind, tt.attempts, "")
			if e.Error != nil && e.Error.HTTPStatus != tt.status {
				t.Errorf("status = %d, want %d (%s)", e.Error.HTTPStatus, tt.status, e.Error.Message)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	e, err := newSystem(t, config(server.URL+"/answer")).Execute(t.Context(), aCase(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	checkExecution(t, e, server.URL+"/answer", "", evidence.ErrConnection, 4,
		"no answer (dial tcp "+host+": connect: connection refused) from URL after 4 attempts")
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"result":%q}`, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = discard()
	server.StartTLS()
	t.Cleanup(server.Close)

	t.Run("certificate that is not trusted", func(t *testing.T) {
		e, err := newSystem(t, config(server.URL)).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		checkExecution(t, e, server.URL, "", evidence.ErrConnection, 1, "")
		if !strings.Contains(e.Error.Message, "certificate") {
			t.Errorf("message = %q, want the certificate named", e.Error.Message)
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		cfg := config(server.URL)
		transport := httpsystem.NewTransport(4)
		transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
		t.Cleanup(transport.CloseIdleConnections)
		cfg.Transport = transport
		e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		checkExecution(t, e, server.URL, `"HTTP/2.0"`, "", 1, "")
	})
	t.Run("TLS to a plain server", func(t *testing.T) {
		plain := serve(t, func(http.ResponseWriter, *http.Request) {})
		e, err := newSystem(t, config(strings.Replace(plain.URL, "http:", "https:", 1))).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		checkExecution(t, e, "", "", evidence.ErrConnection, 1, "")
	})
}

func TestRecovers(t *testing.T) {
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"q":1}` {
			t.Errorf("body of call %d = %q", calls.Load(), body)
		}
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			w.Header().Set("Content-Length", "50")
			_, _ = io.WriteString(w, `{"res`)
		default:
			_, _ = io.WriteString(w, `{"result":"fine"}`)
		}
	})
	clock := &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	cfg := config(server.URL)
	cfg.Now, cfg.Sleep = clock.Now, clock.Sleep
	e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{"q": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := evidence.Execution{
		Status:    evidence.StatusOK,
		Output:    evidence.Value(`"fine"`),
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Attempts: []evidence.Attempt{
			{HTTPStatus: 502, Error: evidence.ErrStatus},
			{HTTPStatus: 200, Error: evidence.ErrConnection, WaitMS: 250},
			{HTTPStatus: 200, WaitMS: 500},
		},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("Execute (-want +got):\n%s", diff)
	}
}

// fakeClock stands still but for what is slept.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func TestArtifacts(t *testing.T) {
	const good = `{"result":"x","evidence":[{"retrieval":{"depth":1,"candidates":[{"doc_id":"a"}]},"ids":{"ids":["a"]},"free":{"k":[1]},"nothing":null}]}`
	path := func(kind, path string, optional bool) suite.ArtifactPath {
		return suite.ArtifactPath{Kind: kind, Path: path, Optional: optional}
	}
	tests := []struct {
		name  string
		body  string
		paths []suite.ArtifactPath
		want  evidence.Artifacts
		err   string
	}{
		{
			"all", good,
			[]suite.ArtifactPath{path("retrieval/v1", "evidence.0.retrieval", false), path("citations/v1", "evidence.0.ids", false), path("free/v3", "evidence.0.free", false)},
			evidence.Artifacts{
				Retrieval: []evidence.Retrieval{{Depth: 1, Candidates: []evidence.Passage{{DocID: "a"}}}},
				Citations: []evidence.Citations{{IDs: []string{"a"}}},
				Other:     map[string][]evidence.Value{"free/v3": {evidence.Value(`{"k":[1]}`)}},
			},
			"",
		},
		{"optional and absent", good, []suite.ArtifactPath{path("context/v1", "evidence.0.context", true)}, evidence.Artifacts{}, ""},
		{"optional and null", good, []suite.ArtifactPath{path("context/v1", "evidence.0.nothing", true)}, evidence.Artifacts{}, ""},
		{
			"optional and malformed", good, []suite.ArtifactPath{path("context/v1", "evidence.0.free", true)}, evidence.Artifacts{},
			`case "one": malformed context/v1 artifact at "evidence.0.free": k: unknown key, allowed are items, dropped, token_budget, source; found {"k":[1]}`,
		},
		{
			"absent", good, []suite.ArtifactPath{path("context/v1", "evidence.0.context", false)}, evidence.Artifacts{},
			`case "one": no context/v1 artifact at "evidence.0.context"; found nothing at "evidence.0.context": "evidence.0" has no "context" (keys: "retrieval", "ids", "free", "nothing") (if some answers have none by design, declare it as context/v1: {path: evidence.0.context, optional: true})`,
		},
		{
			"null", good, []suite.ArtifactPath{path("free/v3", "evidence.0.nothing", false)}, evidence.Artifacts{},
			`case "one": malformed free/v3 artifact at "evidence.0.nothing": want an artifact, found null (if some answers have none by design, declare it as free/v3: {path: evidence.0.nothing, optional: true})`,
		},
		{
			"secret in it", strings.Replace(good, `{"ids":["a"]}`, `["hunter22"]`, 1), []suite.ArtifactPath{path("citations/v1", "evidence.0.ids", false)}, evidence.Artifacts{},
			`case "one": malformed citations/v1 artifact at "evidence.0.ids": want an object {"ids": [...]}, found a list; found ["[redacted]"]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			cfg := config(server.URL)
			cfg.Artifacts, cfg.Redact = tt.paths, redact.New([]string{"hunter22"})
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
			if tt.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, e.Artifacts); diff != "" {
					t.Errorf("artifacts (-want +got):\n%s", diff)
				}
				return
			}
			var contract *evidence.ContractError
			if !errors.As(err, &contract) {
				t.Fatalf("error = %v, want an *evidence.ContractError", err)
			}
			if diff := cmp.Diff(tt.err, contract.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an errored case needs none", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"error":"x"}`) })
		cfg := config(server.URL)
		cfg.Artifacts = []suite.ArtifactPath{path("retrieval/v1", "evidence", false)}
		e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err != nil || e.Error == nil || e.Error.Kind != evidence.ErrMissingOutput {
			t.Errorf("Execute = %+v, %v, want %s", e, err, evidence.ErrMissingOutput)
		}
	})
}

// No error text holds a secret, wherever the service or the transport put it.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = "s3cr3t-t0ken"
	handlers := map[string]http.HandlerFunc{
		"echoed in an error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "%s no access with %s", strings.Repeat("x", 170), r.Header.Get("Authorization"))
		},
		"in a redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/login/"+secret+"?t="+secret)
			w.WriteHeader(http.StatusFound)
		},
		"as content type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "x/"+secret)
			_, _ = io.WriteString(w, "hello")
		},
		"as keys": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{%q:1}`, secret) },
		"twice":   func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{%q:1,%[1]q:1}`, secret) },
		"reset":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			server := serve(t, handler)
			url := strings.Replace(server.URL, "http://", "http://user:"+secret+"@", 1) + "/" + secret + "?key=" + secret
			cfg := config(url)
			cfg.Headers = [][2]string{{"Authorization", "Bearer " + secret}}
			cfg.Redact = redact.New([]string{secret})
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
			if err != nil || e.Error == nil {
				t.Fatalf("Execute = %+v, %v, want an error", e, err)
			}
			if text := fmt.Sprintf("%+v", *e.Error); strings.Contains(text, secret[:6]) || strings.Contains(text, "user:") {
				t.Errorf("the error holds the secret: %s", text)
			}
		})
	}
}

func TestOutputsAreLeftAsTheyCame(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":"acme corp"}`) })
	cfg := config(server.URL)
	cfg.Redact = redact.New([]string{"acme"})
	e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
	if err != nil || string(e.Output) != `"acme corp"` {
		t.Errorf("Execute = %s, %v, want the output as it came: it is judged, and redacted when it is kept", e.Output, err)
	}
}

func TestInterrupted(t *testing.T) {
	called := make(chan struct{})
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(called)
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of a connection once it has read the body
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-called; cancel() }()
	e, err := newSystem(t, config(server.URL)).Execute(ctx, aCase(`{}`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Execute = %+v, %v, want context.Canceled", e, err)
	}

	t.Run("before a retry", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config(server.URL)
		cfg.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
		e, err := newSystem(t, cfg).Execute(ctx, aCase(`{}`))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Execute = %+v, %v, want context.Canceled", e, err)
		}
	})
}

func TestConnectionsAreKept(t *testing.T) {
	const concurrency = 16
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("n") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 20_000))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	cfg := config(server.URL)
	cfg.Concurrency = concurrency
	s := newSystem(t, cfg)
	var wg sync.WaitGroup
	for range concurrency {
		wg.Go(func() {
			for range 20 {
				if _, err := s.Execute(t.Context(), aCase(`{}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// net/http may dial once more per call while a connection is on its way back.
	if n := opened.Load(); n > 3*concurrency {
		t.Errorf("320 calls at concurrency %d opened %d connections", concurrency, n)
	}
}

func TestConfigIsChecked(t *testing.T) {
	const secret = "s3cr3t"
	tests := []struct {
		name   string
		change func(*httpsystem.Config)
		want   string
	}{
		{"no scheme", func(c *httpsystem.Config) { c.URL = "localhost/x" }, "url of the system: want http://HOST/PATH or https://HOST/PATH"},
		{"host:port", func(c *httpsystem.Config) { c.URL = "localhost:8080/x" }, "url of the system: want http://HOST/PATH or https://HOST/PATH"},
		{"no host", func(c *httpsystem.Config) { c.URL = "http:///x" }, "url of the system: want http://HOST/PATH or https://HOST/PATH"},
		{"not a URL", func(c *httpsystem.Config) { c.URL = "http://x/%zz?" + secret }, `url or method of the system: invalid URL escape "%zz"`},
		{"header name", func(c *httpsystem.Config) { c.Headers = [][2]string{{"X Key", secret}} }, "header \"X Key\" of the system: a name holds letters, digits and !#$%&'*+-.^_`|~ only"},
		{"header value", func(c *httpsystem.Config) { c.Headers = [][2]string{{"X-Key", secret + "\nX: y"}} }, "header X-Key of the system: its value holds a control character, such as the end of a line"},
		{"timeout", func(c *httpsystem.Config) { c.Timeout = 0 }, "timeout of the system: want more than 0, found 0s"},
		{"limit", func(c *httpsystem.Config) { c.MaxBody = 0 }, "largest answer of the system: want at least 1 byte, found 0"},
		{"concurrency", func(c *httpsystem.Config) { c.Concurrency = 0 }, "concurrency of the system: want at least 1, found 0"},
		{"clock", func(c *httpsystem.Config) { c.Now = nil }, "an HTTP system needs a clock, a way to wait and a source of random numbers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config("http://x.example/")
			tt.change(&cfg)
			_, err := httpsystem.New(cfg)
			if err == nil || err.Error() != tt.want {
				t.Errorf("New: %v, want %s", err, tt.want)
			}
		})
	}
}
