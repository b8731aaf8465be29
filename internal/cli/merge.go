package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

func newMerge(env *Env) *cobra.Command {
	var c configFlags
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "merge RUN...",
		Short: "put the shards of a run together and decide them as one run",
		Long: `merge checks that the shards belong together (suite, system, evaluators, data set,
number, each once), stores one run made of them and decides it. A shard that is not
there leaves its cases missing and the run partial.
Each RUN is a bundle directory, a zip of one, or a run of the store.`,
		Example: `  oloproof merge shard-1 shard-2 shard-3
  oloproof merge shards/*.zip --policy release.yaml --json`,
		Args: args(1, 1000, "a shard"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return env.merge(args, c, f)
		},
	}
	c.add(cmd)
	f.add(cmd, documentFormats...)
	return cmd
}

func (e *Env) merge(names []string, c configFlags, f formatFlags) error {
	st, err := e.openStore(c.config)
	if err != nil {
		return err
	}
	p, err := loadPolicy(c, policy.Load)
	if err != nil {
		return err
	}
	var shards []*store.Run
	defer func() {
		for _, s := range shards {
			s.Close()
		}
	}()
	for _, name := range names {
		run, err := st.Resolve(name)
		if err != nil {
			return err
		}
		shards = append(shards, run)
	}
	doc, err := e.mergeShards(st, shards, p, c.config)
	if err != nil {
		return err
	}
	return e.show(doc, f, given{configFlags: c, merged: true})
}

// mergeShards stores the run that the shards make together and decides it; p is
// nil when nothing is decided.
func (e *Env) mergeShards(st *store.Store, shards []*store.Run, p *policy.Policy, config string) (*report.Document, error) {
	merged, err := e.startMerge(st, shards)
	if err != nil {
		return nil, err
	}
	defer merged.close()
	m := merged.manifest
	if err := trustStored(m, config); err != nil {
		return nil, err
	}
	merged.tally.table.Trust(m.Metrics)
	if p != nil {
		if err := p.Check(m.Metrics, m.Slices); err != nil {
			return nil, err
		}
		if err := checkRole(p, m); err != nil {
			return nil, err
		}
		m.Policies = []evidence.PolicyRef{{Path: p.Path, Digest: evidence.Digest(p.Digest)}}
		if m.Completeness == evidence.Complete {
			m.Status = evidence.RunDecided
		}
	}
	doc := decideDocument(m, merged.tally, p)
	return doc, merged.seal(doc)
}

// startMerge takes the cases of all shards into one run, which seal is to end.
func (e *Env) startMerge(st *store.Store, shards []*store.Run) (*finishedRun, error) {
	if err := belongTogether(shards); err != nil {
		return nil, err
	}
	m := mergedManifest(shards)
	m.ID = evidence.NewRunID(e.Now(), e.Rand)
	m.Tool = tool()
	w, err := st.Create(m)
	if err != nil {
		return nil, err
	}
	merged := &finishedRun{manifest: m, tally: newTally(m), writer: w}
	if err := merged.fill(shards); err != nil {
		w.Close()
		return nil, err
	}
	return merged, nil
}

// fill takes the shards' cases into the run and counts those that none brought.
func (r *finishedRun) fill(shards []*store.Run) error {
	m := r.manifest
	bare := slices.ContainsFunc(shards, func(s *store.Run) bool { return !s.HasCases() })
	for _, shard := range shards {
		note, err := copyShard(r.writer, r.tally, m, shard, bare)
		if err != nil {
			return err
		}
		if note != "" {
			m.Notes = append(m.Notes, note)
		}
	}
	lost, err := countLost(r.writer, r.tally, m)
	if err != nil {
		return err
	}
	m.Counts, m.Cache, m.Stages = r.tally.counts, r.tally.cache, r.tally.stagesOf(m)
	if m.Counts.OK == 0 {
		return problem.Errorf("no case of the shards was answered, so there is nothing to decide")
	}
	m.Status, m.Completeness = evidence.RunExplored, evidence.Complete
	if lost > 0 {
		m.Status, m.Completeness = evidence.RunError, evidence.Partial
		m.Stopped = fmt.Sprintf("%d cases of its shards are missing", lost)
		if len(m.Slices) > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("slices hold none of the %s of shards that are missing, whose values nobody knows", countCases(lost)))
		}
	}
	return nil
}

// belongTogether proves that the shards are parts of one run.
func belongTogether(shards []*store.Run) error {
	var problems problem.List
	first := shards[0]
	seen := map[int]string{}
	for _, s := range shards {
		fault := func(format string, args ...any) {
			problems.Add(problem.Problem{File: s.Place(), Message: fmt.Sprintf(format, args...)})
		}
		if s.Manifest.Shard == nil {
			fault("this is a whole run and not a shard: run it with --shard I/N")
			continue
		}
		index := s.Manifest.Shard.Index
		if other, twice := seen[index]; twice {
			fault("this is shard %d, as %s is: name each shard once", index, other)
		}
		seen[index] = s.Place()
		if what := differs(first.Manifest, s.Manifest); what != "" {
			fault("%s is another one than that of %s: these shards are of different runs", what, first.Place())
		}
	}
	return problems.Err()
}

// differs names what keeps two shards from being parts of one run; "" when
// nothing does.
func differs(a, b *evidence.Manifest) string {
	switch {
	case a.Shard == nil || b.Shard == nil:
		return ""
	case a.Dataset.Digest != b.Dataset.Digest || a.Shard.Total != b.Shard.Total:
		return "the data set"
	case a.System.Digest != b.System.Digest:
		return "the system"
	case a.SuiteDigest != b.SuiteDigest || !sameMetrics(a.Metrics, b.Metrics) || !slices.Equal(a.Slices, b.Slices):
		return "the suite"
	case a.Shard.Of != b.Shard.Of:
		return "the number of shards"
	case a.Tool != b.Tool:
		return "the version of " + a.Tool.Name
	case a.Commit != b.Commit:
		return "the commit"
	}
	return ""
}

func sameMetrics(a, b []evidence.MetricSpec) bool {
	a, b = asAsked(a), asAsked(b)
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// asAsked leaves out which models judged and what people's labels say of them, which
// shards need not share.
func asAsked(specs []evidence.MetricSpec) []evidence.MetricSpec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Served, specs[i].Trust = nil, nil
	}
	return specs
}

// addJudges joins what two shards say of their judges.
func addJudges(m, shard *evidence.Manifest) {
	for i := range m.Metrics {
		for _, model := range shard.Metrics[i].Served {
			if !slices.Contains(m.Metrics[i].Served, model) {
				m.Metrics[i].Served = append(m.Metrics[i].Served, model)
			}
		}
		slices.Sort(m.Metrics[i].Served)
	}
	switch u := shard.Judges; {
	case u == nil:
	case m.Judges == nil:
		sum := *u
		m.Judges = &sum
	default:
		m.Judges.Calls += u.Calls
		m.Judges.InputTokens += u.InputTokens
		m.Judges.OutputTokens += u.OutputTokens
		if m.Judges.CostUSD != nil && u.CostUSD != nil {
			cost := *m.Judges.CostUSD + *u.CostUSD
			m.Judges.CostUSD = &cost
		} else if u.Calls > 0 {
			m.Judges.CostUSD = nil
		}
	}
}

// commonTrust is what every shard says of the judge of a metric; nil when they do
// not say the same, since the labels of one model are not those of another.
func commonTrust(shards []*store.Run, metric int) *evidence.Trust {
	first := shards[0].Manifest.Metrics[metric]
	for _, s := range shards {
		spec := s.Manifest.Metrics[metric]
		if first.Trust == nil || spec.Trust == nil || *spec.Trust != *first.Trust || !slices.Equal(spec.Served, first.Served) {
			return nil
		}
	}
	return first.Trust
}

func mergedManifest(shards []*store.Run) *evidence.Manifest {
	m := *shards[0].Manifest
	m.Dataset.Cases = m.Shard.Total
	m.Shard, m.Files, m.Stopped, m.Gate, m.Policies, m.Notes = nil, nil, "", "", nil, nil
	m.Metrics, m.Judges = asAsked(m.Metrics), nil
	for _, s := range shards {
		addJudges(&m, s.Manifest)
		if s.Manifest.StartedAt.Before(m.StartedAt) {
			m.StartedAt = s.Manifest.StartedAt
		}
		if s.Manifest.FinishedAt.After(m.FinishedAt) {
			m.FinishedAt = s.Manifest.FinishedAt
		}
		m.System.Deployed = deployedTogether(m.System.Deployed, s.Manifest.System.Deployed)
		for _, note := range s.Manifest.Notes {
			if !slices.Contains(m.Notes, note) {
				m.Notes = append(m.Notes, note)
			}
		}
	}
	for i := range m.Metrics {
		m.Metrics[i].Trust = commonTrust(shards, i)
	}
	return &m
}

// deployedTogether is what the service said of its version over two shards: one of
// several versions makes the whole so.
func deployedTogether(a, b *evidence.Deployment) *evidence.Deployment {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &evidence.Deployment{Of: a.Of, First: a.First, Last: b.Last, Changed: a.Changed || b.Changed || a.First != b.First}
}

// copyShard takes every case of a shard into the merged run, and says what a
// person must know. A bare run is one without questions and answers.
func copyShard(w *store.Writer, t *tally, m *evidence.Manifest, shard *store.Run, bare bool) (note string, err error) {
	part := shard.Manifest.Shard
	lines := 0
	if err := shard.Outcomes(func(int, *evidence.Outcome) error { lines++; return nil }); err != nil {
		return "", err
	}
	if lines != len(part.Places) {
		return fmt.Sprintf("shard %d of %d was killed with %d of %d cases, all of which count as missing: finish it with run --resume", part.Index, part.Of, lines, len(part.Places)), nil
	}
	if bare {
		return "", copyOutcomes(w, t, shard)
	}
	next := 0
	err = shard.CaseLines(func(line evidence.CaseLine) error {
		line.Case.Index = part.Places[next]
		next++
		if line.Execution.Status == evidence.StatusNotRun {
			return nil // counted with the cases that are lost
		}
		judgments, err := inMetricOrder(line, m)
		if err != nil {
			return fmt.Errorf("%s: %w", shard.Place(), err)
		}
		rec := &store.Record{Case: &line.Case, Execution: line.Execution, Judgments: judgments, Slices: evidence.SliceValues(m, &line.Case, &line.Execution)}
		if err := w.Add(rec); err != nil {
			return err
		}
		outcome := rec.Outcome()
		t.addExecution(&rec.Execution)
		t.addJudged(rec.Judgments)
		return t.add(rec.Case.Index, &outcome)
	})
	return "", err
}

// copyOutcomes takes the cases of a shard that was stored without questions and
// answers.
func copyOutcomes(w *store.Writer, t *tally, shard *store.Run) error {
	m := shard.Manifest
	t.addCache(m)
	return shard.Outcomes(func(i int, o *evidence.Outcome) error {
		if o.Status == evidence.StatusNotRun {
			return nil // counted with the cases that are lost
		}
		if err := w.AddOutcome(m.Shard.Places[i], o); err != nil {
			return fmt.Errorf("%s: %w", shard.Place(), err)
		}
		return t.add(m.Shard.Places[i], o)
	})
}

// inMetricOrder returns a line's judgments in the order of the run's metrics.
func inMetricOrder(line evidence.CaseLine, m *evidence.Manifest) ([]evidence.Judgment, error) {
	var judgments []evidence.Judgment
	for _, spec := range m.Metrics {
		if !spec.Judged() {
			continue
		}
		i := slices.IndexFunc(line.Judgments, func(j evidence.NamedJudgment) bool { return j.Criterion == spec.ID })
		if i < 0 {
			return nil, fmt.Errorf("case %s has no judgment of %s", line.Case.ID, spec.ID)
		}
		judgments = append(judgments, line.Judgments[i].Judgment)
	}
	return judgments, nil
}

// countLost counts the cases that no shard brought.
func countLost(w *store.Writer, t *tally, m *evidence.Manifest) (int, error) {
	lost := 0
	outcome := lostOutcome(m)
	for i := range m.Dataset.Cases {
		if w.Done(i) {
			continue
		}
		lost++
		if err := t.add(i, outcome); err != nil {
			return 0, err
		}
	}
	return lost, nil
}
