package stats

import (
	"math/big"
	"slices"
)

// Estimate returns the mean of values: their exact sum over their number,
// rounded once, so that it depends neither on their order nor on the machine.
// It needs at least one value.
func Estimate(values []float64) float64 {
	// 2,200 bits hold every sum of doubles exactly: exponents from -1074 to
	// 1023 and the carry of 2^64 terms.
	sum, term := new(big.Float).SetPrec(2200), new(big.Float)
	for _, v := range values {
		sum.Add(sum, term.SetFloat64(v))
	}
	mean, _ := sum.Rat(nil)
	mean.Quo(mean, new(big.Rat).SetInt64(int64(len(values))))
	f, _ := mean.Float64()
	return f
}

// counted is a multiset of numbers: distinct values in ascending order, each
// with how often it occurs.
type counted struct {
	values []float64
	counts []int
}

// count returns the values of a slice, in any order, with their counts.
func count(values []float64) counted {
	if !slices.IsSorted(values) {
		values = slices.Clone(values)
		slices.Sort(values)
	}
	var c counted
	for _, v := range values {
		if n := len(c.values); n > 0 && c.values[n-1] == v {
			c.counts[n-1]++
			continue
		}
		c.values = append(c.values, v)
		c.counts = append(c.counts, 1)
	}
	return c
}
