package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Rate returns the Clopper-Pearson interval of a rate: passed of observed
// cases passed, and the missing ones count as failures for the lower limit and
// as passes for the upper one. With n = observed + missing and a = 1 - level,
// the limits are the a/2 quantile of Beta(passed, n-passed+1) and the 1-a/2
// quantile of Beta(passed+missing+1, n-passed-missing); 0 and 1 at the ends,
// and [0, 1] without a case.
//
// Source: Clopper and Pearson, "The use of confidence or fiducial limits
// illustrated in the case of the binomial", Biometrika 26 (1934).
func Rate(passed, observed, missing int, level float64) Interval {
	n := observed + missing
	return Interval{
		Lower: rateLower(passed, n, tail(level)),
		Upper: rateUpper(passed+missing, n, tail(level)),
	}
}

// rateLower returns the largest rate that x or more passes of n rule out from
// above, each side erring with probability tail.
func rateLower(x, n int, tail float64) float64 {
	switch x {
	case 0:
		return 0
	case n:
		return math.Pow(tail, 1/float64(n))
	}
	return betaQuantile(tail, float64(x), float64(n-x+1), float64(x)/float64(n))
}

// rateUpper is the mirror image of rateLower.
func rateUpper(x, n int, tail float64) float64 { return 1 - rateLower(n-x, n, tail) }

// betaQuantile returns a p just below the tail quantile of Beta(a, b), at a
// relative distance of at most 2^-44, which is known to lie in (0, most].
//
// It bisects on the distribution function, because mathext.InvRegIncBeta is
// wrong for tails below about 1e-5 and a+b above about 12,000: the inverse
// only proposes where to look, and a proposal that does not hold is dropped.
func betaQuantile(tail, a, b, most float64) float64 {
	below := func(p float64) bool { return mathext.RegIncBeta(a, b, p) <= tail }
	lo, hi := 0.0, most
	const near = 0x1p-33
	if g := mathext.InvRegIncBeta(a, b, tail); g > 0 && g < most {
		if p := g * (1 - near); below(p) {
			lo = p
		}
		if p := g * (1 + near); p < most && !below(p) {
			hi = p
		}
	}
	const width = 0x1p-44
	for hi-lo > width*hi {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// clearance is the relative distance from a tail probability at which a
// comparison no longer depends on the rounding of mathext.RegIncBeta, whose
// relative error is below 1e-9 for all n up to 1e6.
const clearance = 1e-6

// rateLowerReaches reports whether rateLower(x, n, tail) >= threshold. It
// looks at the tail probability at the threshold, which is increasing in the
// rate, and computes the limit only where that is too close to call.
func rateLowerReaches(x, n int, tail, threshold float64) bool {
	if x > 0 && x < n && threshold > 0 && threshold < 1 {
		p := mathext.RegIncBeta(float64(x), float64(n-x+1), threshold)
		switch {
		case p < tail*(1-clearance):
			return true
		case p > tail*(1+clearance):
			return false
		}
	}
	return rateLower(x, n, tail) >= threshold
}

// rateUpperWithin reports whether rateUpper(x, n, tail) <= threshold.
func rateUpperWithin(x, n int, tail, threshold float64) bool {
	if x > 0 && x < n && threshold > 0 && threshold < 1 {
		p := mathext.RegIncBeta(float64(n-x), float64(x+1), 1-threshold)
		switch {
		case p < tail*(1-clearance):
			return true
		case p > tail*(1+clearance):
			return false
		}
	}
	return rateUpper(x, n, tail) <= threshold
}

// RateReach says what a rule on a rate can decide with a number of cases, all
// of them observed. A rule AtLeast a threshold passes with PassAt passes or
// more and fails with FailAt or fewer; a rule AtMost one passes with PassAt or
// fewer and fails with FailAt or more.
type RateReach struct {
	PassAt int     // passes; -1: the rule can never pass
	FailAt int     // passes; -1: the rule can never fail
	Best   float64 // the limit that a perfect result reaches
	Needs  int     // fewest cases with which a perfect result passes; 0: none does
}

// ReachRate returns what a rule on a rate can decide with n cases.
func ReachRate(n int, threshold float64, d Direction, level float64) RateReach {
	t := tail(level)
	passes := func(x, n int) bool { return rateLowerReaches(x, n, t, threshold) }
	fails := func(x int) bool { return rateUpper(x, n, t) < threshold }
	if d == AtMost {
		// The mirror image: failures take the place of passes.
		passes = func(x, n int) bool { return rateUpperWithin(n-x, n, t, threshold) }
		fails = func(x int) bool { return rateLower(n-x, n, t) > threshold }
	}
	r := RateReach{PassAt: -1, FailAt: -1, Needs: perfectNeeds(passes)}
	if n > 0 {
		// Both limits increase with x, so each verdict has one turning point.
		if x := firstTrue(0, n, func(x int) bool { return passes(x, n) }); x <= n {
			r.PassAt = x
		}
		r.FailAt = firstTrue(0, n, func(x int) bool { return !fails(x) }) - 1
	}
	r.Best = 0
	if n > 0 {
		r.Best = rateLower(n, n, t)
	}
	if d == AtMost {
		r.Best = 1 - r.Best
		if r.PassAt >= 0 {
			r.PassAt = n - r.PassAt
		}
		if r.FailAt >= 0 {
			r.FailAt = n - r.FailAt
		}
	}
	return r
}

// perfectNeeds returns the fewest cases, up to 2^30, of which all must pass
// for passes(n, n) to hold, and 0 if there is no such number.
func perfectNeeds(passes func(x, n int) bool) int {
	const most = 1 << 30
	n := firstTrue(1, most, func(n int) bool { return passes(n, n) })
	if n > most {
		return 0
	}
	return n
}

// firstTrue returns the smallest i in [lo, hi] with holds(i), which must be
// false and then true over the range, and hi+1 when there is none.
func firstTrue(lo, hi int, holds func(int) bool) int {
	for lo <= hi {
		mid := lo + (hi-lo)/2
		if holds(mid) {
			hi = mid - 1
		} else {
			lo = mid + 1
		}
	}
	return lo
}
