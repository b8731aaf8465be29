package stats

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkRate(b *testing.B) {
	for b.Loop() {
		Rate(700_000, 1_000_000, 0, 0.95)
	}
}

func BenchmarkPairedVerdicts(b *testing.B) {
	for b.Loop() {
		PairedVerdicts(Pairs{Wins: 5, Losses: 4, Observed: 200}, 0.95)
	}
}

// BenchmarkMean is both limits of 100,000 scores, by how many are distinct.
func BenchmarkMean(b *testing.B) {
	for name, distinct := range map[string]float64{"11": 10, "1001": 1000, "4001": 4000, "all": 1e15} {
		b.Run(name, func(b *testing.B) {
			values := scores(100_000, distinct)
			for b.Loop() {
				Mean(values, 0, 0, 1, 0.95)
			}
		})
	}
}

// scores are random multiples of 1/steps in [0, 1].
func scores(n int, steps float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(int(r.Float64()*(steps+1))) / steps
	}
	return values
}

// BenchmarkPlan holds the budgets of planning lines: 10 ms for verdicts, 100 ms
// for scores.
func BenchmarkPlan(b *testing.B) {
	few, many := scores(50, 100), scores(100_000, 1e15)
	differences := make([]float64, len(few))
	for i, v := range few {
		differences[i] = (v - 0.5) / 5
	}
	for _, bm := range []struct {
		name string
		plan func() Plan
	}{
		{"rate/tutorial", func() Plan { return PlanRate(11, 15, 0, 0.7, AtLeast, 0.95) }},
		{"rate/6494", func() Plan { return PlanRate(400, 500, 0, 0.79, AtLeast, 0.95) }},
		{"rate/none", func() Plan { return PlanRate(700, 1000, 0, 0.699, AtLeast, 0.95) }},
		{"rate/half", func() Plan { return PlanRate(5040, 10_000, 0, 0.5, AtLeast, 0.95) }},
		{"pairs/tutorial", func() Plan { return PlanPairs(Pairs{Wins: 1, Observed: 15}, NonInferior, 0.05, 0.95) }},
		{"pairs/5089", func() Plan { return PlanPairs(Pairs{Losses: 4, Observed: 100}, NonInferior, 0.05, 0.95) }},
		{"pairs/half", func() Plan { return PlanPairs(Pairs{Wins: 255, Losses: 245, Observed: 1000}, Superior, 0, 0.95) }},
		{"pairs/equivalence", func() Plan { return PlanPairs(Pairs{Wins: 5, Losses: 5, Observed: 100}, Equivalent, 0.02, 0.95) }},
		{"conditional", func() Plan {
			return PlanPairsConditionalExact(Pairs{Wins: 5, Losses: 5, Observed: 100}, NonInferior, 0.02, 0.95)
		}},
		{"exact", func() Plan {
			return PlanPairsExact(Pairs{Wins: 5, Losses: 5, Observed: 100}, NonInferior, 0.02, 0.95)
		}},
		{"scores/50", func() Plan { return PlanPairedScores(differences, 0, 1, NonInferior, 0.05, 0.95) }},
		{"scores/100000", func() Plan { return PlanMean(many, 0, 0, 1, 0.4999, AtLeast, 0.95) }},
		{"quantile", func() Plan { return PlanQuantile(few, 0, 0.95, 2, 0.95) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				bm.plan()
			}
		})
	}
}

func BenchmarkPairedExact(b *testing.B) {
	for name, p := range map[string]Pairs{
		"15":   {Wins: 1, Observed: 15},
		"100":  {Wins: 3, Losses: 2, Observed: 100},
		"500":  {Wins: 25, Losses: 25, Observed: 500},
		"2000": {Wins: 100, Losses: 100, Observed: MaxExactPairs},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				PairedExact(p, 0.95, 0.05)
			}
		})
	}
}
