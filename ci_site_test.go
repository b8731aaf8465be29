package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"

	"github.com/oloproof/oloproof-go/examples"
	"github.com/oloproof/oloproof-go/internal/cli"
	"github.com/oloproof/oloproof-go/internal/demo"
	"github.com/oloproof/oloproof-go/internal/github/githubtest"
	"github.com/oloproof/oloproof-go/internal/github/runnertest"
	"github.com/oloproof/oloproof-go/internal/report"
)

// site is a repository at a fake GitHub, with its deployed endpoint, as it goes
// from one workflow run to the next.
type site struct {
	t        *testing.T
	gh       *githubtest.Server
	url      string // of the endpoint
	endpoint atomic.Value
	trees    map[string]map[string]string // files by commit
	head     string                       // of main
	lastRun  int64

	env map[string]string // of every step

	patience time.Duration // for an answer of the API; 0 is the program's own

	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

type served struct{ http.Handler }

// newSite has the example's suite and policies on main, and a run of nothing yet.
func newSite(t *testing.T, options ...githubtest.Option) *site {
	t.Helper()
	s := &site{t: t, gh: githubtest.New(t, options...), trees: map[string]map[string]string{}, head: "base", lastRun: 100, now: githubtest.Start}
	s.serve(demo.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.endpoint.Load().(served).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/answer"
	s.keep("base", exampleFiles(t))
	return s
}

// exampleFiles is the example project as it calls a service that runs already.
func exampleFiles(t testing.TB) map[string]string {
	t.Helper()
	project, ok := examples.Open("blackbox_rag")
	if !ok {
		t.Fatal("the example blackbox_rag is not there")
	}
	files := map[string]string{}
	for name, from := range map[string]string{
		"oloproof.yaml": "oloproof.http.yaml", "release.yaml": "release.yaml", "compare.yaml": "compare.yaml", "data/support.jsonl": "data/support.jsonl",
	} {
		b, err := fs.ReadFile(project, from)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

// serve deploys the example service.
func (s *site) serve(opt demo.Options) {
	h, err := demo.Handler("blackbox_rag", opt)
	if err != nil {
		s.t.Fatal(err)
	}
	s.answer(h)
}

func (s *site) answer(h http.Handler) { s.endpoint.Store(served{h}) }

// in lets a subtest report what the site finds.
func (s *site) in(t *testing.T) {
	outer := s.t
	s.t = t
	t.Cleanup(func() { s.t = outer })
}

// clock is the time of the site: it passes only while something waits.
func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) sleep(ctx context.Context, d time.Duration) error {
	s.pass(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slept += d
	return ctx.Err()
}

func (s *site) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// keep makes the files of a commit readable through the API.
func (s *site) keep(commit string, files map[string]string) {
	s.trees[commit] = files
	s.gh.Do(func(w *githubtest.World) {
		for name, content := range files {
			w.Files[commit+":"+name] = githubtest.File{Content: []byte(content)}
		}
	})
}

// edit is a change of files: the new content by path, "" removes.
type edit map[string]string

func (s *site) edited(from string, e edit) map[string]string {
	files := maps.Clone(s.trees[from])
	for name, content := range e {
		if content == "" {
			delete(files, name)
		} else {
			files[name] = content
		}
	}
	return files
}

// commit adds a commit to main.
func (s *site) commit(name string, e edit) {
	s.t.Helper()
	s.keep(name, s.edited(s.head, e))
	s.gh.Do(func(w *githubtest.World) {
		w.Parents[name] = []string{s.head}
		w.Branches[githubtest.Main] = name
	})
	s.head = name
}

// file is a file of main.
func (s *site) file(name string) string { return s.trees[s.head][name] }

// replaced is a file of main with a text replaced, which it must have.
func (s *site) replaced(name, old, new string) string {
	s.t.Helper()
	if !strings.Contains(s.file(name), old) {
		s.t.Fatalf("%s has no %q", name, old)
	}
	return strings.ReplaceAll(s.file(name), old, new)
}

// without is a file of lines without those that hold one of the texts.
func (s *site) without(name string, texts ...string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(s.file(name), "\n"), func(line string) bool {
		return slices.ContainsFunc(texts, func(x string) bool { return strings.Contains(line, x) })
	})
	return strings.Join(lines, "")
}

// job is one job to be.
type job struct {
	event     string // published example: push, pull_request-synchronize, …
	commit    string // that is checked out
	ref       string // GITHUB_REF
	branch    string // head branch of the run
	headOf    string // commit that the run says it tested; "": commit
	fork      bool   // the run comes from a fork
	payload   map[string]any
	inputs    map[string]string
	env       map[string]string
	github    map[string]string
	secrets   []string
	dir       string                      // working directory of the step, from the workspace
	workspace string                      // "": the files of the commit
	before    func(workspace, run string) // before the step
	program   runnertest.Program          // nil: cli.Main in this process
	summary   string                      // that the step's summary holds already
	keepRun   bool                        // the run of the job is in the world already
	noUpload  bool
	run       int64
}

// outcome is what became of a job.
type outcome struct {
	*runnertest.Result
	t     testing.TB
	Run   int64
	Files map[string]string // of the output directory
	Calls []string          // requests of the API

	told    bool   // the summary is of this job alone, and about its own gate
	comment string // that the outputs name; "": none
}

// push is the job of a commit on main.
func (s *site) push(inputs map[string]string) *outcome {
	s.t.Helper()
	before := strings.Repeat("0", 40)
	s.gh.Do(func(w *githubtest.World) {
		if p := w.Parents[s.head]; len(p) > 0 {
			before = githubtest.SHA(p[0])
		}
	})
	return s.do(job{
		event: "push", commit: s.head, ref: "refs/heads/main", branch: "main", inputs: inputs,
		payload: map[string]any{"ref": "refs/heads/main", "before": before, "after": githubtest.SHA(s.head), "forced": false},
	})
}

// pull is a pull request into main.
type pull struct {
	number int
	edit   edit
	base   string // commit of main that it is tested on; "": the head
	fork   bool
	labels []string
	events []githubtest.IssueEvent
	change func(j *job)
}

// open opens a pull request, or pushes to it, and runs its job.
func (s *site) open(p pull, inputs map[string]string) *outcome {
	s.t.Helper()
	return s.do(s.pushed(p, inputs))
}

// pushed opens a pull request, or pushes to it, and returns its job.
func (s *site) pushed(p pull, inputs map[string]string) job {
	s.t.Helper()
	p.base = cmp.Or(p.base, s.head)
	head := fmt.Sprintf("head-%d-%d", p.number, s.lastRun)
	merge := fmt.Sprintf("merge-%d-%d", p.number, s.lastRun)
	s.trees[merge] = s.edited(p.base, p.edit)
	s.gh.Do(func(w *githubtest.World) {
		w.Parents[head] = []string{p.base}
		w.Parents[merge] = []string{p.base, head}
		w.Pulls = slices.DeleteFunc(w.Pulls, func(x githubtest.Pull) bool { return x.Number == p.number })
		w.Pulls = append(w.Pulls, githubtest.Pull{
			Number: p.number, Head: head, HeadRef: "feature", Fork: p.fork, Labels: p.labels, Events: p.events, CreatedAt: s.now.Add(-time.Hour),
		})
	})
	j := job{
		event: "pull_request-synchronize", commit: merge, ref: fmt.Sprintf("refs/pull/%d/merge", p.number), branch: "feature", headOf: head, fork: p.fork, inputs: inputs,
		payload: map[string]any{
			"number": p.number, "pull_request.number": p.number, "pull_request.head.sha": githubtest.SHA(head),
			"pull_request.base.sha": githubtest.SHA(p.base),
		},
	}
	if p.fork {
		j.payload["pull_request.head.repo.id"] = githubtest.ForkID
		j.payload["pull_request.head.repo.full_name"] = githubtest.ForkOwner + "/" + githubtest.Repo
	}
	if p.change != nil {
		p.change(&j)
	}
	return j
}

// inputsOf are the inputs of the stories, with changes.
func (s *site) inputsOf(changes map[string]string) map[string]string {
	in := map[string]string{"url": s.url, "allowed-hosts": "127.0.0.1", "github-token": githubtest.Token}
	maps.Copy(in, changes)
	return in
}

// do runs a job and uploads what it left in its output directory.
func (s *site) do(j job) *outcome {
	s.t.Helper()
	event, _, _ := strings.Cut(j.event, "-")
	if j.run == 0 {
		s.lastRun++
		j.run = s.lastRun
	}
	if !j.keepRun {
		r := githubtest.Run{ID: j.run, Event: event, HeadBranch: j.branch, Commit: cmp.Or(j.headOf, j.commit), Status: "in_progress", CreatedAt: s.clock()}
		if j.fork {
			r.HeadRepository = githubtest.ForkID
		}
		s.gh.Do(func(w *githubtest.World) { w.Runs = append(w.Runs, r) })
	}
	if j.workspace == "" {
		j.workspace = s.t.TempDir()
		for name, content := range s.trees[j.commit] {
			file := filepath.Join(j.workspace, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				s.t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if j.before != nil {
		j.before(j.workspace, strconv.FormatInt(j.run, 10))
	}
	github := map[string]string{
		"api_url": s.gh.URL, "server_url": "https://github.com", "graphql_url": strings.TrimSuffix(s.gh.URL, "/api/v3") + "/graphql",
		"repository": githubtest.Owner + "/" + githubtest.Repo, "repository_id": strconv.Itoa(githubtest.RepositoryID),
		"run_id": strconv.FormatInt(j.run, 10), "run_attempt": "1", "event_name": event, "sha": githubtest.SHA(j.commit), "ref": j.ref,
		"workflow_ref": githubtest.Owner + "/" + githubtest.Repo + "/" + githubtest.WorkflowPath + "@" + j.ref, "job": "gate", "actor": "octocat",
	}
	maps.Copy(github, j.github)
	env := maps.Clone(s.env)
	if env == nil {
		env = j.env
	}
	maps.Copy(env, j.env)
	if j.program == nil {
		j.program = s.main
	}
	asked := len(s.gh.Requests())
	res := runnertest.Run(s.t, runnertest.Step{
		Inputs: s.inputsOf(j.inputs), Env: env, GitHub: github, Event: string(githubtest.Payload(s.t, j.event, j.payload)),
		Secrets: j.secrets, Workspace: j.workspace, Summary: j.summary,
	}, func(ctx context.Context, p *runnertest.Process) int {
		if j.dir != "" {
			p.Dir = filepath.Join(p.Dir, j.dir)
		}
		return j.program(ctx, p)
	})
	o := &outcome{Result: res, t: s.t, Run: j.run, Files: map[string]string{}, Calls: s.gh.Requests()[asked:]}
	o.told = j.summary == "" && j.inputs["command"] != "report"
	if _, id, ok := strings.Cut(res.Outputs["comment-url"], "#issuecomment-"); ok {
		s.gh.Do(func(w *githubtest.World) {
			for _, c := range w.Comments {
				if strconv.FormatInt(c.ID, 10) == id {
					o.comment = c.Body
				}
			}
		})
	}
	if dir := res.Outputs["output-dir"]; dir != "" {
		o.Files = filesOf(s.t, filepath.Join(j.workspace, dir))
	}
	s.gh.Do(func(w *githubtest.World) {
		for i := range w.Runs {
			if w.Runs[i].ID == j.run {
				w.Runs[i].Status = "completed"
			}
		}
		if len(o.Files) > 0 && !j.noUpload {
			w.Artifacts = append(w.Artifacts, githubtest.Artifact{
				ID: j.run * 10, Run: j.run, Name: res.Outputs["artifact-name"], Bytes: githubtest.Zip(s.t, o.Files), CreatedAt: s.clock(),
			})
		}
	})
	s.pass(time.Minute)
	return o
}

// main is the program in this process.
func (s *site) main(ctx context.Context, p *runnertest.Process) int {
	lookup := func(name string) (string, bool) {
		for _, e := range slices.Backward(p.Env) {
			if k, v, _ := strings.Cut(e, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
	return cli.Main(ctx, cli.Env{
		Args: []string{"ci"}, Stdin: strings.NewReader(""), Stdout: p.Stdout, Stderr: p.Stderr, Lookup: lookup, Environ: p.Env,
		Now: s.clock, Rand: rand.Reader, Sleep: s.sleep, Patience: s.patience,
	})
}

func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// comments are those of a pull request.
func (s *site) comments(pull int) []string {
	var bodies []string
	s.gh.Do(func(w *githubtest.World) {
		for _, c := range w.Comments {
			if c.Pull == pull {
				bodies = append(bodies, c.Body)
			}
		}
	})
	return bodies
}

// comment is the only one of a pull request.
func (s *site) comment(pull int) string {
	s.t.Helper()
	all := s.comments(pull)
	if len(all) != 1 {
		s.t.Fatalf("pull request %d has %d comments, want 1", pull, len(all))
	}
	return all[0]
}

// ends demands the exit code of a job, everywhere it is told: in the outputs, and
// with the gate in the first line of summary and comment.
func (o *outcome) ends(code int) *outcome {
	o.t.Helper()
	if o.ExitCode != code {
		o.t.Fatalf("exit code %d, want %d\n%s", o.ExitCode, code, o.short())
	}
	if got := o.Outputs["exit-code"]; got != strconv.Itoa(code) {
		o.t.Errorf("output exit-code is %q, want %d", got, code)
	}
	if !o.told || code == 0 && o.Outputs["gate-action"] == "" { // without a policy there is no gate
		return o
	}
	for what, text := range map[string]string{"summary": o.Summary, "comment": o.comment, "comment.md": o.Files["comment.md"]} {
		first := firstLine(text)
		if first != "" && (!strings.HasSuffix(first, fmt.Sprintf("(exit %d)", code)) || !strings.Contains(first, "Gate: "+o.Outputs["gate-action"])) {
			o.t.Errorf("the %s begins with %q, the job ends with %d and %q", what, first, code, o.Outputs["gate-action"])
		}
	}
	return o
}

// short is the log without most of the result.
func (o *outcome) short() string {
	text := o.Text()
	from, to := strings.Index(text, "Metrics\n"), strings.Index(text, "\nCache: ")
	if from < 0 || to < from {
		return text
	}
	return text[:from] + "[...]" + text[to:]
}

// outputs demands outputs, NAME=VALUE.
func (o *outcome) outputs(want ...string) *outcome {
	o.t.Helper()
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		if got := o.Outputs[name]; got != value {
			o.t.Errorf("output %s is %q, want %q", name, got, value)
		}
	}
	return o
}

// document is gate.json.
func (o *outcome) document() *report.Document {
	o.t.Helper()
	d, err := report.ReadJSON([]byte(o.Files["gate.json"]))
	if err != nil {
		o.t.Fatalf("gate.json: %v\n%s", err, o.Text())
	}
	return d
}

// rule is what came of a rule under a role; against says with which baseline.
func (o *outcome) rule(role, rule string) *report.Decision {
	o.t.Helper()
	for _, p := range o.document().Policies {
		for i := range p.Decisions {
			if p.Role == role && p.Decisions[i].Rule == rule {
				return &p.Decisions[i]
			}
		}
	}
	o.t.Fatalf("no rule %s with the role %s\n%s", rule, role, o.short())
	return nil
}

// is demands the state and the reasons of a rule.
func (o *outcome) is(role, rule, state string, reasons ...string) *outcome {
	o.t.Helper()
	if d := o.rule(role, rule); d.State != state || !slices.Equal(d.Reasons, reasons) {
		o.t.Errorf("%s rule %s is %s %v, want %s %v", role, rule, d.State, d.Reasons, state, reasons)
	}
	return o
}

// says demands texts somewhere.
func says(t testing.TB, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s lacks %q:\n%s", what, w, text)
		}
	}
}

// saysNot refuses texts.
func saysNot(t testing.TB, what, text string, refused ...string) {
	t.Helper()
	for _, w := range refused {
		if strings.Contains(text, w) {
			t.Errorf("%s has %q:\n%s", what, w, text)
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// failure is the one annotation of the level error.
func (o *outcome) failure() runnertest.Annotation {
	o.t.Helper()
	var found []runnertest.Annotation
	for _, a := range o.Annotations {
		if a.Level == "error" {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		o.t.Fatalf("%d errors among the annotations, want 1: %+v", len(found), o.Annotations)
	}
	return found[0]
}

// notices are the titles of the notices.
func (o *outcome) notices() []string {
	var titles []string
	for _, a := range o.Annotations {
		if a.Level == "notice" {
			titles = append(titles, a.Title)
		}
	}
	return titles
}

// unzipped are the files of a zip.
func unzipped(t testing.TB, b []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

// manifestOf is run.json, loosely.
func manifestOf(t testing.TB, files map[string]string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(files["run.json"]), &m); err != nil {
		t.Fatalf("run.json: %v", err)
	}
	return m
}

type world = githubtest.World

func sha(commit string) string { return githubtest.SHA(commit) }

type command = runnertest.Command

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// program runs this test's binary as oloproof.
func program(ctx context.Context, t testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = append([]string{"oloproof"}, args...)
	cmd.Dir, cmd.Env = dir, env
	return cmd
}

// plainly runs the program outside of Actions.
func (s *site) plainly(t testing.TB, dir string, args ...string) (code int, output string) {
	t.Helper()
	cmd := program(context.Background(), t, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// checkMarkdown demands that a text shows nothing but what we wrote, by a parser
// of GitHub's Markdown: no image, no link but those of the job, no raw HTML but
// the folding, no mention outside code.
func checkMarkdown(t testing.TB, what, text string) {
	t.Helper()
	source := []byte(text)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(gmtext.NewReader(source))
	fail := func(format string, args ...any) { t.Errorf("%s: %s", what, fmt.Sprintf(format, args...)) }
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			fail("an image")
		case *ast.Link:
			if !strings.HasPrefix(string(n.Destination), "https://github.com/"+githubtest.Owner+"/") {
				fail("a link to %s", n.Destination)
			}
		case *ast.AutoLink:
			fail("a link to %s", n.URL(source))
		case *ast.RawHTML:
			if raw := string(n.Segments.Value(source)); raw != "<br>" {
				fail("raw HTML %q", raw)
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				if raw := strings.TrimSpace(string(line.Value(source))); !folding.MatchString(raw) {
					fail("raw HTML %q", raw)
				}
			}
		case *ast.CodeSpan, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			if n.Level < 3 {
				fail("a heading of level %d", n.Level)
			}
		case *ast.Text:
			if raw := string(n.Segment.Value(source)); strings.Contains(raw, "@") && !strings.HasSuffix(raw, "@1") || regexp.MustCompile(`#[0-9]`).MatchString(raw) {
				fail("text that GitHub may read: %q", raw)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var folding = regexp.MustCompile(`^(<details( open)?><summary>[-\w ,:.()/]*</summary>|</details>|<!-- oloproof-gate [-\w =]* -->)?$`)

// recorder keeps what a check finds.
type recorder struct {
	testing.TB
	found []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

// TestCheckMarkdown holds the check itself against what it is to find.
func TestCheckMarkdown(t *testing.T) {
	for _, text := range []string{
		"![x](https://evil.example/x.png)", "[x](https://evil.example)", "https://evil.example", "<https://evil.example>", "a <b>x</b>", "<script>alert(1)</script>",
		"hello @everyone", "see #12", "# heading", "| a |\n|---|\n| @x |", "<!-- other -->", "<details><summary>&lt;b&gt;</summary>",
	} {
		r := &recorder{TB: t}
		if checkMarkdown(r, "text", text); len(r.found) == 0 {
			t.Errorf("nothing is found in %q", text)
		}
	}
	r := &recorder{TB: t}
	checkMarkdown(r, "text", "### Gate\n\n| `@x` | `<b>`<br>`#1` |\n|---|---|\n\n<details><summary>Cases: 1</summary>\n\n`a`\n\n</details>\n")
	if len(r.found) > 0 {
		t.Errorf("found %q", r.found)
	}
}
