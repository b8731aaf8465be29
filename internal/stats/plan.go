package stats

import (
	"math"
	"slices"
	"strconv"
)

// MaxPlan is the largest number of cases that planning looks at.
const MaxPlan = 100_000

// Plan says how many cases would decide a rule if the next ones go like those
// there are. The zero Plan has nothing to say: the size found is no larger
// than what there is, or there is nothing to project from.
type Plan struct {
	Total int     // cases in all, those there are included; 0: no size is given
	Why   Why     // why no size is given; 0 when Total is or nothing is said
	Reach float64 // with ResolveMissing: the limit reached when every missing case turns out well
}

// Why says why a plan gives no size.
type Why uint8

// The reasons. The zero value is none.
const (
	PastThreshold  Why = iota + 1 // the estimate lies beyond the threshold: more cases move the rule toward FAIL
	AtThreshold                   // the estimate meets the threshold, and a limit never clears what the estimate only meets
	ResolveMissing                // resolving the missing cases alone could decide the rule
	MissingShare                  // missing cases, at this share, hold the limit back at every size
	NotUpToMax                    // no size up to MaxPlan, or MaxExactPairs, clears
)

// total is the plan for a size that clears, 0 for none, when there are n cases.
func total(size, n int, unsized Why) Plan {
	switch {
	case size == 0:
		return Plan{Why: unsized}
	case size <= n:
		return Plan{}
	}
	return Plan{Total: size}
}

// PlanRate plans a rule on a rate: passed of observed cases passed. A sample
// of N is assumed to have as many passes as the share of those there are comes
// to, rounded half to even; missing cases stay missing at their share, and are
// counted at their worst.
func PlanRate(passed, observed, missing int, threshold float64, d Direction, level float64) Plan {
	if observed == 0 {
		return Plan{}
	}
	n, t := observed+missing, tail(level)
	if missing > 0 {
		if d == AtLeast && rateLowerReaches(passed+missing, n, t, threshold) {
			return Plan{Why: ResolveMissing, Reach: rateLower(passed+missing, n, t)}
		}
		if d == AtMost && rateUpperWithin(passed, n, t, threshold) {
			return Plan{Why: ResolveMissing, Reach: rateUpper(passed, n, t)}
		}
	}
	var clears func(size int) bool
	var same func(a, b int) bool
	// With missing cases the rate is taken from doubles, as in [Pairs.resize].
	share := float64(missing) / float64(n)
	rate := float64(float64(passed) / float64(observed) * (1 - share))
	project := func(rate float64, size, count int) int {
		if missing == 0 {
			return roundHalfEven(size, count, n)
		}
		return int(math.RoundToEven(rate * float64(size)))
	}
	if d == AtLeast {
		passes := func(size int) int { return project(rate, size, passed) }
		clears = func(size int) bool { return rateLowerReaches(passes(size), size, t, threshold) }
		same = func(a, b int) bool { return a-passes(a) == b-passes(b) }
	} else {
		passes := func(size int) int { return project(rate+share, size, passed+missing) }
		clears = func(size int) bool { return rateUpperWithin(passes(size), size, t, threshold) }
		same = func(a, b int) bool { return passes(a) == passes(b) }
	}
	// A larger sample with no more cases that speak against the rule is better.
	why := unsized(float64(passed)/float64(observed), threshold, 0, 1, d)
	if why == NotUpToMax && missing > 0 {
		why = MissingShare
	}
	return total(settled(clears, same), n, why)
}

// unsized says why no size clears: both are compared to three decimals of the
// range [lo, hi].
func unsized(estimate, threshold, lo, hi float64, d Direction) Why {
	decimals := func(x float64) string { return strconv.FormatFloat((x-lo)/(hi-lo), 'f', 3, 64) }
	switch {
	case decimals(estimate) == decimals(threshold):
		return AtThreshold
	case d == AtLeast && estimate < threshold, d == AtMost && estimate > threshold:
		return PastThreshold
	}
	return NotUpToMax
}

// PlanMean plans a rule on a mean of values in [lo, hi]. A sample of N is
// assumed to hold whole copies of the values and, for the rest, values at
// evenly spaced ranks. With missing values it has nothing to say.
func PlanMean(values []float64, missing int, lo, hi, threshold float64, d Direction, level float64) Plan {
	if len(values) == 0 || missing > 0 {
		return Plan{}
	}
	t := newTile(values)
	clears := func(size int) bool { return t.sample(size).clears(lo, hi, threshold, d, false, level) }
	return total(smallest(clears, MaxPlan), len(values), unsized(Estimate(values), threshold, lo, hi, d))
}

// PlanQuantile plans a ceiling on the q quantile of values, with samples like
// those of [PlanMean]. With missing values it has nothing to say.
func PlanQuantile(values []float64, missing int, q, ceiling, level float64) Plan {
	if len(values) == 0 || missing > 0 {
		return Plan{}
	}
	t := newTile(values)
	clears := func(size int) bool {
		_, rank := quantileRanks(size, q, level)
		within := 0
		s := t.sample(size)
		for i, v := range s.values {
			if v <= ceiling {
				within += s.counts[i]
			}
		}
		return rank <= within
	}
	why := NotUpToMax
	switch estimate := QuantileEstimate(values, q); {
	case estimate == ceiling:
		why = AtThreshold
	case estimate > ceiling:
		why = PastThreshold
	}
	return total(smallest(clears, MaxPlan), len(values), why)
}

// Goal is what a comparison should show of a paired difference, candidate
// minus baseline, where more is better.
type Goal uint8

// The goals. The zero value is invalid.
const (
	NonInferior Goal = iota + 1 // lower limit at or above -margin
	Superior                    // lower limit above 0
	Equivalent                  // both limits strictly within -margin and margin
)

// floor is what the lower limit must reach, or exceed when strict.
func (g Goal) floor(margin float64) (floor float64, strict bool) {
	switch g {
	case Superior:
		return 0, true
	case Equivalent:
		return -margin, true
	}
	return -margin, false
}

// Met reports whether an interval for the difference shows the goal.
func (g Goal) Met(i Interval, margin float64) bool {
	floor, strict := g.floor(margin)
	if g == Equivalent && i.Upper >= margin {
		return false
	}
	return i.Lower > floor || !strict && i.Lower == floor
}

// unsized says why no size shows the goal.
func (g Goal) unsized(difference, margin float64) Why {
	floor, _ := g.floor(margin)
	if g == Equivalent && difference > 0 {
		difference = -difference
	}
	switch {
	case difference < floor:
		return PastThreshold
	case difference == floor:
		return AtThreshold
	}
	return NotUpToMax
}

// PlanPairs plans a comparison of pass/fail judgments by the betting interval.
// A sample of N pairs is assumed to have as many wins, and as many losses, as
// their share of the pairs there are comes to, each rounded half to even. With
// missing pairs it has nothing to say.
func PlanPairs(p Pairs, g Goal, margin, level float64) Plan {
	floor, strict := g.floor(margin)
	lower := newVerdictLine(floor, strict, level)
	clears := func(s Pairs) bool {
		return lower.clears(s) && (g != Equivalent || lower.clears(s.mirror()))
	}
	return planPairs(p, g, margin, clears)
}

// PlanPairsConditionalExact is [PlanPairs] for [PairedConditionalExact].
func PlanPairsConditionalExact(p Pairs, g Goal, margin, level float64) Plan {
	return planPairs(p, g, margin, func(s Pairs) bool { return g.Met(PairedConditionalExact(s, level), margin) })
}

func planPairs(p Pairs, g Goal, margin float64, clears func(Pairs) bool) Plan {
	if p.Observed == 0 || p.Missing > 0 {
		return Plan{}
	}
	why := g.unsized(p.Difference(), margin)
	if why != NotUpToMax {
		return Plan{Why: why} // no need to look
	}
	// For the same wins and losses more ties are better: at a mean below one
	// half they raise the capital, and they lower the share of discordant pairs.
	size := settled(
		func(n int) bool { return clears(p.resize(n)) },
		func(a, b int) bool {
			x, y := p.resize(a), p.resize(b)
			return x.Wins == y.Wins && x.Losses == y.Losses
		})
	return total(size, p.Observed, why)
}

// resize returns n pairs in the observed proportions, taken from the doubles of
// the discordance and the difference: the Python tool rounds those, and a share
// of one half that is a bit off can move a size by one.
func (p Pairs) resize(n int) Pairs {
	share, difference := p.Discordance(), p.Difference()
	wins := int(math.RoundToEven(float64(n) * (share + difference) / 2))
	losses := int(math.RoundToEven(float64(n) * (share - difference) / 2))
	// Both halves of an odd number may be rounded up: 3 pairs of 1 win and 1 loss in 2.
	return Pairs{Wins: wins, Losses: min(losses, n-wins), Observed: n}
}

// PlanPairedScores plans a comparison of scores, with samples of differences
// like those of [PlanMean]. With missing pairs it has nothing to say.
func PlanPairedScores(differences []float64, missing int, width float64, g Goal, margin, level float64) Plan {
	if len(differences) == 0 || missing > 0 {
		return Plan{}
	}
	why := g.unsized(Estimate(differences), margin)
	if why != NotUpToMax {
		return Plan{Why: why}
	}
	floor, strict := g.floor(margin)
	t := newTile(differences)
	clears := func(size int) bool {
		s := t.sample(size)
		return s.clears(-width, width, floor, AtLeast, strict, level) &&
			(g != Equivalent || s.clears(-width, width, -floor, AtMost, strict, level))
	}
	return total(smallest(clears, MaxPlan), len(differences), why)
}

// smallest returns a size that clears, found by doubling from 1 up to most and
// bisection of the last bracket, and 0 when none of those does.
func smallest(clears func(size int) bool, most int) int {
	lo, hi := 0, 1
	for !clears(hi) {
		if hi == most {
			return 0
		}
		lo, hi = hi, min(2*hi, most)
	}
	return firstTrue(lo+1, hi-1, clears)
}

// settled returns the size after which every size looked at clears, and 0 when
// there is none. Rounding makes sizes clear and then fail again: from the
// smallest one it walks on, as far again as there are cases but at least 64
// and at most 2,048, and starts anew after each size that does not clear.
//
// Sizes a < b are the same when the sample of b is that of a with more cases
// that speak for the rule: if a clears, so do the sizes from a to b, and only the
// ends of such a stretch are looked at.
func settled(clears func(size int) bool, same func(a, b int) bool) int {
	answer := smallest(clears, MaxPlan)
	if answer == 0 {
		return 0
	}
	reach := func(size int) int { return min(size+min(max(size, 64), 2048), MaxPlan) }
	last := reach(answer)
	for n := answer + 1; n <= last; {
		end := n
		for end < last && same(n, end+1) {
			end++
		}
		if !clears(n) {
			answer = firstTrue(n+1, end, clears)
			last = max(last, reach(answer))
		}
		n = end + 1
	}
	if answer > MaxPlan {
		return 0
	}
	return answer
}

// tile makes samples of any size that look like the one observed.
type tile struct {
	sorted  []float64
	counted counted
}

func newTile(values []float64) tile {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return tile{sorted, count(sorted)}
}

// sample returns n values: whole copies of the observed ones and, for the rest,
// the values at evenly spaced ranks, midway between two where a rank is.
func (t tile) sample(n int) counted {
	size := len(t.sorted)
	copies, rest := n/size, n%size
	extra := make([]float64, rest)
	for i := range extra {
		// Rank (i + 1/2) * size/rest - 1/2, from 0, as a fraction over 2*rest.
		num := (2*i+1)*size - rest
		rank, part := num/(2*rest), num%(2*rest)
		switch {
		case part < rest:
			extra[i] = t.sorted[rank]
		case part > rest:
			extra[i] = t.sorted[rank+1]
		default:
			extra[i] = t.sorted[rank] + (t.sorted[rank+1]-t.sorted[rank])/2
		}
	}
	c := t.counted.times(copies)
	return c.plus(count(extra))
}

// times multiplies the counts.
func (c counted) times(n int) counted {
	counts := make([]int, len(c.counts))
	for i, k := range c.counts {
		counts[i] = k * n
	}
	return counted{c.values, counts}
}

// plus merges two multisets and drops values that do not occur.
func (c counted) plus(d counted) counted {
	var sum counted
	add := func(v float64, n int) {
		if n > 0 {
			sum.values, sum.counts = append(sum.values, v), append(sum.counts, n)
		}
	}
	i, j := 0, 0
	for i < len(c.values) || j < len(d.values) {
		switch {
		case j == len(d.values), i < len(c.values) && c.values[i] < d.values[j]:
			add(c.values[i], c.counts[i])
			i++
		case i == len(c.values), d.values[j] < c.values[i]:
			add(d.values[j], d.counts[j])
			j++
		default:
			add(c.values[i], c.counts[i]+d.counts[j])
			i, j = i+1, j+1
		}
	}
	return sum
}

// clears reports whether the limit of [Mean] for values in [lo, hi] reaches
// threshold, on the side of d, or lies beyond it when strict.
func (c counted) clears(lo, hi, threshold float64, d Direction, strict bool, level float64) bool {
	unit := c.unit(lo, hi)
	if d == AtMost {
		unit = c.mirror(lo, hi)
		lo, hi, threshold = -hi, -lo, -threshold
	}
	g := line{lo, hi, threshold, strict, level}
	return g.cleared(unit.factors(0).logCapital, func() float64 { return unit.bettingLimit(0, level) })
}

// verdictLine is a line for the lower limit of paired verdicts, with the
// logarithms of what a loss, a tie and a win multiply each bettor's capital by
// at that line: they are the same for every number of pairs.
type verdictLine struct {
	line
	loss, tie, win [bets]float64
}

func newVerdictLine(floor float64, strict bool, level float64) *verdictLine {
	v := &verdictLine{line: line{-1, 1, floor, strict, level}}
	m := v.mean()
	for j := range bets {
		f := fraction(j + 1)
		v.loss[j] = math.Log(1 - f)
		v.tie[j] = math.Log(1 - f + float64(f/m)*0.5)
		v.win[j] = math.Log(1 - f + f/m)
	}
	return v
}

// clears reports whether the lower limit of [PairedVerdicts] clears the line.
func (v *verdictLine) clears(p Pairs) bool {
	capital := func(float64) float64 {
		var logs [bets]float64
		losses, ties, wins := float64(p.Losses), float64(p.ties()), float64(p.Wins)
		for j := range logs {
			logs[j] = float64(losses*v.loss[j]) + float64(ties*v.tie[j]) + float64(wins*v.win[j])
		}
		return logMean(&logs)
	}
	return v.cleared(capital, func() float64 { return p.counted().bettingLimit(0, v.level) })
}
