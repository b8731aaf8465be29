package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// lost is a difference of a metric that lost so many of 100 pairs.
func lost(metric string, losses int) compare.Difference {
	d := verdictDifference(level, 0, losses, 100, 0)
	d.Spec.ID = metric
	return d
}

func holm(rules ...policy.Rule) *policy.Policy {
	p := blockAll(rules...)
	f := policy.Family{ID: "f", Correction: "holm"}
	for _, r := range rules {
		f.Rules = append(f.Rules, r.ID)
	}
	p.Families = []policy.Family{f}
	return p
}

func TestHolm(t *testing.T) {
	rule := func(id string) policy.Rule { return with(superior(), named(id), on(id)) }
	// The fewest losses of 100 that FAIL are 8 at 5%, 9 at 5%/2 and 10 at 5%/3.
	tests := []struct {
		name   string
		losses [3]int // of the rules a, b and c
		want   string
		levels []float64
	}{
		{"none FAILs", [3]int{0, 1, 2}, "a INSUFFICIENT_EVIDENCE interval_overlaps_zero, b INSUFFICIENT_EVIDENCE interval_overlaps_zero, c INSUFFICIENT_EVIDENCE interval_overlaps_zero", nil},
		{"all stand", [3]int{40, 50, 60}, "a FAIL difference_below_zero 0.0500, b FAIL difference_below_zero 0.0250, c FAIL difference_below_zero 0.0167", []float64{0.05 / 3, 0.05 / 2, 0.05}},
		{"the first is held back", [3]int{0, 1, 9}, "a INSUFFICIENT_EVIDENCE interval_overlaps_zero, b INSUFFICIENT_EVIDENCE interval_overlaps_zero, c INSUFFICIENT_EVIDENCE family_correction_withheld 0.0167", []float64{0.05 / 3}},
		{"those after it are held back untested", [3]int{9, 9, 9}, "a INSUFFICIENT_EVIDENCE family_correction_withheld 0.0167, b INSUFFICIENT_EVIDENCE family_correction_withheld, c INSUFFICIENT_EVIDENCE family_correction_withheld", []float64{0.05 / 3}},
		{"one stands and carries the next", [3]int{0, 50, 9}, "a INSUFFICIENT_EVIDENCE interval_overlaps_zero, b FAIL difference_below_zero 0.0167, c FAIL difference_below_zero 0.0250", []float64{0.05 / 3, 0.05 / 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := comparison(lost("a", tt.losses[0]), lost("b", tt.losses[1]), lost("c", tt.losses[2]))
			r := Compare(holm(rule("a"), rule("b"), rule("c")), c)
			got := ""
			for i, d := range r.Decisions {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprint(d.Rule.ID, " ", d.State, " ", d.Reasons[0])
				if d.AdjustedAlpha != nil {
					got += fmt.Sprintf(" %.4f", *d.AdjustedAlpha)
				}
				if d.Difference.Interval.Level != level {
					t.Errorf("rule %s shows an interval at %v", d.Rule.ID, d.Difference.Interval.Level)
				}
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			want := []Family{{ID: "f", Correction: "holm", Rules: 3, Levels: tt.levels}}
			if diff := cmp.Diff(want, r.Families, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Error(diff)
			}
			for _, d := range c.Differences {
				if d.Interval.Level != level {
					t.Error("the comparison was changed")
				}
			}
		})
	}
}

// A rule that FAILs alone can be held back by what else stands in its family,
// and a rule outside of it is not touched.
func TestHolmCountsTheWholeFamily(t *testing.T) {
	alone := Compare(holm(with(superior(), named("c"), on("c"))), comparison(lost("c", 9)))
	if d := alone.Decisions[0]; d.State != policy.Fail {
		t.Errorf("alone: %s %v, want FAIL", d.State, d.Reasons)
	}
	p := holm(with(superior(), named("c"), on("c")), with(superior(), named("passes"), on("c"), lessIsBetter), with(notWorse(0.9), named("easy"), on("c")))
	p.Rules = append(p.Rules, with(superior(), named("outside"), on("c")))
	r := Compare(p, comparison(lost("c", 9)))
	states := map[string]policy.State{}
	for _, d := range r.Decisions {
		states[d.Rule.ID] = d.State
	}
	want := map[string]policy.State{"c": policy.InsufficientEvidence, "passes": policy.Pass, "easy": policy.Pass, "outside": policy.Fail}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	if r.Gate.ExitCode != ExitFail {
		t.Errorf("gate %+v", r.Gate)
	}
}

func TestWithheldRulesSayThatTheyAreOnTheWrongSide(t *testing.T) {
	r := Compare(holm(with(superior(), named("a"), on("a")), with(superior(), named("b"), on("b"))), comparison(lost("a", 8), lost("b", 0)))
	d := r.Decisions[0]
	if d.Reasons[0] != ReasonFamilyWithheld || d.Planning == nil || d.Planning.Reason != PlanPastThreshold {
		t.Errorf("%s %v with planning %+v", d.State, d.Reasons, d.Planning)
	}
}

func TestDistancePastTheMargin(t *testing.T) {
	tests := []struct {
		rule         policy.Rule
		lower, upper float64
		want         float64
	}{
		{superior(), -0.5, -0.25, 0.25},
		{with(superior(), lessIsBetter), 0.25, 0.5, 0.25},
		{notWorse(0.125), -0.5, -0.25, 0.125},
		{with(notWorse(0.125), lessIsBetter), 0.25, 0.5, 0.125},
		{alike(0.125), -0.5, -0.25, 0.125},
		{alike(0.125), 0.5, 0.75, 0.375},
	}
	for _, tt := range tests {
		d := decided(tt.rule, limited(&tt.lower, &tt.upper))
		if got := pastMargin(&d); d.State != policy.Fail || got != tt.want {
			t.Errorf("%s of [%v, %v]: %s by %v, want FAIL by %v", tt.rule.Kind, tt.lower, tt.upper, d.State, got, tt.want)
		}
	}
}
