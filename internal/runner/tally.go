package runner

import (
	"cmp"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Progress says how far a run has come.
type Progress struct {
	Total    int // cases of the suite
	Skipped  int // finished by an earlier run, as far as they were met
	Finished int // by this run
	OK       int // of Finished, those with an output
}

// Summary says how the cases of a run ended.
type Summary struct {
	Total    int       // cases of the suite
	Skipped  int       // finished by an earlier run
	Finished int       // by this run
	OK       int       // of Finished, those with an output
	Cached   int       // of Finished, those that were not called for
	Problems []Problem // the others of Finished, the most frequent first
}

// Problem counts the executions that failed in one way.
type Problem struct {
	Kind       evidence.ErrorKind
	HTTPStatus int // 0 when there was no answer
	Count      int
	CaseID     string                  // the first such case in data set order
	First      evidence.ExecutionError // that case's error
}

// tally counts finished cases.
type tally struct {
	total, skipped, finished, ok, cached int
	problems                             []placedProblem
}

type placedProblem struct {
	Problem
	place int // of the first case
}

func (t *tally) add(place int, caseID string, e *evidence.Execution) {
	t.finished++
	if e.FromCache {
		t.cached++
	}
	if e.Error == nil {
		t.ok++
		return
	}
	at := slices.IndexFunc(t.problems, func(p placedProblem) bool { return p.Kind == e.Error.Kind && p.HTTPStatus == e.Error.HTTPStatus })
	if at < 0 {
		at = len(t.problems)
		t.problems = append(t.problems, placedProblem{Problem{Kind: e.Error.Kind, HTTPStatus: e.Error.HTTPStatus}, t.total})
	}
	p := &t.problems[at]
	if p.Count++; place < p.place {
		p.place, p.CaseID, p.First = place, caseID, *e.Error
	}
}

func (t *tally) summary() Summary {
	s := Summary{Total: t.total, Skipped: t.skipped, Finished: t.finished, OK: t.ok, Cached: t.cached}
	slices.SortFunc(t.problems, func(a, b placedProblem) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.place, b.place))
	})
	for _, p := range t.problems {
		s.Problems = append(s.Problems, p.Problem)
	}
	return s
}
