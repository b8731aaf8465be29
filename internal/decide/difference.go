package decide

import (
	"cmp"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// stateOfDifference goes through the tiers of [ruleState]; d is nil when the
// comparison does not have the difference that the rule looks at.
func stateOfDifference(p *policy.Policy, rule policy.Rule, c *compare.Comparison, d *compare.Difference) (policy.State, []string) {
	if reasons := reviewOfDifference(rule, d); len(reasons) > 0 {
		return policy.ManualReview, reasons
	}
	if reasons := insufficientDifference(p, rule, c, d); len(reasons) > 0 {
		return policy.InsufficientEvidence, reasons
	}
	state, reason := limitsState(rule, d.Interval)
	return state, []string{reason}
}

func reviewOfDifference(rule policy.Rule, d *compare.Difference) []string {
	var reasons []string
	if rule.ManualReview {
		reasons = append(reasons, ReasonPolicyRequiresReview)
	}
	if !decidable(rule, d) {
		reasons = append(reasons, ReasonUnsupportedMethod)
	}
	if d != nil && retired(d.Spec) {
		reasons = append(reasons, ReasonEvaluatorRetired)
	}
	return reasons
}

// decidable reports whether there is a way to decide the rule on the
// difference. As in [supported] a stored policy from elsewhere must not slip
// through: a margin as wide as the range accepts any loss.
func decidable(rule policy.Rule, d *compare.Difference) bool {
	if rule.Kind == policy.Superiority {
		return true
	}
	if rule.Margin == nil || !(*rule.Margin > 0) {
		return false
	}
	if d == nil {
		return true
	}
	width, bounded := d.Width()
	return !bounded || *rule.Margin < width
}

func insufficientDifference(p *policy.Policy, rule policy.Rule, c *compare.Comparison, d *compare.Difference) []string {
	var reasons []string
	because := func(reason string, holds bool) {
		if holds {
			reasons = append(reasons, reason)
		}
	}
	unlike := incomparable(rule, c)
	if unlike == "" && d == nil && slices.Contains(c.OnlyBaseline, rule.Metric) {
		unlike = ReasonEvaluatorChanged // the candidate no longer judges it
	}
	because(unlike, unlike != "")
	because(ReasonTooFewPairs, tooFewPairs(p, c))
	if unlike != "" {
		return reasons // all else follows from it
	}
	if d == nil {
		d = new(compare.Difference)
	}
	_, bounded := d.Width()
	because(ReasonNoObservations, d.Cases.Observed == 0)
	reasons = append(reasons, untrusted(p, d.Spec)...)
	because(ReasonMissingnessExceedsPolicy, missingnessExceeds(rule, d.Cases))
	because(ReasonMissingnessUnbounded, d.Spec.Kind == evidence.Mean && d.Cases.Missing > 0 && !bounded)
	because(ReasonIntervalUnavailable, !limitsFor(p, rule, d))
	because(ReasonInsufficientSupport, rule.MinSupport != nil && d.Cases.Eligible() < *rule.MinSupport)
	return reasons
}

// incomparable says why the runs cannot be compared by the metric of a rule; ""
// when they can, or when neither has such a metric.
func incomparable(rule policy.Rule, c *compare.Comparison) string {
	for _, n := range c.NotComparable {
		if n.Metric == rule.Metric {
			return ReasonEvaluatorChanged
		}
	}
	for _, id := range c.OnlyCandidate {
		if id == rule.Metric {
			return ReasonBaselineIncompatible
		}
	}
	return ""
}

// nothingCompared reports whether the rule blocks whatever block_on says: its
// difference observed nothing, or misses more pairs than the rule allows. Where
// the baseline cannot be compared, block_on decides.
func nothingCompared(rule policy.Rule, c *compare.Comparison, d *compare.Difference) bool {
	if d == nil {
		return incomparable(rule, c) == ""
	}
	return d.Cases.Observed == 0 || missingnessExceeds(rule, d.Cases)
}

// tooFewPairs reports whether less than the least share of the baseline's cases
// is paired. As a quotient a share such as 9 of 10 equals the 0.9 of the policy.
func tooFewPairs(p *policy.Policy, c *compare.Comparison) bool {
	return c.BaselineCases > 0 && float64(c.Shared)/float64(c.BaselineCases) < p.MinPairedShare
}

// limitsFor reports whether the difference has limits that may decide: at the
// level and, of verdicts, by the method of the policy.
func limitsFor(p *policy.Policy, rule policy.Rule, d *compare.Difference) bool {
	method := cmp.Or(p.DifferenceMethod, stats.MethodPaired)
	return intervalAt(p.ConfidenceLevel, d.Interval) && (d.Spec.Kind != evidence.Rate || rule.Correction != "" || d.Interval.Method == method)
}

// limitsState compares the limits of a difference with zero or with the margin.
// Like those of one run they are compared as they are. A margin that is met is a
// PASS of non-inferiority; superiority and equivalence must lie beyond it.
func limitsState(rule policy.Rule, i *measure.Interval) (policy.State, string) {
	lower, upper := i.Lower, i.Upper
	if !rule.HigherBetter { // equivalence asks the same of both sides
		lower, upper = minus(upper), minus(lower)
	}
	above := func(x float64) bool { return lower != nil && *lower > x }
	atLeast := func(x float64) bool { return lower != nil && *lower >= x }
	below := func(x float64) bool { return upper != nil && *upper < x }
	atMost := func(x float64) bool { return upper != nil && *upper <= x }

	overlaps, margin := ReasonOverlapsZero, marginOf(rule)
	switch rule.Kind {
	case policy.Superiority:
		switch {
		case above(0):
			return policy.Pass, ReasonAboveZero
		case atMost(0):
			return policy.Fail, ReasonBelowZero
		}
	case policy.NonInferiority:
		switch {
		case atLeast(-margin):
			return policy.Pass, ReasonLowerAboveMargin
		case below(-margin):
			return policy.Fail, ReasonUpperBelowMargin
		}
		overlaps = ReasonOverlapsMargin
	case policy.Equivalence:
		switch {
		case above(-margin) && below(margin):
			return policy.Pass, ReasonWithinMargins
		case atMost(-margin), atLeast(margin):
			return policy.Fail, ReasonOutsideMargins
		}
		overlaps = ReasonOverlapsMargins
	}
	if lower == nil || upper == nil {
		overlaps = ReasonIntervalUnbounded
	}
	return policy.InsufficientEvidence, overlaps
}

func minus(x *float64) *float64 {
	if x == nil {
		return nil
	}
	m := -*x
	return &m
}
