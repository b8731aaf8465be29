package decide

import (
	"slices"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

func TestJudgesMustShowWhatTheyAreWorth(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	floor := 0.5
	rule := policy.Rule{ID: "floor", Metric: "ok", Kind: policy.IntervalThreshold, Min: &floor}
	agreeing := func(n int) *evidence.Trust { return &evidence.Trust{BothPass: n - 4, BothFail: 4} }
	for _, x := range []struct {
		name    string
		policy  policy.Policy
		trust   *evidence.Trust
		state   policy.State
		reasons []string
	}{
		{"no label", policy.Policy{RequireValidatedEvaluators: true}, nil, policy.InsufficientEvidence, []string{ReasonNotValidated}},
		{"no label, and none is asked for", policy.Policy{}, nil, policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"labels of another instrument", policy.Policy{RequireValidatedEvaluators: true}, &evidence.Trust{Others: 40}, policy.InsufficientEvidence, []string{ReasonRecalibration}},
		{"enough that agree", policy.Policy{RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1"}, agreeing(13), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"too few for the bias", policy.Policy{RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1"}, agreeing(12), policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"too few, without a floor", policy.Policy{RequireValidatedEvaluators: true, JudgeFloor: "none"}, agreeing(5), policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"too few for a bar of the policy", policy.Policy{RequireValidatedEvaluators: true, JudgeFloor: "none", MinimumEvaluatorAgreement: number(0.9)}, agreeing(20), policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"below the bar, though no label is asked for", policy.Policy{JudgeFloor: "judge_floor@1"}, &evidence.Trust{BothPass: 5, JudgeOnly: 15}, policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"retired", policy.Policy{RequireValidatedEvaluators: true}, &evidence.Trust{BothPass: 40, BothFail: 40, Retired: "the provider stopped it"}, policy.ManualReview, []string{ReasonEvaluatorRetired}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.policy.ConfidenceLevel = 0.95
			m := verdicts(t, 30, 0)
			m.Spec.Type, m.Spec.Trust = "groundedness_judge", x.trust
			d := decideRule(&x.policy, rule, &m)
			if d.State != x.state || !slices.Equal(d.Reasons, x.reasons) {
				t.Errorf("%s %v, want %s %v", d.State, d.Reasons, x.state, x.reasons)
			}
			// No other metric is asked for labels.
			m.Spec.Type, m.Spec.Trust = "contains", nil
			if d := decideRule(&x.policy, rule, &m); d.State != policy.Pass {
				t.Errorf("without a judge %s %v", d.State, d.Reasons)
			}
		})
	}
}

func TestComparedJudgesMustShowWhatTheyAreWorth(t *testing.T) {
	p := &policy.Policy{ConfidenceLevel: 0.95, RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1"}
	d := verdictDifference(0.95, 0, 0, 200, 0)
	d.Spec.Type = "rubric_judge"
	rule := notWorse(0.1)
	rule.Metric = d.Spec.ID
	for name, x := range map[string]struct {
		trust *evidence.Trust
		state policy.State
		first string
	}{
		"no label":  {nil, policy.InsufficientEvidence, ReasonNotValidated},
		"validated": {&evidence.Trust{BothPass: 20, BothFail: 20}, policy.Pass, ReasonLowerAboveMargin},
		"retired":   {&evidence.Trust{BothPass: 20, BothFail: 20, Retired: "x"}, policy.ManualReview, ReasonEvaluatorRetired},
	} {
		d.Spec.Trust = x.trust
		c := comparison(d)
		got := Compare(&policy.Policy{ConfidenceLevel: p.ConfidenceLevel, RequireValidatedEvaluators: true, JudgeFloor: p.JudgeFloor, Rules: []policy.Rule{rule}}, c).Decisions[0]
		if got.State != x.state || got.Reasons[0] != x.first {
			t.Errorf("%s: %s %v, want %s %s", name, got.State, got.Reasons, x.state, x.first)
		}
	}
}
