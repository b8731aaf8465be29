package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var levels = []float64{0.8, 0.9, 0.95, 0.975, 0.99, 0.999}

// choose returns log C(n, k), by math.Lgamma.
func logChoose(n, k int) float64 {
	l := func(i int) float64 { v, _ := math.Lgamma(float64(i + 1)); return v }
	return l(n) - l(k) - l(n-k)
}

func binomialMass(k, n int, p float64) float64 {
	if p == 0 || p == 1 {
		if p == float64(k)/float64(n) {
			return 1
		}
		return 0
	}
	return math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// trinomial is the probability of w wins and l losses among n pairs.
func trinomial(w, l, n int, win, loss float64) float64 {
	term := func(k int, p float64) float64 {
		if k == 0 {
			return 0
		}
		return float64(k) * math.Log(p)
	}
	return math.Exp(logChoose(n, w) + logChoose(n-w, l) + term(w, win) + term(l, loss) + term(n-w-l, 1-win-loss))
}

// errors within allows for rounding in the sums of probabilities.
const slack = 1e-9

// TestRateCoverage enumerates every outcome: neither limit errs more often
// than the level allows, at any rate.
func TestRateCoverage(t *testing.T) {
	for _, level := range []float64{0.8, 0.95} {
		for _, n := range []int{1, 2, 5, 13, 30} {
			for p := 0.005; p < 1; p += 0.005 {
				above, below := 0.0, 0.0
				for x := range n + 1 {
					i := Rate(x, n, 0, level)
					if i.Lower > p {
						above += binomialMass(x, n, p)
					}
					if i.Upper < p {
						below += binomialMass(x, n, p)
					}
				}
				if most := tail(level) + slack; above > most || below > most {
					t.Fatalf("n %d, rate %v at %v: the lower limit errs with %v, the upper with %v", n, p, level, above, below)
				}
			}
		}
	}
}

// TestPairedCoverage does the same for paired verdicts, over a grid of the
// probabilities of a win and a loss.
func TestPairedCoverage(t *testing.T) {
	methods := map[string]func(Pairs, float64) Interval{
		MethodPaired:           PairedVerdicts,
		MethodConditionalExact: PairedConditionalExact,
	}
	for name, method := range methods {
		for _, level := range []float64{0.8, 0.95} {
			for _, n := range []int{1, 3, 8, 15} {
				limits := map[[2]int]Interval{}
				for w := range n + 1 {
					for l := range n + 1 - w {
						limits[[2]int{w, l}] = method(Pairs{Wins: w, Losses: l, Observed: n}, level)
					}
				}
				for win := 0.0; win <= 1; win += 0.05 {
					for loss := 0.0; win+loss <= 1; loss += 0.05 {
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
							t.Fatalf("%s, n %d, win %v, loss %v at %v: the lower limit errs with %v, the upper with %v", name, n, win, loss, level, above, below)
						}
					}
				}
			}
		}
	}
}

// TestQuantileCoverage: with continuous values the lower limit exceeds the
// quantile when fewer than its rank lie below, the upper one falls short of
// it when at least its rank do.
func TestQuantileCoverage(t *testing.T) {
	for _, level := range levels {
		for _, q := range []float64{0.1, 0.5, 0.9, 0.95, 0.99} {
			for n := range 120 {
				lower, upper := quantileRanks(n, q, level)
				above, below := 0.0, 0.0
				for below1 := 0; below1 <= n; below1++ {
					if below1 < lower {
						above += binomialMass(below1, max(n, 1), q)
					}
					if below1 >= upper {
						below += binomialMass(below1, max(n, 1), q)
					}
				}
				if most := tail(level) + slack; above > most || below > most {
					t.Fatalf("n %d, q %v at %v: %v, %v", n, q, level, above, below)
				}
			}
		}
	}
}

// Figures of the fewest cases with an upper bound: reference of Oloproof
// 0.1.0a20, and 0.5^6, 0.9^36, 0.95^72 <= 0.025 by hand.
func TestQuantileNeeds(t *testing.T) {
	for q, n := range map[float64]int{0.5: 6, 0.9: 36, 0.95: 72} {
		for _, cases := range []int{n - 1, n} {
			_, upper := quantileRanks(cases, q, 0.95)
			if bounded := upper <= cases; bounded != (cases == n) {
				t.Errorf("q %v with %d cases: upper bound %v", q, cases, bounded)
			}
		}
	}
}

func TestQuantileRankIsDecimal(t *testing.T) {
	for _, tt := range []struct {
		n    int
		q    float64
		want int
	}{{30, 0.1, 3}, {10, 0.7, 7}, {100, 0.29, 29}, {20, 0.95, 19}, {1, 0.01, 1}, {3, 0.5, 2}, {1, 0.999, 1}} {
		if got := quantileRank(tt.n, tt.q); got != tt.want {
			t.Errorf("rank of %v in %d = %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}

func drawPairs(t *rapid.T, most int) Pairs {
	n := rapid.IntRange(1, most).Draw(t, "observed")
	w := rapid.IntRange(0, n).Draw(t, "wins")
	return Pairs{
		Wins: w, Losses: rapid.IntRange(0, n-w).Draw(t, "losses"), Observed: n,
		Missing: rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(t, "missing"),
	}
}

func TestPairedLaws(t *testing.T) {
	for name, method := range map[string]func(Pairs, float64) Interval{
		MethodPaired: PairedVerdicts, MethodConditionalExact: PairedConditionalExact,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, level := drawPairs(t, 300), rapid.SampledFrom(levels).Draw(t, "level")
				i := method(p, level)
				if d := p.Difference(); !(-1 <= i.Lower && i.Lower <= d && d <= i.Upper && i.Upper <= 1) {
					t.Fatalf("%+v = %v does not hold the difference %v", p, i, d)
				}
				if m := method(p.mirror(), level); m.Lower != -i.Upper || m.Upper != -i.Lower {
					t.Errorf("mirrored %v, want the mirror of %v", m, i)
				}
				if wider := method(p, level+(1-level)/2); wider.Lower > i.Lower || wider.Upper < i.Upper {
					t.Errorf("a higher level narrows %v to %v", i, wider)
				}
				better := func(more Pairs) {
					if j := method(more, level); j.Lower < i.Lower || j.Upper < i.Upper {
						t.Errorf("%+v = %v, less than %+v = %v", more, j, p, i)
					}
				}
				if more := p; p.Losses > 0 {
					more.Wins, more.Losses = p.Wins+1, p.Losses-1
					better(more)
				}
				// A win in place of a tie also raises the share of discordant
				// pairs, which widens the conditional interval.
				if more := p; p.ties() > 0 && name == MethodPaired {
					more.Wins++
					better(more)
				}
				lost := p
				lost.Missing++
				if j := method(lost, level); j.Lower > i.Lower && p.Wins == 0 && p.Losses == p.Observed {
					t.Errorf("one more missing pair narrows %v to %v", i, j)
				}
			})
		})
	}
}

// TestMissingIsTheWorst: whatever the missing cases turn out to be, the limits
// with them missing hold.
func TestMissingIsTheWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		n, m := rapid.IntRange(1, 40).Draw(t, "observed"), rapid.IntRange(1, 8).Draw(t, "missing")
		x, good := rapid.IntRange(0, n).Draw(t, "passed"), rapid.IntRange(0, m).Draw(t, "good")
		if all, known := Rate(x, n, m, level), Rate(x+good, n+m, 0, level); all.Lower > known.Lower || all.Upper < known.Upper {
			t.Errorf("%d of %d with %d missing: %v does not hold %v", x, n, m, all, known)
		}
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "values")
		turned := rapid.SliceOfN(rapid.Float64Range(0, 1), m, m).Draw(t, "turned out")
		known := append(append([]float64(nil), values...), turned...)
		const rounding = 1e-12
		if all, known := Mean(values, m, 0, 1, level), Mean(known, 0, 0, 1, level); all.Lower > known.Lower+rounding || all.Upper < known.Upper-rounding {
			t.Errorf("mean %v does not hold %v", all, known)
		}
		if all, known := Quantile(values, m, 0.5, level), Quantile(known, 0, 0.5, level); all.Lower > known.Lower || all.Upper < known.Upper {
			t.Errorf("median %v does not hold %v", all, known)
		}
	})
}

func TestRateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		level := rapid.SampledFrom(levels).Draw(t, "level")
		i := Rate(x, n, 0, level)
		if p := float64(x) / float64(n); !(0 <= i.Lower && i.Lower <= p && p <= i.Upper && i.Upper <= 1) {
			t.Fatalf("%d of %d: %v", x, n, i)
		}
		if m := Rate(n-x, n, 0, level); math.Abs(m.Lower-(1-i.Upper)) > 1e-15 || m.Upper != 1-i.Lower {
			t.Errorf("mirror of %v is %v", i, m)
		}
		if x < n {
			if j := Rate(x+1, n, 0, level); j.Lower < i.Lower || j.Upper < i.Upper {
				t.Errorf("one more pass lowers %v to %v", i, j)
			}
		}
		if j := Rate(x, n+1, 0, level); j.Upper > i.Upper {
			t.Errorf("one more failure raises %v to %v", i, j)
		}
	})
}

// TestTinyTails asks for levels at which mathext.InvRegIncBeta is wrong
// without a warning: of Beta(20860, 5) at 5e-6 it returns 0.963352628, true is
// 0.998970264 (40-digit reference, statistics.json).
func TestTinyTails(t *testing.T) {
	if got := betaQuantile(5e-6, 20860, 5, 1); math.Abs(got-0.998970264) > 1e-9 {
		t.Errorf("quantile %v, want 0.998970264", got)
	}
	near(t, "upper", 1-betaQuantile(5e-6, 20860, 5, 1), rateUpper(4, 20864, 5e-6))
}

// TestExtremeLevels substitutes limits back into the distribution function, at
// levels up to the last one below 1.
func TestExtremeLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 1_000_000).Draw(t, "n")
		x := rapid.IntRange(1, n-1).Draw(t, "x")
		level := 1 - math.Pow(10, rapid.Float64Range(-15.9, -0.01).Draw(t, "log10 of 1-level"))
		i := Rate(x, n, 0, level)
		const off = 1e-12
		if p := i.Lower; binomialAtLeast(x, n, p) > tail(level) || binomialAtLeast(x, n, p*(1+off)) <= tail(level)*(1-1e-6) {
			t.Errorf("%d of %d at %v: lower limit %v", x, n, level, p)
		}
		if p := rateLower(n-x, n, tail(level)); binomialAtLeast(n-x, n, p) > tail(level) || i.Upper != 1-p {
			t.Errorf("%d of %d at %v: upper limit %v", x, n, level, i.Upper)
		}
	})
}

// TestSameAnswer: asking whether a limit reaches a threshold gives the answer
// that comparing the limit gives, next to the limit as well.
func TestSameAnswer(t *testing.T) {
	thresholds := func(t *rapid.T, limit float64) float64 {
		switch rapid.IntRange(0, 5).Draw(t, "threshold") {
		case 0:
			return limit
		case 1:
			return math.Nextafter(limit, 2)
		case 2:
			return math.Nextafter(limit, -2)
		case 3:
			return limit + rapid.Float64Range(-1e-7, 1e-7).Draw(t, "off")
		}
		return rapid.Float64Range(-1, 1).Draw(t, "any")
	}
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		i := Rate(x, n, 0, level)
		if at := thresholds(t, i.Lower); rateLowerReaches(x, n, tail(level), at) != (i.Lower >= at) {
			t.Errorf("lower limit %v of %d of %d and %v: answers differ", i.Lower, x, n, at)
		}
		if at := thresholds(t, i.Upper); rateUpperWithin(x, n, tail(level), at) != (i.Upper <= at) {
			t.Errorf("upper limit %v of %d of %d and %v: answers differ", i.Upper, x, n, at)
		}
		p := drawPairs(t, 2000)
		p.Missing = 0
		strict := rapid.Bool().Draw(t, "strict")
		limit := PairedVerdicts(p, level).Lower
		at := thresholds(t, limit)
		if got := newVerdictLine(at, strict, level).clears(p); got != (limit > at || !strict && limit == at) {
			t.Errorf("limit %v of %+v and %v, strict %v: %v", limit, p, at, strict, got)
		}
		values := rapid.SliceOfN(rapid.Float64Range(1, 5), 1, 50).Draw(t, "values")
		mean := Mean(values, 0, 1, 5, level)
		low, high := thresholds(t, mean.Lower), thresholds(t, mean.Upper)
		if got := count(values).clears(1, 5, low, AtLeast, strict, level); got != (mean.Lower > low || !strict && mean.Lower == low) {
			t.Errorf("lower limit %v and %v, strict %v: %v", mean.Lower, low, strict, got)
		}
		if got := count(values).clears(1, 5, high, AtMost, strict, level); got != (mean.Upper < high || !strict && mean.Upper == high) {
			t.Errorf("upper limit %v and %v, strict %v: %v", mean.Upper, high, strict, got)
		}
	})
}

// TestSettled compares the walk along stretches with the plain one that looks
// at every size, computing each limit.
func TestSettled(t *testing.T) {
	plain := func(clears func(int) bool) int {
		answer := smallest(clears, MaxPlan)
		if answer == 0 {
			return 0
		}
		reach := answer + min(max(answer, 64), 2048)
		for n := answer; n <= min(reach, MaxPlan); n++ {
			if !clears(n) {
				answer = n + 1
				reach = max(reach, answer+min(max(answer, 64), 2048))
			}
		}
		return answer
	}
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.SampledFrom(levels).Draw(t, "level")
		n := rapid.IntRange(2, 60).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		rate := float64(x) / float64(n)
		low, high := rate-rapid.Float64Range(0.08, 0.5).Draw(t, "below"), rate+rapid.Float64Range(0.08, 0.5).Draw(t, "above")
		want := plain(func(size int) bool { return Rate(roundHalfEven(size, x, n), size, 0, level).Lower >= low })
		if got := PlanRate(x, n, 0, low, AtLeast, level); got.Total != want && want > n {
			t.Errorf("%d of %d at least %v: %+v, want %d", x, n, low, got, want)
		}
		want = plain(func(size int) bool { return Rate(roundHalfEven(size, x, n), size, 0, level).Upper <= high })
		if got := PlanRate(x, n, 0, high, AtMost, level); got.Total != want && want > n {
			t.Errorf("%d of %d at most %v: %+v, want %d", x, n, high, got, want)
		}
		p := drawPairs(t, 30)
		p.Missing = 0
		goal := rapid.SampledFrom([]Goal{NonInferior, Superior, Equivalent}).Draw(t, "goal")
		margin := max(0.15, 0.15-p.Difference())
		if goal == Superior {
			margin = 0
		}
		if goal == Superior && p.Difference() < 0.15 || goal == Equivalent && p.Difference() >= margin-0.1 {
			return
		}
		for name, method := range map[string]func(Pairs, float64) Interval{MethodPaired: PairedVerdicts, MethodConditionalExact: PairedConditionalExact} {
			plan := PlanPairs
			if name == MethodConditionalExact {
				plan = PlanPairsConditionalExact
			}
			want := plain(func(size int) bool { return goal.Met(method(p.resize(size), level), margin) })
			if got := plan(p, goal, margin, level); got.Total != want && want > p.Observed {
				t.Errorf("%s: %+v, goal %d, margin %v: %+v, want %d", name, p, goal, margin, got, want)
			}
		}
	})
}

// TestReachRate: examples of the product's tutorial, and the definition.
func TestReachRate(t *testing.T) {
	for _, tt := range []struct {
		n         int
		threshold float64
		want      RateReach
	}{
		{15, 0.70, RateReach{PassAt: 15, FailAt: 6, Needs: 11}},
		{13, 0.80, RateReach{PassAt: -1, FailAt: 6, Needs: 17}},
		{0, 0.70, RateReach{PassAt: -1, FailAt: -1, Needs: 11}},
		{5, 0, RateReach{PassAt: 0, FailAt: -1, Needs: 1}},
		{5, 1, RateReach{PassAt: -1, FailAt: 4, Needs: 0}},
	} {
		got := ReachRate(tt.n, tt.threshold, AtLeast, 0.95)
		tt.want.Best = Rate(tt.n, tt.n, 0, 0.95).Lower
		if got != tt.want {
			t.Errorf("%d cases, at least %v: %+v, want %+v", tt.n, tt.threshold, got, tt.want)
		}
		// The mirror image.
		tt.want.Best = 1 - tt.want.Best
		for _, at := range []*int{&tt.want.PassAt, &tt.want.FailAt} {
			if *at >= 0 {
				*at = tt.n - *at
			}
		}
		if got := ReachRate(tt.n, 1-tt.threshold, AtMost, 0.95); got != tt.want {
			t.Errorf("%d cases, at most %v: %+v, want %+v", tt.n, 1-tt.threshold, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		level := rapid.SampledFrom(levels).Draw(t, "level")
		d := rapid.SampledFrom([]Direction{AtLeast, AtMost}).Draw(t, "direction")
		r := ReachRate(n, threshold, d, level)
		for x := range n + 1 {
			i := Rate(x, n, 0, level)
			pass, fail := i.Lower >= threshold, i.Upper < threshold
			reachPass, reachFail := r.PassAt >= 0 && x >= r.PassAt, r.FailAt >= 0 && x <= r.FailAt
			if d == AtMost {
				pass, fail = i.Upper <= threshold, i.Lower > threshold
				reachPass, reachFail = r.PassAt >= 0 && x <= r.PassAt, r.FailAt >= 0 && x >= r.FailAt
			}
			if pass != reachPass || fail != reachFail {
				t.Fatalf("%d of %d, %v: passes %v, fails %v, but %+v", x, n, threshold, pass, fail, r)
			}
		}
	})
}

// TestEstimate: the sum is exact, so that nothing cancels and no order matters.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{0.1, 0.2, 0.3}, 0.2},
		{[]float64{1e100, 1, -1e100}, 1.0 / 3},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
		{[]float64{5e-324, 5e-324, 5e-324}, 5e-324},
		{[]float64{0.7}, 0.7},
	} {
		if got := Estimate(tt.values); got != tt.want {
			t.Errorf("Estimate(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

// TestCoarse: above 5,000 distinct values limits move outward, and by no more
// than the grid.
func TestCoarse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 6000)
	for i := range values {
		values[i] = r.Float64()
	}
	c := count(values)
	if len(c.values) <= 5000 || len(c.coarse().values) > 10_001 {
		t.Fatalf("%d distinct values, %d after rounding", len(c.values), len(c.coarse().values))
	}
	got := Mean(values, 0, 0, 1, 0.95)
	fine := Interval{c.bettingLimit(0, 0.95), 0}
	if !(got.Lower <= fine.Lower && fine.Lower-got.Lower < 2e-4) {
		t.Errorf("lower limit %v, without rounding %v", got.Lower, fine.Lower)
	}
	mirrored := make([]float64, len(values))
	for i, v := range values {
		mirrored[i] = 1 - v
	}
	if m := Mean(mirrored, 0, 0, 1, 0.95); math.Abs(m.Lower-(1-got.Upper)) > 1e-12 {
		t.Errorf("upper limit %v, lower limit of the mirror image %v", got.Upper, m.Lower)
	}
}

// TestCallersValues: the caller's slice is not reordered; position is the
// pairing elsewhere.
func TestCallersValues(t *testing.T) {
	values := []float64{0.9, 0.1, 0.5}
	Mean(values, 0, 0, 1, 0.95)
	Quantile(values, 0, 0.5, 0.95)
	QuantileEstimate(values, 0.5)
	PlanMean(values, 0, 0, 1, 0.2, AtLeast, 0.95)
	PlanQuantile(values, 0, 0.5, 2, 0.95)
	PlanPairedScores(values, 0, 1, NonInferior, 0.1, 0.95)
	if values[0] != 0.9 || values[1] != 0.1 || values[2] != 0.5 {
		t.Errorf("reordered: %v", values)
	}
}

func TestTile(t *testing.T) {
	// Oloproof 0.1.0a20 (PyPI) fills a sample of 3 from these four values with
	// 0.1, 0.45 and 0.9, one of 7 with all four and those.
	got := newTile([]float64{0.5, 0.1, 0.9, 0.4}).sample(7)
	want := counted{[]float64{0.1, 0.4, 0.45, 0.5, 0.9}, []int{2, 1, 1, 1, 2}}
	if len(got.values) != len(want.values) {
		t.Fatalf("%+v", got)
	}
	for i := range want.values {
		if got.values[i] != want.values[i] || got.counts[i] != want.counts[i] {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestPlanSilent(t *testing.T) {
	for name, p := range map[string]Plan{
		"no case":              PlanRate(0, 0, 3, 0.5, AtLeast, 0.95),
		"mean without a value": PlanMean(nil, 0, 0, 1, 0.5, AtLeast, 0.95),
		"mean with a missing":  PlanMean([]float64{1}, 1, 0, 1, 0.5, AtLeast, 0.95),
		"no latency":           PlanQuantile(nil, 0, 0.5, 5, 0.95),
		"latency with missing": PlanQuantile([]float64{1}, 1, 0.5, 5, 0.95),
		"no pair":              PlanPairs(Pairs{}, NonInferior, 0.1, 0.95),
		"a missing pair":       PlanPairs(Pairs{Observed: 5, Missing: 1}, NonInferior, 0.1, 0.95),
		"no difference":        PlanPairedScores(nil, 0, 1, NonInferior, 0.1, 0.95),
		"a missing difference": PlanPairedScores([]float64{0}, 1, 1, NonInferior, 0.1, 0.95),
		"enough cases there":   PlanRate(500, 500, 0, 0.9, AtLeast, 0.95),
		"enough pairs there":   PlanPairs(Pairs{Observed: 500}, NonInferior, 0.1, 0.95),
		"enough values there":  PlanMean(make([]float64, 500), 0, 0, 1, 0.1, AtMost, 0.95),
		"enough latencies":     PlanQuantile(make([]float64, 500), 0, 0.5, 1, 0.95),
	} {
		if p != (Plan{}) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestPlanWhy(t *testing.T) {
	twenty := make([]float64, 20)
	for name, tt := range map[string]struct {
		got  Plan
		want Why
	}{
		"rate below a floor":        {PlanRate(6, 10, 0, 0.7, AtLeast, 0.95), PastThreshold},
		"rate above a ceiling":      {PlanRate(4, 10, 0, 0.3, AtMost, 0.95), PastThreshold},
		"rate at a floor":           {PlanRate(7, 10, 0, 0.7, AtLeast, 0.95), AtThreshold},
		"rate at three decimals":    {PlanRate(11, 15, 0, 0.7333, AtLeast, 0.95), AtThreshold},
		"perfect, floor of 1":       {PlanRate(10, 10, 0, 1, AtLeast, 0.95), AtThreshold},
		"missing hold it":           {PlanRate(95, 95, 5, 0.97, AtLeast, 0.95), MissingShare},
		"missing hold a ceiling":    {PlanRate(0, 95, 5, 0.03, AtMost, 0.95), MissingShare},
		"resolve them":              {PlanRate(38, 38, 2, 0.85, AtLeast, 0.95), ResolveMissing},
		"resolve them, ceiling":     {PlanRate(0, 38, 2, 0.15, AtMost, 0.95), ResolveMissing},
		"close to the floor":        {PlanRate(8020, 10_000, 0, 0.801, AtLeast, 0.95), NotUpToMax},
		"mean below a floor":        {PlanMean(twenty, 0, -1, 1, 0.5, AtLeast, 0.95), PastThreshold},
		"mean at a ceiling":         {PlanMean(twenty, 0, -1, 1, 0, AtMost, 0.95), AtThreshold},
		"latency above the ceiling": {PlanQuantile([]float64{5}, 0, 0.5, 4, 0.95), PastThreshold},
		"difference past":           {PlanPairs(Pairs{Losses: 1, Observed: 13}, NonInferior, 0.05, 0.95), PastThreshold},
		"difference at":             {PlanPairs(Pairs{Losses: 1, Observed: 20}, NonInferior, 0.05, 0.95), AtThreshold},
		"no gain":                   {PlanPairs(Pairs{Observed: 20}, Superior, 0, 0.95), AtThreshold},
		"too good to be equivalent": {PlanPairs(Pairs{Wins: 9, Observed: 20}, Equivalent, 0.05, 0.95), PastThreshold},
		"equivalent at the edge":    {PlanPairs(Pairs{Wins: 1, Observed: 20}, Equivalent, 0.05, 0.95), AtThreshold},
		"scores past":               {PlanPairedScores([]float64{-0.2, 0}, 0, 1, NonInferior, 0.05, 0.95), PastThreshold},
	} {
		if tt.got.Why != tt.want || tt.got.Total != 0 {
			t.Errorf("%s: %+v, want %v", name, tt.got, tt.want)
		}
	}
	// Oloproof 0.1.0a20 (PyPI): "the low end rises to 91.1%".
	if p := PlanRate(38, 38, 2, 0.85, AtLeast, 0.95); math.Floor(1000*p.Reach) != 911 {
		t.Errorf("reach %v, want 91.1%%", p.Reach)
	}
	if p := PlanRate(0, 38, 2, 0.15, AtMost, 0.95); p.Reach != Rate(0, 40, 0, 0.95).Upper {
		t.Errorf("reach %v", p.Reach)
	}
}

// Equivalence needs both sides: 5 wins of 200 at a margin of 2 points has its
// lower limit above the margin and its upper one beyond it.
func TestPlanEquivalence(t *testing.T) {
	p := Pairs{Wins: 2, Losses: 0, Observed: 200}
	plan := PlanPairs(p, Equivalent, 0.02, 0.95)
	i := PairedVerdicts(p.resize(plan.Total), 0.95)
	if plan.Total <= 200 || !Equivalent.Met(i, 0.02) {
		t.Errorf("%+v: %v", plan, i)
	}
	if one := PlanPairs(p, NonInferior, 0.02, 0.95); one.Total >= plan.Total {
		t.Errorf("both sides need %d, one side %d", plan.Total, one.Total)
	}
	scores := []float64{0.1, 0, 0, 0, 0, -0.1, 0, 0, 0.1, 0}
	both := PlanPairedScores(scores, 0, 1, Equivalent, 0.05, 0.95)
	if s := newTile(scores).sample(both.Total); both.Total == 0 || !s.clears(-1, 1, 0.05, AtMost, true, 0.95) {
		t.Errorf("scores: %+v", both)
	}
}
