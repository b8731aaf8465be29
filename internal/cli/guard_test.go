package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/github"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// The passwords of proxies are secrets, in whatever way a proxy is written.
func TestProxyPasswords(t *testing.T) {
	e := &Env{Environ: []string{"HTTP_PROXY=http://gate:p%40ss@proxy:3128", "https_proxy=gate:w0rd@proxy", "NO_PROXY=a:b@c", "HTTP_PROXY=proxy:1", "PATH=/bin", "HTTPS_PROXY=socks5://t0ken@proxy:1"}}
	if got, want := e.proxyPasswords(), []string{"p@ss", "w0rd", "t0ken"}; !slices.Equal(got, want) {
		t.Errorf("passwords %q, want %q", got, want)
	}
}

// Judges bring keys, so a change cannot send them to a host of its own: neither
// to one that it names nor to the deployment that it wrote.
func TestJudgesKeepToTheirHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	s, err := suite.Parse("oloproof.yaml", []byte(`
project: p
dataset: d.jsonl
system: {name: s, version: v, http: {url: "https://rag.example.com/", artifacts: {context/v1: c}}}
evaluators: [{type: groundedness_judge, provider: openai_compatible, base_url: "`+server.URL+`/v1", model: m}]
`), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	call := func(j *ciJob, url string) error {
		t.Helper()
		j.getenv = func(string) string { return "" }
		rules, err := j.guardJudges(&project{suite: s})
		if err != nil {
			t.Fatal(err)
		}
		transport := rules.Transport(&http.Transport{})
		defer transport.CloseIdleConnections()
		req, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	var refused *netguard.Refusal
	for name, test := range map[string]struct {
		job *ciJob
		url string
		ok  bool
	}{
		"proposed, not listed":      {&ciJob{in: &github.Inputs{}, base: &proposal{}}, server.URL, false},
		"proposed and listed":       {&ciJob{in: &github.Inputs{AllowedHosts: []string{host}}, base: &proposal{}}, server.URL, true},
		"the deployment":            {&ciJob{in: &github.Inputs{URL: "https://preview.example.com/answer"}, base: &proposal{}}, "https://preview.example.com/v1", false},
		"the system of the suite":   {&ciJob{in: &github.Inputs{}, base: nil}, "https://rag.example.com/", false},
		"this machine, not listed":  {&ciJob{in: &github.Inputs{}, base: nil}, server.URL, false},
		"this machine, listed":      {&ciJob{in: &github.Inputs{AllowedHosts: []string{"127.0.0.1"}}, base: nil}, server.URL, true},
		"a host that nobody listed": {&ciJob{in: &github.Inputs{}, base: nil}, "https://api.anthropic.com/v1/messages", false},
	} {
		err := call(test.job, test.url)
		if test.ok && err != nil || !test.ok && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
