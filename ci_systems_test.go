package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// systemSite is a site whose main has a suite of one kind of system, and the inputs
// of its jobs. More files are added to the three.
func systemSite(t *testing.T, system string, more map[string]string) (*site, map[string]string) {
	t.Helper()
	s := newSite(t)
	files := map[string]string{
		"oloproof.yaml": "version: 1\nproject: p\ndataset: cases.jsonl\nsystem:\n  name: s\n" + system +
			"evaluators:\n  - {type: contains, criterion: answer_correct, field: answer, expected_field: answer}\n",
		"cases.jsonl": `{"id":"seats","input":{"q":"How many seats?"},"expected":{"answer":"five"}}` + "\n" +
			`{"id":"price","input":{"q":"What is the price?"},"expected":{"answer":"nine"}}` + "\n",
		"release.yaml": "version: 1\nrules:\n  - {id: answers, metric: answer_correct, kind: observed_count, max_failures: 0}\n",
	}
	for name, text := range more {
		files[name] = text
	}
	s.keep("systems", files)
	s.gh.Do(func(w *world) {
		for name := range s.trees["base"] { // of the example
			if _, ok := files[name]; !ok {
				delete(w.Files, "systems:"+name)
			}
		}
		w.Parents["systems"] = []string{"base"}
		w.Branches["main"] = "systems"
	})
	s.head = "systems"
	return s, map[string]string{"url": "", "allow-exec": "true"}
}

// answering is a program that answers as the shell function answer says.
func answering(answer string) string {
	return `echo '{"hello": {"protocol": 1, "methods": ["run"]}}'
while read -r request; do
  id=${request#'{"id":'}
  id=${id%%,*}
  case $request in
    *seats*) answer='` + answer + `' ;;
    *) answer='nine euros' ;;
  esac
  printf '{"id": %s, "result": {"answer": "%s"}}\n' "$id" "$answer"
done
`
}

const shellProgram = "  command: {run: [/bin/sh, program.sh]}\n  code_paths: [program.sh]\n"

// A program is tested like an endpoint, once the workflow allows it to run.
func TestProgramUnderTheGate(t *testing.T) {
	t.Parallel()
	s, in := systemSite(t, shellProgram, map[string]string{"program.sh": answering("five seats")})

	refused := s.push(map[string]string{"url": ""}).ends(2)
	a := refused.failure()
	if a.Title != "Configuration error" || a.File != "oloproof.yaml" || a.Line != 6 {
		t.Errorf("the error is %q at %s:%d", a.Title, a.File, a.Line)
	}
	says(t, "error", a.Message, "system.command starts a program", "allow-exec: true")
	saysNot(t, "error", a.Message, "Configuration error")

	s.push(in).ends(0).is("only", "answers", "PASS", "observed_failures_within_limit")
	s.open(pull{number: 1, edit: edit{"program.sh": answering("six seats")}}, in).ends(1).is("only", "answers", "FAIL", "observed_failures_exceed_limit")
	says(t, "comment", s.comment(1), "answers", "FAIL")

	// What the program prints is no command of the runner.
	loud := "echo '::error::not ours' >&2\n" + answering("five seats")
	o := s.open(pull{number: 2, edit: edit{"program.sh": loud}}, in).ends(0)
	for _, a := range o.Annotations {
		if strings.Contains(a.Message, "not ours") {
			t.Errorf("the program wrote the annotation %q", a.Message)
		}
	}

	// It sees none of the runner's own variables, of which one is the token.
	spying := `if env | grep -q '^\(GITHUB\|ACTIONS\|INPUT\|RUNNER\)_'; then exit 4; fi` + "\n" + answering("five seats")
	s.open(pull{number: 4, edit: edit{"program.sh": spying}}, in).ends(0)

	// One that fails leaves its cases missing, and is told.
	s.open(pull{number: 3, edit: edit{"program.sh": "echo no index >&2; exit 3\n"}}, in).ends(2)
	says(t, "comment", s.comment(3), "no index", "exit status 3")
}

// Python is what the workflow names, and sees nothing of the runner's own variables.
func TestPythonUnderTheGate(t *testing.T) {
	if ok, _ := interpreters("python"); !ok {
		t.Skip("no Python 3.9 or later")
	}
	t.Parallel()
	s, in := systemSite(t, "  callable: \"app:run\"\n", map[string]string{"app.py": `
import os

def run(case):
    seen = [name for name in os.environ if name.startswith(("GITHUB_", "ACTIONS_", "INPUT_", "RUNNER_"))]
    return {"answer": "five, nine" if os.environ["MODEL"] == "m" and not seen else str(seen)}
`})
	s.env = map[string]string{"MODEL": "m"}
	s.push(in).ends(0).is("only", "answers", "PASS", "observed_failures_within_limit")

	s.env = map[string]string{"MODEL": "m", "OLOPROOF_PYTHON": "no-such-python"}
	says(t, "error", s.push(in).ends(2).failure().Message, "OLOPROOF_PYTHON names no-such-python")
}

// serveStages serves both stages of a staged system, and the version of what is deployed.
func serveStages(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := `{"answer": "five, nine"}`
	switch r.URL.Path {
	case "/search":
		answer = `{"hits": [{"id": "kb-1", "text": "five, nine"}]}`
	case "/version":
		answer = `{"version": "7"}`
	case "/write":
		if !strings.Contains(string(body), "five, nine") {
			answer = `{"answer": "?"}`
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// The hosts of a staged system are those of the base commit: a change that sends
// questions elsewhere is not followed there.
func TestStagesUnderTheGate(t *testing.T) {
	t.Parallel()
	system := func(search, write, version string) string {
		return "  rag:\n    depth: 2\n    top_k: 1\n    http:\n" +
			"      retrieve: {url: \"" + search + "/search\", request: {body: {q: \"{{case.input.q}}\"}}, artifacts: {retrieval/v1: {items: hits, fields: {doc_id: id, text: text}}}}\n" +
			"      generate: {url: \"" + write + "/write\", request: {body: {passages: \"{{passages}}\"}}}\n" +
			"  version_from: {url: \"" + version + "/version\", path: version}\n"
	}
	s, in := systemSite(t, system("http://BASE", "http://BASE", "http://BASE"), nil)
	s.answer(http.HandlerFunc(serveStages))
	base := strings.TrimSuffix(s.url, "/answer")
	s.commit("c1", edit{"oloproof.yaml": s.replaced("oloproof.yaml", "http://BASE", base)})
	delete(in, "allow-exec") // nothing is started
	s.push(in).ends(0).is("only", "answers", "PASS", "observed_failures_within_limit")

	for i, moved := range []string{"/search", "/write", "/version"} {
		other := edit{"oloproof.yaml": s.replaced("oloproof.yaml", base+moved, "http://elsewhere.example"+moved)}
		o := s.open(pull{number: i + 1, edit: other}, in).ends(2)
		says(t, moved, o.failure().Message, "elsewhere.example may not be called", "allowed-hosts: elsewhere.example")
	}
}

// A job leaves nothing behind in the temporary directory, which outlives it on a
// runner of one's own.
func TestNothingIsLeftBehind(t *testing.T) {
	temporary := t.TempDir()
	s, in := systemSite(t, shellProgram, map[string]string{"program.sh": answering("five seats")})
	t.Setenv("TMPDIR", temporary)
	s.push(in).ends(0)
	s.open(pull{number: 1, edit: edit{"cases.jsonl": s.without("cases.jsonl", "price")}}, in)
	left, err := os.ReadDir(temporary)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if strings.HasPrefix(entry.Name(), "oloproof-") {
			t.Errorf("%s is left behind", entry.Name())
		}
	}
}
