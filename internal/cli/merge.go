package cli

import (
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
	parts := make([]evidence.ShardRun, len(shards))
	for i, s := range shards {
		parts[i] = evidence.ShardRun{Place: s.Place(), Manifest: s.Manifest}
	}
	m, err := evidence.MergeShards(parts)
	if err != nil {
		return nil, err
	}
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
