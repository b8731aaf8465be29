package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
			"capture": capture, "exits": exits, "holdsno": holdsno, "port": port, "ready": ready, "sameanswers": sameanswers,
		},
	})
}
