package stats

import (
	"cmp"
	"math"
	"slices"
)

// MaxExactPairs is the largest number of pairs, missing ones included, that
// [PairedExact] takes, in about a quarter of a second.
const MaxExactPairs = 2000

// PairedExact returns an interval for the mean paired difference of a
// pass/fail judgment by an exact unconditional test. Tables of wins and losses
// are ordered by Tango's score statistic, ties included. The p value of a
// difference d is the largest probability, over the loss probabilities that
// are possible with d, of a table at least as extreme as the one observed. The
// lower limit is the largest d ruled out with p <= (1-level)/2; the upper one
// is the mirror image. A missing pair counts as a loss for the lower limit and
// as a win for the upper one.
//
// Margins are those of the rules that the interval will decide, 0 for
// superiority: the limits lie on that side of each that its p value says, so
// that deciding by the limit is deciding by p. Where p values contradict each
// other, which the order of the tables allows, the less favourable one holds.
//
// It takes up to [MaxExactPairs] pairs, missing ones included.
//
// Sources: Tango, "Equivalence test and confidence interval for the difference
// in proportions for the paired-sample design", Statistics in Medicine 17
// (1998), for the order; Hsueh, Liu and Chen, "Unconditional exact tests for
// equivalence or noninferiority for paired binary endpoints", Biometrics 57
// (2001), for the test.
func PairedExact(p Pairs, level float64, margins ...float64) Interval {
	return Interval{
		Lower: exactLower(p, tail(level), margins),
		Upper: -exactLower(p.mirror(), tail(level), margins),
	}
}

func exactLower(p Pairs, tail float64, margins []float64) float64 {
	n := p.Observed + p.Missing
	if n == 0 {
		return -1
	}
	t := newExactTest(p.Wins, p.Losses+p.Missing, n)
	lo := t.lowest(tail)
	var lines []float64
	for _, m := range margins {
		lines = append(lines, -m, m)
	}
	slices.Sort(lines)
	for _, d := range lines {
		if !t.rulesOut(d, tail) {
			return min(lo, math.Nextafter(d, -1))
		}
		lo = max(lo, math.Nextafter(d, 1))
	}
	return lo
}

// lowest returns a difference just below the smallest one that the table does
// not rule out. The order of the tables depends on the difference, so that a p
// value may fall as the difference grows: below a place where ruling out ends,
// it may have ended before. There the p values are near the tail, so it is
// enough to look as far down as half the distance to the observed difference,
// where they are a tenth of it.
func (t *exactTest) lowest(tail float64) float64 {
	const width, looks = 1e-8, 32
	lo, observed := -1.0, float64(t.wins-t.losses)/float64(t.n)
	hi := observed
	for {
		for hi-lo > width {
			if mid := lo + (hi-lo)/2; t.rulesOut(mid, tail) {
				lo = mid
			} else {
				hi = mid
			}
		}
		step := (observed - lo) / (2 * looks)
		below := -1.0 // the last difference known to be ruled out
		for k := looks; k > 0; k-- {
			d := lo - float64(float64(k)*step)
			if d <= -1 {
				continue
			}
			if !t.rulesOut(d, tail) {
				hi = d
				break
			}
			below = d
		}
		if hi >= lo { // none was found
			return lo
		}
		lo = below
	}
}

// exactTest computes p values of one table of wins and losses among n pairs.
type exactTest struct {
	wins, losses, n int
	logFactorial    []float64 // of 0 to n
	worst           float64   // angle at which a p value was last too large; see rulesOut
}

func newExactTest(wins, losses, n int) *exactTest {
	t := &exactTest{wins: wins, losses: losses, n: n, logFactorial: make([]float64, n+1)}
	for i := 2; i <= n; i++ {
		t.logFactorial[i] = t.logFactorial[i-1] + math.Log(float64(i))
	}
	return t
}

// rulesOut reports whether the table rules out the difference d and all below
// it: p(d) <= tail.
func (t *exactTest) rulesOut(d, tail float64) bool {
	if d <= -1 {
		return t.losses < t.n
	}
	if d >= 1 || float64(t.wins-t.losses) <= float64(float64(t.n)*d) {
		return false // nothing above what was observed
	}
	r := t.region(d)
	// Where the last p value was too large, the next one often is as well.
	if at := max(t.worst, r.from()); r.probability(at) > tail {
		return false
	}
	p, at := r.most()
	if p > tail {
		t.worst = at
		return false
	}
	return true
}

// score is Tango's statistic of a table for a difference d in (-1, 1): how
// many standard errors, under d, the observed difference lies above d.
func (t *exactTest) score(wins, losses int, d float64) float64 {
	n, w, l := float64(t.n), float64(wins), float64(losses)
	// The likeliest loss probability under d solves 2n q^2 + b q + c = 0.
	b := float64((2*n-w+l)*d) - w - l
	c := -float64(float64(l*d) * (1 - d))
	q := (math.Sqrt(max(0, float64(b*b)-float64(8*n*c))) - b) / (4 * n)
	above := w - l - float64(n*d)
	variance := n * (2*q + float64(d*(1-d)))
	if above == 0 {
		return 0
	}
	return above / math.Sqrt(max(0, variance)) // infinite when d allows no other table
}

// region holds the tables that are at least as extreme as the observed one
// under a difference.
type region struct {
	*exactTest
	difference float64
	least      []int // for each number s of discordant pairs the fewest wins, s+1: none
}

// region relies on the score increasing with the wins among s discordant pairs.
func (t *exactTest) region(d float64) region {
	z := t.score(t.wins, t.losses, d)
	if !math.IsInf(z, 0) {
		z -= float64(1e-9 * max(1, math.Abs(z))) // equal scores differ by rounding
	}
	r := region{t, d, make([]int, t.n+1)}
	k := 0
	for s := range r.least {
		for k <= s && t.score(k, s-k, d) < z {
			k++
		}
		for k > 0 && t.score(k-1, s-k+1, d) >= z {
			k--
		}
		r.least[s] = k
	}
	return r
}

// The share psi of discordant pairs is searched by its angle asin(sqrt(psi)),
// in which the standard error of a share is the same everywhere: 1/(2 sqrt(n)).

// from is the smallest angle: that of the share |d|, when all discordant pairs
// go one way. The largest is pi/2.
func (r region) from() float64 { return math.Asin(math.Sqrt(math.Abs(r.difference))) }

// most returns the largest probability of the region, and the angle where it
// was found: on a grid of half a standard error, and finer around the three
// highest points. Between them the probability is as smooth as the binomial.
func (r region) most() (p, angle float64) {
	from := r.from()
	steps := max(50, int(math.Ceil((math.Pi/2-from)*4*math.Sqrt(float64(r.n)))))
	step := (math.Pi/2 - from) / float64(steps)
	at := func(i int) float64 { return min(from+float64(float64(i)*step), math.Pi/2) }
	grid := make([]float64, steps+1)
	for i := range grid {
		grid[i] = r.probability(at(i))
	}
	var peaks []int
	for i, v := range grid {
		if (i == 0 || grid[i-1] <= v) && (i == steps || v >= grid[i+1]) {
			peaks = append(peaks, i)
		}
	}
	slices.SortFunc(peaks, func(i, j int) int { return cmp.Compare(grid[j], grid[i]) })
	for _, i := range peaks[:min(3, len(peaks))] {
		if v, a := r.peak(at(max(i-1, 0)), at(min(i+1, steps))); v > p {
			p, angle = v, a
		}
		if grid[i] > p {
			p, angle = grid[i], at(i)
		}
	}
	return p, angle
}

// peak returns the largest probability between two angles, with one peak
// between them, by golden section.
func (r region) peak(lo, hi float64) (p, angle float64) {
	const golden = 0.6180339887498949
	a, b := hi-float64(golden*(hi-lo)), lo+float64(golden*(hi-lo))
	pa, pb := r.probability(a), r.probability(b)
	for range 20 { // to 1e-4 of the distance: the peak is flat
		if pa > pb {
			hi, b, pb = b, a, pa
			a = hi - float64(golden*(hi-lo))
			pa = r.probability(a)
		} else {
			lo, a, pa = a, b, pb
			b = lo + float64(golden*(hi-lo))
			pb = r.probability(b)
		}
	}
	if pa > pb {
		return pa, a
	}
	return pb, b
}

// probability returns the probability of the region when the share of
// discordant pairs has an angle. Their number s is binomial, and the wins
// among them are: the tails of the latter follow one from another as s grows.
// Numbers beyond seven standard errors, and twenty, are left out: they weigh less than 1e-11.
func (r region) probability(angle float64) float64 {
	n := float64(r.n)
	sin := math.Sin(angle)
	psi := min(float64(sin*sin), 1)
	win := 0.5
	if psi > 0 {
		win = min(max((psi+r.difference)/(2*psi), 0), 1)
	}
	mean := float64(n * psi)
	spread := float64(7*math.Sqrt(mean*(1-psi))) + 20
	first, last := max(0, int(mean-spread)), min(r.n, int(math.Ceil(mean+spread)))
	discordant, wins := r.binomial(psi), r.binomial(win)
	k := r.least[first]
	tail, sum := atLeast(k, first, win), 0.0
	for s := first; ; s++ {
		sum += float64(discordant.mass(s, r.n) * tail)
		if s == last {
			return sum
		}
		tail += float64(win * wins.mass(k-1, s)) // one more discordant pair, the same number of wins
		for ; k < r.least[s+1]; k++ {
			tail -= wins.mass(k, s+1)
		}
		for ; k > r.least[s+1]; k-- {
			tail += wins.mass(k-1, s+1)
		}
	}
}

// atLeast is P(B >= k) for B from Binomial(s, p).
func atLeast(k, s int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > s:
		return 0
	}
	return binomialAtLeast(k, s, p)
}

// binomial is the binomial distribution with one probability and any number of
// trials up to n.
type binomial struct {
	logFactorial []float64
	log, log1m   float64 // logarithms of the probability and its complement
}

func (t *exactTest) binomial(p float64) binomial {
	return binomial{t.logFactorial, math.Log(p), math.Log1p(-p)}
}

// mass is the probability of k successes in s trials.
func (b *binomial) mass(k, s int) float64 {
	if k < 0 || k > s {
		return 0
	}
	log := b.logFactorial[s] - b.logFactorial[k] - b.logFactorial[s-k]
	if k > 0 { // 0 times an infinite logarithm is 0 here
		log += float64(float64(k) * b.log)
	}
	if k < s {
		log += float64(float64(s-k) * b.log1m)
	}
	return math.Exp(log)
}

// PlanPairsExact is [PlanPairs] for [PairedExact], by doubling and bisection
// alone, for sizes up to [MaxExactPairs].
func PlanPairsExact(p Pairs, g Goal, margin, level float64) Plan {
	if p.Observed == 0 || p.Missing > 0 {
		return Plan{}
	}
	why := g.unsized(p.Difference(), margin)
	if why != NotUpToMax {
		return Plan{Why: why}
	}
	floor, _ := g.floor(margin)
	rulesOut := func(s Pairs) bool {
		return newExactTest(s.Wins, s.Losses, s.Observed).rulesOut(floor, tail(level))
	}
	clears := func(n int) bool {
		s := p.resize(n)
		return rulesOut(s) && (g != Equivalent || rulesOut(s.mirror()))
	}
	return total(smallest(clears, MaxExactPairs), p.Observed, why)
}
