package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// arm is one way in which every selected case is executed again: with the
// intervention, or unchanged. Each arm is a run of its own.
type arm struct {
	name     string // in the line of child runs
	role     string
	manifest *evidence.Manifest
	writer   *store.Writer
	tally    *tally
	outcomes []diagnose.Outcome // by case; "" until it has one
}

// reexecution is the selected cases on their way through the system again. The
// two arms take turns, so that an interruption leaves both of a case, or none.
type reexecution struct {
	*diagnosis
	spec     evidence.MetricSpec  // of the criterion
	judging  *activeRun           // judges by the criterion alone
	reranker *reranker            // nil unless the intervention is one
	orders   [][]evidence.Passage // of the reranker, by case
	stages   replayer
	cache    *store.Cache // nil unless answers are reused
	stop     func()       // ends the service that was launched; nil without
	arms     []*arm
}

// execute has the selected cases executed again.
func (x *diagnosis) execute(ctx context.Context, in *diagnose.Input) ([]report.ChildRun, error) {
	m := x.parent.Manifest
	in.Staged = true
	if s := m.System.Staged; s != nil {
		in.TopK, in.Depth = s.TopK, s.Depth
	}
	if x.intervention.Kind == diagnose.TopK && in.Depth > 0 && x.intervention.TopK > in.Depth {
		x.note("--top-k %d is more than the depth %d that was retrieved, so nothing is cut", x.intervention.TopK, in.Depth)
	}
	if len(x.selection.Cases) == 0 {
		return nil, nil
	}
	selected, err := x.selection.ID()
	if err != nil {
		return nil, err
	}
	if err := x.findGold(selected.Digest); err != nil {
		return nil, err
	}
	r := &reexecution{diagnosis: x, spec: x.spec()}
	defer r.close()
	if ctx, err = r.open(ctx); err != nil {
		return nil, err
	}
	if h := r.active.project.suite.System.HTTP; h != nil {
		in.TopK = h.Gold.TopK
	}
	in.Intervention = x.intervention // with the code of a reranker
	if err := r.create(selected.Digest); err != nil {
		return nil, err
	}
	err = r.run(ctx)
	if err == nil {
		err = r.sameDeployed(ctx)
	}
	if err != nil {
		return nil, r.abort(ctx, err)
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	x.notes = append(x.notes, r.active.system.troubles()...)
	if r.reranker != nil {
		x.notes = append(x.notes, r.reranker.Notes()...)
	}
	if x.gold != nil {
		in.Gold = &x.gold.Diagnosis
	}
	in.Results = r.results()
	return r.children(), nil
}

// spec is that of the criterion in the run.
func (x *diagnosis) spec() evidence.MetricSpec {
	metrics := x.parent.Manifest.Metrics
	return metrics[slices.IndexFunc(metrics, func(s evidence.MetricSpec) bool { return s.ID == x.flags.criterion })]
}

// findGold looks for the diagnosis whose labels a replay carries: the newest
// with gold context of the same cases, with a control if the replay has one.
func (x *diagnosis) findGold(selection evidence.Digest) error {
	if !x.intervention.Replay() {
		return nil
	}
	all, err := x.store.Shelved(store.DiagnosisShelf)
	if err != nil {
		return err
	}
	for _, s := range all {
		data, err := x.store.Read(s)
		if err != nil {
			return err
		}
		d, err := report.ReadDiagnosis(data)
		if err != nil {
			x.note("passed over: %v", err)
			continue
		}
		if d.Intervention.Kind == diagnose.GoldContext && d.Selection.Digest == selection && d.Executed &&
			(x.flags.noControl || d.Control == diagnose.FreshSample) {
			x.gold = d
			return nil
		}
	}
	with := "a control"
	if x.flags.noControl {
		with = "or without a control"
	}
	return problem.Errorf("a %s replay carries the labels of a gold-context diagnosis of the same cases, with %s, and there is none yet: first\n  %s%s",
		x.intervention.Kind, with, report.GoldCommand(x.given().run(x.parent.Manifest.ID), x.flags.criterion, x.flags.noControl), x.given().flags(false, false))
}

// open makes the system of the suite ready, and asks that it is the one that the
// run was made with, judged as it was judged.
func (r *reexecution) open(ctx context.Context) (context.Context, error) {
	if absent(r.flags.config) {
		return nil, noSuite(r.flags.config)
	}
	s, err := suite.Load(r.flags.config)
	if err != nil {
		return nil, err
	}
	criterion, err := r.sameEvaluator(s)
	if err != nil {
		return nil, err
	}
	m := r.parent.Manifest
	if s.System.Kind() != m.System.Kind {
		return nil, r.otherSystem(fmt.Sprintf("that of %s is of kind %s, that of %s was of kind %s", s.Path, s.System.Kind(), m.ID, m.System.Kind))
	}
	a := &activeRun{env: r.env, flags: runFlags{configFlags: configFlags{config: r.flags.config}, url: r.flags.url}, project: &project{suite: s}, store: r.store}
	if err := a.resolve(s); err != nil {
		return nil, err
	}
	now := *m
	now.System = a.systemID()
	a.manifest = &now
	r.active = a
	if ctx, r.stop, err = a.startService(ctx); err != nil {
		return nil, err
	}
	if a.system, err = a.openSystem(ctx, m.Concurrency); err != nil {
		return nil, err
	}
	if d := a.deployed; d != nil && d.watch != nil && m.System.Deployed != nil {
		d.said.First = m.System.Deployed.First // what answers will have to say
	}
	if err := a.identify(a.system); err != nil {
		return nil, err
	}
	if now.System.Digest != m.System.Digest {
		return nil, r.otherSystem(diagnose.SystemChange(m.ID, &m.System, &now.System))
	}
	if h := s.System.HTTP; h != nil && h.Gold != nil {
		if r.intervention.Code, err = evidence.ContentID("gold-context/v1", h.Gold.Request); err != nil {
			return nil, err
		}
	}
	if r.intervention.Kind == diagnose.Reranker {
		if r.reranker, err = r.startReranker(ctx); err != nil {
			return nil, err
		}
		r.intervention.Code = r.reranker.code
		if r.orders, err = r.reranker.orders(ctx, r.selection.Cases, min(m.Concurrency, r.reranker.AtOnce())); err != nil {
			return nil, err
		}
	}
	r.noteData(s)
	return ctx, r.openJudging(criterion)
}

// openJudging makes ready what judges by the criterion, and the caches.
func (r *reexecution) openJudging(criterion int) error {
	a := r.active
	one := *a.project.suite
	one.Evaluators = one.Evaluators[criterion : criterion+1]
	eval, err := evaluate.New(&one)
	if err != nil {
		return err
	}
	r.stages = a.system.stages
	reuses := a.reuses(a.system)
	if reuses || one.Judged() {
		if r.cache, err = r.store.Cache(); err != nil {
			return err
		}
	}
	if reuses {
		if cached, ok := a.system.cachedIn(r.cache).(replayer); ok {
			r.stages = cached
		}
	}
	r.judging = &activeRun{env: r.env, project: &project{suite: &one, eval: eval}, resolved: a.resolved, redact: a.redact}
	return r.judging.openPanel(r.cache)
}

// close ends what open has started.
func (r *reexecution) close() {
	for _, a := range r.arms {
		if a.writer != nil {
			a.writer.Close()
		}
	}
	if r.judging != nil && r.judging.panel != nil {
		r.judging.panel.Close()
	}
	if r.cache != nil {
		r.cache.Close()
	}
	if r.reranker != nil {
		r.reranker.close()
	}
	if r.active != nil && r.active.system != nil {
		r.active.system.close()
	}
	if r.stop != nil {
		r.stop()
	}
}

// sameDeployed asks that the version of the service was the run's to the end.
func (r *reexecution) sameDeployed(ctx context.Context) error {
	if r.active.deployed == nil {
		return nil
	}
	if err := r.active.confirmDeployed(ctx); err != nil {
		return err
	}
	if said := r.active.deployed.said; said.Changed {
		return r.otherSystem(fmt.Sprintf("the service said version %s in %s and says %s now", report.Clean(said.First), r.parent.Manifest.ID, report.Clean(said.Last)))
	}
	return nil
}

// sameEvaluator returns which evaluator of the suite judges the criterion.
func (x *diagnosis) sameEvaluator(s *suite.Suite) (int, error) {
	for i := range s.Evaluators {
		if s.Evaluators[i].Criterion != x.flags.criterion {
			continue
		}
		if s.EvaluatorDigest(i) == x.selection.Evaluator {
			return i, nil
		}
		return 0, s.Problem(s.Evaluators[i].Pos, "an intervention must be judged as the run was: the evaluator of %s changed since %s; make a new run and diagnose that, or bring the evaluator back", x.flags.criterion, x.parent.Manifest.ID)
	}
	return 0, problem.At(s.Path, "an intervention must be judged as the run was: no evaluator here has the criterion %s of %s; bring it back, or name the suite of the run with --config", x.flags.criterion, x.parent.Manifest.ID)
}

func (x *diagnosis) otherSystem(what string) error {
	return problem.Errorf("an intervention must re-execute the same system: %s; make a new run with oloproof run%s and diagnose that, or bring the version of %s back",
		what, x.given().flags(false, false), x.parent.Manifest.ID)
}

// noteData says when the cases of the data set are not those of the run any more.
func (x *diagnosis) noteData(s *suite.Suite) {
	path, err := casesPath(s)
	if err != nil {
		return
	}
	data, err := openDataset(s, path, dataset.Options{})
	if err != nil {
		return // it is not needed
	}
	defer data.Close()
	if m := x.parent.Manifest; m.Shard == nil && data.Digest() != m.Dataset.Digest {
		x.note("%s changed since %s: the cases are executed as the run recorded them; to diagnose the present ones, make a new run", s.Dataset, m.ID)
	}
}

// create makes the runs of the arms, or takes up those of an interrupted
// diagnosis that did the same.
func (r *reexecution) create(selection evidence.Digest) error {
	work, err := evidence.ContentID("diagnosis-work/v1", map[string]any{
		"selection": selection, "intervention": r.intervention, "control": !r.flags.noControl,
	})
	if err != nil {
		return err
	}
	control := "control"
	if r.intervention.Replay() {
		control = "replay control"
	}
	r.arms = []*arm{{name: r.intervention.String(), role: evidence.RoleIntervention}}
	if !r.flags.noControl {
		r.arms = append(r.arms, &arm{name: control, role: evidence.RoleControl})
	}
	kept := 0
	for _, a := range r.arms {
		a.manifest = r.childManifest(a, work)
		a.tally = newTally(a.manifest)
		a.outcomes = make([]diagnose.Outcome, len(r.selection.Cases))
		if a.writer, err = r.store.ResumeChild(work, a.role); err != nil {
			return err
		}
		if a.writer == nil {
			a.writer, err = r.store.Create(a.manifest)
		} else {
			err = r.takeUp(a)
			kept += a.tally.counts.OK + a.tally.counts.Error
		}
		if err != nil {
			return err
		}
	}
	if kept > 0 {
		fmt.Fprintf(r.env.Stderr, "note: an interrupted diagnosis goes on: %s of it are kept\n", countOf(kept, "execution"))
	}
	return nil
}

// childManifest is that of the run that an arm makes: of the selected cases, the
// criterion alone, and no policy.
func (r *reexecution) childManifest(a *arm, work evidence.Digest) *evidence.Manifest {
	p := r.parent.Manifest
	cases := r.selection.Cases
	now := r.env.Now()
	return &evidence.Manifest{
		Schema: evidence.RunSchema, Tool: tool(), ID: evidence.NewRunID(now, r.env.Rand),
		Status: evidence.RunRunning, Completeness: evidence.Partial,
		Name: p.Name, Project: p.Project, SuitePath: p.SuitePath, SuiteDigest: p.SuiteDigest,
		Dataset: evidence.DatasetID{
			Path: p.Dataset.Path, Cases: len(cases),
			Digest: evidence.DatasetDigest(len(cases), func(i int) string { return cases[i].ID }, func(i int) evidence.Digest { return cases[i].Digest }),
		},
		System: p.System, Metrics: []evidence.MetricSpec{r.spec}, MinSupport: p.MinSupport, SuiteRole: p.SuiteRole,
		Concurrency: p.Concurrency, Counts: evidence.Counts{Cases: len(cases)}, StartedAt: now.UTC(),
		Child: &evidence.Child{
			Parent: p.ID, Criterion: r.flags.criterion, Intervention: r.intervention.String(), Role: a.role, Work: work,
		},
		Notes: []string{fmt.Sprintf("a diagnosis of %s made this run: the cases there that failed %s, executed again %s; it says nothing of other cases",
			p.ID, r.flags.criterion, map[string]string{evidence.RoleIntervention: "under " + r.intervention.String(), evidence.RoleControl: "unchanged"}[a.role])},
	}
}

// takeUp counts what an arm of an interrupted diagnosis has finished. Of one in
// which nothing was answered nothing is kept.
func (r *reexecution) takeUp(a *arm) error {
	kept := a.writer.Manifest()
	a.manifest.ID, a.manifest.StartedAt = kept.ID, kept.StartedAt
	err := a.writer.Replay(func(i int, o *evidence.Outcome, line *evidence.CaseLine) error {
		a.tally.addExecution(&line.Execution)
		a.outcomes[i] = outcomeOf(o.Judgments[0], o.ErrorKind)
		return a.tally.add(i, o)
	})
	if err != nil || a.tally.counts.OK > 0 {
		return err
	}
	a.tally, a.outcomes = newTally(a.manifest), make([]diagnose.Outcome, len(a.outcomes))
	return a.writer.Restart()
}

// place says which case and which arm a place of the whole is.
func (r *reexecution) place(i int) (int, *arm) { return i / len(r.arms), r.arms[i%len(r.arms)] }

// run takes every case through each arm.
func (r *reexecution) run(ctx context.Context) error {
	total := len(r.selection.Cases) * len(r.arms)
	progress := report.NewProgress(r.env.Stderr, report.ProgressOptions{
		Total: total, Terminal: isTerminal(r.env.Stderr), Now: r.env.Now,
	})
	defer progress.Stop()
	judging := 0
	if r.judging.project.suite.Judged() {
		judging = 2 * r.judging.panel.Concurrency()
	}
	summary, err := runner.Run(ctx, runner.Config{
		Len: total,
		Case: func(i int) (*evidence.Case, error) {
			n, _ := r.place(i)
			c := r.selection.Cases[n].Case
			c.Index = i // of the whole, so that Execute knows the arm
			return &c, nil
		},
		Done:   func(i int) bool { n, a := r.place(i); return a.writer.Done(n) },
		System: r, Judge: r.judging.judge, Judging: judging, Redact: r.active.redact, Sink: r.keep,
		Concurrency: r.active.system.bounded(r.parent.Manifest.Concurrency), Now: r.env.Now,
		Progress: func(p runner.Progress) { progress.Update(p.Skipped, p.Finished, p.Finished-p.OK) },
	})
	if err != nil {
		return err
	}
	if !r.answered() {
		return problem.Errorf("no case was answered when it was executed again, so nothing was learned: %s", firstCause(summary))
	}
	return nil
}

// answered reports whether any execution has an answer.
func (r *reexecution) answered() bool {
	return slices.ContainsFunc(r.arms, func(a *arm) bool { return a.tally.counts.OK > 0 })
}

// Execute implements [runner.System]: it executes one case in one arm.
func (r *reexecution) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	n, a := r.place(c.Index)
	selected := &r.selection.Cases[n]
	if a.role == evidence.RoleControl && r.whole() {
		e, err := r.active.system.Execute(ctx, &selected.Case)
		e.Artifacts.Retrieval = nil
		return e, err
	}
	replay, err := r.replay(ctx, n, a.role == evidence.RoleControl)
	if errors.Is(err, errNotRecorded) {
		return evidence.Execution{
			Status: evidence.StatusError, StartedAt: r.env.Now(),
			Error: &evidence.ExecutionError{Kind: evidence.ErrNotRecorded, Message: err.Error()},
		}, nil
	}
	if err != nil {
		return evidence.Execution{}, err
	}
	e, err := r.stages.Replay(ctx, &selected.Case, *replay)
	// Nothing was retrieved: a criterion that reads the retrieval is not to judge it.
	e.Artifacts.Retrieval = nil
	return e, err
}

// whole reports whether the control asks the endpoint as the run did: it records
// no context that could be given to it again.
func (r *reexecution) whole() bool {
	h := r.active.project.suite.System.HTTP
	return h != nil && !slices.ContainsFunc(h.Artifacts, func(a suite.ArtifactPath) bool { return a.Kind == evidence.ContextKind })
}

// errNotRecorded says that the run did not record what a case is to be executed
// again with.
var errNotRecorded = errors.New("the run did not record once what this case was answered from, with its texts, so it cannot be executed again")

// replay is what the generation of a case is given.
func (r *reexecution) replay(ctx context.Context, n int, control bool) (*staged.Replay, error) {
	c := &r.selection.Cases[n]
	if control {
		if c.Context == nil || r.active.project.suite.System.HTTP != nil && !c.HasTexts() {
			return nil, errNotRecorded
		}
		return &staged.Replay{Context: *c.Context, Passages: c.Passages(), Sample: 1, Fresh: true}, nil
	}
	if r.intervention.Kind == diagnose.GoldContext {
		return goldReplay(c), nil
	}
	if c.Retrieval == nil {
		return nil, errNotRecorded
	}
	candidates, topK := c.Retrieval.Candidates, r.intervention.TopK
	if r.reranker != nil {
		candidates, topK = r.orders[n], r.parent.Manifest.System.Staged.TopK
	}
	assembled, passages, err := r.stages.Assemble(ctx, &c.Case, candidates, topK)
	if err != nil {
		return nil, err
	}
	assembled.Source = r.intervention.Source()
	return &staged.Replay{Context: assembled, Passages: passages}, nil
}

// goldReplay gives the generation the gold passages of a case.
func goldReplay(c *diagnose.Case) *staged.Replay {
	items := make([]evidence.ContextItem, len(c.Gold))
	for i, p := range c.Gold {
		items[i] = evidence.ContextItem{DocID: p.DocID, ChunkID: p.ChunkID, Text: p.Text}
	}
	return &staged.Replay{
		Context:  evidence.Context{Items: items, Dropped: []evidence.DroppedItem{}, Source: staged.SourceGold},
		Passages: c.Gold,
	}
}

// keep stores one executed case in the run of its arm.
func (r *reexecution) keep(rec *runner.Record) error {
	n, a := r.place(rec.Case.Index)
	c := *rec.Case
	c.Index = n
	stored := &store.Record{Case: &c, Execution: rec.Execution, Judgments: rec.Judgments}
	if err := a.writer.Add(stored); err != nil {
		return err
	}
	a.tally.addExecution(&rec.Execution)
	a.tally.addJudged(rec.Judgments)
	outcome := stored.Outcome()
	a.outcomes[n] = outcomeOf(rec.Judgments[0], outcome.ErrorKind) // each case has its own place
	return a.tally.add(n, &outcome)
}

// outcomeOf reads a judgment. A case that could not be executed has none, even
// where the suite takes an error for a failure.
func outcomeOf(j evidence.Judgment, kind evidence.ErrorKind) diagnose.Outcome {
	if kind == evidence.ErrNotRecorded {
		return diagnose.Missing
	}
	return diagnose.OutcomeOf(j)
}

// abort keeps what is finished, says how to go on, and returns the cause.
func (r *reexecution) abort(ctx context.Context, cause error) error {
	cause = explained(cause)
	status := evidence.RunError
	var interrupted Interrupted
	if errors.As(context.Cause(ctx), &interrupted) {
		status, cause = evidence.RunCanceled, interrupted
	} else if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	if d := r.active.deployed; !r.answered() || d != nil && d.said.Changed { // there is nothing to go on with
		for _, a := range r.arms {
			if err := a.writer.Restart(); err != nil {
				return stoppedError{withTrouble(cause, err)}
			}
		}
		return stoppedError{cause}
	}
	kept := 0
	for _, a := range r.arms {
		m := a.manifest
		m.Status, m.Stopped = status, r.active.redact.String(firstLine(bare(cause)))
		r.count(a)
		m.Counts.NotRun = m.Counts.Cases - m.Counts.OK - m.Counts.Error
		kept += m.Counts.OK + m.Counts.Error
		if err := a.writer.Abort(m); err != nil {
			return stoppedError{withTrouble(cause, err)}
		}
	}
	fmt.Fprintf(r.env.Stderr, "Diagnosis of %s: %d of %s are kept, nothing was diagnosed\n",
		r.parent.Manifest.ID, kept, countOf(len(r.arms)*len(r.selection.Cases), "execution"))
	fmt.Fprintln(r.env.Stderr, "  the same command goes on where it stopped")
	return stoppedError{cause}
}

func (r *reexecution) count(a *arm) {
	m := a.manifest
	m.Counts, m.Cache, m.Stages = a.tally.counts, a.tally.cache, a.tally.stagesOf(m)
	a.tally.describeJudges(m)
}

// finish completes the runs of the arms.
func (r *reexecution) finish() error {
	for _, a := range r.arms {
		m := a.manifest
		m.FinishedAt, m.Status, m.Completeness = r.env.Now().UTC(), evidence.RunExplored, evidence.Complete
		r.count(a)
		if err := a.writer.Finish(m); err != nil {
			return err
		}
	}
	return nil
}

func (r *reexecution) results() []diagnose.Result {
	results := make([]diagnose.Result, len(r.selection.Cases))
	for _, a := range r.arms {
		for i, o := range a.outcomes {
			if a.role == evidence.RoleControl {
				results[i].Control = o
			} else {
				results[i].Intervention = o
			}
		}
	}
	return results
}

// children names the runs, those of the carried labels first.
func (r *reexecution) children() []report.ChildRun {
	var all []report.ChildRun
	if r.gold != nil {
		for _, c := range r.gold.ChildRuns {
			c.Carried = true
			all = append(all, c)
		}
	}
	for _, a := range r.arms {
		all = append(all, report.ChildRun{Name: a.name, Role: a.role, Run: a.manifest.ID})
	}
	return all
}
