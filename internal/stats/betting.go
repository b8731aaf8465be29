package stats

import (
	"math"
	"math/big"
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
	threshold := bettingThreshold(level)
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi { // the grid is finer than the doubles here
			break
		}
		if c.logCapital(missing, mid) >= threshold {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// logCapital returns log W(m) of the values, in [0, 1], and as many zeros as
// are missing, for m in (0, 1]. It decreases in m.
func (c counted) logCapital(missing int, m float64) float64 {
	var logs [bets]float64
	for j := range logs {
		f := fraction(j + 1)
		logs[j] = float64(float64(missing)*math.Log1p(-f)) + c.logGrowth(f, m)
	}
	return logMean(&logs)
}

// logGrowth returns the sum of log((1-f) + f*y/m). Factors that occur once
// are multiplied up first, because a logarithm costs ten multiplications.
func (c counted) logGrowth(f, m float64) float64 {
	// A factor lies in [1/21, 2^60], so eight of them neither overflow nor vanish.
	const batch = 8
	stay, gain := 1-f, f/m
	sum, product, exponent := 0.0, 1.0, 0
	pending := 0
	for i, y := range c.values {
		// The conversion forbids a fused multiply-add, which some machines
		// have and others have not: limits must not depend on it.
		g := stay + float64(gain*y)
		if n := c.counts[i]; n != 1 {
			sum += float64(float64(n) * math.Log(g))
			continue
		}
		product *= g
		if pending++; pending == batch {
			var e int
			product, e = math.Frexp(product)
			exponent += e
			pending = 0
		}
	}
	return sum + (math.Log(product) + float64(float64(exponent)*math.Ln2))
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
