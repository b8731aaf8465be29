package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/demo"
)

// Every problem of every file of a project is told in one run.
func TestEveryProblemInOnePass(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("oloproof.yaml", `version: 1
project: p
dataset: d.jsonl
system:
  name: s
  version: v1
  http: {url: "http://127.0.0.1:1/x"}
evaluators:
  - {type: contains, criterion: ok, field: answer, expected_field: answer}
  - {type: regex, criterion: form, pattern: "(?<=a)b"}
`)
	suiteText, err := os.ReadFile(filepath.Join(dir, "oloproof.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write("d.jsonl", "{\"id\":\"a\",\"input\":1}\n{bad\n{\"id\":\"a\",\"input\":NaN}\n{\"id\":\"a\",\"input\":2}\n")
	write("release.yaml", `confidence_level: 95
rules:
  - {id: r, metric: ok, min: 70}
  - {id: r, metric: oK, min: 0.7, flavour: x}
`)
	got := command(t, nil, "run", "--config", filepath.Join(dir, "oloproof.yaml"))
	if got.code != ExitConfig {
		t.Fatalf("exit code %d, want %d\n%s", got.code, ExitConfig, got.stderr)
	}
	for _, want := range []string{"oloproof.yaml:10:", "d.jsonl:2:", "release.yaml:1:", "release.yaml:4:"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr does not name %s\n%s", want, got.stderr)
		}
	}

	write("oloproof.yaml", strings.Replace(string(suiteText), "(?<=a)b", "b", 1))
	got = command(t, nil, "run", "--config", filepath.Join(dir, "oloproof.yaml"))
	for _, want := range []string{
		"d.jsonl:2:", "d.jsonl:3:", "d.jsonl:4\n", "duplicate", // of the data set
		"release.yaml:1:", "0.95",
		"release.yaml:3:", "0.70", // against the metrics, although the policy is wrong in itself
		"release.yaml:4:", "unknown metric oK", "flavour",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr does not say %s\n%s", want, got.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".oloproof")); err == nil {
		t.Error("something was stored")
	}
}

// So do the commands that decide stored runs.
func TestEveryProblemOfAPolicyForStoredRuns(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "p", "oloproof.yaml")
	if got := command(t, nil, "init", "--example", "blackbox_rag", filepath.Join(dir, "p")); got.code != ExitOK {
		t.Fatal(got.stderr)
	}
	server := httptest.NewServer(example(t))
	defer server.Close()
	if got := command(t, nil, "run", "--config", config, "--url", server.URL+"/answer"); got.code != ExitFail {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	bad := filepath.Join(dir, "bad.yaml")
	text := "rules:\n  - {id: c, metric: answer_correct, kind: non_inferiority, margin: 5, flavour: x}\n  - {id: r, metric: answer_correct, min: 70}\n"
	if err := os.WriteFile(bad, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"gate", "latest", "--policy", bad},
		{"plan", "latest", "--policy", bad},
		{"compare", "latest", "latest", "--policy", bad},
		{"gate", "latest", "--baseline", "latest", "--compare-policy", bad},
	} {
		got := command(t, nil, append(args, "--config", config)...)
		if got.code != ExitConfig {
			t.Errorf("%v: exit code %d", args, got.code)
		}
		for _, want := range []string{"flavour", "0.05", "0.70"} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%v: stderr does not say %s\n%s", args, want, got.stderr)
			}
		}
	}
}

func example(t *testing.T) http.Handler {
	t.Helper()
	h, err := demo.Handler("blackbox_rag", demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
