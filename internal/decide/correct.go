package decide

import (
	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// table is the confusion table of a judge; empty without labels.
func table(t *evidence.Trust) stats.Labels {
	if t == nil {
		return stats.Labels{}
	}
	return measure.TableOf(t)
}

// corrected returns a judge's metric as the rate of right answers that labels
// infer, by the correction of a rule; m itself when the rule has none.
func corrected(p *policy.Policy, rule policy.Rule, m *measure.Metric) *measure.Metric {
	if m == nil || rule.Correction == "" || !m.Spec.AsksModel() || m.Spec.Kind != evidence.Rate {
		return m
	}
	c := *m
	labels, level := table(m.Spec.Trust), p.ConfidenceLevel
	switch rule.Correction {
	case policy.CorrectionPPI:
		c.Estimate, c.Interval = figure(level, stats.MethodPredictionPower)(stats.PredictionPowered(m.Passed, m.Cases.Observed, m.Cases.Missing, labels, level))
	case policy.CorrectionRoganGladen:
		c.Estimate, c.Interval = figure(level, stats.MethodRoganGladen)(stats.RoganGladen(m.Passed, m.Cases.Observed, m.Cases.Missing, labels, level))
	}
	return &c
}

// correctedDifference does so for a paired difference. Sensitivity and specificity
// are those of the instrument, which judged both sides. Its bias is not: it changes
// with the share of right answers, so that each side's labels tell their own.
func correctedDifference(p *policy.Policy, rule policy.Rule, comparison *compare.Comparison, d *compare.Difference) *compare.Difference {
	if d == nil || rule.Correction == "" || !d.Spec.AsksModel() || d.Spec.Kind != evidence.Rate {
		return d
	}
	c := *d
	pairs := stats.Pairs{Wins: d.Wins, Losses: d.Losses, Observed: d.Cases.Observed, Missing: d.Cases.Missing}
	arms, level := comparison.Arms[rule.Metric], p.ConfidenceLevel
	switch rule.Correction {
	case policy.CorrectionPPI:
		c.Estimate, c.Interval = figure(level, stats.MethodPairedPredictionPower)(stats.PredictionPoweredPaired(pairs, table(arms.Candidate), table(arms.Baseline), level))
	case policy.CorrectionRoganGladen:
		c.Estimate, c.Interval = figure(level, stats.MethodPairedRoganGladen)(stats.RoganGladenPaired(pairs, table(d.Spec.Trust), level))
	}
	return &c
}

func figure(level float64, method string) func(*float64, stats.Interval) (*float64, *measure.Interval) {
	return func(estimate *float64, i stats.Interval) (*float64, *measure.Interval) {
		return estimate, &measure.Interval{Lower: &i.Lower, Upper: &i.Upper, Level: level, Method: method}
	}
}
