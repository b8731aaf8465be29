package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/report"
)

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"my-rag/oloproof.yaml": "my-rag/oloproof.yaml",
		"my suite/o.yaml":      "'my suite/o.yaml'",
		"it's":                 `'it'\''s'`,
		"http://h/a?b&c":       "'http://h/a?b&c'",
		"":                     "''",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	doc := func(completeness evidence.Completeness, gate string, failures int) *report.Document {
		d := &report.Document{}
		d.Run.ID, d.Run.Completeness = "run_X", completeness
		d.Metrics = []report.Metric{{Failures: failures}}
		if gate != "" {
			d.Gate = &report.Gate{Action: gate}
		}
		return d
	}
	files := configFlags{config: "a/oloproof.yaml", policy: "b.yaml"}
	for _, c := range []struct {
		given given
		doc   *report.Document
		want  string
	}{
		{given{configFlags: files}, doc(evidence.Complete, string(decide.Block), 2), "oloproof inspect run_X --failures --config a/oloproof.yaml"},
		{given{configFlags: files}, doc(evidence.Complete, string(decide.Block), 0), "oloproof plan run_X --config a/oloproof.yaml --policy b.yaml"},
		{given{configFlags: files, url: "http://h"}, doc(evidence.Partial, string(decide.Block), 0), "oloproof run --resume=run_X --config a/oloproof.yaml --policy b.yaml --url http://h"},
		{given{configFlags: files, url: "http://u:p@h/"}, doc(evidence.Partial, string(decide.Block), 0), "oloproof run --resume=run_X --config a/oloproof.yaml --policy b.yaml --url URL"},
		{given{configFlags: files, url: "http://h/?token=t"}, doc(evidence.Partial, string(decide.Block), 0), "oloproof run --resume=run_X --config a/oloproof.yaml --policy b.yaml --url URL"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}}, doc(evidence.Complete, string(decide.Allow), 0), "oloproof export run_X"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}}, doc(evidence.Complete, "", 0), "write release.yaml beside the suite, then oloproof gate run_X"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}, bundle: "from ci"}, doc(evidence.Complete, string(decide.Block), 2), "oloproof inspect 'from ci' --failures"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}, bundle: "b", bare: true}, doc(evidence.Complete, string(decide.Block), 2), "oloproof plan b"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}, bundle: "b"}, doc(evidence.Partial, string(decide.Block), 2), "oloproof inspect b --failures"},
		{given{configFlags: configFlags{config: "oloproof.yaml"}, bundle: "b"}, doc(evidence.Complete, string(decide.Allow), 0), "oloproof plan b"},
	} {
		if got := strings.Join(c.given.next(c.doc), "\n"); got != c.want {
			t.Errorf("next = %q, want %q", got, c.want)
		}
	}
}

// own writes a suite against a server of the test and returns its path.
func own(t *testing.T, system string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"oloproof.yaml": "version: 1\nproject: own\ndataset: cases.jsonl\nsystem:\n  name: s\n  version: v\n" + system +
			"evaluators:\n  - {type: contains, criterion: answer_correct, expected_field: answer}\n",
		"cases.jsonl": `{"id":"a","input":{"q":"?"},"expected":{"answer":"yes"}}` + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "oloproof.yaml")
}

// TestCheckAdvises calls services that answer otherwise than the suite says.
func TestCheckAdvises(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/ok":
			io.WriteString(w, `{"replies": [{"parts": [{"text": "yes"}]}], "hits": [{"key": "d1"}]}`)
		case "/token":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	http := func(path, keys string) string {
		return "  http:\n    url: " + server.URL + path + "\n" + keys
	}
	for name, c := range map[string]struct {
		system  string
		code    int
		stdout  string
		stderr  string
		command []string
	}{
		"nested lists":   {system: http("/ok", "    output_path: replies.0.parts.0.text\n"), stdout: "\nNext: oloproof run --config "},
		"not mapped":     {system: http("/ok", ""), stdout: "answer_correct: passed"},
		"wrong path":     {system: http("/ok", "    output_path: replies.0.part\n"), code: 2, stderr: "name the place of the answer"},
		"no token":       {system: http("/token", ""), code: 2, stderr: "give system.http.headers what the service asks for"},
		"wrong url":      {system: http("/nowhere", ""), code: 2, stderr: "correct the path in system.http.url"},
		"other shape":    {system: http("/ok", "    artifacts: {retrieval/v1: hits}\n"), code: 2, stderr: `retrieval/v1 looks like {"query"`},
		"shape, in run":  {system: http("/ok", "    artifacts: {retrieval/v1: hits}\n"), code: 2, stderr: "Configuration error: case \"a\": malformed retrieval/v1", command: []string{"run"}},
		"not called":     {system: http("/ok", ""), stdout: "\nNext: oloproof check --config ", command: []string{"check", "--no-call"}},
		"other endpoint": {system: http("/nowhere", "    output_path: replies.0.parts.0.text\n"), stdout: " --url " + server.URL + "/ok\n", command: []string{"check", "--url", server.URL + "/ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			words := c.command
			if words == nil {
				words = []string{"check"}
			}
			got := command(t, nil, append(words, "--config", own(t, c.system))...)
			if got.code != c.code || !strings.Contains(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("code %d, want %d; want %q and %q in\n%s%s", got.code, c.code, c.stdout, c.stderr, got.stdout, got.stderr)
			}
		})
	}
}

// TestCheckUnjudged does not send on someone whose evaluator judges nothing.
func TestCheckUnjudged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `"yes"`)
	}))
	defer server.Close()
	config := own(t, "  http: {url: \""+server.URL+"\"}\n")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), "expected_field", "field: answer, expected_field", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "check", "--config", config)
	if got.code != 0 || !strings.Contains(got.stdout, "Next: mend what errored above, then oloproof check --config") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestUsageHints(t *testing.T) {
	for want, words := range map[string][]string{
		"oloproof init writes one":              {"run", "--config", filepath.Join(t.TempDir(), "none.yaml")},
		"--resume=run_01K":                      {"run", "--resume", "run_01K"},
		`unknown command "rnu", did you mean`:   {"help", "rnu"},
		"there are bash, zsh, fish, powershell": {"completion", "tcsh"},
	} {
		if got := command(t, nil, words...); got.code != ExitConfig || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: code %d, want %q in %s", words, got.code, want, got.stderr)
		}
	}
}

// TestAbsentFiles names the file that was meant.
func TestAbsentFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"oloproof.yaml", "strict.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"run", "--config", file("olprof.yaml")}, "there is no suite " + file("olprof.yaml") + "; did you mean " + file("oloproof.yaml") + "?"},
		{[]string{"plan", "--config", file("oloproof.yaml"), "--policy", file("stritc.yaml")}, "did you mean " + file("strict.yaml") + "?"},
		{[]string{"plan", "--config", file("oloproof.yaml"), "--policy", "strict.yaml"}, "did you mean " + file("strict.yaml") + ", beside the suite?"},
		{[]string{"plan", "--config", file("oloproof.yaml"), "--policy", "other/none.yaml"}, "there is no policy other/none.yaml\n"},
	} {
		if got := command(t, nil, c.words...); got.code != ExitConfig || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: code %d, want %q in %s", c.words, got.code, c.want, got.stderr)
		}
	}
}
