package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// The roles of a comparison in a document.
const (
	RoleBaseline = "baseline" // with the run that the policy compares with
	RolePin      = "pin"      // with a fixed reference, which shows slow drift
)

// Comparison is two runs paired case by case.
type Comparison struct {
	Role          string            `json:"role" jsonschema:"enum=baseline,enum=pin"`
	ID            evidence.Digest   `json:"id"`
	Candidate     compare.RunRef    `json:"candidate"`
	Baseline      compare.RunRef    `json:"baseline"`
	Level         float64           `json:"level"`             // confidence level of every interval
	Method        string            `json:"method"`            // asked for, of the intervals of verdicts
	MinSupport    int               `json:"min_slice_support"` // pairs below which a slice has no interval
	Paired        int               `json:"paired"`            // distinct cases observed in any metric
	Shared        int               `json:"shared"`            // cases with the same id and digest
	BaselineCases int               `json:"baseline_cases"`    // all cases of the baseline
	Added         []string          `json:"added"`             // case ids only in the candidate
	Removed       []string          `json:"removed"`           // case ids only in the baseline
	Changed       []string          `json:"changed"`           // same id, other content
	Differences   []Difference      `json:"differences"`
	Slices        []SliceDifference `json:"slices"`
	Flips         []compare.Flip    `json:"flips"` // newly failing first, then newly passing
	NotComparable []NotComparable   `json:"not_comparable"`
	Rejudged      []string          `json:"rejudged"`       // metrics judged again with the candidate's evaluators
	OnlyCandidate []string          `json:"only_candidate"` // metrics that the baseline does not have
	OnlyBaseline  []string          `json:"only_baseline"`  // metrics that the candidate does not have
}

// Difference is candidate minus baseline of one metric over paired cases.
type Difference struct {
	Metric     string                `json:"metric"`
	Kind       evidence.Kind         `json:"kind"`
	Estimate   *float64              `json:"estimate" jsonschema:"nullable"`
	Interval   *Interval             `json:"interval" jsonschema:"nullable"`
	Cases      measure.Cases         `json:"cases"`  // pairs
	Wins       int                   `json:"wins"`   // verdicts: passed now, failed before
	Losses     int                   `json:"losses"` // verdicts: failed now, passed before
	Range      [2]float64            `json:"range"`  // of a difference; zero for quantiles
	Unit       string                `json:"unit,omitzero"`
	Exclusions []measure.ReasonCount `json:"exclusions"`
	Missing    []measure.ReasonCount `json:"missing"`
	Display    Display               `json:"display"`
}

// SliceDifference is a difference over the pairs of one slice value.
type SliceDifference struct {
	Name       string     `json:"name"`
	Value      string     `json:"value"`
	Support    int        `json:"support"` // observed and missing pairs
	Difference Difference `json:"difference"`
}

// NotComparable is a metric of both runs that cannot be paired.
type NotComparable struct {
	Metric string `json:"metric"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Baseline says how the baseline was looked for and what was found.
type Baseline struct {
	State  string    `json:"state" jsonschema:"enum=found,enum=none,enum=expired,enum=incompatible,enum=unavailable,enum=off"`
	Run    string    `json:"run,omitzero"`
	Commit string    `json:"commit,omitzero"`
	Branch string    `json:"branch,omitzero"`
	Age    string    `json:"age,omitzero"`    // in words: 3 days, 2 commits
	How    string    `json:"how,omitzero"`    // as what it was found: first parent of the merge commit
	Reason string    `json:"reason,omitzero"` // why there is none, in words
	Trail  []Rejects `json:"trail"`           // what was looked at before, in that order
}

// The states of a baseline.
const (
	BaselineFound        = "found"
	BaselineNone         = "none"         // there is none yet
	BaselineExpired      = "expired"      // there was one, its files are gone
	BaselineIncompatible = "incompatible" // of another suite
	BaselineUnavailable  = "unavailable"  // could not be looked for
	BaselineOff          = "off"          // was not asked for
)

// Rejects is a candidate for the baseline that was not taken.
type Rejects struct {
	Candidate       string `json:"candidate"`
	RejectedBecause string `json:"rejected_because"`
}

// Relaxation is one way in which a policy or a suite is laxer than another.
type Relaxation struct {
	File string `json:"file"`
	Line int    `json:"line,omitzero"` // 0: of the file as a whole
	Text string `json:"text"`
}

// ComparisonInput is a comparison with its role.
type ComparisonInput struct {
	Role       string // RoleBaseline, the default, or RolePin
	Comparison *compare.Comparison
}

func comparisonOf(in ComparisonInput) Comparison {
	c := in.Comparison
	out := Comparison{
		Role: cmp.Or(in.Role, RoleBaseline), ID: c.ID, Candidate: c.Candidate, Baseline: c.Baseline,
		Level: c.Level, Method: c.Method, MinSupport: c.MinSupport,
		Paired: c.Paired, Shared: c.Shared, BaselineCases: c.BaselineCases,
		Added: nonNil(slices.Clone(c.Added)), Removed: nonNil(slices.Clone(c.Removed)), Changed: nonNil(slices.Clone(c.Changed)),
		Differences: make([]Difference, 0, len(c.Differences)), Slices: make([]SliceDifference, 0, len(c.Slices)),
		Flips: nonNil(slices.Clone(c.Flips)), NotComparable: make([]NotComparable, 0, len(c.NotComparable)),
		Rejudged: nonNil(slices.Clone(c.Rejudged)), OnlyCandidate: nonNil(slices.Clone(c.OnlyCandidate)), OnlyBaseline: nonNil(slices.Clone(c.OnlyBaseline)),
	}
	for i := range c.Differences {
		out.Differences = append(out.Differences, differenceOf(&c.Differences[i]))
	}
	for i := range c.Slices {
		s := &c.Slices[i]
		out.Slices = append(out.Slices, SliceDifference{Name: s.Name, Value: s.Value, Support: s.Support, Difference: differenceOf(&s.Difference)})
	}
	for _, n := range c.NotComparable {
		out.NotComparable = append(out.NotComparable, NotComparable{Metric: n.Metric, Reason: n.Reason, Detail: n.Detail, Remedy: compareRemedy(n.Reason)})
	}
	return out
}

func differenceOf(x *compare.Difference) Difference {
	return Difference{
		Metric: x.Spec.ID, Kind: x.Spec.Kind, Estimate: finite(x.Estimate), Interval: intervalOf(x.Interval),
		Cases: x.Cases, Wins: x.Wins, Losses: x.Losses, Range: finiteRange(differenceRange(x.Spec)), Unit: x.Spec.Unit,
		Exclusions: nonNil(slices.Clone(x.Exclusions)), Missing: nonNil(slices.Clone(x.Missing)),
		Display: DifferenceDisplay(x),
	}
}

// differenceRange is the range of a difference between two values of a metric.
func differenceRange(s evidence.MetricSpec) [2]float64 {
	width := s.Range[1] - s.Range[0]
	return [2]float64{-width, width}
}

// DifferenceDisplay returns the strings that stand for a difference in every
// rendering.
func DifferenceDisplay(x *compare.Difference) Display {
	s := differenceScale(x)
	d := Display{Estimate: noEstimate, Interval: noInterval, Denominator: PairedDenominator(x.Cases)}
	if x.Estimate != nil && isFinite(*x.Estimate) {
		d.Estimate = s.Estimate(*x.Estimate)
	}
	if x.Interval != nil {
		d.Interval = s.Interval(x.Interval.Lower, x.Interval.Upper)
	}
	return d
}

func differenceScale(x *compare.Difference) Scale {
	switch {
	case x.Spec.Kind == evidence.Rate:
		return RateDifferenceScale()
	case measuredQuantity(x.Spec.Kind, x.Spec.Unit):
		s := quantityScale(x.Spec.Kind, x.Spec.Unit, x.Estimate, x.Interval)
		s.signed = true
		return s
	}
	return ScoreDifferenceScale(differenceRange(x.Spec))
}

// comparisonDecision is what came of a rule on two runs. The run's own metrics
// say in which unit its margin is when nothing was compared.
func comparisonDecision(x decide.Decision, metrics []measure.Metric) Decision {
	r := x.Rule
	d := Decision{
		Rule: r.ID, Metric: r.Metric, Kind: string(r.Kind), State: string(x.State), Reasons: nonNil(slices.Clone(x.Reasons)),
		Direction: "min", Margin: finite(r.Margin), Planning: planningOf(x), Family: x.Family, Adjusted: finite(x.AdjustedAlpha), Line: r.Line,
		Display: Display{Estimate: noEstimate, Interval: noInterval, Denominator: PairedDenominator(measure.Cases{})},
	}
	if !r.HigherBetter {
		d.Direction = "max"
	}
	if x.Comparison != "" {
		id := string(x.Comparison)
		d.Comparison = &id
	}
	if name, value, sliced := r.Slice(); sliced {
		slice := name + "=" + value
		d.Slice = &slice
	}
	if diff := x.Difference; diff != nil {
		d.Estimate, d.Interval, d.Cases, d.Display = finite(diff.Estimate), intervalOf(diff.Interval), diff.Cases, DifferenceDisplay(diff)
	}
	d.Requires, d.Correction = compareRequires(r, ruleScale(x, metrics)), r.Correction
	return d
}

// ruleScale says in which unit the margin of a rule is shown; nil when it is
// not known.
func ruleScale(x decide.Decision, metrics []measure.Metric) *Scale {
	diff := x.Difference
	if diff == nil {
		i := slices.IndexFunc(metrics, func(m measure.Metric) bool { return m.Spec.ID == x.Rule.Metric })
		if i < 0 {
			return nil
		}
		diff = &compare.Difference{Spec: metrics[i].Spec}
	}
	s := differenceScale(diff)
	if measuredQuantity(diff.Spec.Kind, diff.Spec.Unit) {
		s = Scale{unit: s.unit}
	}
	s.signed = false
	return &s
}

// compareRequires says the condition of a comparison rule in words.
func compareRequires(r policy.Rule, s *Scale) string {
	return marginWords(r, s) + correctionWords(r.Correction)
}

func marginWords(r policy.Rule, s *Scale) string {
	if s == nil {
		s = &Scale{}
	}
	margin := ""
	if r.Margin != nil {
		margin = s.Exact(*r.Margin)
	}
	switch r.Kind {
	case policy.Superiority:
		if !r.HigherBetter {
			return "superiority, less is better"
		}
		return "superiority"
	case policy.NonInferiority:
		if !r.HigherBetter {
			return "maximum increase " + margin
		}
		return "non-inferiority, margin " + margin
	case policy.Equivalence:
		return "equivalence, margin ±" + margin
	}
	return ""
}

// compareRemedy says what to do about a metric that could not be compared.
func compareRemedy(reason string) string {
	switch reason {
	case decide.ReasonEvaluatorChanged:
		return "run the baseline again with these evaluators, or keep the cases.jsonl of both runs beside their judgments, so that both are judged again with them"
	case decide.ReasonNoBaseline:
		return "store a run of the base branch under this name first: every later change is compared with it"
	case decide.ReasonBaselineIncompatible:
		return "run the baseline again with this suite"
	case decide.ReasonTooFewPairs:
		return "run the baseline again with this data set, or lower min_paired_share"
	}
	return ""
}

// header names the two runs of a comparison.
func (c *Comparison) header() string {
	return fmt.Sprintf("Comparison %s of %s against %s · %s",
		Clean(string(c.ID)), Clean(c.Candidate.ID), Clean(c.Baseline.ID), count(c.Paired, "paired case"))
}

// difference returns the comparison's difference of a metric, in a slice when
// it is named; nil when there is none.
func (c *Comparison) difference(metric string, slice *string) *Difference {
	if slice == nil {
		if i := slices.IndexFunc(c.Differences, func(x Difference) bool { return x.Metric == metric }); i >= 0 {
			return &c.Differences[i]
		}
		return nil
	}
	for i := range c.Slices {
		if s := &c.Slices[i]; s.Name+"="+s.Value == *slice && s.Difference.Metric == metric {
			return &s.Difference
		}
	}
	return nil
}

// comparison returns the comparison of that id; nil when there is none.
func (d *Document) comparison(id *string) *Comparison {
	if id == nil {
		return nil
	}
	if i := slices.IndexFunc(d.Comparisons, func(c Comparison) bool { return string(c.ID) == *id }); i >= 0 {
		return &d.Comparisons[i]
	}
	return nil
}
