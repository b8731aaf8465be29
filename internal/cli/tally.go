package cli

import (
	"sync"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

// tally counts the finished cases of a run, in any order. It is safe for
// concurrent use.
type tally struct {
	mu        sync.Mutex
	table     *measure.Table
	problems  report.ProblemTally
	latencies measure.Latencies
	counts    evidence.Counts
	cache     evidence.CacheCounts
	stages    evidence.StageCounts
	// contradictions counts cases whose context contradicts their retrieval.
	contradictions int

	served   map[int][]string // models that judged, by the place of the judgment
	asked    evidence.JudgeUse
	cost     float64 // in USD, of the calls in asked
	unpriced bool    // some of these calls have no price
}

func newTally(m *evidence.Manifest) *tally {
	return &tally{table: measure.NewTable(m.Metrics, m.Slices), counts: evidence.Counts{Cases: m.Dataset.Cases}}
}

// add counts what every stored run keeps of a case.
func (t *tally) add(i int, o *evidence.Outcome) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch o.Status {
	case evidence.StatusOK:
		t.counts.OK++
	case evidence.StatusNotRun:
		t.counts.NotRun++
	default:
		t.counts.Error++
	}
	for _, j := range o.Judgments {
		if j.State == evidence.Judged || j.State == evidence.Missing && o.Status == evidence.StatusOK {
			if j.Cached {
				t.cache.JudgmentHits++
			} else {
				t.cache.JudgmentMisses++
			}
		}
	}
	t.problems.Add(i, o)
	t.latencies.Add(o)
	return t.table.Add(i, o)
}

// addExecution counts what only the full record of a case tells.
func (t *tally) addExecution(e *evidence.Execution) {
	note := evidence.ContextNote(&e.Artifacts)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.FromCache {
		t.cache.ExecutionHits++
	} else {
		t.cache.ExecutionMisses++
	}
	t.stages.Add(e.Stages)
	if note != "" {
		t.contradictions++
	}
}

// addCache counts what a run says of its executions, of which nothing else is
// known.
func (t *tally) addCache(m *evidence.Manifest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cache.ExecutionHits += m.Cache.ExecutionHits
	t.cache.ExecutionMisses += m.Cache.ExecutionMisses
	if c := m.Stages; c != nil {
		t.stages.RetrieveHits += c.RetrieveHits
		t.stages.RetrieveMisses += c.RetrieveMisses
		t.stages.GenerateHits += c.GenerateHits
		t.stages.GenerateMisses += c.GenerateMisses
	}
}

// stagesOf returns the counts of the stages of a run; nil when its system has none.
func (t *tally) stagesOf(m *evidence.Manifest) *evidence.StageCounts {
	if m.System.Staged == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stages := t.stages
	return &stages
}

// intervals says in a few words what the metrics come to so far.
func (t *tally) intervals(level float64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return report.Brief(t.table.Metrics(level))
}

// load counts the outcomes of a stored run and returns them with its manifest.
// A case of which nothing is stored, because the run was killed, is missing like
// one that did not run.
func load(run *store.Run) (*evidence.Manifest, *tally, error) {
	t := newTally(run.Manifest)
	next := 0
	err := run.Outcomes(func(_ int, o *evidence.Outcome) error {
		next++
		return t.add(next-1, o)
	})
	if err != nil {
		return nil, nil, err
	}
	lost := lostOutcome(run.Manifest)
	for ; next < run.Manifest.Dataset.Cases; next++ {
		if err := t.add(next, lost); err != nil {
			return nil, nil, err
		}
	}
	m := *run.Manifest
	m.Counts = t.counts
	return &m, t, nil
}

func lostOutcome(m *evidence.Manifest) *evidence.Outcome {
	o := &evidence.Outcome{Status: evidence.StatusNotRun, Slices: make([]string, len(m.Slices))}
	for i := range o.Slices {
		o.Slices[i] = evidence.NoSlice
	}
	for _, spec := range m.Metrics {
		if spec.Judged() {
			o.Judgments = append(o.Judgments, evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun})
		}
	}
	return o
}
