package decide

import (
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
	return planning(planStats(level, d.Rule, d.Metric), d.Metric.Cases.Eligible())
}

func planStats(level float64, rule policy.Rule, m *measure.Metric) stats.Plan {
	threshold, direction := thresholdOf(rule)
	switch m.Spec.Kind {
	case evidence.Rate:
		return stats.PlanRate(m.Passed, m.Cases.Observed, m.Cases.Missing, threshold, direction, level)
	case evidence.Mean:
		if hasRange(m.Spec) {
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

// planning turns what the statistics say into a planning line for a metric with
// so many observed and missing cases.
func planning(p stats.Plan, eligible int) *Planning {
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
		return &Planning{Reason: PlanNotUpTo}
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
