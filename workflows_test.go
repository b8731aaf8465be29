package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rhysd/actionlint"
	"gopkg.in/yaml.v3"

	"github.com/oloproof/oloproof-go/internal/github"
)

// ownWorkflow is a workflow of ours.
type ownWorkflow struct {
	path string
	text string
	On   yaml.Node
	Jobs map[string]struct {
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]string
		}
	}
	Permissions *yaml.Node
}

func ownWorkflows(t *testing.T) []*ownWorkflow {
	t.Helper()
	paths, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d workflows, %v", len(paths), err)
	}
	var all []*ownWorkflow
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w := &ownWorkflow{path: path, text: string(data)}
		if err := yaml.Unmarshal(data, w); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

func TestOwnWorkflowsPassActionlint(t *testing.T) {
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, w := range ownWorkflows(t) {
		paths = append(paths, w.path)
	}
	found, err := l.LintFiles(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%v", f)
	}
}

func TestOwnWorkflowsAreCareful(t *testing.T) {
	pinned := regexp.MustCompile(`^\s*(?:- )?uses: [a-z]+/[a-z-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	local := regexp.MustCompile(`^\s*(?:- )?uses: (\./[a-z./-]*|oloproof/oloproof-go@v1)$`)
	for _, w := range ownWorkflows(t) {
		if w.Permissions == nil {
			t.Errorf("%s states no permissions", w.path)
		}
		for line := range strings.Lines(w.text) {
			line = strings.TrimRight(line, "\n")
			if strings.Contains(line, "uses: ") && !strings.HasPrefix(line, "#") && !pinned.MatchString(line) && !local.MatchString(line) {
				t.Errorf("%s: an action that is not pinned by commit, with its version: %q", w.path, line)
			}
			if regexp.MustCompile(`^\s+[a-z-]+: (read|write)$`).MatchString(line) {
				t.Errorf("%s: a permission without its reason: %q", w.path, line)
			}
		}
		for name, job := range w.Jobs {
			for _, s := range job.Steps {
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: job %s: an expression inside run: pass it by env", w.path, name)
				}
				keeps := s.With["persist-credentials"] != "false"
				if pushes := job.Permissions["contents"] == "write"; strings.HasPrefix(s.Uses, "actions/checkout@") && keeps != pushes {
					t.Errorf("%s: job %s: persist-credentials is %q", w.path, name, s.With["persist-credentials"])
				}
			}
		}
	}
}

// TestReusableWorkflow holds gate.yml against action.yml: what it passes on is
// an input, with the same default.
func TestReusableWorkflow(t *testing.T) {
	a := readAction(t)
	for _, w := range ownWorkflows(t) {
		if filepath.Base(w.path) != "gate.yml" {
			continue
		}
		var on struct {
			Call struct {
				Inputs  map[string]struct{ Default string }
				Outputs map[string]struct{ Value string }
			} `yaml:"workflow_call"`
		}
		if err := w.On.Decode(&on); err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, s := range w.Jobs["gate"].Steps {
			if !strings.HasPrefix(s.Uses, "oloproof/") {
				continue
			}
			for name, value := range s.With {
				in, ok := a.Inputs[name]
				if !ok {
					t.Errorf("gate.yml passes %s, which is no input of the action", name)
				} else if value == "${{ inputs."+name+" }}" {
					passed++
					if got := on.Call.Inputs[name].Default; got != *in.Default {
						t.Errorf("%s is %q by default, in action.yml %q", name, got, *in.Default)
					}
				}
			}
		}
		if passed < 10 {
			t.Errorf("gate.yml passes on %d inputs", passed)
		}
		for name, out := range on.Call.Outputs {
			if _, ok := a.Outputs[name]; !ok || out.Value != "${{ jobs.gate.outputs."+name+" }}" {
				t.Errorf("the output %s is %q", name, out.Value)
			}
		}
		return
	}
	t.Fatal("there is no gate.yml")
}

// TestWorkflowsPinAlike holds the pins of our workflows against those that init
// --ci writes: an update of one has to reach the other.
func TestWorkflowsPinAlike(t *testing.T) {
	source, err := os.ReadFile("internal/cli/initci.go")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{}
	for _, w := range ownWorkflows(t) {
		for _, m := range regexp.MustCompile(`uses: actions/([a-z-]+)@(.*)`).FindAllStringSubmatch(w.text, -1) {
			if before, ok := own[m[1]]; ok && before != m[2] {
				t.Errorf("actions/%s is pinned to %s and to %s", m[1], before, m[2])
			}
			own[m[1]] = m[2]
		}
	}
	written := regexp.MustCompile(`case "([a-z-]+)":\n\s*commit = "([^"]*)"`).FindAllStringSubmatch(string(source), -1)
	if len(written) < 4 {
		t.Fatalf("%d pins found in initci.go", len(written))
	}
	for _, m := range written {
		if diff := cmp.Diff(own[m[1]], m[2]); diff != "" {
			t.Errorf("actions/%s in our workflows (-) and in those that are written (+):\n%s", m[1], diff)
		}
	}
}

// TestGitHubPage holds the workflows of docs/github.md against actionlint and
// action.yml, and its lock against what reads locks.
func TestGitHubPage(t *testing.T) {
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := readAction(t)
	whole, locks := 0, 0
	for _, block := range indented(t, "docs/github.md") {
		switch {
		case strings.HasPrefix(block, "name: "):
			whole++
			found, err := l.Lint(".github/workflows/page.yml", []byte(block), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Errorf("%v\n%s", f, block)
			}
			var w ownWorkflow
			if err := yaml.Unmarshal([]byte(block), &w); err != nil {
				t.Fatal(err)
			}
			for _, job := range w.Jobs {
				for _, s := range job.Steps {
					for name := range s.With {
						if _, ok := a.Inputs[name]; strings.HasPrefix(s.Uses, "oloproof/") && !ok {
							t.Errorf("the page gives the action the input %s", name)
						}
					}
				}
			}
		case strings.HasPrefix(block, "{"):
			locks++
			if _, err := github.ParseLock("baseline.lock.json", []byte(block)); err != nil {
				t.Errorf("the lock of the page is refused: %v", err)
			}
		}
	}
	if whole < 3 || locks != 1 {
		t.Errorf("the page shows %d workflows and %d locks", whole, locks)
	}
	page := readFile(t, "docs/github.md")
	for _, m := range regexp.MustCompile(`steps\.gate\.outputs\.([a-z-]+)`).FindAllStringSubmatch(page, -1) {
		if _, ok := a.Outputs[m[1]]; !ok {
			t.Errorf("the page names the output %s", m[1])
		}
	}
}
