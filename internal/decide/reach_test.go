package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

var reachSpecs = []evidence.MetricSpec{
	{ID: "rate", Kind: evidence.Rate, Range: [2]float64{0, 1}},
	{ID: "mean", Kind: evidence.Mean, Range: [2]float64{0, 1}},
	{ID: "stars", Kind: evidence.Mean, Range: [2]float64{1, 5}},
	{ID: "free", Kind: evidence.Mean},
	{ID: "p50", Kind: evidence.Quantile, Quantile: 0.5},
	{ID: "p90", Kind: evidence.Quantile, Quantile: 0.9},
	{ID: "p95", Kind: evidence.Quantile, Quantile: 0.95},
	{ID: "tokens", Kind: evidence.Mean, Source: "output_tokens", Unit: "tokens", Range: [2]float64{0, 4000}},
	{ID: "cost", Kind: evidence.Mean, Source: "cost_usd", Unit: "USD"},
}

// reach returns what the rule can decide about the metric with n cases.
func reach(metric string, n int, r policy.Rule) Reach {
	r.Metric = metric
	return Reachable(blockAll(r), reachSpecs, map[string]int{metric: n})[0]
}

func TestReach(t *testing.T) {
	never := func(r Reach) Reach { r.NeverPass, r.NeverFail = true, true; return r }
	tests := []struct {
		name   string
		metric string
		cases  int
		rule   policy.Rule
		want   Reach
	}{
		{"answer-floor", "rate", 15, floor(0.70), Reach{PassFrom: ptr(15), FailTo: ptr(6), Best: ptr(0.7819806)}},
		{"retrieval-floor", "rate", 13, floor(0.80), Reach{FailTo: ptr(6), Best: ptr(0.7529474), NeverPass: true, Needs: 17}},
		{"citations-valid", "rate", 15, count(0), Reach{PassFrom: ptr(15), FailTo: ptr(14)}},
		{"a perfect 17 passes", "rate", 17, floor(0.80), Reach{PassFrom: ptr(17), FailTo: ptr(9), Best: ptr(0.8049357)}},
		{"floor of 0", "rate", 5, floor(0), Reach{PassFrom: ptr(0), Best: ptr(0.4781762), NeverFail: true}},
		{"floor of 1", "rate", 50, floor(1), Reach{FailTo: ptr(49), Best: ptr(0.9288783), NeverPass: true}},
		{"rate without a case", "rate", 0, floor(0.5), never(Reach{Needs: 6})},
		{"ceiling", "rate", 15, ceiling(0.30), Reach{PassTo: ptr(0), FailFrom: ptr(9), Best: ptr(0.2180194)}},
		{"ceiling that nothing meets", "rate", 13, ceiling(0.20), Reach{FailFrom: ptr(7), Best: ptr(0.2470526), NeverPass: true, Needs: 17}},
		{"count larger than the suite", "rate", 3, count(5), Reach{PassFrom: ptr(0), NeverFail: true}},
		{"count without a case", "rate", 0, count(5), never(Reach{Needs: 1})},
		{"count of a mean", "mean", 9, count(5), never(Reach{})},
		{"mean", "mean", 20, floor(0.80), Reach{Best: ptr(0.7648311), NeverPass: true, Needs: 25}},
		{"mean that passes", "mean", 25, floor(0.80), Reach{Best: ptr(0.8062360)}},
		{"mean, floor of the range", "mean", 3, floor(0), Reach{Best: ptr(0.1960240), NeverFail: true}},
		{"mean, floor at the best score", "mean", 99, floor(1), Reach{Best: ptr(0.9463903), NeverPass: true}},
		{"mean, ceiling", "mean", 20, ceiling(0.20), Reach{Best: ptr(0.2351689), NeverPass: true, Needs: 25}},
		{"mean without a case", "mean", 0, floor(0.80), never(Reach{Needs: 25})},
		{"mean on another range", "stars", 25, floor(4.2), Reach{Best: ptr(4.2249441)}},
		{"mean without a range", "free", 25, floor(4.2), never(Reach{})},
		{"p50 ceiling, 5 cases", "p50", 5, ceiling(900), never(Reach{Needs: 6})},
		{"p50 ceiling, 6 cases", "p50", 6, ceiling(900), Reach{}},
		{"p90 ceiling, 35 cases", "p90", 35, ceiling(900), Reach{NeverPass: true, Needs: 36}},
		{"p90 ceiling, 36 cases", "p90", 36, ceiling(900), Reach{}},
		{"p95 ceiling, 15 cases", "p95", 15, ceiling(900), Reach{NeverPass: true, Needs: 72}},
		{"p95 ceiling, 72 cases", "p95", 72, ceiling(900), Reach{}},
		{"p95 floor, 1 case", "p95", 1, floor(900), never(Reach{Needs: 2})},
		{"p95 floor, 2 cases", "p95", 2, floor(900), Reach{NeverFail: true}},
		{"quantile without a case", "p90", 0, ceiling(900), never(Reach{Needs: 36})},
		{"mean of a quantity", "tokens", 25, ceiling(800), Reach{}},
		{"mean of a quantity, few cases", "tokens", 20, ceiling(800), Reach{NeverPass: true, Needs: 25}},
		{"mean without an upper limit, ceiling", "cost", 25, ceiling(1), Reach{NeverPass: true}},
		{"mean without an upper limit, floor", "cost", 25, floor(1), Reach{NeverFail: true}},
		{"mean without an upper limit, no case", "cost", 0, floor(1), never(Reach{Needs: 1})},
		{"manual review", "rate", 99, with(floor(0.5), review), never(Reach{})},
		{"unknown metric", "other", 99, floor(0.5), never(Reach{})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := reach(tt.metric, tt.cases, tt.rule)
			if got.Cases != tt.cases {
				t.Errorf("cases = %d, want %d", got.Cases, tt.cases)
			}
			ignore := cmpopts.IgnoreFields(Reach{}, "Rule", "Kind", "Cases")
			if diff := cmp.Diff(tt.want, got, ignore, cmpopts.EquateApprox(0, 1e-7)); diff != "" {
				t.Errorf("Reachable (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReachableSkipsComparisons(t *testing.T) {
	p := blockAll(policy.Rule{ID: "x", Metric: "rate", Kind: policy.Superiority}, with(floor(0.5), func(r *policy.Rule) { r.Metric = "rate" }))
	got := Reachable(p, reachSpecs, map[string]int{"rate": 10})
	if len(got) != 1 || got[0].Rule.ID != "r" || got[0].Kind != evidence.Rate {
		t.Errorf("Reachable = %+v, want the floor alone", got)
	}
}

// What is said to be reachable is what Run decides, for every result.
func TestReachAgreesWithRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "cases")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		rules := []policy.Rule{floor(threshold), ceiling(threshold), count(rapid.IntRange(0, n).Draw(t, "limit"))}
		r := rapid.SampledFrom(rules).Draw(t, "rule")
		got := reach("rate", n, r)
		var passes, fails bool
		for x := range n + 1 {
			said := policy.InsufficientEvidence
			switch {
			case got.PassFrom != nil && x >= *got.PassFrom, got.PassTo != nil && x <= *got.PassTo:
				said = policy.Pass
			case got.FailTo != nil && x <= *got.FailTo, got.FailFrom != nil && x >= *got.FailFrom:
				said = policy.Fail
			}
			decided := stateOf(r, rate(x, n, 0))
			if said != decided {
				t.Fatalf("%d of %d is said to be %s and decided as %s", x, n, said, decided)
			}
			passes, fails = passes || decided == policy.Pass, fails || decided == policy.Fail
		}
		if got.NeverPass == passes || got.NeverFail == fails {
			t.Fatalf("NeverPass %v, NeverFail %v; PASS occurs: %v, FAIL occurs: %v", got.NeverPass, got.NeverFail, passes, fails)
		}
	})
}

// The number of cases that is said to be needed is enough, and one less is not.
func TestReachNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		metric := rapid.SampledFrom([]string{"rate", "mean", "p50", "p90", "p95"}).Draw(t, "metric")
		threshold := rapid.Float64Range(0.01, 0.99).Draw(t, "threshold")
		r := rapid.SampledFrom([]policy.Rule{floor(threshold), ceiling(threshold)}).Draw(t, "rule")
		needs := reach(metric, 0, r).Needs
		if reach(metric, needs, r).NeverPass {
			t.Fatalf("%d cases cannot pass", needs)
		}
		if needs > 1 && !reach(metric, needs-1, r).NeverPass {
			t.Fatalf("%d cases can pass already", needs-1)
		}
	})
}
