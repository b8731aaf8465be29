package githubtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// witness records what a server finds wrong instead of failing the test.
type witness struct {
	testing.TB
	mu  sync.Mutex
	saw []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saw = append(w.saw, fmt.Sprintf(format, args...))
}

// TestServerObjects: the fake fails a test for what GitHub would not take.
func TestServerObjects(t *testing.T) {
	below := "/repos/" + Owner + "/" + Repo
	cases := []struct {
		name, method, path, body string
		token                    bool
		want                     string // "": nothing is wrong
	}{
		{"described", "GET", below + "/actions/artifacts?name=x&per_page=100", "", true, ""},
		{"unknown parameter", "GET", below + "/actions/artifacts?direction=desc", "", true, `"direction" is not described`},
		{"parameter that is no number", "GET", below + "/actions/artifacts?per_page=many", "", true, "per_page"},
		{"unknown operation", "GET", below + "/actions/caches", "", true, "no operation"},
		{"no token", "GET", below + "/actions/artifacts", "", false, "Authorization"},
		{"comment", "POST", below + "/issues/7/comments", `{"body":"x"}`, true, ""},
		{"comment without its body", "POST", below + "/issues/7/comments", `{"text":"x"}`, true, "body"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := &witness{TB: t}
			send(t, New(w).URL, c.method, c.path, c.body, c.token)
			if got := strings.Join(w.saw, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("the server found %q, want %q", got, c.want)
			}
		})
	}
	w := &witness{TB: t}
	send(t, New(w).BlobURL, "GET", "/x", "", true)
	if got := strings.Join(w.saw, "\n"); !strings.Contains(got, "Authorization") {
		t.Errorf("the token reached the storage, and the server found %q", got)
	}
}

func send(t *testing.T, base, method, path, body string, token bool) {
	t.Helper()
	req, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token {
		req.Header.Set("Authorization", "Bearer "+Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// TestAnswersDescribed: an answer that departs from the description is found.
func TestAnswersDescribed(t *testing.T) {
	for name, load := range map[string]func() (*description, error){"github.com": dotcom, "enterprise": enterprise} {
		t.Run(name, func(t *testing.T) {
			d, err := load()
			if err != nil {
				t.Fatal(err)
			}
			for answer, ok := range map[string]bool{
				`{"total_count":0,"artifacts":[]}`:           true,
				`{"total_count":0}`:                          false,
				`{"total_count":"0","artifacts":[]}`:         false,
				`{"total_count":1,"artifacts":[{"id":"x"}]}`: false,
			} {
				req, err := http.NewRequest("GET", "https://api.github.com/repos/o/r/actions/artifacts", nil)
				if err != nil {
					t.Fatal(err)
				}
				err = d.check(exchange{operation: "/repos/{owner}/{repo}/actions/artifacts", params: map[string]string{"owner": "o", "repo": "r"},
					request: req, status: 200, header: http.Header{"Content-Type": {"application/json"}}, answer: []byte(answer)})
				if (err == nil) != ok {
					t.Errorf("%s: %v", answer, err)
				}
			}
		})
	}
}
