package report

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

func TestReach(t *testing.T) {
	floor := func(id string, min float64) policy.Rule {
		return policy.Rule{ID: id, Metric: "m", Kind: policy.IntervalThreshold, Min: &min}
	}
	ceiling := func(id string, max float64) policy.Rule {
		return policy.Rule{ID: id, Metric: "m", Kind: policy.IntervalThreshold, Max: &max}
	}
	count := policy.Rule{ID: "citations-valid", Metric: "m", Kind: policy.ObservedCount, MaxFailures: ptr(0)}
	review := floor("by-hand", 0.5)
	review.ManualReview = true
	rules := []decide.Reach{
		{Rule: floor("answer-floor", 0.7), Kind: evidence.Rate, Cases: 15, PassFrom: ptr(15), FailTo: ptr(6), Best: ptr(0.7819)},
		{Rule: floor("retrieval-floor", 0.8), Kind: evidence.Rate, Cases: 13, FailTo: ptr(6), Best: ptr(0.7529), NeverPass: true, Needs: 17},
		{Rule: count, Kind: evidence.Rate, Cases: 15, PassFrom: ptr(15), FailTo: ptr(14)},
		{Rule: floor("many", 0.5), Kind: evidence.Rate, Cases: 15, PassFrom: ptr(12), FailTo: ptr(0)},
		{Rule: ceiling("errors", 0.5), Kind: evidence.Rate, Cases: 50, PassTo: ptr(17), FailFrom: ptr(33), Best: ptr(0.0712)},
		{Rule: ceiling("few-errors", 0.08), Kind: evidence.Rate, Cases: 50, PassTo: ptr(0), FailFrom: ptr(50), Best: ptr(0.0712)},
		{Rule: ceiling("no-errors", 0.01), Kind: evidence.Rate, Cases: 50, FailFrom: ptr(4), Best: ptr(0.0712), NeverPass: true, Needs: 368},
		{Rule: floor("all", 1), Kind: evidence.Rate, Cases: 1, NeverPass: true, NeverFail: true, Best: ptr(0.025)},
		{Rule: floor("ranking", 0.8), Kind: evidence.Mean, Cases: 15, Best: ptr(0.83749)},
		{Rule: ceiling("fast", 2000), Kind: evidence.Quantile, Cases: 15, NeverPass: true, Needs: 72},
		{Rule: floor("unlabelled", 0.8), Kind: evidence.Rate},
		{Rule: count, Kind: evidence.Rate, Cases: 15, PassFrom: ptr(0), NeverFail: true},
		{Rule: review, Kind: evidence.Rate, Cases: 15, NeverPass: true, NeverFail: true},
	}
	var b bytes.Buffer
	if err := Reach(&b, rules, 15); err != nil {
		t.Fatal(err)
	}
	want := `answer-floor passes only at 15 of 15 and fails at 6 or fewer
retrieval-floor can never PASS with 13 labelled cases (75.2% at best): it needs 17; fails at 6 or fewer
citations-valid passes only at 15 of 15 and fails at 14 or fewer
many passes at 12 or more of 15 and fails only at 0
errors passes at 17 or fewer of 50 and fails at 33 or more
few-errors passes only at 0 of 50 and fails only at 50
no-errors can never PASS with 50 cases (7.2% at best): it needs 368; fails at 4 or more
all can never PASS with 1 labelled case (2.5% at best): no number of cases is enough; can never FAIL
ranking can PASS with 15 cases (0.837 at best)
fast can never PASS with 15 cases: it needs 72
unlabelled can decide nothing: no case carries what m needs
citations-valid passes whatever the 15 cases give and can never FAIL
by-hand is always MANUAL_REVIEW: the policy asks for a person
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlan(t *testing.T) {
	var b bytes.Buffer
	if err := Plan(&b, Build(exampleInput())); err != nil {
		t.Fatal(err)
	}
	want := `answer-floor: INSUFFICIENT_EVIDENCE, requires at least 70.0%; 73.3% [44.8%, 92.3%] · 11 / 15 observed · 0 missing · 0 excluded
  about 753 more cases would decide it, if the rate holds (768 in total)
retrieval-floor: INSUFFICIENT_EVIDENCE, requires at least 80.0%; 92.3% [63.9%, 99.9%] · 12 / 13 observed · 0 missing · 2 excluded
  about 35 more cases would decide it, if the rate holds (48 in total)
citations-valid: FAIL, requires at most 0 failures; 93.3% [68.0%, 99.9%] · 14 / 15 observed · 0 missing · 0 excluded
  decided: nothing to plan
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanningLines(t *testing.T) {
	answers := rate("answer_correct", 12, 15, 0, 0.5, 0.9)
	answers.Cases.Missing = 2
	one := answers
	one.Cases.Missing = 1
	min, max := policy.Rule{Min: ptr(0.8), Kind: policy.IntervalThreshold}, policy.Rule{Max: ptr(0.2), Kind: policy.IntervalThreshold}
	pairs := policy.Rule{Kind: policy.NonInferiority, Margin: ptr(0.05)}
	ndcg := troubledInput().Metrics[1]
	for _, tt := range []struct {
		d    decide.Decision
		want string
	}{
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Total: 768, More: 753}},
			"about 753 more cases would decide it, if the rate holds (768 in total)"},
		{decide.Decision{Rule: min, Metric: &ndcg, Planning: &decide.Planning{Total: 16, More: 1}},
			"about 1 more case would decide it, if the mean holds (16 in total)"},
		{decide.Decision{Rule: pairs, Planning: &decide.Planning{Total: 53, More: 38, Discordance: ptr(1.0 / 15)}},
			"about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)"},
		{decide.Decision{Rule: pairs, Planning: &decide.Planning{Total: 107, More: 94}},
			"about 94 more paired cases would decide it, if the difference holds (107 in total)"},
		{decide.Decision{Rule: pairs, Planning: &decide.Planning{Total: 1004, More: 1, Discordance: ptr(0.002)}},
			"about 1 more paired case would decide it, if the difference holds (1004 in total at <1% discordance)"},
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Reason: decide.PlanPastThreshold}},
			"no number of cases would make it PASS, if the rate holds: more cases move it toward FAIL"},
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Reason: decide.PlanAtThreshold}},
			"no number of cases would decide it, if the rate holds: it only meets the threshold, and a bound never clears what the estimate only meets"},
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Reason: decide.PlanResolveMissing, Reach: ptr(0.8129)}},
			"resolving the 2 missing cases first could decide it: if all turn out well, the lower bound reaches 81.2%"},
		{decide.Decision{Rule: max, Metric: &one, Planning: &decide.Planning{Reason: decide.PlanResolveMissing, Reach: ptr(0.1821)}},
			"resolving the missing case first could decide it: if all turn out well, the upper bound falls to 18.3%"},
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Reason: decide.PlanMissingShare}},
			"no number of cases would decide it while 12% of them are missing: that share must fall first"},
		{decide.Decision{Rule: min, Metric: &answers, Planning: &decide.Planning{Reason: decide.PlanNotUpTo}},
			"no number of cases that could be run would decide it, if the rate holds"},
	} {
		if got := planningLine(tt.d); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
