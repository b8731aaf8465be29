package github

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// TestRetries: what is retried, how long is waited, and what is not.
func TestRetries(t *testing.T) {
	reset := now.Add(20 * time.Second)
	cases := []struct {
		name   string
		fault  githubtest.Fault
		waits  []time.Duration
		reason Reason // "": it succeeds in the end
	}{
		{"one 502", githubtest.Fault{Status: 502, Times: 1}, []time.Duration{1 * time.Second}, ""},
		{"503 that stays", githubtest.Fault{Status: 503}, []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second}, Broken},
		{"429 with a time", githubtest.Fault{Status: 429, Times: 1, Header: map[string]string{"Retry-After": "7"}}, []time.Duration{7 * time.Second}, ""},
		{"429 with a date", githubtest.Fault{Status: 429, Times: 1, Header: map[string]string{"Retry-After": now.Add(9 * time.Second).Format(http.TimeFormat)}}, []time.Duration{9 * time.Second}, ""},
		{"429 without a time", githubtest.Fault{Status: 429}, nil, RateLimited},
		{"429 for an hour", githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, nil, RateLimited},
		{"secondary limit without a time", githubtest.Fault{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit"}`}, nil, RateLimited},
		{"secondary limit with a time", githubtest.Fault{Status: 403, Times: 1, Header: map[string]string{"Retry-After": "3"}, Body: `{"message":"You have exceeded a secondary rate limit"}`}, []time.Duration{3 * time.Second}, ""},
		{"primary limit that ends soon", githubtest.Fault{Status: 403, Times: 1, Header: map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": "1796040020"}, Body: `{}`}, []time.Duration{reset.Sub(now) + time.Second}, ""},
		{"primary limit that ends late", githubtest.Fault{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": "1796043600"}, Body: `{}`}, nil, RateLimited},
		{"permission", githubtest.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, nil, Denied},
		{"no such thing", githubtest.Fault{Status: 404, Body: `{}`}, nil, NotFound},
		{"gone", githubtest.Fault{Status: 410, Body: `{}`}, nil, Gone},
		{"refused", githubtest.Fault{Status: 422, Body: `{"message":"Validation Failed"}`}, nil, Refused},
		{"bad token", githubtest.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, nil, Denied},
		{"redirect", githubtest.Fault{Status: 302, Header: map[string]string{"Location": "/elsewhere"}}, nil, Unexpected},
		{"one broken connection", githubtest.Fault{Cut: true, Times: 1, Body: "{"}, []time.Duration{1 * time.Second}, ""},
	}
	if reset.Unix() != 1796040020 {
		t.Fatalf("the clock's reset is %d", reset.Unix())
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.Fail(c.fault)
			err := getCommit(b, t.Context())
			if got := reasonOf(err); got != c.reason {
				t.Errorf("%v: reason %q, want %q", err, got, c.reason)
			}
			if !sameWaits(b.waits, c.waits) {
				t.Errorf("waits %v, want %v", b.waits, c.waits)
			}
			if got := b.client.Requests(); got != len(c.waits)+1 {
				t.Errorf("%d requests, want %d", got, len(c.waits)+1)
			}
			if err != nil && (strings.Contains(err.Error(), "://") || strings.Contains(err.Error(), githubtest.Token)) {
				t.Errorf("the error shows an address or the token: %v", err)
			}
		})
	}
}

func getCommit(b *bench, ctx context.Context) error {
	_, err := NewLookup(b.client, &Event{}).commit(ctx, githubtest.SHA("base"))
	return err
}

func sameWaits(a, b []time.Duration) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestPostOnce: a POST is sent once, whatever is answered; its error is kept.
func TestPostOnce(t *testing.T) {
	for _, f := range []githubtest.Fault{{Status: 502, Body: "<html>"}, {Status: 429, Header: map[string]string{"Retry-After": "1"}}, {Cut: true}} {
		b := newBench(t, nil)
		b.Fail(f)
		_, _, err := b.client.API.Issues.CreateComment(t.Context(), githubtest.Owner, githubtest.Repo, 7, &github.IssueComment{Body: github.String("x")})
		if err == nil || b.client.Requests() != 1 {
			t.Errorf("%+v: %d requests, %v", f, b.client.Requests(), err)
		}
	}
	b := newBench(t, nil)
	_, _, err := b.client.API.Issues.CreateComment(t.Context(), githubtest.Owner, githubtest.Repo, 7, &github.IssueComment{Body: github.String(strings.Repeat("x", 65537))})
	if e := Explain("write the comment", err); e.Reason != Refused || !strings.Contains(e.Error(), "Body is too long") {
		t.Errorf("got %v", e)
	}
}

// TestPatchRepeated: an edit may be sent again.
func TestPatchRepeated(t *testing.T) {
	b := newBench(t, nil)
	b.Do(func(w *githubtest.World) { w.Comments = []githubtest.Comment{{ID: 5, Pull: 7, Body: "old"}} })
	b.Fail(githubtest.Fault{Method: "PATCH", Status: 502, Times: 2})
	if _, _, err := b.client.API.Issues.EditComment(t.Context(), githubtest.Owner, githubtest.Repo, 5, &github.IssueComment{Body: github.String("new")}); err != nil {
		t.Fatal(err)
	}
	b.Do(func(w *githubtest.World) {
		if w.Comments[0].Body != "new" {
			t.Errorf("the comment is %q: the body was not sent again", w.Comments[0].Body)
		}
	})
	if b.client.Requests() != 3 {
		t.Errorf("%d requests, want 3", b.client.Requests())
	}
}

// TestTokenStays: the token goes to the API's host only, also where a redirect
// or an absolute address leads elsewhere.
func TestTokenStays(t *testing.T) {
	got := make(chan string, 10)
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.Write([]byte("{}"))
	}))
	defer stranger.Close()
	b := newBench(t, nil)
	b.Fail(githubtest.Fault{Status: 302, Header: map[string]string{"Location": stranger.URL + "/steal"}})
	if err := getCommit(b, t.Context()); reasonOf(err) != Unexpected {
		t.Errorf("a redirect was followed: %v", err)
	}
	req, err := b.client.API.NewRequest("GET", stranger.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.client.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if auth := <-got; auth != "" || len(got) != 0 {
		t.Errorf("a stranger's host got %q, then %d more requests", auth, len(got))
	}
}

// TestSharedTime: the calls after one Begin share one minute.
func TestSharedTime(t *testing.T) {
	b := newBench(t, nil)
	ctx, cancel := b.client.Begin(t.Context())
	defer cancel()
	b.Fail(githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "50"}, Times: 1})
	if err := getCommit(b, ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancelAgain := b.client.Begin(ctx)
	defer cancelAgain()
	b.Fail(githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "15"}, Times: 1})
	if err := getCommit(b, ctx); reasonOf(err) != RateLimited {
		t.Errorf("65 seconds of waiting were allowed: %v", err)
	}
	b.Fail(githubtest.Fault{Status: 429, Header: map[string]string{"Retry-After": "15"}, Times: 1})
	if err := getCommit(b, t.Context()); err != nil {
		t.Errorf("a call of its own has a minute of its own: %v", err)
	}
}

// TestEnds: a call ends with its context and with its time.
func TestEnds(t *testing.T) {
	b := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	b.Fail(githubtest.Fault{Hang: true, Times: 1, Reached: cancel})
	err := getCommit(b, ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	b.Fail(githubtest.Fault{Hang: true})
	ctx, cancel = context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errOutOfTime)
	defer cancel()
	if err := getCommit(b, ctx); reasonOf(err) != OutOfTime || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v, want out of time", err)
	}
}

// TestLargeAnswer: an answer is read to its limit only, once.
func TestLargeAnswer(t *testing.T) {
	b := newBench(t, nil)
	b.Fail(githubtest.Fault{Body: strings.Repeat("x", maxAnswer+1)})
	if err := getCommit(b, t.Context()); err == nil || !strings.Contains(err.Error(), "too large") || b.client.Requests() != 1 {
		t.Errorf("%v after %d requests", err, b.client.Requests())
	}
}

// TestForeignMessage: what a server says is one short line without controls.
func TestForeignMessage(t *testing.T) {
	b := newBench(t, nil)
	b.Fail(githubtest.Fault{Status: 422, Body: `{"message":"a\u001b[31m\n::error::b\u202e` + strings.Repeat("x", 500) + `"}`})
	text := getCommit(b, t.Context()).Error()
	if strings.ContainsAny(text, "\n\x1b\u202e") || len(text) > 400 {
		t.Errorf("got %q", text)
	}
}
