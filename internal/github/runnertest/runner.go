// Package runnertest simulates the runner of GitHub Actions for one step: its
// environment, the commands that it takes from the log, the files that carry
// outputs and the summary, its limits and its masks. The rules are those of
// actions/runner 2.336.0 (258d6c8), read in its source.
package runnertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
)

// Limits of the runner.
const (
	MaxSummary     = 1 << 20 // bytes; a larger summary is dropped whole
	MaxAnnotations = 10      // of a level and step
	MaxMessage     = 4096    // UTF-16 units of an annotation
)

// RuntimeToken is the token that the runner hands to actions for its own
// services. It must never leave the step.
const RuntimeToken = "runtime-token-that-must-not-leave"

// Step is a step of a job.
type Step struct {
	Inputs  map[string]string // by their names in action.yml, defaults included
	Env     map[string]string // of workflow, job and step
	GitHub  map[string]string // the github context by its keys: repository, sha, event_name
	Event   string            // the payload
	Secrets []string          // masked from the start
	// Workspace is the directory on the host; empty for a new one.
	Workspace string
	// Container says that the step is a container action: paths of the host that
	// are the whole value of a variable are translated. The paths of the container
	// lie in a directory of the test, as links to those of the host.
	Container bool
	// Summary is what the summary's file holds when the step starts.
	Summary string
}

// Process is how a program sees the step.
type Process struct {
	Env            []string
	Dir            string
	Stdout, Stderr io.Writer
}

// Getenv returns the value of a variable, or "".
func (p *Process) Getenv(name string) string {
	for _, e := range slices.Backward(p.Env) {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v
		}
	}
	return ""
}

// Program is what a step runs. It returns the exit code.
type Program func(ctx context.Context, p *Process) int

// Binary returns a program that is a file with arguments.
func Binary(path string, args ...string) Program {
	return func(ctx context.Context, p *Process) int {
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.Env, p.Dir, p.Stdout, p.Stderr
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &exit):
			return exit.ExitCode()
		}
		fmt.Fprintln(p.Stderr, err)
		return 127
	}
}

// Annotation is an annotation as the runner keeps it.
type Annotation struct {
	Level   string // error, warning, notice
	Title   string
	Message string // masked, at most MaxMessage
	File    string // from the workspace where the runner can tell
	Line    int
}

// Result is what became of a step.
type Result struct {
	ExitCode    int
	Failed      bool // the step's conclusion: the program failed, or a command did
	Outputs     map[string]string
	Env         map[string]string // what GITHUB_ENV and ::set-env:: set for later steps
	Path        []string          // what GITHUB_PATH and ::add-path:: add
	State       map[string]string
	Summary     string       // as it is shown; empty when it was dropped
	Annotations []Annotation // those that are kept
	Dropped     []Annotation // those above MaxAnnotations
	Log         []string     // lines as they are shown
	Masks       []string     // what add-mask registered, lines included
	Commands    []Command    // every command that was taken from the log, in order
	Workspace   string       // on the host
}

// Text returns the log as one text.
func (r *Result) Text() string { return strings.Join(r.Log, "\n") + "\n" }

// Of returns the commands with a name.
func (r *Result) Of(name string) []Command {
	var some []Command
	for _, c := range r.Commands {
		if c.Name == name {
			some = append(some, c)
		}
	}
	return some
}

// fileCommands are the files that carry results, by their keys in the github context.
func fileCommands() []string { return []string{"output", "env", "path", "state", "step_summary"} }

// contextKeys are the keys of the github context that become GITHUB_*
// variables. The token is none of them.
func contextKeys() []string {
	return []string{
		"action_path", "action_ref", "action_repository", "action", "actor", "actor_id", "api_url", "artifacts", "artifacts_list",
		"base_ref", "env", "event_name", "event_path", "graphql_url", "head_ref", "job", "output", "path", "ref_name", "ref_protected",
		"ref_type", "ref", "repository", "repository_id", "repository_owner", "repository_owner_id", "retention_days", "run_attempt",
		"run_id", "run_number", "server_url", "sha", "state", "step_summary", "triggering_actor", "workflow", "workflow_ref",
		"workflow_sha", "workspace",
	}
}

// Run runs a program as a step.
func Run(t testing.TB, s Step, program Program) *Result {
	t.Helper()
	temp := t.TempDir()
	for _, dir := range []string{"_runner_file_commands", "_github_workflow", "_github_home"} {
		must(t, os.MkdirAll(filepath.Join(temp, dir), 0o755))
	}
	if s.Workspace == "" {
		s.Workspace = t.TempDir()
	}
	github := maps.Clone(s.GitHub)
	if github == nil {
		github = map[string]string{}
	}
	github["workspace"] = s.Workspace
	github["event_path"] = filepath.Join(temp, "_github_workflow", "event.json")
	must(t, os.WriteFile(github["event_path"], []byte(s.Event), 0o644))
	for _, key := range fileCommands() {
		github[key] = filepath.Join(temp, "_runner_file_commands", key+"_0f8e")
		content := ""
		if key == "step_summary" {
			content = s.Summary
		}
		must(t, os.WriteFile(github[key], []byte(content), 0o644))
	}
	var paths translation
	if s.Container {
		paths = containerPaths(t, temp, s.Workspace)
	}
	r := &runner{
		result: &Result{Outputs: map[string]string{}, Env: map[string]string{}, State: map[string]string{}, Workspace: s.Workspace},
		paths:  paths, workspace: s.Workspace, env: s.Env,
	}
	for _, secret := range append(slices.Clone(s.Secrets), RuntimeToken) {
		r.masks.add(secret)
	}
	p := &Process{Env: environment(s, github, paths, temp), Dir: paths.toContainer(s.Workspace)}
	var mu sync.Mutex
	stdout, stderr := &stream{mu: &mu, lines: lines{each: r.line}}, &stream{mu: &mu, lines: lines{each: r.line}}
	p.Stdout, p.Stderr = stdout, stderr
	r.result.ExitCode = program(t.Context(), p)
	stdout.close()
	stderr.close()
	r.files(github)
	r.result.Failed = r.result.Failed || r.result.ExitCode != 0
	return r.result
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// environment is what a program gets: inputs, the env of the job, the allowed
// keys of the github context and, for a container action, the services'
// addresses and token.
func environment(s Step, github map[string]string, paths translation, temp string) []string {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, value := range s.Inputs {
		env["INPUT_"+strings.ToUpper(strings.ReplaceAll(name, " ", "_"))] = value
	}
	for _, key := range contextKeys() {
		if value, ok := github[key]; ok {
			env["GITHUB_"+strings.ToUpper(key)] = value
		}
	}
	env["RUNNER_TEMP"], env["RUNNER_OS"], env["RUNNER_ARCH"], env["RUNNER_ENVIRONMENT"] = temp, "Linux", "X64", "github-hosted"
	if s.Container {
		env["HOME"] = filepath.Join(temp, "_github_home")
		env["ACTIONS_RUNTIME_URL"], env["ACTIONS_RUNTIME_TOKEN"] = "https://pipelines.invalid/", RuntimeToken
		env["ACTIONS_RESULTS_URL"] = "https://results.invalid/"
	} else {
		env["PATH"] = os.Getenv("PATH")
		if _, ok := env["HOME"]; !ok {
			env["HOME"] = temp
		}
	}
	env["GITHUB_ACTIONS"] = "true"
	if _, ok := env["CI"]; !ok {
		env["CI"] = "true"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+paths.toContainer(env[name]))
	}
	return list
}

// translation maps paths of the host to those of the container.
type translation []struct{ host, container string }

// containerPaths lays out /github below a directory of the test. The last
// mapping is looked at first.
func containerPaths(t testing.TB, temp, workspace string) translation {
	root := filepath.Join(t.TempDir(), "github")
	must(t, os.MkdirAll(root, 0o755))
	var paths translation
	for _, m := range [][2]string{
		{workspace, "workspace"},
		{filepath.Join(temp, "_runner_file_commands"), "file_commands"},
		{filepath.Join(temp, "_github_workflow"), "workflow"},
		{filepath.Join(temp, "_github_home"), "home"},
		{temp, "runner_temp"},
	} {
		container := filepath.Join(root, m[1])
		must(t, os.Symlink(m[0], container))
		paths = append(paths, struct{ host, container string }{m[0], container})
	}
	return paths
}

func (p translation) toContainer(path string) string {
	for _, m := range p {
		if rest, ok := strings.CutPrefix(path, m.host); ok && (rest == "" || rest[0] == '/') {
			return m.container + rest
		}
	}
	return path
}

func (p translation) toHost(path string) string {
	for _, m := range p {
		if rest, ok := strings.CutPrefix(path, m.container); ok && (rest == "" || rest[0] == '/') {
			return m.host + rest
		}
	}
	return path
}

// runner is a step on its way.
type runner struct {
	result    *Result
	masks     masker
	paths     translation
	workspace string
	env       map[string]string
	stopped   string // the token that ends stop-commands
	echo      bool
}

// output shows a line.
func (r *runner) output(line string) {
	r.result.Log = append(r.result.Log, r.masks.hide(line))
}

// line takes a line of the program's output.
func (r *runner) line(line string) {
	if strings.Contains(line, "##[") || strings.Contains(line, "::") {
		if r.command(line) {
			return
		}
	}
	r.output(line)
}

// command processes a line that is a command.
func (r *runner) command(line string) bool {
	var extra []string
	if r.stopped != "" {
		extra = append(extra, r.stopped)
	}
	c, ok := ParseCommand(line, extra...)
	if !ok {
		return false
	}
	if r.stopped != "" {
		if !strings.EqualFold(c.Name, r.stopped) {
			return false
		}
		r.stopped = ""
		r.output(line)
		return true
	}
	r.result.Commands = append(r.result.Commands, c)
	if err := r.process(line, c); err != nil {
		r.issue(Annotation{Level: "error", Message: fmt.Sprintf("Unable to process command '%s' successfully.", line)})
		r.issue(Annotation{Level: "error", Message: err.Error()})
		r.result.Failed = true
	}
	return true
}

func (r *runner) process(line string, c Command) error {
	switch c.Name {
	case "stop-commands":
		if _, known := ParseCommand("::" + c.Data + "::"); known || c.Data == "" || strings.EqualFold(c.Data, "pause-logging") {
			return errors.New("you cannot use such an endToken")
		}
		if len(c.Data) > 6 {
			r.masks.add(c.Data)
		}
		r.stopped = c.Data
		r.output(line)
	case "add-mask":
		return r.mask(c.Data)
	case "error", "warning", "notice":
		r.issue(r.annotation(c))
	case "group":
		r.output("##[group]" + c.Data)
	case "endgroup":
		r.output("##[endgroup]")
	case "set-output":
		return set(r.result.Outputs, c)
	case "save-state":
		return set(r.result.State, c)
	case "set-env", "add-path":
		if r.env["ACTIONS_ALLOW_UNSECURE_COMMANDS"] != "true" {
			return fmt.Errorf("the `%s` command is disabled", c.Name)
		}
		if c.Name == "add-path" {
			r.result.Path = append(r.result.Path, c.Data)
			return nil
		}
		return set(r.result.Env, c)
	case "echo":
		r.echo = strings.EqualFold(strings.TrimSpace(c.Data), "on")
	}
	return nil
}

func set(values map[string]string, c Command) error {
	if c.Properties["name"] == "" {
		return fmt.Errorf("required field 'name' is missing in ##[%s] command", c.Name)
	}
	values[c.Properties["name"]] = c.Data
	return nil
}

// mask registers a secret and each of its lines, however short.
func (r *runner) mask(data string) error {
	if strings.TrimFunc(data, IsWhiteSpace) == "" {
		r.issue(Annotation{Level: "warning", Message: "Can't add secret mask for empty string in ##[add-mask] command."})
		return nil
	}
	if r.echo {
		r.output("::add-mask::" + Mask)
	}
	values := []string{data}
	for _, line := range strings.FieldsFunc(data, func(c rune) bool { return c == '\r' || c == '\n' }) {
		values = append(values, strings.TrimFunc(line, IsWhiteSpace))
	}
	for _, line := range values {
		r.masks.add(line)
		if line != "" && !slices.Contains(r.result.Masks, line) {
			r.result.Masks = append(r.result.Masks, line)
		}
	}
	return nil
}

// annotation turns a command into an annotation, with its file from the workspace.
func (r *runner) annotation(c Command) Annotation {
	a := Annotation{Level: c.Name, Title: c.Properties["title"], Message: c.Data, File: r.paths.toHost(c.Properties["file"])}
	if rest, ok := strings.CutPrefix(a.File, r.workspace+"/"); ok {
		a.File = rest
	}
	a.Line, _ = strconv.Atoi(c.Properties["line"])
	return a
}

// issue keeps an annotation, or drops it, and shows it.
func (r *runner) issue(a Annotation) {
	a.Message = cut(r.masks.hide(a.Message))
	kept := 0
	for _, x := range r.result.Annotations {
		if x.Level == a.Level {
			kept++
		}
	}
	if kept < MaxAnnotations {
		r.result.Annotations = append(r.result.Annotations, a)
	} else {
		r.result.Dropped = append(r.result.Dropped, a)
	}
	r.output("##[" + a.Level + "]" + a.Message)
}

func cut(s string) string {
	units := utf16.Encode([]rune(s))
	if len(units) <= MaxMessage {
		return s
	}
	return string(utf16.Decode(units[:MaxMessage]))
}

// files reads what the step left in its files, whatever its exit code.
func (r *runner) files(github map[string]string) {
	for _, f := range []struct {
		key  string
		into map[string]string
	}{{"output", r.result.Outputs}, {"env", r.result.Env}, {"state", r.result.State}} {
		pairs, err := ParseEnvFile(text(github[f.key]))
		for _, p := range pairs {
			if p.Name == "" {
				err = errors.New("the name is empty")
				break
			}
			f.into[p.Name] = p.Value
		}
		if err != nil {
			r.issue(Annotation{Level: "error", Message: fmt.Sprintf("Unable to process file command '%s' successfully.", f.key)})
			r.issue(Annotation{Level: "error", Message: err.Error()})
			r.result.Failed = true
		}
	}
	for _, line := range splitLines(text(github["path"])) {
		if line != "" {
			r.result.Path = append(r.result.Path, line)
		}
	}
	summary := text(github["step_summary"])
	if len(summary) > MaxSummary {
		r.issue(Annotation{Level: "error", Message: fmt.Sprintf("$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of %dk, got %dk.", MaxSummary/1024, len(summary)/1024)})
		return
	}
	var b strings.Builder
	for _, line := range splitLines(summary) {
		b.WriteString(r.masks.hide(line) + "\n")
	}
	r.result.Summary = b.String()
}

func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}
