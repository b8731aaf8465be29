package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// interpreters says which interpreters the tests of programs may use.
func interpreters(name string) (bool, error) {
	switch name {
	case "python":
		return exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run() == nil, nil
	case "node":
		return exec.Command("node", "--version").Run() == nil, nil
	case "jq":
		return exec.Command("jq", "--version").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// answers reads what a run's system answered: output and artifacts of each case.
func answers(ts *testscript.TestScript, bundle string) map[string]any {
	all := map[string]any{}
	for line := range strings.Lines(ts.ReadFile(filepath.Join(bundle, "cases.jsonl"))) {
		var c struct {
			Artifacts any
			Execution struct{ Output any }
			Scenario  struct{ ID string }
		}
		ts.Check(json.Unmarshal([]byte(line), &c))
		if recorded, ok := c.Artifacts.(map[string]any); ok {
			delete(recorded, "stage_timings/v1") // no two executions share it
		}
		all[c.Scenario.ID] = []any{c.Execution.Output, c.Artifacts}
	}
	return all
}

// sameanswers BUNDLE BUNDLE: two systems gave the same answers and recorded the
// same artifacts.
func sameanswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameanswers BUNDLE BUNDLE")
	}
	a, b := answers(ts, args[0]), answers(ts, args[1])
	if diff := cmp.Diff(a, b); diff != "" || len(a) == 0 {
		ts.Fatalf("%d answers, %s differs from %s:\n%s", len(a), args[0], args[1], diff)
	}
}

// written FILE: waits until a file is there.
func written(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: written FILE")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() { // a hang is a failure
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s is not written", args[0])
}

// TestPrograms runs programs under test: testdata/programs, one story a file.
func TestPrograms(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/programs",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           interpreters,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("PYTHONDONTWRITEBYTECODE", "1") // an edit within a second would not be seen
			if path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
				e.Setenv("OLOPROOF_PYTHON", strings.TrimSpace(string(path)))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": capture, "exits": exits, "holdsno": holdsno, "port": port, "ready": ready, "sameanswers": sameanswers, "written": written,
		},
	})
}

// TestSystemsPage runs every program of docs/systems.md: each gives the same
// figures, and is not called again while it is unedited.
func TestSystemsPage(t *testing.T) {
	typed(t)
	page, err := os.ReadFile("docs/systems.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, block := range regexp.MustCompile("(?ms)^```[a-z]+ (\\S+)\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(filepath.Join(dir, block[1]), []byte(block[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin, err := exec.LookPath("oloproof") // of TestMain
	if err != nil {
		bin = filepath.Join(dir, "oloproof")
		if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for suite, tool := range map[string][]string{
		"go.yaml": {"go", "build", "-o", "capitals", "capitals.go"}, "python.yaml": {"python3", "--version"},
		"node.yaml": {"node", "--version"}, "shell.yaml": {"sh", "-c", ":"},
	} {
		t.Run(suite, func(t *testing.T) {
			setUp := exec.Command(tool[0], tool[1:]...)
			setUp.Dir, setUp.Env = dir, append(os.Environ(), "GOFLAGS=")
			if out, err := setUp.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
				t.Skipf("no %s", tool[0])
			} else if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, cache := range []string{"0 hit/3 miss", "3 hit/0 miss"} {
				run := exec.Command(bin, "run", "--config", suite)
				run.Dir = dir // where a reader of the page stands
				run.Env = append(os.Environ(), "OLOPROOF_HOME="+filepath.Join(dir, "home"), "OLOPROOF_ALLOW_EXEC=1")
				out, err := run.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, want := range []string{"3 / 3 observed · 0 missing · 0 excluded", "2 / 2 observed · 0 missing · 1 excluded", "Cache: execution " + cache} {
					if !strings.Contains(string(out), want) {
						t.Errorf("no %q in\n%s", want, out)
					}
				}
			}
		})
	}
}
