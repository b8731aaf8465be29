package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
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
		{"one that fails too much", policy.Policy{JudgeFloor: "none", MaximumEvaluatorBias: number(0.2)}, &evidence.Trust{BothPass: 60, HumanOnly: 20, BothFail: 20}, policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"one that passes too much", policy.Policy{JudgeFloor: "none", MaximumEvaluatorBias: number(0.2)}, &evidence.Trust{BothPass: 60, JudgeOnly: 20, BothFail: 20}, policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"one that errs both ways", policy.Policy{JudgeFloor: "none", MaximumEvaluatorBias: number(0.2)}, &evidence.Trust{BothPass: 70, JudgeOnly: 2, HumanOnly: 2, BothFail: 30}, policy.Pass, []string{ReasonLowerMeetsMinimum}},
		{"people who do not agree", policy.Policy{RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1"}, &evidence.Trust{BothPass: 9, BothFail: 4, Unsettled: 10}, policy.InsufficientEvidence, []string{ReasonBelowBar}},
		{"people who agree on nothing", policy.Policy{JudgeFloor: "none"}, &evidence.Trust{Unsettled: 10, Others: 3}, policy.InsufficientEvidence, []string{ReasonBelowBar}},
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

// TestOneJudgeTwoSides: a PASS of a rule with judge_bias_bar needs labels of both
// sides' answers that show the bias to be alike; nothing else is changed by it.
func TestOneJudgeTwoSides(t *testing.T) {
	bar := 0.3
	fair := &evidence.Trust{BothPass: 60, BothFail: 60}
	for name, x := range map[string]struct {
		wins, losses int
		arms         map[string]compare.Arms
		state        policy.State
		reason       string
	}{
		"labels of both":       {0, 0, map[string]compare.Arms{"ok": {Candidate: fair, Baseline: fair}}, policy.Pass, ReasonLowerAboveMargin},
		"of one side":          {0, 0, map[string]compare.Arms{"ok": {Candidate: fair}}, policy.ManualReview, ReasonArmBiasNotShown},
		"of neither":           {0, 0, nil, policy.ManualReview, ReasonArmBiasNotShown},
		"of another metric":    {0, 0, map[string]compare.Arms{"tone": {Candidate: fair, Baseline: fair}}, policy.ManualReview, ReasonArmBiasNotShown},
		"too few":              {0, 0, map[string]compare.Arms{"ok": {Candidate: &evidence.Trust{BothPass: 6}, Baseline: fair}}, policy.ManualReview, ReasonArmBiasNotShown},
		"flatters one side":    {0, 0, map[string]compare.Arms{"ok": {Candidate: &evidence.Trust{BothPass: 60, JudgeOnly: 60}, Baseline: fair}}, policy.ManualReview, ReasonArmBiasNotShown},
		"a FAIL stays one":     {0, 90, nil, policy.Fail, ReasonUpperBelowMargin},
		"nor is more released": {10, 20, nil, policy.InsufficientEvidence, ReasonOverlapsMargin},
	} {
		d := verdictDifference(0.95, x.wins, x.losses, 200, 0)
		d.Spec.Type, d.Spec.Trust = "rubric_judge", fair
		rule := notWorse(0.1)
		rule.Metric, rule.JudgeBiasBar = d.Spec.ID, &bar
		c := comparison(d)
		if arms, there := x.arms["ok"]; there {
			c.Arms = map[string]compare.Arms{d.Spec.ID: arms}
		}
		got := Compare(&policy.Policy{ConfidenceLevel: 0.95, RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1", Rules: []policy.Rule{rule}}, c).Decisions[0]
		if got.State != x.state || got.Reasons[0] != x.reason {
			t.Errorf("%s: %s %v, want %s %s", name, got.State, got.Reasons, x.state, x.reason)
		}
	}
}

// TestCorrectedRules: a rule with a correction is decided on what labels infer,
// by a named method, and on nothing without labels.
func TestCorrectedRules(t *testing.T) {
	floor := 0.6
	p := &policy.Policy{ConfidenceLevel: 0.95, RequireValidatedEvaluators: true, JudgeFloor: "none"}
	lenient := &evidence.Trust{BothPass: 60, JudgeOnly: 40, BothFail: 100} // passes 40 of 140 wrong answers
	for _, x := range []struct {
		correction string
		trust      *evidence.Trust
		state      policy.State
		reason     string
		method     string
	}{
		{"", lenient, policy.Pass, ReasonLowerMeetsMinimum, stats.MethodRate},
		{policy.CorrectionPPI, lenient, policy.InsufficientEvidence, ReasonIntervalOverlaps, stats.MethodPredictionPower},
		{policy.CorrectionRoganGladen, lenient, policy.InsufficientEvidence, ReasonIntervalOverlaps, stats.MethodRoganGladen},
		{policy.CorrectionPPI, nil, policy.InsufficientEvidence, ReasonNotValidated, stats.MethodPredictionPower},
		{policy.CorrectionRoganGladen, &evidence.Trust{BothPass: 300, BothFail: 300}, policy.Pass, ReasonLowerMeetsMinimum, stats.MethodRoganGladen},
	} {
		m := verdicts(t, 280, 120)
		m.Spec.Type, m.Spec.Trust = "rubric_judge", x.trust
		d := decideRule(p, policy.Rule{ID: "r", Metric: "ok", Kind: policy.IntervalThreshold, Min: &floor, Correction: x.correction}, &m)
		if d.State != x.state || d.Reasons[0] != x.reason || d.Metric.Interval.Method != x.method || d.Planning != nil && x.correction != "" {
			t.Errorf("%q: %s %v by %s, planning %v; want %s %s by %s", x.correction, d.State, d.Reasons, d.Metric.Interval.Method, d.Planning, x.state, x.reason, x.method)
		}
		if m.Interval.Method != stats.MethodRate {
			t.Error("the run's own metric was changed")
		}
	}
	// Two runs: a judge that errs leaves more open.
	d := verdictDifference(0.95, 30, 90, 400, 0)
	d.Spec.Type, d.Spec.Trust = "rubric_judge", &evidence.Trust{BothPass: 300, JudgeOnly: 30, HumanOnly: 30, BothFail: 300}
	rule := notWorse(0.05)
	rule.Metric = d.Spec.ID
	for correction, want := range map[string]string{"": stats.MethodPaired, policy.CorrectionPPI: stats.MethodPairedPredictionPower, policy.CorrectionRoganGladen: stats.MethodPairedRoganGladen} {
		rule.Correction = correction
		got := Compare(&policy.Policy{ConfidenceLevel: 0.95, Rules: []policy.Rule{rule}}, comparison(d)).Decisions[0]
		if got.Difference.Interval.Method != want || got.State == policy.Pass {
			t.Errorf("%q: %s by %s, want %s", correction, got.State, got.Difference.Interval.Method, want)
		}
		if correction == policy.CorrectionPPI {
			if i := got.Difference.Interval; *i.Lower != -1 || *i.Upper != 1 {
				t.Errorf("without labels of either side's answers: [%v, %v]", *i.Lower, *i.Upper)
			}
			c := comparison(d)
			fair := &evidence.Trust{BothPass: 3000, BothFail: 3000}
			c.Arms = map[string]compare.Arms{d.Spec.ID: {Candidate: fair, Baseline: fair}}
			if got := Compare(&policy.Policy{ConfidenceLevel: 0.95, Rules: []policy.Rule{rule}}, c).Decisions[0]; got.State != policy.Fail {
				t.Errorf("with labels of both: %s %v", got.State, got.Reasons)
			}
		}
		if correction == "" && got.State != policy.Fail {
			t.Errorf("uncorrected: %s", got.State)
		}
	}
}

// TestLabelsForAPairedCorrection holds what docs/judges.md says of how many labels
// the paired corrections take.
func TestLabelsForAPairedCorrection(t *testing.T) {
	pairs := stats.Pairs{Wins: 10, Losses: 10, Observed: 500}
	against := func(n, one int) stats.Labels { // one label in so many is against the judge, either way as often
		half := 0
		if one > 0 {
			half = n / one / 2
		}
		return stats.Labels{BothPass: n/2 - half, JudgeOnly: half, HumanOnly: half, BothFail: n - n/2 - half}
	}
	for _, x := range []struct{ from, one, upTo int }{{210, 0, 600}, {640, 20, 1200}} {
		step := max(10, 2*x.one)
		for n := step; n <= x.upTo; n += step {
			_, i := stats.PredictionPoweredPaired(pairs, against(n, x.one), against(n, x.one), 0.95)
			if shown := i.Lower >= -0.1; shown != (n >= x.from) {
				t.Errorf("one in %d against: %d labels of either side show it: %v, want it from %d on", x.one, n, shown, x.from)
			}
		}
		if _, i := stats.RoganGladenPaired(pairs, against(x.from, x.one), 0.95); i.Lower < -0.1 {
			t.Errorf("rogan_gladen with %d labels: %v", x.from, i)
		}
	}
	if page := strings.Join(strings.Fields(doc(t, "judges.md")), " "); !strings.Contains(page, "with 500 pairs, 10 won and 10 lost, it shows that a run is not worse by 10 points from 210 labels of either side on if the judge agrees with all of them, and from 640 on if one in twenty is against it") {
		t.Error("docs/judges.md says otherwise")
	}
}
