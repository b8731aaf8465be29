package decide

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// verdicts measures one rate of that many passes and failures.
func verdicts(t *testing.T, passed, failed int) measure.Metric {
	t.Helper()
	spec := evidence.MetricSpec{ID: "ok", Kind: evidence.Rate, Range: [2]float64{0, 1}}
	table := measure.NewTable([]evidence.MetricSpec{spec}, nil)
	for i := range passed + failed {
		value := 0.0
		if i < passed {
			value = 1
		}
		o := &evidence.Outcome{Status: evidence.StatusOK, Judgments: []evidence.Judgment{{State: evidence.Judged, Value: value}}}
		if err := table.Add(i, o); err != nil {
			t.Fatal(err)
		}
	}
	return table.Metrics(0.95)[0]
}

func TestDeletingFailingCasesOpensNoGate(t *testing.T) {
	zero := 0
	floor := 0.5
	rules := []policy.Rule{
		{ID: "count", Metric: "ok", Kind: policy.ObservedCount, MaxFailures: &zero},
		{ID: "floor", Metric: "ok", Kind: policy.IntervalThreshold, Min: &floor},
	}
	for _, x := range []struct {
		name           string
		blockOn        []policy.State
		before         measure.Metric // with the deleted cases
		gone           bool
		action         Action
		exit           int
		count, floor   policy.State
		countOtherwise policy.State
	}{
		{
			name: "nothing less favourable", blockOn: []policy.State{policy.Fail, policy.ManualReview}, before: verdicts(t, 30, 0),
			action: Allow, exit: 0, count: policy.Pass, floor: policy.Pass,
		},
		{
			name: "blocks on MANUAL_REVIEW", blockOn: []policy.State{policy.ManualReview}, before: verdicts(t, 30, 4),
			action: Block, exit: 3, count: policy.ManualReview, floor: policy.Pass, countOtherwise: policy.Fail,
		},
		{
			name: "blocks on the state that it would have", blockOn: []policy.State{policy.Fail}, before: verdicts(t, 30, 4),
			action: Block, exit: 3, count: policy.ManualReview, floor: policy.Pass, countOtherwise: policy.Fail,
		},
		{
			name: "blocks on neither", blockOn: []policy.State{policy.InsufficientEvidence}, before: verdicts(t, 30, 4),
			action: Allow, exit: 0, count: policy.ManualReview, floor: policy.Pass, countOtherwise: policy.Fail,
		},
		{
			name: "the metric is gone, however good it was", blockOn: []policy.State{policy.ManualReview}, before: verdicts(t, 30, 0), gone: true,
			action: Block, exit: 3, count: policy.ManualReview, floor: policy.ManualReview, countOtherwise: policy.Pass,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := &policy.Policy{ConfidenceLevel: 0.95, BlockOn: x.blockOn, BlockOnPartialRun: true, Rules: rules}
			r := RunRelaxed(p, []measure.Metric{verdicts(t, 26, 0)}, evidence.Complete, Kept{
				Metrics: func(policy.Rule) *measure.Metric { return &x.before },
				Gone:    func(string) bool { return x.gone },
			})
			if r.Gate.Action != x.action || r.Gate.ExitCode != x.exit {
				t.Errorf("gate %s (exit %d), want %s (exit %d)", r.Gate.Action, r.Gate.ExitCode, x.action, x.exit)
			}
			if got := r.Decisions[0]; got.State != x.count || got.Otherwise != x.countOtherwise {
				t.Errorf("count is %s, otherwise %q, want %s, otherwise %q", got.State, got.Otherwise, x.count, x.countOtherwise)
			} else if got.State == policy.ManualReview && got.Reasons[0] != ReasonSuiteRelaxed {
				t.Errorf("reasons %v", got.Reasons)
			}
			if got := r.Decisions[1].State; got != x.floor {
				t.Errorf("floor is %s, want %s", got, x.floor)
			}
		})
	}
}

func TestComparisonOfARelaxedSuite(t *testing.T) {
	compared := func(wins, losses, observed int) *compare.Comparison {
		return &compare.Comparison{ID: "sha256:c", Shared: observed, BaselineCases: observed, Differences: []compare.Difference{verdictDifference(0.95, wins, losses, observed, 0)},
			Candidate: compare.RunRef{Completeness: evidence.Complete}, Baseline: compare.RunRef{Completeness: evidence.Complete}}
	}
	unlike := compared(0, 0, 100)
	metric := unlike.Differences[0].Spec.ID
	unlike.Differences, unlike.NotComparable = nil, []compare.NotComparable{{Metric: metric, Reason: compare.ReasonEvaluatorChanged}}
	rule := notWorse(0.1)
	rule.Metric = metric
	for _, x := range []struct {
		name           string
		now, before    *compare.Comparison
		gone, released bool
		state          policy.State
		reason         string
		otherwise      policy.State
		action         Action
	}{
		{"as good as before", compared(0, 0, 200), compared(0, 0, 210), false, false, policy.Pass, ReasonLowerAboveMargin, "", Allow},
		{"worse with the cases of before", compared(0, 0, 200), compared(0, 80, 280), false, false, policy.ManualReview, ReasonSuiteRelaxed, policy.Fail, Block},
		{"worse by the evaluator of before", unlike, compared(0, 80, 200), false, false, policy.ManualReview, ReasonSuiteRelaxed, policy.Fail, Block},
		{"as good by the evaluator of before", unlike, compared(0, 0, 200), false, false, policy.InsufficientEvidence, ReasonEvaluatorChanged, "", Allow},
		{"the metric is gone", unlike, compared(0, 0, 200), true, false, policy.ManualReview, ReasonSuiteRelaxed, policy.Pass, Allow},
		{"the metric is gone and was worse", unlike, compared(0, 80, 200), true, false, policy.ManualReview, ReasonSuiteRelaxed, policy.Fail, Block},
		{"released", compared(0, 0, 200), compared(0, 80, 280), false, true, policy.Pass, ReasonLowerAboveMargin, "", Allow},
		{"released, the metric is gone", unlike, compared(0, 80, 200), true, true, policy.ManualReview, ReasonSuiteRelaxed, policy.Fail, Warn},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := &policy.Policy{ConfidenceLevel: 0.95, BlockOn: []policy.State{policy.Fail}, MinPairedShare: 0.9, Rules: []policy.Rule{rule}}
			r := CompareRelaxed(p, x.now, x.before, Kept{Gone: func(string) bool { return x.gone }, Released: x.released})
			d := r.Decisions[0]
			if d.State != x.state || d.Reasons[0] != x.reason || d.Otherwise != x.otherwise || r.Gate.Action != x.action {
				t.Errorf("%s %v, otherwise %q, gate %s; want %s %s, otherwise %q, gate %s", d.State, d.Reasons, d.Otherwise, r.Gate.Action, x.state, x.reason, x.otherwise, x.action)
			}
			if d.Comparison != x.now.ID {
				t.Errorf("the decision names comparison %s", d.Comparison)
			}
		})
	}
}

func TestReleasedChangeOfTheSuite(t *testing.T) {
	floor := 0.5
	p := &policy.Policy{ConfidenceLevel: 0.95, BlockOn: []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview}, Rules: []policy.Rule{
		{ID: "kept", Metric: "ok", Kind: policy.IntervalThreshold, Min: &floor},
		{ID: "gone", Metric: "other", Kind: policy.IntervalThreshold, Min: &floor},
	}}
	before := verdicts(t, 2, 30)
	kept := Kept{
		Metrics: func(policy.Rule) *measure.Metric { return &before }, Gone: func(metric string) bool { return metric == "other" }, Released: true,
	}
	r := RunRelaxed(p, []measure.Metric{verdicts(t, 30, 0)}, evidence.Complete, kept)
	if r.Gate.Action != Warn || r.Decisions[0].State != policy.Pass || r.Decisions[1].State != policy.ManualReview || !r.Decisions[1].Released {
		t.Errorf("released: gate %+v, decisions %+v", r.Gate, r.Decisions)
	}
	// What the run says of itself still counts.
	if r := RunRelaxed(p, []measure.Metric{verdicts(t, 0, 30)}, evidence.Complete, kept); r.Gate.ExitCode != ExitFail {
		t.Errorf("a failing run that was released: gate %+v", r.Gate)
	}
	kept.Released = false
	if r := RunRelaxed(p, []measure.Metric{verdicts(t, 30, 0)}, evidence.Complete, kept); r.Gate.Action != Block || r.Decisions[0].State != policy.ManualReview {
		t.Errorf("not released: gate %+v, decisions %+v", r.Gate, r.Decisions)
	}
}

func TestWorstJudgmentOfARule(t *testing.T) {
	limit := 0.5
	spec := evidence.MetricSpec{Range: [2]float64{0, 1}}
	if got := Worst(policy.Rule{Min: &limit}, spec).Value; got != 0 {
		t.Errorf("under a floor: %v", got)
	}
	if got := Worst(policy.Rule{Max: &limit}, spec).Value; got != 1 {
		t.Errorf("under a ceiling: %v", got)
	}
}
