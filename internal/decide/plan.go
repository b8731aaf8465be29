package decide

import (
	"math"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// planRule says how many cases would decide an undecided interval rule, if the
// next ones go like those observed; nil when there is nothing true and useful
// to say. More cases do not mend evidence that is missing.
func planRule(level float64, d Decision) *Planning {
	if d.MissingEvidence {
		return nil
	}
	return planning(planStats(level, d.Rule, d.Metric), d.Metric.Cases.Eligible(), stats.MaxPlan)
}

func planStats(level float64, rule policy.Rule, m *measure.Metric) stats.Plan {
	threshold, direction := thresholdOf(rule)
	switch m.Spec.Kind {
	case evidence.Rate:
		return stats.PlanRate(m.Passed, m.Cases.Observed, m.Cases.Missing, threshold, direction, level)
	case evidence.Mean:
		if below, above := m.Outside(); hasRange(m.Spec) && below+above == 0 {
			low, high := m.Spec.Range[0], m.Spec.Range[1]
			return stats.PlanMean(m.Values, m.Cases.Missing, low, high, threshold, direction, level)
		}
	case evidence.Quantile:
		// Floors on quantiles are not planned: samples are searched for an upper limit only.
		if direction == stats.AtMost {
			return stats.PlanQuantile(m.Values, m.Cases.Missing, m.Spec.Quantile, threshold, level)
		}
	}
	return stats.Plan{}
}

// planning turns what the statistics say of sizes up to one into a planning line
// for a metric with so many observed and missing cases.
func planning(p stats.Plan, eligible, upTo int) *Planning {
	if p.Total > 0 {
		return &Planning{Total: p.Total, More: p.Total - eligible}
	}
	switch p.Why {
	case stats.PastThreshold:
		return &Planning{Reason: PlanPastThreshold}
	case stats.AtThreshold:
		return &Planning{Reason: PlanAtThreshold}
	case stats.ResolveMissing:
		return &Planning{Reason: PlanResolveMissing, Reach: &p.Reach}
	case stats.MissingShare:
		return &Planning{Reason: PlanMissingShare}
	case stats.NotUpToMax:
		return &Planning{Reason: PlanNotUpTo, UpTo: upTo}
	}
	return nil
}

// thresholdOf returns what an interval rule compares with, and on which side
// the metric should lie.
func thresholdOf(rule policy.Rule) (float64, stats.Direction) {
	if rule.Min != nil {
		return *rule.Min, stats.AtLeast
	}
	return *rule.Max, stats.AtMost
}

// planDifference says how many pairs would decide an undecided comparison rule,
// if the next ones go like those observed; nil when there is nothing true and
// useful to say. More pairs like these mend neither what is missing, nor a
// baseline that does not fit, nor a slice that is too small to look at.
func planDifference(level float64, d *Decision) *Planning {
	if d.Difference == nil || d.Difference.Interval == nil || d.MissingEvidence || len(d.Reasons) != 1 {
		return nil
	}
	switch d.Reasons[0] {
	case ReasonOverlapsZero, ReasonOverlapsMargin, ReasonOverlapsMargins, ReasonIntervalUnbounded, ReasonFamilyWithheld:
	case ReasonIntervalUnavailable: // too few pairs for either limit of a quantile
	default:
		return nil
	}
	x := d.Difference
	upTo := stats.MaxPlan
	if x.Interval.Method == stats.MethodExact {
		upTo = stats.MaxExactPairs
	}
	p := planning(planPairs(level, d.Rule, x), x.Cases.Eligible(), upTo)
	if p != nil && p.Total > 0 && x.Wins+x.Losses > 0 {
		share := x.Pairs().Discordance()
		p.Discordance = &share
	}
	return p
}

func planPairs(level float64, rule policy.Rule, d *compare.Difference) stats.Plan {
	goal, margin := goalOf(rule.Kind), marginOf(rule)
	switch d.Spec.Kind {
	case evidence.Rate:
		pairs := d.Pairs()
		if !rule.HigherBetter {
			pairs.Wins, pairs.Losses = pairs.Losses, pairs.Wins
		}
		switch d.Interval.Method {
		case stats.MethodExact:
			return stats.PlanPairsExact(pairs, goal, margin, level)
		case stats.MethodConditionalExact:
			return stats.PlanPairsConditionalExact(pairs, goal, margin, level)
		}
		return stats.PlanPairs(pairs, goal, margin, level)
	case evidence.Mean:
		values := d.Values
		if !rule.HigherBetter {
			values = negated(values)
		}
		if width, bounded := d.Width(); bounded {
			return stats.PlanPairedScores(values, d.Cases.Missing, width, goal, margin, level)
		}
	case evidence.Quantile:
		return planQuantile(level, rule, d)
	}
	return stats.Plan{}
}

func goalOf(k policy.Kind) stats.Goal {
	switch k {
	case policy.Superiority:
		return stats.Superior
	case policy.Equivalence:
		return stats.Equivalent
	}
	return stats.NonInferior
}

// planQuantile plans a comparison of quantiles, whose upper limit must lie at or
// below a ceiling. A lower limit is the upper one of the values upside down.
func planQuantile(level float64, rule policy.Rule, d *compare.Difference) stats.Plan {
	margin, q := marginOf(rule), d.Spec.Quantile
	if rule.Kind != policy.NonInferiority {
		margin = math.Nextafter(margin, math.Inf(-1)) // the limit must lie beyond
	}
	within := func() stats.Plan { return stats.PlanQuantile(d.Values, d.Cases.Missing, q, margin, level) }
	above := func() stats.Plan { return stats.PlanQuantile(negated(d.Values), d.Cases.Missing, 1-q, margin, level) }
	var p stats.Plan
	switch {
	case rule.Kind == policy.Equivalence:
		p = both(within(), above())
	case rule.HigherBetter:
		p = above()
	default:
		p = within()
	}
	if p.Why == stats.PastThreshold && math.Abs(*d.Estimate) == marginOf(rule) {
		p.Why = stats.AtThreshold
	}
	return p
}

// both is the plan for two conditions: the larger size, or why one has none. A
// condition without anything to say holds already.
func both(a, b stats.Plan) stats.Plan {
	if a.Why != 0 {
		return a
	}
	if b.Why != 0 || b.Total > a.Total {
		return b
	}
	return a
}

// negated returns the values upside down.
func negated(values []float64) []float64 {
	n := make([]float64, len(values))
	for i, v := range values {
		n[len(values)-1-i] = -v
	}
	return n
}
