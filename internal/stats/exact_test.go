package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// p returns the p value of the table for the hypothesis that the difference is
// d in (-1, 1), or lower.
func (t *exactTest) p(d float64) float64 {
	r := t.region(d)
	p, _ := r.most()
	return p
}

// TestExactGolden: p values by an independent implementation on a grid of
// 20,001 loss probabilities (statistics.json), printed to six decimals.
func TestExactGolden(t *testing.T) {
	type row struct {
		N, Wins, Losses int
		Margin          float64
		ScoreZ          float64 `json:"score_z"`
		P               float64
	}
	g := golden[struct {
		Exact struct{ Cases []row } `json:"exact_paired_noninferiority_pvalues"`
	}](t, "statistics.json")
	if len(g.Exact.Cases) != 6 {
		t.Fatalf("%d rows, want 6", len(g.Exact.Cases))
	}
	for _, r := range g.Exact.Cases {
		e := newExactTest(r.Wins, r.Losses, r.N)
		if z := e.score(r.Wins, r.Losses, -r.Margin); math.Abs(z-r.ScoreZ) > 1e-6 {
			t.Errorf("%+v: score %v", r, z)
		}
		if p := e.p(-r.Margin); math.Abs(p-r.P) > 6e-7 {
			t.Errorf("%+v: p %v", r, p)
		}
	}
}

// Limits to a tenth of a point, rounded to nearest: published with the method
// (statistics of the gate, section 2.2).
func TestExactExamples(t *testing.T) {
	for _, tt := range []struct {
		n, wins, losses int
		lower, upper    float64
	}{
		{15, 1, 0, -16.5, 33.3},
		{100, 3, 2, -4.6, 6.9},
		{200, 5, 5, -3.6, 3.6},
		{500, 25, 25, -2.9, 2.9},
	} {
		i := PairedExact(Pairs{Wins: tt.wins, Losses: tt.losses, Observed: tt.n}, 0.95)
		if math.Abs(100*i.Lower-tt.lower) > 0.051 || math.Abs(100*i.Upper-tt.upper) > 0.051 {
			t.Errorf("%+v: [%.3f, %.3f]", tt, 100*i.Lower, 100*i.Upper)
		}
	}
}

// Zero discordant pairs at a margin of 5 points need 75 pairs, and 79 for
// good; at 2 points 191 and 195 (statistics of the gate, section 2.3).
func TestExactZeroDiscordance(t *testing.T) {
	for margin, tt := range map[float64]struct {
		from     int
		excluded []int // sizes from there on that do not clear
		plan     int
	}{
		0.05: {75, []int{76, 78}, 79},
		0.02: {191, []int{192, 194}, 195},
	} {
		for n := tt.from - 10; n < tt.from+40; n++ {
			want := n >= tt.from && !slices.Contains(tt.excluded, n)
			if got := newExactTest(0, 0, n).rulesOut(-margin, tail(0.95)); got != want {
				t.Errorf("margin %v, %d pairs: %v", margin, n, got)
			}
		}
		if got := PlanPairsExact(Pairs{Observed: 13}, NonInferior, margin, 0.95); got.Total != tt.plan {
			t.Errorf("margin %v: %+v, want %d", margin, got, tt.plan)
		}
	}
}

// Pairs needed for a power of 80 % without a true difference, margin 5 points:
// 140, 207 and 352 at 2, 5 and 10 % discordance (section 2.3, to within 1; the
// power does not grow at every step).
func TestExactPower(t *testing.T) {
	for psi, n := range map[float64]int{0.02: 140, 0.05: 207, 0.10: 352} {
		if p := exactPower(n, psi, 0.05); p < 0.8 {
			t.Errorf("discordance %v: %d pairs have a power of %v", psi, n, p)
		}
		if a, b := exactPower(n-1, psi, 0.05), exactPower(n-2, psi, 0.05); a >= 0.8 && b >= 0.8 {
			t.Errorf("discordance %v: one or two pairs fewer have a power of %v and %v", psi, a, b)
		}
	}
}

// exactPower is the probability that n pairs without a true difference show
// that the candidate is not worse by the margin.
func exactPower(n int, psi, margin float64) float64 {
	power := 0.0
	most := int(float64(n)*psi/2 + 8*math.Sqrt(float64(n)*psi/2) + 4)
	wins := 0
	for losses := 0; losses <= most; losses++ {
		// The fewest wins that show it grow with the losses.
		for wins <= most && !newExactTest(wins, losses, n).rulesOut(-margin, tail(0.95)) {
			wins++
		}
		for w := wins; w <= most; w++ {
			power += trinomial(w, losses, n, psi/2, psi/2)
		}
	}
	return power
}

// TestExactCoverage enumerates every table, with and without margins.
func TestExactCoverage(t *testing.T) {
	for _, level := range []float64{0.8, 0.95} {
		for _, n := range []int{1, 3, 9} {
			for _, margins := range [][]float64{nil, {0.05, 0, 0.1}} {
				limits := map[[2]int]Interval{}
				for w := range n + 1 {
					for l := range n + 1 - w {
						limits[[2]int{w, l}] = PairedExact(Pairs{Wins: w, Losses: l, Observed: n}, level, margins...)
					}
				}
				for win := 0.0; win <= 1; win += 0.025 {
					for loss := 0.0; win+loss <= 1; loss += 0.025 {
						above, below := 0.0, 0.0
						for k, i := range limits {
							if i.Lower > win-loss+slack {
								above += trinomial(k[0], k[1], n, win, loss)
							}
							if i.Upper < win-loss-slack {
								below += trinomial(k[0], k[1], n, win, loss)
							}
						}
						if most := tail(level) + slack; above > most || below > most {
							t.Fatalf("n %d, win %v, loss %v at %v: the lower limit errs with %v, the upper with %v", n, win, loss, level, above, below)
						}
					}
				}
			}
		}
	}
}

func TestExactLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, level := drawPairs(t, 60), rapid.SampledFrom(levels).Draw(t, "level")
		margin := rapid.SampledFrom([]float64{0, 0.02, 0.05, 0.1, 0.3}).Draw(t, "margin")
		i := PairedExact(p, level, margin)
		if d := p.Difference(); !(-1 <= i.Lower && i.Lower <= d && d <= i.Upper && i.Upper <= 1) {
			t.Fatalf("%+v = %v does not hold the difference %v", p, i, d)
		}
		if m := PairedExact(p.mirror(), level, margin); m.Lower != -i.Upper || m.Upper != -i.Lower {
			t.Errorf("mirrored %v, want the mirror of %v", m, i)
		}
		// Deciding by the limit is deciding by p.
		e := newExactTest(p.Wins, p.Losses+p.Missing, p.Observed+p.Missing)
		if cleared, byP := i.Lower > -margin, e.rulesOut(-margin, tail(level)); cleared != byP {
			t.Errorf("%+v at %v: limit %v, p %v: the limit and p disagree", p, level, i.Lower, e.p(-margin))
		}
		if e.rulesOut(-margin, tail(level)) != (e.p(-margin) <= tail(level)) && p.Difference() > -margin {
			t.Errorf("%+v: p %v and its comparison disagree", p, e.p(-margin))
		}
	})
}

// TestExactOrder: among tables with equally many discordant pairs the score
// increases with the wins, which the search for the region relies on.
func TestExactOrder(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30} {
		e := newExactTest(0, 0, n)
		for d := -0.99; d < 1; d += 0.045 {
			for s := range n + 1 {
				for w := range s {
					a, b := e.score(w, s-w, d), e.score(w+1, s-w-1, d)
					if !(a < b) && !math.IsInf(b, 0) {
						t.Fatalf("n %d, d %v: %d wins of %d score %v, one more %v", n, d, w, s, a, b)
					}
				}
			}
		}
	}
}

// TestExactProbability compares the sum along discordant pairs with the plain
// one over all tables.
func TestExactProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		w := rapid.IntRange(0, n).Draw(t, "wins")
		l := rapid.IntRange(0, n-w).Draw(t, "losses")
		d := rapid.Float64Range(-0.95, 0.95).Draw(t, "difference")
		r := newExactTest(w, l, n).region(d)
		angle := r.from() + (math.Pi/2-r.from())*rapid.Float64Range(0, 1).Draw(t, "angle")
		psi := math.Pow(math.Sin(angle), 2)
		win := math.Max(0, (psi+d)/2)
		loss := math.Max(0, psi-win)
		want := 0.0
		for s := range n + 1 {
			for k := r.least[s]; k <= s; k++ {
				want += trinomial(k, s-k, n, win, min(loss, 1-win))
			}
		}
		if got := r.probability(angle); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("n %d, %d wins, %d losses, d %v, psi %v: %v, want %v", n, w, l, d, psi, got, want)
		}
	})
}

// TestExactEdges: no pair, and nothing but losses or wins.
func TestExactEdges(t *testing.T) {
	if i := PairedExact(Pairs{}, 0.95, 0.05); i != (Interval{-1, 1}) {
		t.Errorf("no pair: %v", i)
	}
	if i := PairedExact(Pairs{Missing: 3}, 0.95, 0.05); i != (Interval{-1, 1}) {
		t.Errorf("all missing: %v", i)
	}
	if i := PairedExact(Pairs{Losses: 9, Observed: 9}, 0.95); i.Lower != -1 || !(i.Upper < 0) {
		t.Errorf("losses only: %v", i)
	}
	whole := PairedExact(Pairs{Wins: 9, Observed: 9}, 0.95, 1)
	if whole.Upper != 1 || !(whole.Lower > 0) {
		t.Errorf("wins only: %v", whole)
	}
	if p := PlanPairsExact(Pairs{Wins: 1, Losses: 1, Observed: 20}, NonInferior, 0.001, 0.95); p.Why != NotUpToMax {
		t.Errorf("a margin of a tenth of a point: %+v", p)
	}
	if p := PlanPairsExact(Pairs{Losses: 1, Observed: 10}, NonInferior, 0.05, 0.95); p.Why != PastThreshold {
		t.Errorf("past the margin: %+v", p)
	}
	if p := PlanPairsExact(Pairs{Missing: 1, Observed: 10}, NonInferior, 0.05, 0.95); p != (Plan{}) {
		t.Errorf("a missing pair: %+v", p)
	}
}
