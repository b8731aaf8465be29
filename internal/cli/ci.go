package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/github"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// ciInputs are the inputs of `ci`, each a flag and an INPUT_ variable; action.yml
// says more of each.
var ciInputs = [][2]string{
	{"command", "what to do, `gate|merge|report` (default gate)"},
	{"from", "merge: `directories` of the shards; report: that of the artifact"},
	{"config", "the suite's `file`, from working-directory (default oloproof.yaml)"},
	{"policy", "release policy `file`, or builtin:NAME (default release.yaml beside the suite)"},
	{"compare-policy", "comparison policy `file`, or builtin:NAME (default compare.yaml beside the suite)"},
	{"url", "`URL` of the deployed endpoint"},
	{"name", "`name` of the gate: key of baseline, artifact and comment (default the config's path)"},
	{"baseline", "the `baseline`: auto, none, a GitHub run id, or the path of a bundle (default auto)"},
	{"baseline-lock", "`file` that pins a reference run"},
	{"baseline-max-age", "oldest baseline that is taken, a `span` such as 30d, 12h or 8w, or none for any (default 90d)"},
	{"github-token", "`token` of the GitHub API; better given as INPUT_GITHUB-TOKEN"},
	{"comment", "`when` to comment: always, on-change, on-failure or never (default always)"},
	{"summary", "whether to write the job summary, `true|false` (default true)"},
	{"output-dir", "`directory` for the files, from working-directory (default oloproof-out)"},
	{"working-directory", "`directory`, from the workspace, that paths start at (default the workspace)"},
	{"include-content", "whether questions and answers are published, `true|false` (default false)"},
	{"concurrency", "at most this number of `calls` in flight (default that of the suite)"},
	{"shard", "run part `I/N` of the cases; nothing is decided"},
	{"allowed-hosts", "`hosts` that may be called, separated by commas; private addresses only when listed"},
	{"env-allow", "environment `variables` that the suite may read"},
	{"allow-exec", "whether the suite may start programs, `true|false` (default false)"},
	{"reports", "`reports` to write: html, junit, json (default all)"},
}

func newCI(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ci",
		Short: "the GitHub Action: run, compare with the base branch, decide, publish",
		Long: `ci is what the GitHub Action runs: the suite against the deployed endpoint, compared with
the base branch's run, decided, published as files, job summary and comment, and ended
with the gate's code. Every flag is an input of the action and can be given as INPUT_NAME.
Outside GitHub Actions it writes files only.`,
		Example: `  oloproof ci --config oloproof.yaml --url https://preview-17.example.com/answer
  oloproof ci --baseline baseline.zip --output-dir oloproof-out --reports html`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			getenv := func(name string) string {
				for _, in := range ciInputs {
					if flag := cmd.Flags().Lookup(in[0]); flag.Changed && github.InputVariable(in[0]) == name {
						return flag.Value.String()
					}
				}
				value, _ := env.Lookup(name)
				return value
			}
			if code := env.ci(cmd.Context(), getenv); code != ExitOK {
				return exitError(code)
			}
			return nil
		},
	}
	for _, in := range ciInputs {
		cmd.Flags().String(in[0], "", in[1])
	}
	return cmd
}

// ciJob is one `ci` on its way.
type ciJob struct {
	getenv func(string) string
	env    *Env // with the lookups that the suite may make
	in     *github.Inputs
	gh     *github.Environment // nil outside GitHub Actions
	event  *github.Event       // nil outside GitHub Actions
	log    *github.Log
	client *github.Client // nil without a token or outside GitHub Actions
	lookup *github.Lookup
	temp   string // removed in the end
	config string // path of the suite from the current directory
	name   string
	base   *proposal       // nil unless the event proposes a change
	past   *github.History // of the name; nil until it is asked for
	pub    github.Publication
	ending decide.Ending
}

// ci does the job and returns the exit code of the process.
func (e *Env) ci(ctx context.Context, getenv func(string) string) int {
	inActions := github.InActions(getenv)
	j := &ciJob{getenv: getenv, log: github.NewLog(e.Stdout, inActions)}
	defer j.log.Flush()
	j.log.Mask(getenv(github.InputVariable("github-token")))
	j.pub = github.Publication{
		Log: j.log, SummaryPath: getenv("GITHUB_STEP_SUMMARY"), OutputPath: getenv("GITHUB_OUTPUT"), Random: e.Rand,
	}
	err := j.prepare(e, inActions)
	if err == nil {
		defer os.RemoveAll(j.temp)
		err = j.do(ctx)
	}
	if err != nil {
		j.trouble(ctx, err)
	}
	j.pub.ExitCode = j.ending.ExitCode()
	if j.pub.Workspace != nil {
		defer j.pub.Workspace.Close()
	}
	github.Publish(ctx, j.pub)
	return j.pub.ExitCode
}

// trouble turns an error into what is published, and into the code it ends with.
func (j *ciJob) trouble(ctx context.Context, err error) {
	t := &github.Trouble{Title: "Could not run the gate", Err: err}
	var list problem.List
	var interrupted Interrupted
	var titled *titledError
	var quoting *quotingError
	var unanswered *unansweredError
	j.ending.NothingDecided = j.pub.Document == nil
	switch {
	case errors.As(context.Cause(ctx), &interrupted):
		t.Title, t.Err, t.Remedy = "Interrupted", interrupted, "finished cases of an interrupted job are not kept: run it again"
		j.ending.Interrupted = interrupted.exitCode()
	case errors.As(err, &unanswered):
		t.Title = "No case was answered"
	case errors.As(err, &titled):
		t.Title, t.Err, t.Remedy = titled.title, titled.error, titled.remedy
	case errors.As(err, &list):
		t.Title = "Configuration error"
	}
	if errors.As(t.Err, &quoting) && !j.in.IncludeContent {
		t.Err, t.Remedy = quoting.bare, "what the system answered stands in the log of the job"
		fmt.Fprintf(j.log, "In full, with what the system answered: %v\n", quoting)
	}
	if j.pub.Trouble == nil || j.ending.Interrupted != 0 {
		j.pub.Trouble = t
	}
}

// titledError is trouble with a title and a remedy of its own.
type titledError struct {
	error
	title, remedy string
}

func (e *titledError) Unwrap() error { return e.error }

func (j *ciJob) prepare(e *Env, inActions bool) error {
	getenv := j.getenv
	var err error
	if j.in, err = github.ReadInputs(getenv); err != nil {
		return err
	}
	j.log.Mask(j.in.Token)
	if !j.in.Summary {
		j.pub.SummaryPath = ""
	}
	workspace := "."
	if inActions {
		if j.gh, err = github.ReadEnvironment(getenv); err != nil {
			return err
		}
		if j.event, err = github.ReadEvent(j.gh); err != nil {
			return err
		}
		if err := j.in.CheckEvent(j.event); err != nil {
			return err
		}
		workspace = j.gh.Workspace
		j.pub.Ref, j.pub.RunID, j.pub.Attempt, j.pub.RunURL = j.gh.Ref, j.gh.RunID, j.gh.Attempt, j.gh.RunURL()
	}
	ws, err := github.OpenWorkspace(workspace)
	if err != nil {
		return err
	}
	j.pub.Workspace = ws
	if j.in.WorkingDirectory, err = ws.Rel(".", j.in.WorkingDirectory); err != nil {
		return problem.Errorf("input working-directory: %v", err)
	}
	out, err := ws.Rel(j.in.WorkingDirectory, j.in.OutputDir)
	if err == nil {
		err = github.CheckOutputDir(out)
	}
	if err != nil {
		return problem.Errorf("input output-dir: %v", err)
	}
	j.pub.OutputDir = out
	j.pub.Part = j.in.Shard
	if j.config, err = j.local("config", j.in.Config); err != nil {
		return err
	}
	if j.name = j.in.Name; j.name == "" {
		j.name = path.Join(filepath.ToSlash(j.in.WorkingDirectory), filepath.ToSlash(j.in.Config))
	}
	j.pub.Name = j.name
	if j.temp, err = os.MkdirTemp("", "oloproof-ci-"); err != nil {
		return err
	}
	j.env = e.restricted(j)
	if j.gh != nil && j.in.Token != "" {
		j.client, err = github.NewClient(github.Config{
			Environment: j.gh, Token: j.in.Token, UserAgent: "oloproof/" + Version(),
			Now: e.Now, Sleep: e.sleep, Random: rand.Float64, Patience: j.env.Patience, Mask: func(secret string) { j.log.Mask(secret) },
		})
		if err != nil {
			return err
		}
		j.lookup = github.NewLookup(j.client, j.event)
	}
	return nil
}

// local turns the path of an input from working-directory into one from the
// current directory. It must not leave the workspace.
func (j *ciJob) local(input, name string) (string, error) {
	rel, err := j.pub.Workspace.Rel(j.in.WorkingDirectory, name)
	if err != nil {
		return "", problem.Errorf("input %s: %v", input, err)
	}
	full := filepath.Join(j.pub.Workspace.Dir(), rel)
	here, err := os.Getwd()
	if err != nil {
		return full, nil
	}
	if short, err := filepath.Rel(here, full); err == nil && !strings.HasPrefix(short, "..") {
		return short, nil
	}
	return full, nil
}

// fromRoot turns a path from the current directory into one from the workspace's
// root, as everything is named that is shown or stored.
func (j *ciJob) fromRoot(name string) string {
	if name == "" || strings.HasPrefix(name, builtinPrefix) {
		return name
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(j.pub.Workspace.Dir(), full)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(rel)
}

// rooted names the files of problems from the workspace's root.
func (j *ciJob) rooted(err error) error {
	var list problem.List
	if !errors.As(err, &list) {
		return err
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].File = j.fromRoot(list[i].File)
	}
	return list
}

// restricted is the world as the suite may see it: named variables only, a store
// that is thrown away, output that cannot become a workflow command.
func (e *Env) restricted(j *ciJob) *Env {
	r := *e
	r.Stdout, r.Stderr = j.log, j.log
	r.Lookup = func(name string) (string, bool) {
		switch {
		case name == "OLOPROOF_HOME":
			return filepath.Join(j.temp, "home"), true
		case name == "OLOPROOF_ALLOW_EXEC" && !j.in.AllowExec:
			return "0", true
		case slices.Contains(j.in.EnvAllow, name), name == "GITHUB_SHA", name == "OLOPROOF_ALLOW_EXEC", name == "OLOPROOF_PYTHON":
			return e.Lookup(name)
		}
		return "", false
	}
	r.Environ = slices.DeleteFunc(slices.Clone(e.Environ), func(v string) bool {
		for _, prefix := range []string{"GITHUB_", "ACTIONS_", "INPUT_", "RUNNER_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return false
	})
	return &r
}

// do goes from the suite to a decided document.
func (j *ciJob) do(ctx context.Context) error {
	if j.in.Command == github.CommandReport {
		return j.republish(ctx)
	}
	j.commentPlan(ctx)
	if j.event != nil && j.event.Proposes() {
		if err := j.readBase(ctx); err != nil {
			return err
		}
		defer j.base.close()
	}
	r, err := j.candidate(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if j.in.Shard.Count > 0 {
		if err := r.seal(r.document()); err != nil {
			return err
		}
		return j.files(r)
	}
	if err := j.decide(ctx, r); err != nil {
		return err
	}
	return j.files(r)
}

// ciRun is the run that a job is about.
type ciRun struct {
	*finishedRun
	project *project
	run     *store.Run // the same run, read back
	store   *store.Store
	verdict *verdict
	active  *activeRun // nil when it was merged
}

func (r *ciRun) close() {
	if r.run != nil {
		r.run.Close()
	}
	r.finishedRun.close()
	r.project.close()
}

func (r *ciRun) document() *report.Document { return r.verdict.document() }

// trustLabels takes the labels of the base commit in place of those that are
// proposed: a change must not bring the labels that make its judge good. Only a
// suite that is new to the branch comes with its own; one that was moved does not.
func (j *ciJob) trustLabels(ctx context.Context, p *project) {
	switch {
	case j.base == nil || !p.suite.Judged():
	case j.base.suite != nil:
		p.labels = j.base.suite.labels
	case j.lookup != nil: // without it nothing is known of the base commit, which blocks
		ctx, cancel := j.client.Begin(ctx)
		defer cancel()
		if past, err := j.pastRuns(ctx); err != nil || past.Stored {
			p.labels = &labels.File{Path: p.labels.Path}
		}
	}
}

// candidate runs the suite, or puts the shards together.
func (j *ciJob) candidate(ctx context.Context) (*ciRun, error) {
	flags := configFlags{config: j.config}
	var err error
	if flags.policy, err = j.policyFile("policy", j.in.Policy); err != nil {
		return nil, err
	}
	// A policy that the change takes away still decides, as the base commit has it.
	if flags.none = j.base != nil && j.base.release != nil && takenAway(flags.policy); flags.none {
		flags.policy = ""
	}
	if err := j.checkPlaces(flags); err != nil {
		return nil, err
	}
	p, err := openProject(flags)
	if err != nil {
		return nil, j.rooted(err)
	}
	j.trustLabels(ctx, p)
	p.suite.Path = j.fromRoot(p.suite.Path)
	if p.policy != nil {
		p.policy.Path = j.fromRoot(p.policy.Path)
	}
	r := &ciRun{project: p}
	if r.store, err = j.env.openStore(j.config); err != nil {
		p.close()
		return nil, err
	}
	if j.in.Command == github.CommandMerge {
		if r.finishedRun, err = j.mergeFrom(r.store); err == nil {
			r.finishedRun.trust(p.labels)
		}
	} else {
		r.active, err = j.perform(ctx, p, flags)
		if r.active != nil {
			r.finishedRun = &r.active.finishedRun
		}
	}
	if err != nil {
		if r.finishedRun != nil {
			r.finishedRun.close()
		}
		p.close()
		return nil, err
	}
	m := r.manifest
	m.Name, m.Policies = j.name, nil // those that decide are added then
	if j.gh != nil {
		m.Commit = j.gh.SHA
		m.CI = &evidence.CI{
			RepositoryID: j.gh.RepositoryID, RunID: j.gh.RunID, Attempt: j.gh.Attempt,
			WorkflowRef: j.gh.WorkflowRef, Event: j.gh.EventName, Ref: j.gh.Ref, SHA: j.gh.SHA,
		}
	}
	if r.run, err = r.store.Resolve(m.ID); err != nil {
		r.close()
		return nil, err
	}
	// What was read back is not finished yet; decisions are about what will be.
	r.run.Manifest = m
	r.verdict = newVerdict(m, r.tally)
	return r, nil
}

// checkPlaces refuses files of the project that lie outside of the workspace: a
// change may bring a link, or a path, that leads to what the job keeps to itself,
// and a message would quote it.
func (j *ciJob) checkPlaces(flags configFlags) error {
	compare, err := j.policyFile("compare-policy", j.in.ComparePolicy)
	if err != nil {
		return err
	}
	beside := filepath.Dir(flags.config)
	for _, name := range []string{flags.config, flags.policy, compare, filepath.Join(beside, "release.yaml"), filepath.Join(beside, "compare.yaml")} {
		if err := j.inside(name); err != nil {
			return err
		}
	}
	data, err := strictyaml.ReadFile(flags.config)
	if err != nil {
		return nil // openProject says more
	}
	var outside error
	s, _ := suite.Parse(flags.config, data, func(name string) ([]byte, error) {
		if err := j.inside(name); err != nil {
			outside = err
			return nil, err
		}
		return strictyaml.ReadFile(name)
	})
	if s != nil && s.Dataset != "" && outside == nil {
		for _, name := range append(dataFiles(s), s.Labels) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(s.Dir, name)
			}
			if outside = j.inside(name); outside != nil {
				break
			}
		}
	}
	return outside
}

// inside refuses a file that is there and lies outside of the workspace.
func (j *ciJob) inside(name string) error {
	if name == "" || strings.HasPrefix(name, builtinPrefix) {
		return nil
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return nil // nothing is there
	}
	root, err := filepath.EvalSymlinks(j.pub.Workspace.Dir())
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
		return problem.At(j.fromRoot(name), "it lies outside of the workspace, or is a link that leads there")
	}
	return nil
}

// takenAway reports whether a policy that is named is not there.
func takenAway(name string) bool {
	return name != "" && !strings.HasPrefix(name, builtinPrefix) && absent(name)
}

// policyFile turns the input of a policy into what is loaded; "" for none.
func (j *ciJob) policyFile(input, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, builtinPrefix) {
		return name, nil
	}
	return j.local(input, name)
}

func (j *ciJob) perform(ctx context.Context, p *project, flags configFlags) (*activeRun, error) {
	x := &activeRun{env: j.env, project: p, cases: p.data, flags: runFlags{
		configFlags: flags, url: j.in.URL, name: j.name, concurrency: j.in.Concurrency,
	}}
	if j.in.Shard.Count > 0 {
		x.flags.shard = fmt.Sprintf("%d/%d", j.in.Shard.Index, j.in.Shard.Count)
	}
	if err := j.resolve(x); err != nil {
		return nil, err
	}
	var err error
	x.inside, x.fleeting = j.inside, true
	if x.rules, err = j.guard(p); err != nil {
		return nil, err
	}
	if p.suite.Judged() {
		if x.judgeRules, err = j.guardJudges(p); err != nil {
			return nil, err
		}
	}
	j.log.Group("Running the suite")
	defer j.log.EndGroup()
	return x, x.perform(ctx)
}

// resolve fills in what the suite takes from the environment. Its secrets are
// masked before anything is printed that may hold them.
func (j *ciJob) resolve(x *activeRun) error {
	var lacking []string // variables that the suite asked for and did not get
	env := *j.env
	env.Lookup = func(name string) (string, bool) {
		value, ok := j.env.Lookup(name)
		if value == "" && name != "OLOPROOF_ALLOW_EXEC" {
			lacking = append(lacking, name)
		}
		return value, ok
	}
	x.env = &env
	err := x.resolve(x.project.suite)
	x.env = j.env
	if err == nil {
		j.log.Mask(x.resolved.Secrets...)
		return nil
	}
	if _, starts := x.project.suite.System.Starts(j.in.URL != ""); starts != "" && !j.in.AllowExec {
		return &titledError{err, "Configuration error",
			"the input allow-exec: true allows it; a proposed change then runs its programs in this job"}
	}
	if len(lacking) == 0 {
		return err
	}
	if barred := slices.DeleteFunc(slices.Clone(lacking), func(name string) bool { return j.getenv(name) == "" }); len(barred) > 0 {
		return &titledError{err, "Configuration error",
			"the suite may read only the variables that the input env-allow names: add " + strings.Join(barred, ", ")}
	}
	if j.event != nil && (j.event.FromFork() || j.event.FromDependabot(j.gh)) {
		return &titledError{err, "Needs a secret that forks do not get",
			"run the gate of forks from a workflow_run workflow, which has the secrets: see docs/github.md"}
	}
	return err
}

func (j *ciJob) mergeFrom(st *store.Store) (*finishedRun, error) {
	var shards []*store.Run
	defer func() {
		for _, s := range shards {
			s.Close()
		}
	}()
	for _, name := range j.in.From {
		dir, err := j.local("from", name)
		if err != nil {
			return nil, err
		}
		run, err := st.Resolve(dir)
		if err != nil {
			return nil, err
		}
		shards = append(shards, run)
	}
	return j.env.startMerge(st, shards)
}

// commentPlan says where a comment would go. Trouble is left to the publication.
func (j *ciJob) commentPlan(ctx context.Context) {
	plan := github.CommentPlan{Mode: j.in.Comment}
	if j.in.Command == github.CommandGate && j.in.Shard.Count > 0 || j.client == nil {
		plan.Mode = github.CommentNever
	}
	if j.event != nil && plan.Mode != github.CommentNever {
		plan.ReadOnly = j.event.ReadOnly(j.gh)
		pr, why, err := j.lookup.PullRequest(ctx)
		switch {
		case err != nil:
			j.notice("No comment was written", err.Error())
			plan.Mode = github.CommentNever
		case pr == nil && why != "":
			if j.in.Command == github.CommandReport {
				j.notice("No comment was written", why)
			}
			plan.Mode = github.CommentNever
		case pr != nil:
			plan.Pull, plan.Head = pr.Number, pr.Head.SHA
		}
		plan.API = github.NewConversations(j.client)
	}
	j.pub.Comment = plan
}

func (j *ciJob) notice(title, message string) {
	j.pub.Notices = append(j.pub.Notices, github.Annotation{Level: github.LevelNotice, Title: title, Message: message})
}

// files hands the run's files to the publication.
func (j *ciJob) files(r *ciRun) error {
	bundle := filepath.Join(j.temp, "bundle")
	sealed, err := r.store.Resolve(r.manifest.ID)
	if err != nil {
		return err
	}
	defer sealed.Close()
	if err := r.store.Export(sealed, bundle); err != nil {
		return err
	}
	j.pub.Bundle = os.DirFS(bundle)
	findings, err := findingsOf(sealed)
	if err != nil {
		return err
	}
	j.pub.Failing = findings.Failing
	if j.in.IncludeContent {
		kept, err := r.store.Resolve(bundle)
		if err != nil {
			return err
		}
		j.pub.Content = kept.CaseLines
	}
	doc := j.pub.Document
	if doc == nil {
		return nil
	}
	for _, kind := range j.in.Reports {
		switch kind {
		case github.ReportHTML:
			opt := report.HTMLOptions{Findings: findings, Case: j.pub.Case}
			if j.in.IncludeContent {
				opt.Content = j.pub.Content
			}
			j.pub.Reports = append(j.pub.Reports, github.Rendering{Name: github.HTMLFile, Render: func(w io.Writer) error { return report.HTML(w, doc, opt) }})
		case github.ReportJUnit:
			j.pub.Reports = append(j.pub.Reports, github.Rendering{Name: github.JUnitFile, Render: func(w io.Writer) error { return report.JUnit(w, doc, findings.Failing) }})
		}
	}
	return nil
}

// maxForeign is the most bytes of a document that is read to be shown again.
const maxForeign = 32 << 20

// republish shows a result that a job without the right to comment has uploaded.
// Whoever wrote the pull request may have written it.
func (j *ciJob) republish(ctx context.Context) error {
	j.pub.OutputDir = "" // nothing is written
	ws := j.pub.Workspace
	j.pub.Workspace = nil
	defer ws.Close()
	j.commentPlan(ctx)
	j.pub.Next, j.pub.Case = []string{}, func(string) string { return "" }
	if j.event != nil && j.event.Run != nil { // the run that it is about
		j.pub.RunURL = j.gh.PageOfRun(j.event.Run.ID)
		j.pub.Next = []string{fmt.Sprintf("gh run download %d --repo %s", j.event.Run.ID, j.gh.Repository())}
	}
	dir, err := ws.Rel(j.in.WorkingDirectory, j.in.From[0])
	if err != nil {
		return problem.Errorf("input from: %v", err)
	}
	name := path.Join(dir, "gate.json")
	data, err := ws.Read(name, maxForeign)
	if errors.Is(err, fs.ErrNotExist) {
		return &titledError{problem.At(name, "the artifact has no result: the job that was to decide ended before it could"),
			"The gate has no result", "the job of the pull request says why"}
	}
	if err != nil {
		return err
	}
	doc, err := report.ReadForeign(data)
	if err != nil {
		return problem.At(name, "%v", err)
	}
	j.pub.Document = doc
	if doc.Gate == nil {
		j.notice("Nothing was decided", "the run had no policy")
	}
	return nil
}

// age says how old a baseline is, in words.
func age(d time.Duration, commits *int) string {
	var parts []string
	switch days := int(d.Hours() / 24); {
	case d <= 0:
	case days >= 2:
		parts = append(parts, fmt.Sprintf("%d days", days))
	case d >= 2*time.Hour:
		parts = append(parts, fmt.Sprintf("%d hours", int(d.Hours())))
	case d < 2*time.Minute:
		parts = append(parts, "1 minute")
	default:
		parts = append(parts, fmt.Sprintf("%d minutes", int(d.Minutes())))
	}
	if commits != nil {
		switch *commits {
		case 0:
			parts = append(parts, "the commit itself")
		case 1:
			parts = append(parts, "1 commit")
		default:
			parts = append(parts, fmt.Sprintf("%d commits", *commits))
		}
	}
	return strings.Join(parts, ", ")
}
