package decide

import (
	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// retired reports whether people have taken the judge of a metric out of use.
func retired(spec evidence.MetricSpec) bool { return spec.Trust != nil && spec.Trust.Retired != "" }

// untrusted says why a metric that a judge gives may not gate yet; nil for any
// other metric. A judge is an instrument: the labels of people must show what it
// is worth, and those of another instrument say nothing of this one.
func untrusted(p *policy.Policy, spec evidence.MetricSpec) []string {
	if !spec.AsksModel() {
		return nil
	}
	labels, others, settled := 0, 0, 0
	if spec.Trust != nil {
		others, settled = spec.Trust.Others, spec.Trust.Labels()
		labels = settled + spec.Trust.Unsettled
	}
	switch {
	case labels == 0 && !p.RequireValidatedEvaluators:
		return nil
	case labels == 0 && others > 0:
		return []string{ReasonRecalibration}
	case labels == 0:
		return []string{ReasonNotValidated}
	case settled == 0, !measure.TableOf(spec.Trust).Met(BarsOf(p), p.ConfidenceLevel):
		return []string{ReasonBelowBar}
	}
	return nil
}

// armsUnlike reports whether a rule asks that the bias of its judge is alike on
// both sides' answers, and their labels do not show it. A judge that likes the
// wording of one side sees a difference that is not there.
func armsUnlike(p *policy.Policy, rule policy.Rule, c *compare.Comparison, d *compare.Difference) bool {
	if rule.JudgeBiasBar == nil || d == nil || !d.Spec.AsksModel() {
		return false
	}
	arms := c.Arms[rule.Metric]
	_, i := stats.BiasDifference(table(arms.Candidate), table(arms.Baseline), p.ConfidenceLevel)
	return !stats.Equivalent.Met(i, *rule.JudgeBiasBar)
}

// BarsOf returns what a policy asks of a judge.
func BarsOf(p *policy.Policy) stats.Bars {
	agreement, bias := p.Bars()
	return stats.Bars{Agreement: agreement, Bias: bias}
}
