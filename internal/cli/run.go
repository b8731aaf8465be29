package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/netguard"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/internal/system/child"
	httpsystem "github.com/oloproof/oloproof-go/internal/system/http"
	"github.com/oloproof/oloproof-go/internal/system/service"
)

type runFlags struct {
	configFlags
	formatFlags
	url         string
	name        string
	resume      string
	reuse       bool
	reuseSet    bool // --reuse was written, be it --reuse=false
	concurrency int
	shard       string

	freshJudgments bool
}

func newRun(env *Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "run the suite, measure it, decide the policy",
		Long: `run calls the system with every case of the data set, judges what comes back,
puts exact intervals on the metrics, decides the policy and ends with the gate's code.
Finished cases are on disk at once: an interrupted run goes on with --resume.`,
		Example: `  oloproof run --config my-rag/oloproof.yaml
  oloproof run --url https://preview-17.example.com/answer --policy release.yaml --json`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 1 && cmd.Flags().Changed("resume") {
				return usageError{fmt.Errorf("the run to resume is named with an equals sign: --resume=%s", given[0])}
			}
			return args(0, 0, "")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.formatFlags.check(); err != nil {
				return err
			}
			if cmd.Flags().Changed("concurrency") && (f.concurrency < 1 || f.concurrency > suite.MaxConcurrency) {
				return usageError{fmt.Errorf("--concurrency is %d, it must be from 1 to %d", f.concurrency, suite.MaxConcurrency)}
			}
			f.reuseSet = cmd.Flags().Changed("reuse")
			if f.shard != "" && cmd.Flags().Changed("policy") {
				return usageError{errors.New("--shard decides nothing: name the policy when the shards are merged")}
			}
			return env.run(cmd.Context(), f)
		},
	}
	f.configFlags.add(cmd)
	f.formatFlags.add(cmd, documentFormats...)
	cmd.Flags().StringVar(&f.shard, "shard", "", "run part `I/N` of the cases only, to be put together by merge; nothing is decided")
	cmd.Flags().StringVar(&f.url, "url", "", "call this `url` instead of system.http.url; system.start is not launched")
	cmd.Flags().StringVar(&f.name, "name", "", "`name` of the gate, the key of its baseline (default the suite's path)")
	cmd.Flags().StringVar(&f.resume, "resume", "", "finish an interrupted `run`: the newest one, or --resume=RUN")
	cmd.Flags().Lookup("resume").NoOptDefVal = "latest"
	cmd.Flags().BoolVar(&f.reuse, "reuse", false, "reuse the answers of earlier runs of the same system; the report says so. A program whose files are known is reused unless --reuse=false")
	cmd.Flags().BoolVar(&f.freshJudgments, "fresh-judgments", false, "ask the judges again for verdicts of earlier runs on the same evidence")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 0, "at most `N` calls in flight (default concurrency.system of the suite)")
	return cmd
}

// finishedRun is a run all of whose cases are stored and counted, and that is
// still to be decided.
type finishedRun struct {
	manifest *evidence.Manifest
	tally    *tally
	writer   *store.Writer
}

// seal stores what was decided. From now on the run is a finished one, or one
// that stays partial.
func (r *finishedRun) seal(doc *report.Document) error {
	if doc.Gate != nil {
		r.manifest.Gate = doc.Gate.Action
	}
	if r.manifest.Completeness != evidence.Complete {
		return r.writer.Abort(r.manifest)
	}
	// The decision first: whoever finds the run complete finds it decided.
	if err := r.writer.SaveDocument(func(w io.Writer) error { return report.JSON(w, doc) }); err != nil {
		return err
	}
	return r.writer.Finish(r.manifest)
}

// close lets go of the run's files.
func (r *finishedRun) close() {
	if r.writer != nil {
		r.writer.Close()
	}
}

// activeRun is a run on its way: everything that `run` holds together.
type activeRun struct {
	finishedRun
	env      *Env
	flags    runFlags
	project  *project
	store    *store.Store
	resolved *suite.Resolved
	system   *system
	redact   *redact.Redactor
	cases    caseList           // of the run: the data set, or a part of it
	cache    *store.Cache       // nil unless answers are reused
	panel    *judge.Panel       // nil before judges can be asked
	spent    *evidence.JudgeUse // by the judges of the run that is resumed, as its manifest says; nil for nothing
	deployed *deployed          // nil unless the service says its version
	// around is laid around the transport of an endpoint, to look at what it does;
	// nil is nothing.
	around func(http.RoundTripper) http.RoundTripper
	// rules say what may be called as the system and as judges; nil: all that is
	// not forbidden to everybody.
	rules, judgeRules *netguard.Rules
	// transport takes the place of a transport by the rules; nil does not.
	transport http.RoundTripper
	// inside refuses files that a proposal may not have read; nil refuses none.
	inside func(name string) error
	// fleeting says that the store is thrown away: there is nothing to look at
	// and nothing to go on with.
	fleeting bool
}

func (e *Env) run(ctx context.Context, f runFlags) error {
	x := &activeRun{env: e, flags: f}
	p, err := openProject(f.configFlags, x.resolve)
	if err != nil {
		return err
	}
	defer p.close()
	x.project, x.cases = p, p.data
	defer x.close()
	if err := x.perform(ctx); err != nil {
		return err
	}
	doc := decideDocument(x.manifest, x.tally, p.policy)
	if err := x.seal(doc); err != nil {
		return err
	}
	return x.show(doc)
}

// perform takes every case through system and evaluators. Without an error all
// have finished, the manifest is complete but for its gate, and seal is to follow.
func (x *activeRun) perform(ctx context.Context) error {
	part, err := x.shard()
	if err != nil {
		return err
	}
	if x.resolved == nil { // else the suite was resolved when it was read
		if err := x.resolve(x.project.suite); err != nil {
			return err
		}
	}
	if x.manifest, err = x.newManifest(); err != nil {
		return err
	}
	x.manifest.Shard = part
	if x.project.policy != nil {
		if err := checkRole(x.project.policy, x.manifest); err != nil {
			return err
		}
	}
	if x.store, err = x.env.openStore(x.flags.config); err != nil {
		return err
	}
	ctx, stop, err := x.startService(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if x.system, err = x.openSystem(ctx, x.manifest.Concurrency); err != nil {
		return err
	}
	defer x.system.close()
	x.manifest.Concurrency = x.system.bounded(x.manifest.Concurrency)
	if err := x.identify(x.system); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	if limit := x.limits().Run; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than %s (system.http.limits.run_timeout_s), so the rest was not tried", limit))
		defer cancel()
	}
	var spent *runner.SpentError
	switch err := x.execute(ctx); {
	case errors.As(err, &spent) && x.tally.counts.OK > 0:
		return x.stopShort(spent)
	case err != nil:
		return x.abort(ctx, err)
	}
	if err := x.confirmDeployed(ctx); err != nil {
		return x.abort(ctx, err)
	}
	m := x.manifest
	m.FinishedAt = x.env.Now().UTC()
	m.Completeness = evidence.Complete
	m.Status = evidence.RunExplored
	if x.project.policy != nil {
		m.Status = evidence.RunDecided
	}
	x.sumUp()
	return nil
}

// caseList is what a run goes through.
type caseList interface {
	Len() int
	ID(i int) string
	CaseDigest(i int) evidence.Digest
	Case(i int) (*evidence.Case, error)
}

// shard narrows the run to the part that --shard names, which decides nothing.
func (x *activeRun) shard() (*evidence.Shard, error) {
	if x.flags.shard == "" {
		return nil, nil
	}
	var i, n int
	if _, err := fmt.Sscanf(x.flags.shard, "%d/%d", &i, &n); err != nil || fmt.Sprintf("%d/%d", i, n) != x.flags.shard || i < 1 || i > n {
		return nil, usageError{fmt.Errorf("--shard is %q, it must be I/N with I from 1 to N, such as 2/8", x.flags.shard)}
	}
	data := x.project.data
	part := data.Shard(i-1, n)
	x.cases, x.project.policy = part, nil
	return &evidence.Shard{Index: i, Of: n, Total: data.Len(), Places: part.Places()}, nil
}

// resolve fills in what the suite takes from the environment.
func (x *activeRun) resolve(s *suite.Suite) error {
	if x.flags.url != "" && s.System.HTTP == nil && s.System.Kind() != "" {
		return usageError{fmt.Errorf("--url names an endpoint, and the system of %s is of kind %s, which has none: leave --url out", s.Path, s.System.Kind())}
	}
	var err error
	x.resolved, err = s.Resolve(x.env.Lookup, suite.ResolveOptions{
		URL: x.flags.url, AllowExec: x.env.allowExec(), Bin: executable(), Port: freePort,
	})
	if err != nil {
		return err
	}
	x.redact = redact.New(slices.Concat(x.resolved.Secrets, x.env.proxyPasswords()))
	return nil
}

// given is what the user typed, for the commands to try next.
func (x *activeRun) given() given { return given{configFlags: x.flags.configFlags, url: x.flags.url} }

// publicURL is the system's URL as it may be shown; "" for a program.
func (x *activeRun) publicURL() string {
	if x.resolved.URL == "" {
		return ""
	}
	return x.redact.String(httpsystem.PublicURL(x.resolved.URL))
}

// place is a URL as it tells one deployment from another: with its query, which
// publicURL leaves out, and without secrets.
func (x *activeRun) place(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return x.redact.String(httpsystem.PublicURL(raw))
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return x.redact.String(u.String())
}

// systemID is what the suite says of the system; see identify for the rest.
func (x *activeRun) systemID() evidence.SystemID {
	s := x.project.suite
	return evidence.SystemID{
		Name: s.System.Name, Version: s.System.Version, Kind: s.System.Kind(), Digest: s.SystemDigest(), URL: x.publicURL(),
	}
}

func (x *activeRun) newManifest() (*evidence.Manifest, error) {
	e, p := x.env, x.project
	now := e.Now()
	m := &evidence.Manifest{
		Schema:       evidence.RunSchema,
		Tool:         tool(),
		ID:           evidence.NewRunID(now, e.Rand),
		Status:       evidence.RunRunning,
		Completeness: evidence.Partial,
		Name:         x.flags.name,
		Project:      p.suite.Project,
		SuitePath:    filepath.ToSlash(p.suite.Path),
		SuiteDigest:  p.suite.Digest(),
		Dataset:      evidence.DatasetID{Path: filepath.ToSlash(p.suite.Dataset), Digest: p.data.Digest(), Cases: x.cases.Len()},
		System:       x.systemID(),
		Metrics:      p.eval.Specs(),
		Slices:       p.suite.Slices,
		MinSupport:   p.suite.MinSliceSupport,
		SuiteRole:    p.suite.Role,
		Concurrency:  p.suite.Concurrency.System,
		Counts:       evidence.Counts{Cases: x.cases.Len()},
		StartedAt:    now.UTC(),
	}
	if m.Name == "" {
		m.Name = m.SuitePath
	}
	if x.flags.concurrency > 0 {
		m.Concurrency = x.flags.concurrency
	}
	if p.policy != nil {
		m.Policies = []evidence.PolicyRef{{Path: filepath.ToSlash(p.policy.Path), Digest: evidence.Digest(p.policy.Digest)}}
	}
	m.Commit, _ = e.Lookup("GITHUB_SHA")
	return m, nil
}

// open creates the run, or takes up the one that --resume names.
func (x *activeRun) open() error {
	x.tally = newTally(x.manifest)
	if x.flags.resume == "" {
		var err error
		x.writer, err = x.store.Create(x.manifest)
		return err
	}
	writer, err := x.store.Resume(x.flags.resume)
	if err != nil {
		return err
	}
	if err := x.takeUp(writer); err != nil {
		writer.Close()
		return err
	}
	x.writer = writer
	return nil
}

// takeUp counts what an interrupted run has finished.
func (x *activeRun) takeUp(writer *store.Writer) error {
	kept := writer.Manifest()
	if err := sameRun(kept, x.manifest); err != nil {
		return err
	}
	x.manifest.ID, x.manifest.StartedAt, x.manifest.Name = kept.ID, kept.StartedAt, kept.Name
	x.spent = kept.Judges
	x.resumeDeployed(kept)
	err := writer.Replay(func(i int, o *evidence.Outcome, line *evidence.CaseLine) error {
		if o.ID != x.cases.ID(i) || o.Digest != x.cases.CaseDigest(i) {
			return problem.Errorf("case %s of %s is not case %d of the data set any more: start a new run", o.ID, kept.ID, i+1)
		}
		x.tally.addExecution(&line.Execution)
		judgments, err := inMetricOrder(*line, kept)
		if err != nil {
			return err
		}
		x.tally.addJudged(judgments)
		return x.tally.add(i, o)
	})
	if err == nil && x.tally.counts.OK == 0 && x.tally.counts.Error > 0 {
		return x.restart(writer)
	}
	return err
}

// restart begins an interrupted run again in which no case was answered: what
// it holds are the marks of an endpoint that was dead, not observations.
func (x *activeRun) restart(writer *store.Writer) error {
	fmt.Fprintf(x.env.Stderr, "note: no case of %s was answered before, so all are called again\n", x.manifest.ID)
	x.tally = newTally(x.manifest)
	return writer.Restart()
}

// sameRun refuses to resume what would not be the same run.
func sameRun(kept, now *evidence.Manifest) error {
	changed := ""
	switch {
	case kept.Dataset.Digest != now.Dataset.Digest:
		changed = "the data set"
	case !sameShard(kept.Shard, now.Shard):
		changed = "--shard"
	case kept.System.Digest != now.System.Digest:
		changed = "the system"
	case kept.SuiteDigest != now.SuiteDigest:
		changed = "the suite"
	case len(kept.Policies) != len(now.Policies) || len(kept.Policies) > 0 && kept.Policies[0].Digest != now.Policies[0].Digest:
		changed = "the policy"
	default:
		return nil
	}
	return problem.Errorf("%s changed since %s began, so it cannot be resumed: start a new run, or bring the old files back", changed, kept.ID)
}

func sameShard(a, b *evidence.Shard) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Index == b.Index && a.Of == b.Of
}

// startService launches the suite's service, if it has one. The context that it
// returns ends when the service dies, with the reason as its cause.
func (x *activeRun) startService(ctx context.Context) (context.Context, func(), error) {
	start := x.resolved.Start
	if start == nil {
		return ctx, func() {}, nil
	}
	if child.Lacks != "" {
		fmt.Fprintf(x.env.Stderr, "note: %s\n", child.Lacks)
	}
	s, err := service.Start(ctx, service.Config{
		Command: start.Command, Ready: start.Ready, Timeout: start.Timeout, Dir: x.project.suite.Dir,
		Env: append(x.env.Environ[:len(x.env.Environ):len(x.env.Environ)], start.Env...), Redact: x.redact,
	})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.Died():
			cancel(s.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		s.Stop()
	}, nil
}

// sleep waits, or ends early with the context's error.
func (e *Env) sleep(ctx context.Context, d time.Duration) error {
	if e.Sleep != nil {
		return e.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// limits are those of the suite; a program has none.
func (x *activeRun) limits() suite.Limits {
	if h := x.project.suite.System.HTTP; h != nil {
		return h.Limits
	}
	return suite.Limits{}
}

// execute takes every case through system and evaluators.
func (x *activeRun) execute(ctx context.Context) error {
	progress := report.NewProgress(x.env.Stderr, report.ProgressOptions{
		Total: x.cases.Len(), Terminal: isTerminal(x.env.Stderr), Now: x.env.Now,
		Intervals: func() string { return x.tally.intervals(x.level()) },
	})
	defer progress.Stop()
	var under runner.System = x.system
	var cache *store.Cache
	reuses, judged := x.reuses(x.system), x.project.suite.Judged()
	if reuses || judged {
		var err error
		if cache, err = x.store.Cache(); err != nil {
			return err
		}
		defer cache.Close()
	}
	judging := 0
	if err := x.openPanel(cache); err != nil {
		return err
	}
	defer x.panel.Close()
	if judged {
		judging = 2 * x.panel.Concurrency()
	}
	if reuses {
		x.cache = cache
		under = reusing{System: x.system.cachedIn(cache), cache: cache, identity: x.manifest.System.Digest}
	}
	summary, err := runner.Run(ctx, runner.Config{
		Len: x.cases.Len(), Case: x.cases.Case, Done: x.writer.Done,
		System: under, Judge: x.judge, Judging: judging, Redact: x.redact, Sink: x.keep,
		Concurrency: x.manifest.Concurrency, StopAfter: x.limits().StopAfter, Now: x.env.Now,
		Progress: func(p runner.Progress) { progress.Update(p.Skipped, p.Finished, p.Finished-p.OK) },
	})
	if err == nil && x.tally.counts.OK == 0 && x.cases.Len() > 0 {
		p := summary.Problems[0] // the most frequent
		return &unansweredError{p.CaseID, p.First}
	}
	return err
}

// firstCause tells the most frequent error of a run without an answer.
func firstCause(s runner.Summary) string {
	p := s.Problems[0]
	return fmt.Sprintf("case %s: %s", p.CaseID, p.First.Message)
}

// keep stores one finished case and counts it.
func (x *activeRun) keep(r *runner.Record) error {
	rec := &store.Record{
		Case: r.Case, Execution: r.Execution, Judgments: r.Judgments,
		Slices: evidence.SliceValues(x.manifest, r.Case, &r.Execution),
	}
	if err := x.writer.Add(rec); err != nil {
		return err
	}
	if x.cache != nil && x.system.keepsAnswers() && !r.Execution.FromCache && r.Execution.Status == evidence.StatusOK {
		if err := x.cache.Put(x.manifest.System.Digest, r.Case, &r.Execution); err != nil {
			return err
		}
	}
	x.tally.addExecution(&r.Execution)
	x.tally.addJudged(r.Judgments)
	outcome := rec.Outcome()
	return x.tally.add(r.Case.Index, &outcome)
}

func (x *activeRun) level() float64 {
	if x.project.policy != nil {
		return x.project.policy.ConfidenceLevel
	}
	return defaultLevel
}

// abort keeps what is finished of a run that cannot be decided, says how to go
// on, and returns the cause.
func (x *activeRun) abort(ctx context.Context, cause error) error {
	cause = explained(cause)
	m := x.manifest
	m.Status = evidence.RunError
	var interrupted Interrupted
	if errors.As(context.Cause(ctx), &interrupted) {
		m.Status, cause = evidence.RunCanceled, interrupted
	} else if ctx.Err() != nil {
		cause = context.Cause(ctx) // the service died
	}
	x.noteDeployed()
	x.noteJudges()
	m.Counts, m.Cache, m.Stages = x.tally.counts, x.tally.cache, x.tally.stagesOf(m)
	m.Counts.NotRun = m.Counts.Cases - m.Counts.OK - m.Counts.Error
	m.Stopped = x.redact.String(firstLine(bare(cause)))
	if err := x.markNotRun(func(int, *evidence.Outcome) error { return nil }); err != nil {
		return stoppedError{withTrouble(cause, err)}
	}
	if err := x.writer.Abort(m); err != nil {
		return stoppedError{withTrouble(cause, err)}
	}
	if x.fleeting {
		return stoppedError{cause}
	}
	fmt.Fprintf(x.env.Stderr, "Run %s [%s/%s]: %d of %d cases are kept, nothing was decided\n",
		m.ID, m.Status, m.Completeness, m.Counts.OK+m.Counts.Error, m.Counts.Cases)
	g := x.given()
	if m.Counts.Error > 0 {
		fmt.Fprintf(x.env.Stderr, "  look at them: oloproof inspect %s --failures%s\n", m.ID, g.flags(false, false))
	}
	if m.Counts.NotRun > 0 || m.Counts.OK == 0 {
		fmt.Fprintf(x.env.Stderr, "  go on:        oloproof run --resume=%s%s\n", m.ID, g.flags(true, true))
		fmt.Fprintln(x.env.Stderr, "                (with the same suite, data set and policy; when one of them has to change, start a new run)")
	}
	return stoppedError{cause}
}

// withTrouble adds what went wrong while a run was put away; a full disk is
// often the cause itself.
func withTrouble(cause, err error) error {
	if err.Error() == cause.Error() {
		return cause
	}
	return errors.Join(cause, err)
}

// markNotRun records the cases that did not finish, so that none is lost: they
// are missing observations, and --resume runs them.
func (x *activeRun) markNotRun(count func(i int, o *evidence.Outcome) error) error {
	for i := range x.cases.Len() {
		if x.writer.Done(i) {
			continue
		}
		c, err := x.cases.Case(i)
		if err != nil {
			return err
		}
		e := evidence.Execution{Status: evidence.StatusNotRun}
		rec := &store.Record{
			Case: c, Execution: e, Judgments: x.project.eval.Judge(c, &e), Slices: evidence.SliceValues(x.manifest, c, &e),
		}
		if err := x.writer.Add(rec); err != nil {
			return err
		}
		outcome := rec.Outcome()
		if err := count(c.Index, &outcome); err != nil {
			return err
		}
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "Configuration error: ")
}

func (x *activeRun) show(doc *report.Document) error {
	m := x.manifest
	if m.Shard != nil && x.flags.format == "text" {
		_, err := fmt.Fprintf(x.env.Stdout, "Run %s: shard %d of %d, %d of %s\n"+
			"Next: oloproof export %s --output shard-%d%s\n      oloproof merge shard-*%s   (when every shard is there)\n",
			m.ID, m.Shard.Index, m.Shard.Of, m.Dataset.Cases, countCases(m.Shard.Total),
			m.ID, m.Shard.Index, x.given().flags(false, false), x.given().flags(false, false))
		return err
	}
	return x.env.show(doc, x.flags.formatFlags, x.given())
}

func (x *activeRun) notes() []string {
	notes := slices.Concat(x.project.suite.Notes, x.project.data.Notes(), x.project.eval.Notes(), x.system.notes, x.system.troubles())
	if !x.system.keepsAnswers() {
		notes = append(notes, "code of the project was loaded while cases ran that no import statement names, so these answers are not reused later: import it at the start, or name its files in system.code_paths")
	}
	if note := x.deployedNote(); note != "" {
		notes = append(notes, note)
	}
	if n := x.tally.cache.ExecutionHits; n > 0 && len(x.project.suite.Measures) > 0 {
		note := countOf(n, "reused answer") + ": latency, tokens and cost are those of the calls at the time"
		if slices.ContainsFunc(x.project.suite.Measures, func(q suite.Measure) bool { return q.Type == "error_rate" }) {
			note += "; an error is never reused, so the error rate says nothing of the service as it is now"
		}
		notes = append(notes, note)
	}
	if n := x.tally.contradictions; n > 0 {
		notes = append(notes, fmt.Sprintf("%d cases recorded a context that contradicts their retrieval: inspect RUN --case ID shows both", n))
	}
	return notes
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return "oloproof"
	}
	return path
}
