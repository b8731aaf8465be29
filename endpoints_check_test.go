package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// checked runs oloproof check on a suite of one preset-less case against a URL
// and returns what it prints and its exit code.
func checked(t *testing.T, keys string, env ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"oloproof.yaml": "project: p\ndataset: c.jsonl\nsystem:\n  name: s\n  version: \"1\"\n  http:\n" + keys + "evaluators:\n  - {type: contains, criterion: a, expected_field: answer}\n",
		"c.jsonl":       `{"id":"a","input":{"q":1},"expected":{"answer":"x"}}` + "\n" + `{"id":"b","input":{"q":1},"expected":{"answer":"x"}}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("oloproof", "check")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

// check says what two calls of one case tell of an endpoint.
func TestCheckEndpoint(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls++
		n := calls
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/denied":
			w.WriteHeader(http.StatusUnauthorized)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "/shared":
			fmt.Fprintf(w, `{"text": "x", "conversation_id": "c-1", "usage": {"prompt_tokens": %d}}`, 100*n)
		case "/apart":
			fmt.Fprintf(w, `{"text": "x %d", "chatId": "c-%d", "usage": {"prompt_tokens": 100}}`, n, n)
		case "/limited":
			w.Header().Set("X-RateLimit-Remaining", "1")
			fmt.Fprint(w, `{"text": "x"}`)
		}
	}))
	t.Cleanup(server.Close)
	mapped := "    output: text\n    usage: {input_tokens: usage.prompt_tokens}\n"
	for _, c := range []struct {
		path, keys string
		code       int
		want       []string
	}{
		{"/denied", "", 2, []string{"auth        401: the service wants to know who calls, and nothing was sent"}},
		{"/denied", "    headers: {X-Key: \"${RAG_KEY}\"}\n", 2, []string{"auth        401: what X-Key holds does not let us in"}},
		{"/forbidden", "    headers: {X-Key: \"${RAG_KEY}\"}\n", 2, []string{"auth        403: the service knows who calls by X-Key and refuses"}},
		{"/denied", "    headers: {X-Access: \"${RAG_KEY}\"}\n", 2, []string{"auth        401: what X-Access holds does not let us in"}},
		{"/shared", mapped, 0, []string{"the same answer and the same sources", "both calls were in one session (conversation_id)", "input tokens, then", "whole suite 2 cases, 8 at a time: less than a second"}},
		{"/apart", mapped, 0, []string{"another answer; a model varies", "each call had a session of its own (chatId)"}},
		{"/limited", "    output: text\n", 0, []string{"rate limits X-Ratelimit-Remaining: 1; 1 requests are left and the suite has 2 cases", "nothing in the answers names a session"}},
	} {
		out, code := checked(t, "    url: "+server.URL+c.path+"\n"+c.keys, "RAG_KEY=value-of-the-key")
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.path, code, c.code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.path, want, out)
			}
		}
		if strings.Contains(out, "value-of-the-key") {
			t.Errorf("%s: the secret is shown\n%s", c.path, out)
		}
	}
}

// check describes the certificate of an endpoint, or why it is not taken.
func TestCheckTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text": "x"}`)
	}))
	t.Cleanup(server.Close)
	keys := "    url: " + server.URL + "\n    output: text\n"
	out, code := checked(t, keys)
	if want := "TLS         the certificate comes from an authority that this machine does not know"; code != 2 || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want 2 and %q:\n%s", code, want, out)
	}
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o644); err != nil {
		t.Fatal(err)
	}
	out, code = checked(t, keys, "SSL_CERT_FILE="+authority)
	until := server.Certificate().NotAfter.Format("2006-01-02")
	if want := "TLS         TLS 1.3, certificate of example.com by Acme Co, good until " + until; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want 0 and %q:\n%s", code, want, out)
	}
}
