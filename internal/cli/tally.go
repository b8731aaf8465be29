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
	mu       sync.Mutex
	table    *measure.Table
	problems report.ProblemTally
	counts   evidence.Counts
	cache    evidence.CacheCounts
	// contradictions counts cases whose context contradicts their retrieval.
	contradictions int
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
			t.cache.JudgmentMisses++
		}
	}
	t.problems.Add(i, o)
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
	if note != "" {
		t.contradictions++
	}
}

// intervals says in a few words what the metrics come to so far.
func (t *tally) intervals(level float64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return report.Brief(t.table.Metrics(level))
}

// load counts the outcomes of a stored run.
func load(run *store.Run) (*tally, error) {
	t := newTally(run.Manifest)
	return t, run.Outcomes(t.add)
}
