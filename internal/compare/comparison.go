// Package compare pairs two runs case by case and measures the paired
// differences. It is pure: the runs are read elsewhere.
package compare

import (
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// Side is one of the two runs.
type Side struct {
	Manifest *evidence.Manifest
	// Outcomes gives every case of the run in data set order.
	Outcomes func(visit func(index int, o *evidence.Outcome) error) error
}

// Comparison is what two runs say of each other on the cases they share.
type Comparison struct {
	ID            evidence.Digest // content id: both runs' judgments, level, method and criteria; not the policy's rules
	Candidate     RunRef
	Baseline      RunRef
	Level         float64           // confidence level of every interval
	Method        string            // method id asked for, of the intervals of verdicts
	MinSupport    int               // fewest pairs with which a slice has an interval: the larger of both runs'
	Paired        int               // distinct cases observed in any metric
	Shared        int               // cases with the same id and digest
	BaselineCases int               // all cases of the baseline
	Added         []string          // case ids only in the candidate, in its order
	Removed       []string          // case ids only in the baseline, in its order
	Changed       []string          // same id, other digest, in the candidate's order
	Differences   []Difference      // over all pairs, in the candidate's order of metrics
	Slices        []SliceDifference // exploratory unless a rule names one
	Flips         []Flip            // verdicts that differ: newly failing first, then newly passing, each in the candidate's order
	NotComparable []NotComparable   // metrics of both runs that cannot be paired
	Rejudged      []string          // metrics judged again with the candidate's evaluators
	Arms          map[string]Arms   // by metric of a judge: people's labels of either side's answers; nil where nothing asks for them
	OnlyCandidate []string          // metrics that the baseline does not have
	OnlyBaseline  []string          // metrics that the candidate does not have
}

// Arms are people's labels of the answers of either side.
type Arms struct{ Candidate, Baseline *evidence.Trust }

// RunRef names one of the two runs.
type RunRef struct {
	ID           string                `json:"id"`
	Completeness evidence.Completeness `json:"completeness"`
	System       evidence.SystemID     `json:"system"`
	Dataset      evidence.DatasetID    `json:"dataset"`
	Commit       string                `json:"commit,omitzero"`
}

// Difference is candidate minus baseline of one metric over paired cases.
type Difference struct {
	Spec       evidence.MetricSpec   // the candidate's, as a rate when either run has it as one
	Estimate   *float64              // nil without a pair
	Interval   *measure.Interval     // nil without a pair, observed or missing
	Cases      measure.Cases         // pairs: observed (both sides), missing (either), excluded (either)
	Wins       int                   // verdicts: passed now, failed before
	Losses     int                   // verdicts: failed now, passed before
	Exclusions []measure.ReasonCount // sorted by reason
	Missing    []measure.ReasonCount // sorted by reason
	// Values are the observed differences in ascending order, of scores and
	// quantiles; nil for verdicts. Planning reads them.
	Values []float64
	// Outside counts the pairs with a measurement outside of the range that was
	// declared for its mean. With such a pair there is no interval.
	Outside int
}

// SliceDifference is a difference over the pairs of one slice value. The
// baseline's values decide membership; of a slice of metadata that only the
// candidate declares, its own do, since the metadata of paired cases is equal.
type SliceDifference struct {
	Name, Value string
	Difference  Difference // Interval is nil below the support
	Support     int        // observed and missing pairs
}

// Flip is a verdict that differs between the two runs.
type Flip struct {
	CaseID    string `json:"case"`
	Criterion string `json:"criterion"`
	Passing   bool   `json:"passing"` // newly passing; else newly failing
}

// NotComparable is a metric that both runs have but that cannot be paired.
type NotComparable struct {
	Metric string
	Reason string // ReasonEvaluatorChanged
	Detail string // what differs
}

// ReasonEvaluatorChanged is the reason of a [NotComparable]: the runs judged
// different things under one name.
const ReasonEvaluatorChanged = "evaluator_changed"
