package suite

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

const launching = `project: p
dataset: d.jsonl
system:
  name: s
  version: v
  http:
    url: http://127.0.0.1:${PORT}/${TENANT}
    headers: {Authorization: "Bearer ${TOKEN}", X-Dollar: "$5 $NAME"}
  start:
    command: ["${OLOPROOF_BIN}", serve, "--addr=127.0.0.1:${PORT}"]
    ready: 127.0.0.1:${PORT}
    timeout_s: 7
    env: {KEY: "${TOKEN}", PORT: "${PORT}"}
evaluators: [{type: contains, criterion: ok}]
`

func TestResolve(t *testing.T) {
	ports := 0
	opt := ResolveOptions{AllowExec: true, Bin: "/bin/oloproof", Port: func() (int, error) { ports++; return 4711, nil }}
	got, err := parse(t, launching).Resolve(environment(map[string]string{"TOKEN": "s3cret", "TENANT": "acme", "PORT": "1", "OLOPROOF_BIN": "x"}), opt)
	if err != nil {
		t.Fatal(err)
	}
	want := &Resolved{
		URL:     "http://127.0.0.1:4711/acme",
		Headers: [][2]string{{"Authorization", "Bearer s3cret"}, {"X-Dollar", "$5 $NAME"}},
		Start: &ResolvedStart{
			Command: []string{"/bin/oloproof", "serve", "--addr=127.0.0.1:4711"}, Ready: "127.0.0.1:4711",
			Env: []string{"KEY=s3cret", "PORT=4711"}, Timeout: 7 * time.Second,
		},
		Secrets: []string{"acme", "s3cret"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ports != 1 {
		t.Errorf("%d ports for one service", ports)
	}
}

func TestResolveWithAnotherURL(t *testing.T) {
	s := parse(t, launching)
	noPort := func() (int, error) { t.Error("a port was asked for"); return 0, errors.New("none") }
	got, err := s.Resolve(environment(map[string]string{"TOKEN": "s3cret"}), ResolveOptions{URL: "https://preview.example/a", Port: noPort})
	if err != nil {
		t.Fatal(err)
	}
	if got.URL != "https://preview.example/a" || got.Start != nil || got.Headers[0][1] != "Bearer s3cret" {
		t.Errorf("got %+v", got)
	}
	for url, want := range map[string]string{
		"preview.example": "no scheme", "ftp://x": "scheme", "http://": "no host", "http://x:99999/": "port", "http://x/a b": "space", "http://${X}/": "${", "http://x/a#b": "fragment",
	} {
		if _, err := s.Resolve(environment(map[string]string{"TOKEN": "s3cret"}), ResolveOptions{URL: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--url %s: got %v, want %s", url, err, want)
		}
	}
}

// TestCredentialsOfTheURLAreSecret: --url may bring a password that no variable
// holds.
func TestCredentialsOfTheURLAreSecret(t *testing.T) {
	s := parse(t, minimal)
	for url, want := range map[string][]string{
		"http://x/":                nil,
		"http://someone:s3cret@x/": {"s3cret"},
		"http://t0ken@x/":          {"t0ken"},
		"http://a:p%40ss@x/":       {"p@ss"},
	} {
		got, err := s.Resolve(environment(nil), ResolveOptions{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Secrets); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
	}
}

// TestLiteralSecrets: what a file holds that is a secret by its name is kept out of
// what is shown, although only auth refuses it there.
func TestLiteralSecrets(t *testing.T) {
	s := parse(t, `
project: p
dataset: d.jsonl
system:
  name: n
  version: "1"
  http:
    url: https://rag.example/a?api_key=in-the-url&k=4444444444
    headers: {Authorization: Bearer in-a-header, X-Version: "2024-10-21", Cookie: "sid=in-a-cookie; n=1", X-Key: "${TOKEN}"}
    request: {query: {sig: in-a-query, top: "10000000"}, headers: {X-Token: "{{case.id}}-token"}}
    output: a
evaluators: [{type: contains, criterion: ok}]
`)
	got, err := s.Resolve(environment(map[string]string{"TOKEN": "s3cret"}), ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.Secrets)
	if want := []string{"in-a-cookie", "in-a-header", "in-a-query", "in-the-url", "s3cret"}; !slices.Equal(slices.Compact(got.Secrets), want) {
		t.Errorf("secrets %q, want %q", got.Secrets, want)
	}
	if got, err = s.Resolve(environment(map[string]string{"TOKEN": "s3cret"}), ResolveOptions{URL: "http://x/?token=of-the-flag"}); err != nil || !slices.Contains(got.Secrets, "of-the-flag") {
		t.Errorf("secrets %q, %v", got.Secrets, err)
	}
}

// TestPortIsAVariableWithoutAService: only a service that is launched has a
// port that can be chosen.
func TestPortIsAVariableWithoutAService(t *testing.T) {
	s := parse(t, strings.Replace(minimal, "http://x/", "http://127.0.0.1:${PORT}/", 1))
	got, err := s.Resolve(environment(map[string]string{"PORT": "8080"}), ResolveOptions{})
	if err != nil || got.URL != "http://127.0.0.1:8080/" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestResolveFaults(t *testing.T) {
	allow := ResolveOptions{AllowExec: true, Bin: "b", Port: func() (int, error) { return 1, nil }}
	full := map[string]string{"TOKEN": "s3cret", "TENANT": "acme"}
	with := func(name, value string) map[string]string {
		m := map[string]string{}
		for k, v := range full {
			m[k] = v
		}
		m[name] = value
		return m
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		opt  ResolveOptions
		want []string
	}{
		{"unset", nil, allow, []string{"TOKEN is not set", "TENANT is not set", "oloproof.yaml:7:10", "oloproof.yaml:8:30", "system.http.headers.Authorization", "system.start.env.KEY"}},
		{"empty", with("TOKEN", ""), allow, []string{"TOKEN is empty"}},
		{"line break in a header", with("TOKEN", "hidden\nvalue"), allow, []string{"system.http.headers.Authorization", "line break"}},
		{"space in the URL", with("TENANT", "hidden value"), allow, []string{"system.http.url", "space"}},
		{"no execution", full, ResolveOptions{Port: allow.Port}, []string{"OLOPROOF_ALLOW_EXEC", "oloproof.yaml:10:5"}},
		{"no port", full, ResolveOptions{AllowExec: true, Port: func() (int, error) { return 0, errors.New("all taken") }}, []string{"no free port", "all taken"}},
	} {
		r, err := parse(t, launching).Resolve(environment(test.env), test.opt)
		if err == nil || r != nil {
			t.Errorf("%s: no error, %+v", test.name, r)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nlacks %s", test.name, err, want)
			}
		}
		for _, secret := range []string{"s3cret", "hidden", "acme"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v\nshows a value", test.name, err)
			}
		}
	}
}
