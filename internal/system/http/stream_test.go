package httpsystem_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/stream"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
)

const answerPath = "choices.0.message.content"

// streaming makes a configuration that reads OpenAI's streams.
func streaming(cfg *httpsystem.Config) {
	cfg.Stream = &stream.Options{Assemble: "openai"}
	cfg.OutputPath = answerPath
}

func delta(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}

const streamEnd = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// write sends a piece at once.
func write(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// TestStreams: what a service may do with a stream, and what becomes of the case.
func TestStreams(t *testing.T) {
	body := func(contentType, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, text)
		}
	}
	const sse = "text/event-stream"
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		output   string
		kind     evidence.ErrorKind
		attempts int
		message  string
	}{
		{"a stream", body(sse, delta("a")+delta("b")+streamEnd), `"ab"`, "", 1, ""},
		{"called JSON", body("application/json", delta("ab")+streamEnd), `"ab"`, "", 1, ""},
		{"called text", body("text/plain", delta("ab")+streamEnd), `"ab"`, "", 1, ""},
		{"no stream, called one", body(sse, `{"choices":[{"message":{"content":"ab"}}]}`), `"ab"`, "", 1, ""},
		{"gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", sse)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped(delta("ab") + streamEnd))
		}, `"ab"`, "", 1, ""},
		{"the connection stays open behind the end", func(w http.ResponseWriter, r *http.Request) {
			write(w, delta("ab")+streamEnd)
			<-r.Context().Done()
		}, `"ab"`, "", 1, ""},
		{"a frame of 300 KiB", body(sse, "data: {\"sources\":[\""+strings.Repeat("s", 300<<10)+"\"]}\n\n"+delta("ab")+streamEnd), `"ab"`, "", 1, ""},

		{"empty", body(sse, ""), "", evidence.ErrEmptyBody, 1, "an empty body with status 200 OK from URL"},
		{"no end signal", body(sse, delta("ab")), "", evidence.ErrTruncated, 1, "a stream that ended after 1 frame without its end signal from URL, the body starts: data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}; where the service ends its streams in another way, tell how by stream.done"},
		{"half a frame", body(sse, delta("ab")+"data: {\"choi"), "", evidence.ErrTruncated, 1, "a stream that ended after 1 frame without its end signal from URL"},
		{"HTML", body(sse, "<html><title>Sign in</title>"), "", evidence.ErrContentType, 1, "HTML or XML where a stream was expected from URL, the body starts: <html><title>Sign in</title>"},
		{"lines of JSON", body(sse, "{\"a\":1}\n{\"a\":2}\n"), "", evidence.ErrContentType, 1, "lines of JSON: is the format of the stream ndjson? from URL"},
		{"no JSON in a frame", body(sse, "data: {\n\n"), "", evidence.ErrInvalidJSON, 1, `a stream whose frame 1 is not valid JSON, the JSON value ends too early (at byte 1): "{" from URL`},
		{"an error at once", body(sse, "event: error\ndata: {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no such model\"}}\n\n"), "", evidence.ErrReported, 1, "an error in the stream, no such model (invalid_request_error), from URL"},
		{"an error that may pass, at once", body(sse, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"), "", evidence.ErrReported, 4, "an error in the stream, Overloaded (overloaded_error), from URL after 4 attempts"},
		{"an error behind text", body(sse, delta("ab")+"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"), "", evidence.ErrReported, 1, "an error in the stream, Overloaded (overloaded_error), from URL"},
		{"an error status", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", sse)
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "data: x\n\n")
		}, "", evidence.ErrStatus, 4, "status 502 Bad Gateway from URL after 4 attempts, the body starts: data: x"},
		{"endless text", func(w http.ResponseWriter, r *http.Request) {
			piece := strings.Repeat(delta(strings.Repeat("x", 1000)), 10)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}, "", evidence.ErrTooLarge, 1, "a stream of more than 1048576 bytes from URL"},
		{"endless comments", func(w http.ResponseWriter, r *http.Request) {
			piece := strings.Repeat(": ping\n\n", 1000)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}, "", evidence.ErrTooLarge, 1, "a stream of more than 1048576 bytes from URL"},
		{"gzip bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 64 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
		}, "", evidence.ErrTooLarge, 1, "a stream of more than 1048576 bytes from URL"},
		{"damaged gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(append(gzipped(delta("ab"))[:14], 7, 7, 7))
		}, "", evidence.ErrContentType, 1, "a body that is not gzip, although the answer says so, from URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handler)
			t.Cleanup(server.CloseClientConnections)
			url := server.URL + "/answer"
			cfg := config(url)
			streaming(&cfg)
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			checkExecution(t, e, url, tt.output, tt.kind, tt.attempts, "")
			if tt.message != "" && !strings.HasPrefix(strings.ReplaceAll(e.Error.Message, url, "URL"), tt.message) {
				t.Errorf("message = %q, want %q at its beginning", e.Error.Message, tt.message)
			}
			if first := e.Usage != nil && e.Usage.FirstTokenMS != nil; tt.kind == "" && tt.name != "no stream, called one" && !first {
				t.Error("no time to the first token")
			}
		})
	}
}

// TestBrokenStreams: bytes on the wire that no server of ours sends.
func TestBrokenStreams(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunk := func(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }
	tests := []struct {
		name, answer string
		reset        bool
		output       string
		kind         evidence.ErrorKind
		attempts     int
	}{
		{"until the connection closes", head + "\r\n" + delta("ab") + streamEnd, false, `"ab"`, "", 1},
		{"closes too early", head + "\r\n" + delta("ab"), false, "", evidence.ErrTruncated, 1},
		{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(delta("a")+"da") + chunk("ta"+delta("b")[4:]+streamEnd) + "0\r\n\r\n", false, `"ab"`, "", 1},
		{"cut within a character", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(delta("é")[:44]) + chunk(delta("é")[44:]) + chunk(streamEnd) + "0\r\n\r\n", false, `"é"`, "", 1},
		{"no last chunk behind the end signal", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(delta("ab")+streamEnd), false, `"ab"`, "", 1},
		{"no last chunk", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(delta("ab")), false, "", evidence.ErrConnection, 1},
		{"no last chunk before any text", head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(": ping\n\n"), false, "", evidence.ErrConnection, 4},
		{"wrong chunk size", head + "Transfer-Encoding: chunked\r\n\r\n" + "zz\r\n" + delta("ab"), false, "", evidence.ErrConnection, 4},
		{"chunk shorter than it says", head + "Transfer-Encoding: chunked\r\n\r\n" + "fff\r\n" + delta("ab") + "\r\n0\r\n\r\n", false, "", evidence.ErrConnection, 1},
		{"less than Content-Length", head + "Content-Length: 5000\r\n\r\n" + delta("ab"), false, "", evidence.ErrConnection, 1},
		{"reset", head + "Content-Length: 5000\r\n\r\n" + delta("ab"), true, "", evidence.ErrConnection, -1}, // text may be lost with the connection
		{"header of 2 MB", head + "X-Long: " + strings.Repeat("x", 2<<20) + "\r\n\r\n" + delta("ab") + streamEnd, false, "", evidence.ErrConnection, 4},
		{"negative Content-Length", head + "Content-Length: -1\r\n\r\n" + delta("ab"), false, "", evidence.ErrConnection, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := rawServer(t, tt.answer, tt.reset)
			cfg := config(url)
			streaming(&cfg)
			e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.attempts
			if want < 0 {
				want = len(e.Attempts)
			}
			checkExecution(t, e, url, tt.output, tt.kind, want, "")
		})
	}
}

// TestStreamTimes, in fake time: the deadline covers the whole stream, the time to
// the first token is that of the first text, and an interruption ends it at once.
func TestStreamTimes(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		write(w, ": hello\n\n"+delta(""))
		for range 1000 {
			time.Sleep(2 * time.Second)
			if r.Context().Err() != nil {
				return
			}
			write(w, delta("a"))
		}
	}
	t.Run("deadline", func(t *testing.T) {
		inBubble(t, drip, func(t *testing.T, s *httpsystem.System) {
			start := time.Now()
			e, err := s.Execute(t.Context(), aCase(`{}`))
			if err != nil || e.Status != evidence.StatusTimeout || len(e.Attempts) != 1 || time.Since(start) != 30*time.Second {
				t.Errorf("Execute = %+v, %v after %s, want one attempt that ends after 30s", e, err, time.Since(start))
			}
		}, streaming)
	})
	t.Run("interrupt", func(t *testing.T) {
		inBubble(t, drip, func(t *testing.T, s *httpsystem.System) {
			ctx, cancel := context.WithCancel(t.Context())
			start := time.Now()
			go func() { time.Sleep(5 * time.Second); cancel() }()
			if _, err := s.Execute(ctx, aCase(`{}`)); err != context.Canceled || time.Since(start) != 5*time.Second {
				t.Errorf("error %v after %s, want that of the context after 5s", err, time.Since(start))
			}
		}, streaming)
	})
	t.Run("first token", func(t *testing.T) {
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			write(w, "data: {\"sources\":[]}\n\n"+delta(""))
			time.Sleep(1500 * time.Millisecond)
			write(w, delta("a"))
			time.Sleep(2 * time.Second)
			write(w, delta("b")+streamEnd)
			time.Sleep(20 * time.Second) // the connection stays open
		}, func(t *testing.T, s *httpsystem.System) {
			e := mustAnswer(t, s)
			if e.Usage == nil || *e.Usage.FirstTokenMS != 1500 || e.LatencyMS < 3500 || e.LatencyMS > 3600 {
				t.Errorf("first token %+v, latency %v ms; want 1500 and 3500", e.Usage, e.LatencyMS)
			}
		}, streaming)
	})
}

// TestStreamNotAskedFor: an answer in pieces without stream: says what to write.
func TestStreamNotAskedFor(t *testing.T) {
	for _, contentType := range []string{"text/event-stream", "application/json"} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, delta("a")+streamEnd)
		})
		e, err := newSystem(t, config(server.URL)).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		checkExecution(t, e, server.URL, "", evidence.ErrContentType, 1, "")
		if !strings.HasPrefix(e.Error.Message, "an answer that is a stream (write under system.http.stream how it is put together) from ") {
			t.Errorf("message = %q", e.Error.Message)
		}
	}
}

// TestErrorBodies sends the error bodies of services; see testdata/endpoints/README.md.
func TestErrorBodies(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/endpoints/errors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		attempts int
		wait     time.Duration // before the second attempt, without jitter
	}{
		"fastapi_validation (langserve, hayhooks, langgraph, open_webui)": {1, 0},
		"fastapi_http_exception": {1, 0},
		"dify":                   {4, 0},
		"anythingllm":            {4, 0},
		"openai":                 {4, 20 * time.Second},
		"azure_openai":           {4, 6840 * time.Millisecond},
		"azure_content_filter":   {1, 0},
		"anthropic":              {4, 15 * time.Second},
		"aws":                    {4, 0},
		"google":                 {4, 12 * time.Second},
		"pinecone":               {1, 0},
		"opensearch":             {4, 0},
		"gateway_html":           {4, 0},
	}
	seen := 0
	for name, raw := range all {
		var answer struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
		}
		if json.Unmarshal(raw, &answer) != nil || answer.Status < 400 {
			continue // the comment, and what comes with 200
		}
		seen++
		t.Run(name, func(t *testing.T) {
			want, ok := want[name]
			if !ok {
				t.Fatal("what is expected?")
			}
			inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range answer.Headers {
					w.Header().Set(k, v)
				}
				body := []byte(answer.Body)
				var text string
				if json.Unmarshal(body, &text) == nil {
					body = []byte(text)
				}
				w.WriteHeader(answer.Status)
				_, _ = w.Write(body)
			}, func(t *testing.T, s *httpsystem.System) {
				e, err := s.Execute(t.Context(), aCase(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				checkExecution(t, e, "http://service.example/answer", "", evidence.ErrStatus, want.attempts, "")
				if len(e.Attempts) > 1 {
					const jitter = 250 // ms: half of 500
					if got := e.Attempts[1].WaitMS; got < float64(want.wait.Milliseconds()) || got > float64(want.wait.Milliseconds())*2+jitter {
						t.Errorf("waited %v ms, want %s", got, want.wait)
					}
				}
			})
		})
	}
	if seen != len(want) {
		t.Errorf("%d error bodies, want %d", seen, len(want))
	}
}

// TestQuota: what no wait mends is not tried again, and says so.
func TestQuota(t *testing.T) {
	for _, tt := range []struct {
		status       int
		header, body string
		message      string // "": another attempt is made
	}{
		{429, "", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, "(insufficient_quota)"},
		{429, "", `{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}`, ""},
		{429, "", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, ""},
		{429, "", `{"code":"rate_limit_error","message":"Daily limit of the app","status":429}`, "(rate_limit_error)"},
		{400, "", `{"code":"provider_quota_exceeded","message":"quota","status":400}`, "(provider_quota_exceeded)"},
		{402, "", `no JSON`, "(payment required)"},
		{400, "ServiceQuotaExceededException:http://internal.amazon.com/coral/", `{}`, "(ServiceQuotaExceededException)"},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-Errortype", tt.header)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		e, err := newSystem(t, config(server.URL)).Execute(t.Context(), aCase(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if tt.message == "" {
			checkExecution(t, e, server.URL, "", evidence.ErrStatus, 4, "")
			continue
		}
		checkExecution(t, e, server.URL, "", evidence.ErrQuota, 1, "")
		if want := "which says that the quota is used up " + tt.message + ": raise it or use another key"; !strings.Contains(e.Error.Message, want) {
			t.Errorf("message = %q, want %q in it", e.Error.Message, want)
		}
	}
}

// TestShouldRetry: the service knows better.
func TestShouldRetry(t *testing.T) {
	for _, tt := range []struct {
		status   int
		header   string
		attempts int
	}{{500, "false", 1}, {409, "true", 4}, {400, "", 1}, {503, "", 4}, {302, "true", 1}} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", tt.header)
			w.WriteHeader(tt.status)
		})
		e, err := newSystem(t, config(server.URL)).Execute(t.Context(), aCase(`{}`))
		if err != nil || len(e.Attempts) != tt.attempts {
			t.Errorf("%d with x-should-retry %q: %d attempts, %v; want %d", tt.status, tt.header, len(e.Attempts), err, tt.attempts)
		}
	}
}

// TestRetriesAreBounded by the suite.
func TestRetriesAreBounded(t *testing.T) {
	for _, retries := range []int{0, 1, 5} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		cfg := config(server.URL)
		cfg.Limits.Retries = retries
		e, err := newSystem(t, cfg).Execute(t.Context(), aCase(`{}`))
		if err != nil || len(e.Attempts) != retries+1 {
			t.Errorf("retries %d: %d attempts, %v", retries, len(e.Attempts), err)
		}
	}
}

func TestWaitAsked(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		headers map[string]string
		body    string
		want    time.Duration
	}{
		{"nothing", nil, "", 0},
		{"milliseconds before seconds", map[string]string{"Retry-After": "7", "retry-after-ms": "6840"}, "", 6840 * time.Millisecond},
		{"milliseconds that are none", map[string]string{"Retry-After": "7", "retry-after-ms": "soon"}, "", 7 * time.Second},
		{"durations of OpenAI", map[string]string{"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "5000"}, "", time.Second},
		{"milliseconds of OpenAI", map[string]string{"x-ratelimit-reset-requests": "20ms", "x-ratelimit-remaining-requests": "0"}, "", 20 * time.Millisecond},
		{"the longest", map[string]string{"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "4s"}, "", 4 * time.Second},
		{"dates of Anthropic", map[string]string{"anthropic-ratelimit-requests-reset": "2026-03-04T05:06:17Z", "anthropic-ratelimit-requests-remaining": "0"}, "", 10 * time.Second},
		{"seconds", map[string]string{"ratelimit-reset": "30"}, "", 30 * time.Second},
		{"seconds since 1970", map[string]string{"x-ratelimit-reset": strconv.FormatInt(now.Unix()+9, 10), "x-ratelimit-remaining": "0"}, "", 9 * time.Second},
		{"milliseconds since 1970", map[string]string{"x-ratelimit-reset": strconv.FormatInt(now.UnixMilli()+1500, 10)}, "", 1500 * time.Millisecond},
		{"past", map[string]string{"x-ratelimit-reset": "2026-03-04T05:06:00Z"}, "", 0},
		{"a day", map[string]string{"x-ratelimit-reset-requests": "24h"}, "", httpsystem.MaxRetryAfter},
		{"Google", nil, `{"error":{"details":[{"@type":"x"},{"retryDelay":"12s"}]}}`, 12 * time.Second},
		{"nonsense", map[string]string{"x-ratelimit-reset": "NaN", "ratelimit-reset": "-3"}, `{"error":{"details":[{"retryDelay":"soon"}]}}`, 0},
	} {
		h := http.Header{}
		for k, v := range tt.headers {
			h.Set(k, v)
		}
		if got := httpsystem.WaitAsked(h, []byte(tt.body), now); got.Round(time.Microsecond) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestRate: a bucket of tokens that all workers share, in fake time.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		name      string
		perSecond float64
		burst     int
		calls     int
		took      time.Duration
	}{
		{"one by one", 2, 1, 9, 4 * time.Second},
		{"a burst first", 2, 5, 9, 2 * time.Second},
		{"slow", 0.1, 1, 3, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":1}`) }, func(t *testing.T, s *httpsystem.System) {
				start := time.Now()
				for range tt.calls {
					go mustAnswer(t, s)
				}
				for range tt.calls * 100 {
					time.Sleep(tt.took / time.Duration(tt.calls*100))
				}
				synctest.Wait()
				if e := mustAnswer(t, s); time.Since(start) <= tt.took || e.Attempts[0].WaitMS <= 0 {
					t.Errorf("the next call was through after %s, having waited %v ms", time.Since(start), e.Attempts[0].WaitMS)
				}
			}, func(cfg *httpsystem.Config) { cfg.Limits.PerSecond, cfg.Limits.Burst = tt.perSecond, tt.burst })
		})
	}
}

// TestRateCountsRetries: a request that is repeated takes another token.
func TestRateCountsRetries(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, func(t *testing.T, s *httpsystem.System) {
		start := time.Now()
		if e, err := s.Execute(t.Context(), aCase(`{}`)); err != nil || len(e.Attempts) != 4 || time.Since(start) != 30*time.Second {
			t.Errorf("%d attempts, %v in %s, want 4 in 30s", len(e.Attempts), err, time.Since(start))
		}
	}, func(cfg *httpsystem.Config) { cfg.Limits.PerSecond = 0.1 })
}

// TestRateOfFurtherRequests: the requests of one attempt wait for their turn one by
// one; that is neither latency nor a reason to time out.
func TestRateOfFurtherRequests(t *testing.T) {
	calls, problems := mapping.CompileCalls(&mapping.Calls{
		Setup: &mapping.Request{Key: "setup", Path: "/sessions"},
		Main:  mapping.Request{Key: "request"},
	}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":1}`) }, func(t *testing.T, s *httpsystem.System) {
		for range 2 {
			start := time.Now()
			e := mustAnswer(t, s)
			if took := time.Since(start); took < 40*time.Second || e.LatencyMS > 100 || len(e.Attempts) != 1 {
				t.Errorf("%v ms latency in %s and %d attempts, want none in at least 40s and one", e.LatencyMS, took, len(e.Attempts))
			}
		}
	}, func(cfg *httpsystem.Config) {
		cfg.Limits.PerSecond, cfg.Calls, cfg.UUID = 0.025, calls, func() string { return "id" }
	})
}
