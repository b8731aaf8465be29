package decide

import (
	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// labelsOf is the confusion table of a judge; empty without labels.
func labelsOf(spec evidence.MetricSpec) stats.Labels {
	if spec.Trust == nil {
		return stats.Labels{}
	}
	return measure.TableOf(spec.Trust)
}

// corrected returns a judge's metric as the rate of right answers that labels
// infer, by the correction of a rule; m itself when the rule has none.
func corrected(p *policy.Policy, rule policy.Rule, m *measure.Metric) *measure.Metric {
	if m == nil || rule.Correction == "" || !m.Spec.AsksModel() || m.Spec.Kind != evidence.Rate {
		return m
	}
	c := *m
	labels, level := labelsOf(m.Spec), p.ConfidenceLevel
	switch rule.Correction {
	case policy.CorrectionPPI:
		c.Estimate, c.Interval = figure(level, stats.MethodPredictionPower)(stats.PredictionPowered(m.Passed, m.Cases.Observed, m.Cases.Missing, labels, level))
	case policy.CorrectionRoganGladen:
		c.Estimate, c.Interval = figure(level, stats.MethodRoganGladen)(stats.RoganGladen(m.Passed, m.Cases.Observed, m.Cases.Missing, labels, level))
	}
	return &c
}

// correctedDifference does so for a paired difference; the labels are those of the
// instrument, which judged both sides.
func correctedDifference(p *policy.Policy, rule policy.Rule, d *compare.Difference) *compare.Difference {
	if d == nil || rule.Correction == "" || !d.Spec.AsksModel() || d.Spec.Kind != evidence.Rate {
		return d
	}
	c := *d
	pairs := stats.Pairs{Wins: d.Wins, Losses: d.Losses, Observed: d.Cases.Observed, Missing: d.Cases.Missing}
	labels, level := labelsOf(d.Spec), p.ConfidenceLevel
	switch rule.Correction {
	case policy.CorrectionPPI:
		c.Estimate, c.Interval = figure(level, stats.MethodPairedPredictionPower)(stats.PredictionPoweredPaired(pairs, labels, labels, level))
	case policy.CorrectionRoganGladen:
		c.Estimate, c.Interval = figure(level, stats.MethodPairedRoganGladen)(stats.RoganGladenPaired(pairs, labels, level))
	}
	return &c
}

func figure(level float64, method string) func(*float64, stats.Interval) (*float64, *measure.Interval) {
	return func(estimate *float64, i stats.Interval) (*float64, *measure.Interval) {
		return estimate, &measure.Interval{Lower: &i.Lower, Upper: &i.Upper, Level: level, Method: method}
	}
}
