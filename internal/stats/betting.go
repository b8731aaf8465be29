package stats

import (
	"math"
	"math/big"
	"slices"
)

// Mean returns the betting interval of the mean of values in [lo, hi], of
// which missing more should have been observed.
//
// On the unit scale, 20 bettors stake the fractions f = j/21, j = 1..20, of
// their capital on "the mean exceeds m": after the values y their mean capital
// is W(m) = mean over f of the product of (1-f) + f*y/m. If m is the mean,
// W(m) has expectation at most 1, so by Markov's inequality it reaches
// 2/(1-level) with a probability of at most (1-level)/2. The lower limit is
// the largest m, on a grid of 2^-60, at which it does; the upper limit is the
// mirror image. A missing value is the worst one for each limit.
//
// Above 5,000 distinct values each is first rounded outward to a multiple of
// 1e-4 of the range.
//
// Source: Waudby-Smith and Ramdas, "Estimating means of bounded random
// variables by betting", JRSSB 86 (2024), with constant bets and at a fixed
// number of observations.
func Mean(values []float64, missing int, lo, hi, level float64) Interval {
	c := count(values)
	return Interval{
		Lower: scaleDown(lo, hi, c.unit(lo, hi).bettingLimit(missing, level)),
		Upper: scaleUp(lo, hi, c.mirror(lo, hi).bettingLimit(missing, level)),
	}
}

// MeanAtLeast returns a lower limit of the mean of values that are at least 0
// and may be arbitrarily large, of which missing more should have been observed;
// there is no upper limit. It is the lower limit of [Mean], which needs no
// largest value: the expectation of W(m) is at most 1 for every mean of up to m,
// whatever the values, as long as none is negative. That no upper limit exists
// without a largest value is due to Bahadur and Savage, "The nonexistence of
// certain statistical procedures in nonparametric problems", Ann. Math. Statist.
// 27 (1956).
func MeanAtLeast(values []float64, missing int, level float64) Interval {
	i := Interval{Upper: math.Inf(1)}
	largest := 0.0
	for _, v := range values {
		largest = max(largest, v)
	}
	if largest > 0 {
		// The largest value is a unit of measure only: the limit follows it.
		i.Lower = scaleDown(0, largest, count(values).unit(0, largest).bettingLimit(missing, level))
	}
	return i
}

// bets is the number of bettors; bettor j stakes the fraction j/(bets+1).
const bets = 20

// fraction is what bettor j = 1..bets stakes.
func fraction(j int) float64 { return float64(j) / (bets + 1) }

// bettingThreshold is the logarithm of the capital that rules out a mean.
// The 1e-9 keeps it clear of rounding, outward.
func bettingThreshold(level float64) float64 { return math.Log(2/(1-level)) + 1e-9 }

// unit maps values in [lo, hi] to [0, 1]; mirror does so upside down. Where
// there are too many distinct values they are rounded down.
func (c counted) unit(lo, hi float64) counted {
	y := make([]float64, len(c.values))
	for i, v := range c.values {
		y[i] = (v - lo) / (hi - lo)
	}
	return counted{y, c.counts}.coarse()
}

func (c counted) mirror(lo, hi float64) counted {
	n := len(c.values)
	m := counted{make([]float64, n), make([]int, n)}
	for i, v := range c.values {
		m.values[n-1-i] = (hi - v) / (hi - lo)
		m.counts[n-1-i] = c.counts[i]
	}
	return m.coarse()
}

// coarse rounds down to multiples of 1e-4 when there are more than 5,000
// distinct values: the cost of a limit grows with their number.
func (c counted) coarse() counted {
	const most, steps = 5000, 1e4
	if len(c.values) <= most {
		return c
	}
	var r counted
	for i, v := range c.values {
		down := math.Floor(v*steps) / steps
		if n := len(r.values); n > 0 && r.values[n-1] == down {
			r.counts[n-1] += c.counts[i]
			continue
		}
		r.values = append(r.values, down)
		r.counts = append(r.counts, c.counts[i])
	}
	return r
}

// bettingLimit returns the largest m in [0, 1) that the values, in [0, 1],
// and as many zeros as are missing rule out from above; 0 when they rule out none.
func (c counted) bettingLimit(missing int, level float64) float64 {
	threshold, factors := bettingThreshold(level), c.factors(missing)
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi { // the grid is finer than the doubles here
			break
		}
		if factors.logCapital(mid) >= threshold {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// factors are values on the unit scale, grouped by how often each occurs.
type factors []repeated

// repeated holds values that occur count times each.
type repeated struct {
	count  int
	values []float64
}

// factors groups the values, with as many zeros as are missing, by their counts.
func (c counted) factors(missing int) factors {
	order := make([]int, 0, len(c.values))
	for i, n := range c.counts {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return c.counts[i] - c.counts[j] })
	var f factors
	if missing > 0 {
		f = append(f, repeated{missing, []float64{0}})
	}
	for k, i := range order {
		if k == 0 || c.counts[order[k-1]] != c.counts[i] {
			f = append(f, repeated{count: c.counts[i]})
		}
		last := &f[len(f)-1]
		last.values = append(last.values, c.values[i])
	}
	return f
}

// logCapital returns log W(m) for m in (0, 1]. It decreases in m.
func (f factors) logCapital(m float64) float64 {
	var logs [bets]float64
	for j := range logs {
		stake := fraction(j + 1)
		for _, r := range f {
			logs[j] += float64(float64(r.count) * logGrowth(r.values, stake, m))
		}
	}
	return logMean(&logs)
}

// logGrowth returns the logarithm of the product of (1-f) + f*y/m over the
// values y: by multiplication, which is ten times faster than adding logarithms.
func logGrowth(values []float64, f, m float64) float64 {
	// A factor lies in [1/21, 2^60], so eight of them neither overflow nor vanish.
	const batch = 8
	stay, gain := 1-f, f/m
	product, exponent := 1.0, 0
	for i, y := range values {
		// The conversion forbids a fused multiply-add, which some machines
		// have and others have not: limits must not depend on it.
		product *= stay + float64(gain*y)
		if i%batch == batch-1 {
			var e int
			product, e = math.Frexp(product)
			exponent += e
		}
	}
	return math.Log(product) + float64(float64(exponent)*math.Ln2)
}

// logMean returns the logarithm of the mean of exp(logs).
func logMean(logs *[bets]float64) float64 {
	most := logs[0]
	for _, l := range logs[1:] {
		most = max(most, l)
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum/bets)
}

// line is what a lower limit, on the scale [lo, hi], is compared with.
type line struct {
	lo, hi    float64
	threshold float64
	strict    bool // the limit must exceed the threshold, not only reach it
	level     float64
}

// mean is the threshold on the unit scale.
func (l line) mean() float64 { return (l.threshold - l.lo) / (l.hi - l.lo) }

// cleared reports whether a limit clears the line. The capital at the line
// answers that in one step: it decreases in the mean, so the limit lies above
// the line where the capital exceeds what rules a mean out. Only where the
// two are too close to tell, in view of rounding, is the limit computed.
//
// The distance is safe: the logarithm of the capital of n observations has an
// error below 1e-8 for n up to 1e6, and changes by at most n per unit of
// log m, so at a distance of 1e-6 the limit lies at least 1e-12 of m away.
func (l line) cleared(logCapital func(m float64) float64, limit func() float64) bool {
	const distance, least = 1e-6, 1e-3
	if m := l.mean(); m > least && m < 1 {
		switch over := logCapital(m) - bettingThreshold(l.level); {
		case over > distance:
			return true
		case over < -distance:
			return false
		}
	}
	at := scaleDown(l.lo, l.hi, limit())
	return at > l.threshold || !l.strict && at == l.threshold
}

// scaleDown maps m in [0, 1] to lo + (hi-lo)*m, rounded down.
func scaleDown(lo, hi, m float64) float64 {
	f, exact := scale(lo, hi, m)
	if new(big.Rat).SetFloat64(f).Cmp(exact) > 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// scaleUp maps m in [0, 1] to hi - (hi-lo)*m, rounded up.
func scaleUp(lo, hi, m float64) float64 { return -scaleDown(-hi, -lo, m) }

// scale returns lo + (hi-lo)*m, and the nearest double to it.
func scale(lo, hi, m float64) (float64, *big.Rat) {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	exact := rat(hi)
	exact.Sub(exact, rat(lo))
	exact.Mul(exact, rat(m))
	exact.Add(exact, rat(lo))
	f, _ := exact.Float64()
	return f, exact
}
