package decide

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// anyPairs draws the counts of a difference of verdicts.
func anyPairs(t *rapid.T) stats.Pairs {
	observed := rapid.IntRange(1, 150).Draw(t, "observed")
	wins := rapid.IntRange(0, observed).Draw(t, "wins")
	return stats.Pairs{
		Wins: wins, Losses: rapid.IntRange(0, observed-wins).Draw(t, "losses"),
		Observed: observed, Missing: rapid.IntRange(0, 5).Draw(t, "missing"),
	}
}

func ofPairs(p stats.Pairs) compare.Difference {
	return verdictDifference(level, p.Wins, p.Losses, p.Observed, p.Missing)
}

// anyComparisonRule draws a comparison rule on the metric m.
func anyComparisonRule(t *rapid.T) policy.Rule {
	margin := rapid.Float64Range(0.001, 0.6).Draw(t, "margin")
	r := rapid.SampledFrom([]policy.Rule{superior(), notWorse(margin), alike(margin)}).Draw(t, "rule")
	r.HigherBetter = r.Kind == policy.Equivalence || rapid.Bool().Draw(t, "higher is better")
	return r
}

func TestPassOfAComparisonNeedsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := ofPairs(anyPairs(t))
		margin := rapid.Float64Range(0.001, 0.99).Draw(t, "margin")
		lower, upper := *d.Interval.Lower, *d.Interval.Upper
		for _, tt := range []struct {
			rule       policy.Rule
			pass, fail bool
		}{
			{superior(), lower > 0, upper <= 0},
			{with(superior(), lessIsBetter), upper < 0, lower >= 0},
			{notWorse(margin), lower >= -margin, upper < -margin},
			{with(notWorse(margin), lessIsBetter), upper <= margin, lower > margin},
			{alike(margin), lower > -margin && upper < margin, upper <= -margin || lower >= margin},
		} {
			got := decided(tt.rule, d).State
			if (got == policy.Pass) != tt.pass || (got == policy.Fail) != tt.fail {
				t.Fatalf("%s with margin %v of [%v, %v] is %s", tt.rule.Kind, margin, lower, upper, got)
			}
		}
	})
}

// What the candidate is to the baseline the baseline is to the candidate, upside
// down: with the other direction every rule is decided alike, and planned alike.
func TestSwappingTheRunsAndTheDirectionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs, rule := anyPairs(t), anyComparisonRule(t)
		mirror := pairs
		mirror.Wins, mirror.Losses = pairs.Losses, pairs.Wins
		other := rule
		other.HigherBetter = !rule.HigherBetter
		a, b := decided(rule, ofPairs(pairs)), decided(other, ofPairs(mirror))
		if a.State != b.State || a.Reasons[0] != b.Reasons[0] {
			t.Fatalf("%s of %+v is %s %v, mirrored %s %v", rule.Kind, pairs, a.State, a.Reasons, b.State, b.Reasons)
		}
		if diff := cmp.Diff(a.Planning, b.Planning); diff != "" {
			t.Fatalf("planning, mirrored (-want +got):\n%s", diff)
		}
	})
}

func TestMoreOfTheSamePairsKeepsADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs, rule := anyPairs(t), anyComparisonRule(t)
		times := rapid.IntRange(2, 20).Draw(t, "times")
		many := stats.Pairs{Wins: pairs.Wins * times, Losses: pairs.Losses * times, Observed: pairs.Observed * times, Missing: pairs.Missing * times}
		one, all := decided(rule, ofPairs(pairs)).State, decided(rule, ofPairs(many)).State
		if one != policy.InsufficientEvidence && one != all {
			t.Fatalf("%s of %+v is %s, and of %d times as many %s", rule.Kind, pairs, one, times, all)
		}
	})
}

func TestResolvingMissingPairsKeepsADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs, rule := anyPairs(t), anyComparisonRule(t)
		won := rapid.IntRange(0, pairs.Missing).Draw(t, "missing pairs that are won")
		lost := rapid.IntRange(0, pairs.Missing-won).Draw(t, "missing pairs that are lost")
		resolved := stats.Pairs{Wins: pairs.Wins + won, Losses: pairs.Losses + lost, Observed: pairs.Observed + pairs.Missing}
		before, after := decided(rule, ofPairs(pairs)).State, decided(rule, ofPairs(resolved)).State
		if before != policy.InsufficientEvidence && before != after {
			t.Fatalf("%s of %+v is %s, of %+v %s", rule.Kind, pairs, before, resolved, after)
		}
	})
}

// A run compared with itself is never worse than itself, and never better.
func TestARunAgainstItselfDecidesNothingFalse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rule := rapid.IntRange(1, 500).Draw(t, "pairs"), anyComparisonRule(t)
		for _, d := range []compare.Difference{verdictDifference(level, 0, 0, n, 0), scoreDifference(0, make([]float64, n)...)} {
			got := decided(rule, d)
			if got.State == policy.Fail || rule.Kind == policy.Superiority && got.State == policy.Pass {
				t.Fatalf("%s of %d pairs without a difference is %s", rule.Kind, n, got.State)
			}
		}
	})
}

// A family never decides a rule more favourably than it stands alone, and only
// ever holds back a FAIL.
func TestAFamilyOnlyHoldsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := blockAll()
		family := policy.Family{ID: "f", Correction: "holm"}
		var differences []compare.Difference
		for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
			d := ofPairs(anyPairs(t))
			d.Spec.ID = fmt.Sprint("m", i)
			differences = append(differences, d)
			r := with(anyComparisonRule(t), named(fmt.Sprint("r", i)), on(d.Spec.ID))
			p.Rules, family.Rules = append(p.Rules, r), append(family.Rules, r.ID)
		}
		c := comparison(differences...)
		alone := Compare(p, c)
		p.Families = []policy.Family{family}
		together := Compare(p, c)
		for i, d := range together.Decisions {
			was := alone.Decisions[i].State
			switch {
			case d.State == was:
			case was == policy.Fail && d.State == policy.InsufficientEvidence && d.Reasons[0] == ReasonFamilyWithheld:
			default:
				t.Fatalf("rule %s is %s alone and %s %v in its family", d.Rule.ID, was, d.State, d.Reasons)
			}
		}
		// The order of the rules in the policy and in the family does not matter.
		shuffled := *p
		shuffled.Rules = rapid.Permutation(p.Rules).Draw(t, "order")
		states := map[string]policy.State{}
		for _, d := range Compare(&shuffled, c).Decisions {
			states[d.Rule.ID] = d.State
		}
		for _, d := range together.Decisions {
			if states[d.Rule.ID] != d.State {
				t.Fatalf("rule %s is %s or %s, by the order", d.Rule.ID, d.State, states[d.Rule.ID])
			}
		}
	})
}

// Whatever is drawn, a gate that is open rests on pairs that were compared.
func TestAnOpenGateOfAComparisonRestsOnEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := blockAll(anyComparisonRule(t))
		p.MinPairedShare = rapid.SampledFrom([]float64{0, 0.9, 1}).Draw(t, "least share")
		p.BlockOn = rapid.SliceOfDistinct(anyState, rapid.ID[policy.State]).Draw(t, "block on")
		c := comparison(ofPairs(anyPairs(t)))
		c.Shared = rapid.IntRange(0, 10).Draw(t, "shared")
		if rapid.Bool().Draw(t, "without the metric") {
			c.Differences = nil
		}
		r := Compare(p, c)
		d := r.Decisions[0]
		if len(d.Reasons) == 0 {
			t.Fatalf("%s without a reason", d.State)
		}
		if r.Gate.Action != Block && d.Difference == nil {
			t.Fatalf("gate %s, and nothing was compared", r.Gate.Action)
		}
		if d.State == policy.Pass && (d.Difference == nil || d.Difference.Cases.Observed == 0 || float64(c.Shared) < p.MinPairedShare*10) {
			t.Fatalf("PASS of %+v with %d of 10 cases paired", d.Difference, c.Shared)
		}
	})
}

// Limits and p value of the exact test agree at the margin of the rule.
func TestTheExactTestDecidesAtTheMargin(t *testing.T) {
	for _, losses := range []int{0, 2, 5} {
		for _, margin := range []float64{0.05, 0.2} {
			p := blockAll(notWorse(margin))
			p.DifferenceMethod = stats.MethodExact
			d := Compare(p, paired(t, 0, losses, 40, compare.Options{Level: level, Method: stats.MethodExact})).Decisions[0]
			want := stats.PairedExact(d.Difference.Pairs(), level, margin)
			if *d.Difference.Interval.Lower != want.Lower || *d.Difference.Interval.Upper != want.Upper || (d.State == policy.Pass) != (want.Lower >= -margin) {
				t.Errorf("%d losses, margin %v: %s with [%v, %v], want [%v, %v]", losses, margin, d.State,
					*d.Difference.Interval.Lower, *d.Difference.Interval.Upper, want.Lower, want.Upper)
			}
		}
	}
}

// BenchmarkCompare pairs and decides two runs of 100,000 cases with four metrics.
func BenchmarkCompare(b *testing.B) {
	specs := []evidence.MetricSpec{
		{ID: "answer_correct", Kind: evidence.Rate, Range: [2]float64{0, 1}},
		{ID: "citations_valid", Kind: evidence.Rate, Range: [2]float64{0, 1}},
		{ID: "ndcg_at_10", Kind: evidence.Mean, Range: [2]float64{0, 1}},
		{ID: "latency_p95", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.95, Unit: "ms"},
	}
	const cases = 100_000
	run := func(id string, seed uint64) compare.Side {
		random := rand.New(rand.NewPCG(seed, 0))
		all := make([]evidence.Outcome, cases)
		for i := range all {
			judgments := make([]evidence.Judgment, 3)
			for k := range judgments {
				judgments[k] = evidence.Judgment{State: evidence.Judged, Value: float64(min(random.IntN(10), 1))}
			}
			judgments[2].Value = float64(random.IntN(200)) / 200
			all[i] = evidence.Outcome{
				ID: fmt.Sprintf("case_%07d", i), Status: evidence.StatusOK, LatencyMS: 100 + 50*random.Float64(),
				Slices: []string{fmt.Sprint("topic_", i%10)}, Judgments: judgments,
			}
		}
		return compare.Side{
			Manifest: &evidence.Manifest{ID: id, Completeness: evidence.Complete, Metrics: specs, Slices: []string{"metadata.topic"}, MinSupport: 30},
			Outcomes: func(visit func(int, *evidence.Outcome) error) error {
				for i := range all {
					if err := visit(i, &all[i]); err != nil {
						return err
					}
				}
				return nil
			},
		}
	}
	candidate, baseline := run("run_c", 1), run("run_b", 2)
	p := blockAll(with(notWorse(0.0005), on("answer_correct")), with(alike(0.01), on("citations_valid")),
		with(superior(), on("ndcg_at_10")), with(notWorse(50), on("latency_p95"), lessIsBetter))
	b.ReportAllocs()
	for b.Loop() {
		c, err := compare.Runs(candidate, baseline, compare.Options{Level: level})
		if err != nil {
			b.Fatal(err)
		}
		Compare(p, c)
	}
}
