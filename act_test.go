package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// TestAct runs workflows that init --ci wrote in nektos/act, in its host mode:
// another reader of the workflow's language than actionlint, that evaluates the
// expressions, runs the jobs in their order and hands outputs from step to step.
// Actions of others are stood in for, so that nothing is fetched; ours is the
// program that is tested. OLOPROOF_ACT is the path of act.
func TestAct(t *testing.T) {
	act := os.Getenv("OLOPROOF_ACT")
	if act == "" {
		t.Skip("OLOPROOF_ACT does not name nektos/act")
	}
	for _, test := range []struct {
		name   string
		flags  []string
		act    []string
		shards int
		want   []string
	}{
		{name: "one job", want: []string{"Gate: BLOCK (exit 1)"}},
		{name: "shards", flags: []string{"--shards", "3"}, shards: 3, want: []string{"Gate: BLOCK (exit 1)", "::set-output:: missing=0"}},
		{name: "a shard is lost", flags: []string{"--shards", "3"}, act: []string{"--matrix", "shard:2"}, shards: 1, want: []string{"Gate: BLOCK (exit 3)", "not every case ran"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newActRepository(t, test.flags)
			out, err := a.run(t, act, test.act...)
			if err == nil {
				t.Errorf("the job passed, and the example's gate blocks")
			}
			names, gate := a.stored(t)
			if gate == "" || len(names) != test.shards+1 {
				t.Fatalf("the artifacts are %q:\n%s", names, out)
			}
			if !regexp.MustCompile(`^oloproof-quality-oloproof\.yaml-main-[0-9a-f]{16}$`).MatchString(gate) {
				t.Errorf("the gate's artifact is called %q", gate)
			}
			for _, file := range []string{"run.json", "judgments.jsonl", "gate.json", "report.html", "junit.xml"} {
				if info, err := os.Stat(filepath.Join(a.store, gate, file)); err != nil || info.Size() == 0 {
					t.Errorf("%s was not uploaded: %v", file, err)
				}
			}
			if _, err := os.Stat(filepath.Join(a.store, gate, "cases.jsonl")); err == nil {
				t.Error("questions and answers were uploaded with the gate")
			}
			for _, want := range append(test.want, "::set-output:: gate-action=BLOCK", "::set-output:: baseline-state=none") {
				if !strings.Contains(out, want) {
					t.Errorf("act does not show %q", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// actRepository is a git repository with a suite and its workflows.
type actRepository struct {
	dir, store, actions string
	site                *site
}

func newActRepository(t *testing.T, flags []string) *actRepository {
	t.Helper()
	a := &actRepository{dir: t.TempDir(), store: t.TempDir(), actions: t.TempDir(), site: newSite(t)}
	for name, text := range a.site.trees["base"] {
		writeFile(t, filepath.Join(a.dir, "quality", name), text)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = a.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("remote", "add", "origin", fmt.Sprintf("https://github.com/%s/%s.git", githubtest.Owner, githubtest.Repo))
	program, err := exec.LookPath("oloproof")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"init", "--ci", "github", "quality", "--url", a.site.url}, flags...)...)
	cmd.Dir = a.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "suite")
	a.standIns(t, program)
	return a
}

// standIns writes an action in the place of each that the workflow uses.
func (a *actRepository) standIns(t *testing.T, program string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("name: oloproof\ndescription: the program that is tested\ninputs:\n")
	own := readAction(t)
	for _, name := range keys(own.Inputs) {
		fmt.Fprintf(&b, "  %s: {default: %q}\n", name, *own.Inputs[name].Default)
	}
	b.WriteString("outputs:\n")
	for _, name := range keys(own.Outputs) {
		fmt.Fprintf(&b, "  %s: {value: \"${{ steps.run.outputs.%s }}\"}\n", name, name)
	}
	fmt.Fprintf(&b, "runs:\n  using: composite\n  steps:\n    - id: run\n      shell: bash\n      run: '\"$PROGRAM\" ci'\n      env:\n        PROGRAM: %q\n", program)
	for _, name := range keys(own.Inputs) {
		fmt.Fprintf(&b, "        INPUT_%s: ${{ inputs.%s }}\n", strings.ToUpper(strings.ReplaceAll(name, "-", "_")), name)
	}
	writeFile(t, filepath.Join(a.actions, "oloproof", "action.yml"), b.String())

	const shell = "name: %s\ndescription: stands in\ninputs: {%s}\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      env: {NAME: \"${{ inputs.%s }}\", DIR: \"${{ inputs.path }}\"}\n      run: %s\n"
	writeFile(t, filepath.Join(a.actions, "upload", "action.yml"), fmt.Sprintf(shell, "upload",
		"name: {}, path: {}, overwrite: {}, if-no-files-found: {}, retention-days: {}", "name",
		`mkdir -p "$STORE/$NAME" && cp -r "$DIR/." "$STORE/$NAME/"`))
	writeFile(t, filepath.Join(a.actions, "download", "action.yml"), fmt.Sprintf(shell, "download",
		"pattern: {}, path: {}, merge-multiple: {}", "pattern",
		`mkdir -p "$DIR" && for one in "$STORE"/$NAME; do cp -r "$one/." "$DIR/"; done`))
}

// run runs the workflow as after a push of main, which knows no earlier run.
func (a *actRepository) run(t *testing.T, act string, more ...string) (string, error) {
	t.Helper()
	a.site.gh.Do(func(w *githubtest.World) {
		w.Runs = append(w.Runs, githubtest.Run{ID: 1, Event: "push", Commit: "base", Status: "in_progress"})
	})
	event := filepath.Join(t.TempDir(), "event.json")
	writeFile(t, event, string(githubtest.Payload(t, "push", map[string]any{
		"ref": "refs/heads/main", "before": strings.Repeat("0", 40), "after": githubtest.SHA("base"),
	})))
	args := []string{"push", "--eventpath", event, "--workflows", filepath.FromSlash(".github/workflows/oloproof.yml"),
		"--platform", "ubuntu-latest=-self-hosted", "--action-offline-mode", "--no-cache-server", "--pull=false",
		"--secret", "GITHUB_TOKEN=" + githubtest.Token,
		"--env", "STORE=" + a.store,
		"--env", "GITHUB_API_URL=" + a.site.gh.URL, "--env", "GITHUB_GRAPHQL_URL=" + a.site.gh.URL + "/graphql",
		"--local-repository", "oloproof/oloproof-go@main=" + filepath.Join(a.actions, "oloproof"),
	}
	workflow, err := os.ReadFile(filepath.Join(a.dir, ".github", "workflows", "oloproof.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`uses: (actions/(upload|download)-artifact@[0-9a-f]+)`).FindAllStringSubmatch(string(workflow), -1) {
		args = append(args, "--local-repository", m[1]+"="+filepath.Join(a.actions, m[2]))
	}
	cmd := exec.CommandContext(t.Context(), act, append(args, more...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	cmd.Dir, cmd.WaitDelay = a.dir, 10*time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// stored returns the names of the artifacts, and that of the gate.
func (a *actRepository) stored(t *testing.T) (names []string, gate string) {
	t.Helper()
	entries, err := os.ReadDir(a.store)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		if !strings.HasPrefix(e.Name(), "oloproof-shard-") {
			gate = e.Name()
		}
	}
	return names, gate
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
