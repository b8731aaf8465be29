package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Options say what is compared, and how.
type Options struct {
	Level    float64  // confidence level of every interval, in (0,1)
	Method   string   // of the intervals of verdicts, one of [Methods]; "" is the first
	Criteria []string // metrics to compare; empty: all that both runs have
	Rejudged []string // metrics that were judged again for this comparison, to be recorded
}

// Methods lists the ways to an interval for a difference of verdicts.
// Differences of scores and of measured quantities have one each.
func Methods() []string {
	return []string{stats.MethodPaired, stats.MethodConditionalExact, stats.MethodExact}
}

// NoSharedMetricError says that the runs have no metric in common.
type NoSharedMetricError struct {
	Candidate, Baseline               string   // run ids
	CandidateMetrics, BaselineMetrics []string // the metrics of each
}

// Error names what each run has, and the remedy.
func (e *NoSharedMetricError) Error() string {
	return fmt.Sprintf("%s and %s share no metric (candidate: %s; baseline: %s): compare runs of one suite",
		e.Candidate, e.Baseline, list(e.CandidateMetrics), list(e.BaselineMetrics))
}

// NoSharedCaseError says that no case of the baseline is in the candidate, with
// the same id and the same content.
type NoSharedCaseError struct {
	Candidate, Baseline     string // run ids
	Added, Removed, Changed int    // cases
}

// Error says what became of the cases, and the remedy.
func (e *NoSharedCaseError) Error() string {
	return fmt.Sprintf("%s and %s share no case (%d only in the candidate, %d only in the baseline, %d with other content under the same id): compare runs of one data set, or run the baseline again on this one",
		e.Candidate, e.Baseline, e.Added, e.Removed, e.Changed)
}

// UnknownMetricError says that a metric to compare is not in both runs.
type UnknownMetricError struct {
	Metric string
	Shared []string // the metrics that both runs have
}

// Error lists the metrics that there are.
func (e *UnknownMetricError) Error() string {
	return fmt.Sprintf("metric %q is not in both runs (both have: %s)", e.Metric, list(e.Shared))
}

// TooManyPairsError says that a method cannot take so many pairs.
type TooManyPairsError struct {
	Metric string
	Method string
	Pairs  int
	Most   int
}

// Error names the methods that can.
func (e *TooManyPairsError) Error() string {
	return fmt.Sprintf("%s takes at most %d pairs and %s has %d: set difference_method to %s or %s",
		e.Method, e.Most, e.Metric, e.Pairs, stats.MethodPaired, stats.MethodConditionalExact)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Runs compares a candidate with a baseline. Pairs are the cases with the same
// id and the same digest in both runs; what one run or the other has besides is
// listed and not compared. The figures do not depend on the order in which the
// runs give their cases, and a run compared with itself differs by exactly 0.
//
// The error is a [*NoSharedMetricError], [*NoSharedCaseError],
// [*UnknownMetricError] or [*TooManyPairsError], or says which run cannot be
// read or contradicts itself.
func Runs(candidate, baseline Side, opt Options) (*Comparison, error) {
	if !(opt.Level > 0 && opt.Level < 1) {
		return nil, fmt.Errorf("confidence level %v is not between 0 and 1", opt.Level)
	}
	if opt.Method == "" {
		opt.Method = stats.MethodPaired
	}
	if !slices.Contains(Methods(), opt.Method) {
		return nil, fmt.Errorf("difference_method %q is unknown (there are: %s)", opt.Method, list(Methods()))
	}
	shared, err := matchMetrics(candidate.Manifest, baseline.Manifest, opt.Criteria)
	if err != nil {
		return nil, err
	}
	p := newPairing(candidate.Manifest, baseline.Manifest, shared.columns)
	if err := baseline.each("baseline", p.keep); err != nil {
		return nil, err
	}
	if err := candidate.each("candidate", p.pair); err != nil {
		return nil, err
	}
	c := &Comparison{
		Candidate: candidate.ref(), Baseline: baseline.ref(),
		Level: opt.Level, Method: opt.Method,
		MinSupport:    max(candidate.Manifest.MinSupport, baseline.Manifest.MinSupport),
		NotComparable: shared.notComparable, Rejudged: opt.Rejudged,
		OnlyCandidate: shared.onlyCandidate, OnlyBaseline: shared.onlyBaseline,
	}
	p.cases(c)
	if c.Shared == 0 {
		return nil, &NoSharedCaseError{c.Candidate.ID, c.Baseline.ID, len(c.Added), len(c.Removed), len(c.Changed)}
	}
	if err := p.measure(c); err != nil {
		return nil, err
	}
	if c.ID, err = p.id(c); err != nil {
		return nil, err
	}
	return c, nil
}

func (s Side) ref() RunRef {
	m := s.Manifest
	return RunRef{ID: m.ID, Completeness: m.Coverage(), System: m.System, Dataset: m.Dataset, Commit: m.Commit}
}

// each visits the cases of the run, which is the candidate or the baseline.
func (s Side) each(role string, visit func(index int, o *evidence.Outcome) error) error {
	err := s.Outcomes(func(index int, o *evidence.Outcome) error {
		err := s.fits(index, o)
		if err == nil {
			err = visit(index, o)
		}
		if err != nil {
			return fmt.Errorf("case %q: %w", o.ID, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", role, s.Manifest.ID, err)
	}
	return nil
}

// fits checks an outcome against the manifest of its run.
func (s Side) fits(index int, o *evidence.Outcome) error {
	m := s.Manifest
	switch {
	case index < 0 || index > math.MaxInt32:
		return fmt.Errorf("there is no place %d in a data set", index)
	case len(o.Judgments) != m.JudgedMetrics():
		return fmt.Errorf("%d judgments for %d judged metrics", len(o.Judgments), m.JudgedMetrics())
	case len(o.Slices) != len(m.Slices):
		return fmt.Errorf("%d slice values for %d slices", len(o.Slices), len(m.Slices))
	}
	return nil
}
