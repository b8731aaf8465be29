package decide

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

const level = 0.95

func ptr[T any](v T) *T { return &v }

func floor(t float64) policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.IntervalThreshold, Min: &t}
}

func ceiling(t float64) policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.IntervalThreshold, Max: &t}
}

func count(limit int) policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.ObservedCount, MaxFailures: &limit}
}

// with returns the rule after the changes.
func with(r policy.Rule, changes ...func(*policy.Rule)) policy.Rule {
	for _, change := range changes {
		change(&r)
	}
	return r
}

func review(r *policy.Rule) { r.ManualReview = true }

func maxMissing(f float64) func(*policy.Rule) {
	return func(r *policy.Rule) { r.MaxMissing = &f }
}

// metric is a rate of which only the counts and the interval matter.
func metric(passed, observed, missing int, lower, upper *float64) measure.Metric {
	return measure.Metric{
		Spec:     evidence.MetricSpec{ID: "m", Kind: evidence.Rate, Range: [2]float64{0, 1}},
		Cases:    measure.Cases{Observed: observed, Missing: missing},
		Passed:   passed,
		Interval: &measure.Interval{Lower: lower, Upper: upper, Level: level},
	}
}

func bounded(lower, upper float64) measure.Metric { return metric(5, 10, 0, &lower, &upper) }

func blockAll(rules ...policy.Rule) *policy.Policy {
	return &policy.Policy{
		ConfidenceLevel:   level,
		BlockOn:           []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview},
		BlockOnPartialRun: true,
		Rules:             rules,
	}
}

func TestRuleState(t *testing.T) {
	none := (*float64)(nil)
	above := math.Nextafter(0.7, 1)
	below := math.Nextafter(0.7, 0)
	noInterval := func(observed, missing int) measure.Metric {
		m := metric(0, observed, missing, nil, nil)
		m.Interval = nil
		return m
	}
	mean := func(low, high float64, missing int) measure.Metric {
		m := metric(0, 10, missing, ptr(0.8), ptr(0.9))
		m.Spec.Kind, m.Spec.Range = evidence.Mean, [2]float64{low, high}
		return m
	}
	otherLevel := bounded(0.9, 1)
	otherLevel.Interval.Level = 0.9

	tests := []struct {
		name    string
		rule    policy.Rule
		metric  measure.Metric
		state   policy.State
		reasons []string
	}{
		{"floor cleared", floor(0.7), bounded(above, 1), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"floor met", floor(0.7), bounded(0.7, 1), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"floor missed by one unit in the last place", floor(0.7), bounded(below, 1), policy.InsufficientEvidence, []string{ReasonIntervalOverlaps}},
		{"upper on the floor", floor(0.7), bounded(0, 0.7), policy.InsufficientEvidence, []string{ReasonIntervalOverlaps}},
		{"upper below the floor", floor(0.7), bounded(0, below), policy.Fail, []string{ReasonUpperBelowMinimum}},
		{"floor, no upper", floor(0.7), metric(5, 10, 0, ptr(0.7), none), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"floor, no upper, undecided", floor(0.7), metric(5, 10, 0, ptr(0.6), none), policy.InsufficientEvidence, []string{ReasonIntervalUnbounded}},
		{"floor, no lower", floor(0.7), metric(5, 10, 0, none, ptr(0.6)), policy.Fail, []string{ReasonUpperBelowMinimum}},
		{"floor, no lower, undecided", floor(0.7), metric(5, 10, 0, none, ptr(0.9)), policy.InsufficientEvidence, []string{ReasonIntervalUnbounded}},
		{"floor, not a number", floor(0.7), bounded(math.NaN(), math.NaN()), policy.InsufficientEvidence, []string{ReasonIntervalOverlaps}},

		{"ceiling cleared", ceiling(0.7), bounded(0, below), policy.Pass, []string{ReasonUpperMeetsMaximum}},
		{"ceiling met", ceiling(0.7), bounded(0, 0.7), policy.Pass, []string{ReasonUpperMeetsMaximum}},
		{"ceiling missed", ceiling(0.7), bounded(0, above), policy.InsufficientEvidence, []string{ReasonIntervalOverlaps}},
		{"lower on the ceiling", ceiling(0.7), bounded(0.7, 1), policy.InsufficientEvidence, []string{ReasonIntervalOverlaps}},
		{"lower above the ceiling", ceiling(0.7), bounded(above, 1), policy.Fail, []string{ReasonLowerAboveMaximum}},
		{"ceiling, no lower", ceiling(0.7), metric(5, 10, 0, none, ptr(0.7)), policy.Pass, []string{ReasonUpperMeetsMaximum}},
		{"ceiling, no upper", ceiling(0.7), metric(5, 10, 0, ptr(0.8), none), policy.Fail, []string{ReasonLowerAboveMaximum}},
		{"ceiling, no upper, undecided", ceiling(0.7), metric(5, 10, 0, ptr(0.1), none), policy.InsufficientEvidence, []string{ReasonIntervalUnbounded}},

		{"count within", count(1), metric(9, 10, 0, none, none), policy.Pass, []string{ReasonFailuresWithinLimit}},
		{"count above", count(0), metric(9, 10, 0, none, none), policy.Fail, []string{ReasonFailuresExceedLimit}},
		{"count above, with missing", count(0), metric(9, 10, 5, none, none), policy.Fail, []string{ReasonFailuresExceedLimit}},
		{"count open", count(1), metric(9, 10, 1, none, none), policy.InsufficientEvidence, []string{ReasonMissingCouldChange}},
		{"count within, with missing", count(2), metric(9, 10, 1, none, none), policy.Pass, []string{ReasonFailuresWithinLimit}},
		{"count without observations", count(99), metric(0, 0, 3, none, none), policy.InsufficientEvidence, []string{ReasonNoObservations}},
		{"count needs no interval", count(0), noInterval(0, 0), policy.InsufficientEvidence, []string{ReasonNoObservations}},
		{"count ignores max_missing_fraction", with(count(2), maxMissing(0)), metric(9, 10, 1, none, none), policy.Pass, []string{ReasonFailuresWithinLimit}},
		{"count on a mean", count(0), mean(0, 1, 0), policy.ManualReview, []string{ReasonUnsupportedMethod}},

		{"no case", floor(0.7), noInterval(0, 0), policy.InsufficientEvidence, []string{ReasonNoObservations, ReasonIntervalUnavailable}},
		{"all missing", floor(0.7), metric(0, 0, 15, ptr(0.0), ptr(1.0)), policy.InsufficientEvidence, []string{ReasonNoObservations}},
		{"all missing, limit on missing", with(floor(0.7), maxMissing(0.5)), metric(0, 0, 15, ptr(0.0), ptr(1.0)), policy.InsufficientEvidence, []string{ReasonNoObservations, ReasonMissingnessExceedsPolicy}},
		{"missing at the limit", with(floor(0.7), maxMissing(0.1)), metric(9, 9, 1, ptr(0.8), ptr(1.0)), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"missing above the limit", with(floor(0.7), maxMissing(0.1)), metric(8, 8, 2, ptr(0.8), ptr(1.0)), policy.InsufficientEvidence, []string{ReasonMissingnessExceedsPolicy}},
		{"missing above the limit of a FAIL", with(floor(0.7), maxMissing(0)), metric(0, 8, 2, ptr(0.0), ptr(0.5)), policy.InsufficientEvidence, []string{ReasonMissingnessExceedsPolicy}},
		{"nothing eligible under a limit", with(floor(0.7), maxMissing(0)), noInterval(0, 0), policy.InsufficientEvidence, []string{ReasonNoObservations, ReasonIntervalUnavailable}},
		{"no interval", floor(0.7), noInterval(10, 0), policy.InsufficientEvidence, []string{ReasonIntervalUnavailable}},
		{"interval without ends", floor(0.7), metric(0, 3, 0, none, none), policy.InsufficientEvidence, []string{ReasonIntervalUnavailable}},
		{"interval at another level", floor(0.7), otherLevel, policy.InsufficientEvidence, []string{ReasonIntervalUnavailable}},
		{"mean", floor(0.7), mean(0, 1, 3), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"mean without a range, complete", floor(0.7), mean(0, 0, 0), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"mean without a range, missing", floor(0.7), mean(0, 0, 1), policy.InsufficientEvidence, []string{ReasonMissingnessUnbounded}},
		{"mean with an endless range, missing", floor(0.7), mean(0, math.Inf(1), 1), policy.InsufficientEvidence, []string{ReasonMissingnessUnbounded}},

		{"review before PASS", with(floor(0.7), review), bounded(0.9, 1), policy.ManualReview, []string{ReasonPolicyRequiresReview}},
		{"review before FAIL", with(floor(0.7), review), bounded(0, 0.1), policy.ManualReview, []string{ReasonPolicyRequiresReview}},
		{"review before missing evidence", with(floor(0.7), review), noInterval(0, 0), policy.ManualReview, []string{ReasonPolicyRequiresReview}},
		{"review of a count", with(count(0), review), metric(9, 10, 0, none, none), policy.ManualReview, []string{ReasonPolicyRequiresReview}},
		{"all reasons for review", with(count(0), review), mean(0, 1, 0), policy.ManualReview, []string{ReasonPolicyRequiresReview, ReasonUnsupportedMethod}},

		{"no threshold", policy.Rule{ID: "r", Metric: "m", Kind: policy.IntervalThreshold}, bounded(0.9, 1), policy.ManualReview, []string{ReasonUnsupportedMethod}},
		{"two thresholds", with(floor(0.7), func(r *policy.Rule) { r.Max = ptr(0.9) }), bounded(0.8, 0.85), policy.ManualReview, []string{ReasonUnsupportedMethod}},
		{"no limit", policy.Rule{ID: "r", Metric: "m", Kind: policy.ObservedCount}, bounded(0.9, 1), policy.ManualReview, []string{ReasonUnsupportedMethod}},
		{"no kind", policy.Rule{ID: "r", Metric: "m", Min: ptr(0.7)}, bounded(0.9, 1), policy.ManualReview, []string{ReasonUnsupportedMethod}},
		{"unknown metric", with(floor(0), func(r *policy.Rule) { r.Metric = "other" }), bounded(0.9, 1), policy.InsufficientEvidence, []string{ReasonNoObservations, ReasonIntervalUnavailable}},
		{"unknown metric, counted", with(count(99), func(r *policy.Rule) { r.Metric = "other" }), bounded(0.9, 1), policy.InsufficientEvidence, []string{ReasonNoObservations}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(blockAll(tt.rule), []measure.Metric{tt.metric}, evidence.Complete)
			if len(r.Decisions) != 1 {
				t.Fatalf("Run gave %d decisions, want 1", len(r.Decisions))
			}
			d := r.Decisions[0]
			if d.State != tt.state {
				t.Errorf("state = %s, want %s", d.State, tt.state)
			}
			if diff := cmp.Diff(tt.reasons, d.Reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunKeepsOrderAndSkipsComparisons(t *testing.T) {
	p := blockAll(
		with(floor(0.5), func(r *policy.Rule) { r.ID = "b" }),
		policy.Rule{ID: "x", Metric: "m", Kind: policy.Superiority},
		with(count(4), func(r *policy.Rule) { r.ID = "a" }),
		policy.Rule{ID: "y", Metric: "m", Kind: policy.NonInferiority, Margin: ptr(0.05)},
		policy.Rule{ID: "z", Metric: "m", Kind: policy.Equivalence, Margin: ptr(0.05)},
	)
	r := Run(p, []measure.Metric{bounded(0.6, 0.9)}, evidence.Complete)
	var ids []string
	for _, d := range r.Decisions {
		ids = append(ids, d.Rule.ID)
	}
	if diff := cmp.Diff([]string{"b", "a"}, ids); diff != "" {
		t.Errorf("rules decided (-want +got):\n%s", diff)
	}
	if r.Skipped != 3 {
		t.Errorf("skipped = %d, want 3", r.Skipped)
	}
	if f := r.Decisions[0].Failures; f != nil {
		t.Errorf("failures of an interval rule = %d, want none", *f)
	}
	if f := r.Decisions[1].Failures; f == nil || *f != 5 {
		t.Errorf("failures of the count = %v, want 5", f)
	}
}

func TestOnlyComparisonRules(t *testing.T) {
	p := blockAll(policy.Rule{ID: "x", Metric: "m", Kind: policy.Superiority})
	got := Run(p, []measure.Metric{bounded(0, 0.1)}, evidence.Complete)
	want := Result{Gate: Gate{Action: Allow}, Skipped: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
	partial := Run(p, nil, evidence.Partial).Gate
	if partial.Action != Block || partial.ExitCode != ExitBlocked {
		t.Errorf("gate of a partial run = %+v, want BLOCK with exit %d", partial, ExitBlocked)
	}
}

func TestRunDoesNotShareTheCallersMetrics(t *testing.T) {
	metrics := []measure.Metric{bounded(0.9, 1)}
	r := Run(blockAll(floor(0.7)), metrics, evidence.Complete)
	metrics[0].Passed = 99
	if got := r.Decisions[0].Metric.Passed; got != 5 {
		t.Errorf("decision's metric changed to %d with the caller's", got)
	}
}
