package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := process.FindPython("")
	want := "no Python: neither python3 nor python is on PATH. Install Python 3.9 or later or name one in OLOPROOF_PYTHON; code in another language is a program (system.command), and a service an endpoint (system.http)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A relative path is one from where oloproof runs, not from the project.
func TestRelativePython(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := process.FindPython("./mine")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !filepath.IsAbs(p.Interpreter) {
		t.Errorf("found %s, want an absolute path", p.Interpreter)
	}
}

func TestPythonTooOld(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "python2") // stands for one: it runs the file as an old Python would
	script := "#!/bin/sh\nexec python3 -c 'import sys, runpy; sys.version_info = (3, 8, 1); sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name=\"__main__\")' \"$@\"\n"
	if err := os.WriteFile(old, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	python(t)
	p, err := process.FindPython(old)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cfg := config("")
	cfg.Command, cfg.Env = p.Command(process.PythonCallable, "app:run", dir, 1, false), os.Environ()
	if _, err := process.Start(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), "Python 3.9 or later is needed, and ") || !strings.HasSuffix(err.Error(), " is Python 3.8.1: name another one in OLOPROOF_PYTHON") {
		t.Errorf("%v", err)
	}
}

// TestPythonThatIsNone: an interpreter that is none is named.
func TestPythonThatIsNone(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := process.FindPython(none)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cfg := config("")
	cfg.Command, cfg.Called = p.Command(process.PythonCallable, "app:run", t.TempDir(), 1, false), p.Called()
	if _, err := process.Start(t.Context(), cfg); err == nil || err.Error() != "Python ("+none+") did not start: it ended before it said hello (exit status 1)" {
		t.Errorf("%v", err)
	}
}

// python returns the interpreter with our files; the test is skipped without one.
func python(t *testing.T) *process.Python {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable if sys.version_info >= (3, 9) else '')").Output()
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" {
		t.Skip("no Python 3.9 or later")
	}
	p, err := process.FindPython(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// startPython starts what target names in a directory with these files.
func startPython(t *testing.T, kind, target string, files map[string]string, needs ...string) *process.Client {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config("")
	cfg.Command, cfg.Env, cfg.Dir, cfg.Needs = python(t).Command(kind, target, dir, 4, false), os.Environ(), dir, needs
	return start(t, cfg)
}

// A staged object answers its stages, sync or async, and says what its decorator
// declares.
func TestPythonStages(t *testing.T) {
	for name, prefix := range map[string]string{"sync": "", "async": "async "} {
		t.Run(name, func(t *testing.T) {
			c := startPython(t, process.PythonRAG, "app:Rag", map[string]string{"app.py": `
from oloproof import Passage, Retrieval, current_case, rag_system

@rag_system(name="r", depth=6, top_k=2, token_budget=40, index_version="kb-1", version="3", config={"model": "m"})
class Rag:
    ` + prefix + `def retrieve(self, input, depth):
        return Retrieval(query=input["q"], depth=depth, candidates=[Passage(doc_id="a", score=1.5, text="one two")])

    ` + prefix + `def generate(self, input, context):
        current_case().usage(input_tokens=7)
        if input["q"] == "record":
            current_case().citations(["a"])
        return {"answer": [p.doc_id for p in context], "metadata": context[0].metadata}

    def count_tokens(self, passage):
        return len(passage.text.split()) if passage.text else "none"
`}, process.MethodRetrieve, process.MethodGenerate)
			h := c.Hello()
			settings := `{"depth":6,"top_k":2,"token_budget":40,"index_version":"kb-1","config":{"model":"m"},"citations_path":"citations"}`
			if h.Name != "r" || h.Version != "3" || string(h.Settings) != settings || !h.Offers(process.MethodCountTokens) || h.Offers(process.MethodRun) {
				t.Errorf("hello %+v", h)
			}
			for _, tt := range []struct{ method, params, want string }{
				{process.MethodRetrieve, `{"input":{"q":"x"},"depth":6}`, `{"query":"x","depth":6,"candidates":[{"doc_id":"a","chunk_id":null,"score":1.5,"text":"one two"}]}`},
				{process.MethodGenerate, `{"input":{"q":"x"},"passages":[{"doc_id":"b","metadata":{"k":1}}]}`, `{"answer":["b"],"metadata":{"k":1}}`},
				{process.MethodCountTokens, `{"passage":{"doc_id":"a","text":"one two"}}`, `2`},
			} {
				reply, err := c.Call(t.Context(), "x", tt.method, evidence.Value(tt.params))
				if err != nil || string(reply.Result) != tt.want {
					t.Errorf("%s: %s, %v, want %s", tt.method, reply.Result, err, tt.want)
				}
				if tt.method == process.MethodGenerate && (reply.Usage == nil || *reply.Usage.InputTokens != 7) {
					t.Errorf("usage %+v", reply.Usage)
				}
			}
			for _, tt := range []struct{ method, params, want string }{
				{process.MethodGenerate, `{"input":{"q":"record"},"passages":[]}`, `case "x": malformed citations/v1 artifact: a stage records nothing: what it returns is recorded (app.py:12, in generate)`},
				{process.MethodCountTokens, `{"passage":{"doc_id":"a"}}`, `case "x": count_tokens() returns a whole number of at least 0, not the str 'none'`},
			} {
				if _, err := c.Call(t.Context(), "x", tt.method, evidence.Value(tt.params)); err == nil || err.Error() != tt.want {
					t.Errorf("%s: %v, want %s", tt.method, err, tt.want)
				}
			}
		})
	}
}

func TestPythonReranker(t *testing.T) {
	c := startPython(t, process.PythonReranker, "rerank:shortest", map[string]string{"rerank.py": `
def shortest(input, candidates):
    if input == "odd":
        return candidates[0]
    return sorted(candidates, key=lambda p: len((p.text or "").split()))
`}, process.MethodRerank)
	reply, err := c.Call(t.Context(), "x", process.MethodRerank, evidence.Value(`{"input":1,"candidates":[{"doc_id":"a","text":"one two"},{"doc_id":"b"}]}`))
	want := `[{"doc_id":"b","chunk_id":null,"score":null,"text":null},{"doc_id":"a","chunk_id":null,"score":null,"text":"one two"}]`
	if err != nil || string(reply.Result) != want {
		t.Errorf("%s, %v, want %s", reply.Result, err, want)
	}
	_, err = c.Call(t.Context(), "x", process.MethodRerank, evidence.Value(`{"input":"odd","candidates":[{"doc_id":"a"}]}`))
	if err == nil || !strings.Contains(err.Error(), "a reranker returns a list of Passage, not the Passage") {
		t.Errorf("%v", err)
	}
}

// The code of a project is what it imports, wherever the statement stands.
func TestPythonCode(t *testing.T) {
	files := map[string]string{
		"app.py":              "import json\nfrom package import part\n\ndef run(case):\n    from package.deep import late\n    import beside\n    return late.x\n",
		"package/__init__.py": "", "package/part.py": "", "package/deep/__init__.py": "", "package/deep/late.py": "from .. import other\nx = 1\n",
		"package/other.py": "", "beside.py": "", "unused.py": "", "package/unused.py": "",
	}
	c := startPython(t, process.PythonCallable, "app:run", files, process.MethodRun)
	got := []string{}
	for name, sum := range evidence.Members(c.Hello().Code) {
		got = append(got, name)
		if text, _ := evidence.Text(sum); len(text) != 64 {
			t.Errorf("%s has the digest %s", name, sum)
		}
	}
	want := map[string]bool{"app.py": true, "beside.py": true, "package/__init__.py": true, "package/part.py": true, "package/other.py": true, "package/deep/__init__.py": true, "package/deep/late.py": true}
	for _, name := range got {
		if !want[name] {
			t.Errorf("%s is not imported", name)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	if reply, err := c.Call(t.Context(), "x", process.MethodRun, evidence.Value(`{"input":1}`)); err != nil || string(reply.Result) != "1" || c.Late() {
		t.Errorf("%s, %v, late %v", reply.Result, err, c.Late())
	}
}

// Code that lies elsewhere is code, too: by a path that the project adds, or behind
// a link. Python itself and installed packages are not.
func TestPythonCodeElsewhere(t *testing.T) {
	root := t.TempDir()
	project := filepath.Join(root, "project")
	for name, text := range map[string]string{
		"project/app.py":                      "import json, os, sys\nhere = os.path.dirname(__file__)\nsys.path += [os.path.join(here, '..', place) for place in ('lib', 'site-packages')]\nimport shared, linked, bundle, installed\n\ndef run(case):\n    return 1\n",
		"lib/shared.py":                       "import lib_part",
		"lib/lib_part.py":                     "import string",
		"elsewhere/linked.py":                 "",
		"elsewhere/bundle/__init__.py":        "from . import part",
		"elsewhere/bundle/part.py":            "",
		"site-packages/installed/__init__.py": "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"linked.py", "bundle"} {
		if err := os.Symlink(filepath.Join("..", "elsewhere", name), filepath.Join(project, name)); err != nil {
			t.Skip(err)
		}
	}
	cfg := config("")
	cfg.Command, cfg.Env = python(t).Command(process.PythonCallable, "app:run", project, 1, false), os.Environ()
	c := start(t, cfg)
	var got []string
	for name := range evidence.Members(c.Hello().Code) {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"app.py", "bundle/__init__.py", "bundle/part.py", "linked.py", "module lib_part", "module shared"}
	if !slices.Equal(got, want) {
		t.Errorf("code is %q, want %q", got, want)
	}
}

// timeout_s of the decorator holds where the suite says none.
func TestPythonDeclaresItsTimeout(t *testing.T) {
	dir := t.TempDir()
	text := "import time\nfrom oloproof import system\n\n@system(timeout_s=0.2)\ndef run(case):\n    time.sleep(60)\n"
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := config("")
	cfg.Command, cfg.Env, cfg.OwnTimeout = python(t).Command(process.PythonCallable, "app:run", dir, 1, false), os.Environ(), true
	c := start(t, cfg)
	_, err := ask(c, "x", "echo")
	wantFault(t, err, evidence.ErrTimeout, "no answer within 200ms", "")
}

// What the code calls transient is asked again, four times in all.
func TestPythonTransientError(t *testing.T) {
	dir := t.TempDir()
	text := `
from oloproof import TransientError

calls = []

def run(case):
    calls.append(case)
    if calls.count(case) < case:
        raise TransientError("busy")
    return len(calls)
`
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := config("")
	cfg.Command, cfg.Env = python(t).Command(process.PythonCallable, "app:run", dir, 1, false), os.Environ()
	var pauses []time.Duration
	cfg.Sleep = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}
	cfg.Random = func() float64 { return 1 }
	c := start(t, cfg)
	reply, err := c.Call(t.Context(), "x", process.MethodRun, evidence.Value(`{"input":3}`))
	if err != nil || string(reply.Result) != "3" || len(reply.Retried) != 2 || fmt.Sprint(pauses) != "[500ms 1s]" {
		t.Errorf("%+v, %v, %v", reply, pauses, err)
	}
	_, err = c.Call(t.Context(), "x", process.MethodRun, evidence.Value(`{"input":9}`))
	wantFault(t, err, evidence.ErrProgram, "error: oloproof.TransientError: busy (app.py:9, in run)", "app.py:9, in run\n    raise TransientError(\"busy\")")
	var f *process.Fault
	if !errors.As(err, &f) || len(f.Retried) != 3 {
		t.Errorf("%+v", f)
	}
}
