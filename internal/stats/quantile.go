package stats

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mathext"
)

// Quantile returns the order-statistic interval of the q quantile, q in
// (0, 1), of values, of which missing more should have been observed. With B
// from Binomial(n, q), n = observed + missing, and a = 1 - level, the limits
// are the l-th and the u-th smallest value: l the largest rank with
// P(B <= l-1) <= a/2, u the smallest with P(B >= u) <= a/2. A missing value
// lies below all others for the lower limit, above them for the upper one. A
// limit without a rank, or whose rank is a missing value, is no bound.
//
// Source: David and Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1.
func Quantile(values []float64, missing int, q, level float64) Interval {
	if !slices.IsSorted(values) {
		values = slices.Clone(values)
		slices.Sort(values)
	}
	i := noBound()
	lower, upper := quantileRanks(len(values)+missing, q, level)
	if lower > missing {
		i.Lower = values[lower-missing-1]
	}
	if upper <= len(values) {
		i.Upper = values[upper-1]
	}
	return i
}

// quantileRanks returns the ranks, from 1, of the limits of the q quantile of
// n values: 0 and n+1 when there is no such rank.
func quantileRanks(n int, q, level float64) (lower, upper int) {
	// A tail that is equal on paper must not be lost to rounding, outward.
	t := tail(level) * (1 - 1e-9)
	lower = firstTrue(1, n, func(l int) bool { return binomialAtMost(l-1, n, q) > t }) - 1
	upper = firstTrue(1, n, func(u int) bool { return binomialAtLeast(u, n, q) <= t })
	return lower, upper
}

// binomialAtLeast is P(B >= k) for B from Binomial(n, p), 1 <= k <= n.
func binomialAtLeast(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// binomialAtMost is P(B <= k) for B from Binomial(n, p), 0 <= k < n.
func binomialAtMost(k, n int, p float64) float64 {
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

// QuantileEstimate returns the ceil(q*n)-th smallest of n values, q in (0, 1)
// read as the decimal that it is written as. It needs at least one value.
func QuantileEstimate(values []float64, q float64) float64 {
	if !slices.IsSorted(values) {
		values = slices.Clone(values)
		slices.Sort(values)
	}
	return values[quantileRank(len(values), q)-1]
}

// quantileRank returns ceil(q*n), at least 1, with q read as a decimal: 0.1 of
// 30 is rank 3, although the double 0.1 lies above a tenth.
func quantileRank(n int, q float64) int {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(q, 'g', -1, 64))
	if !ok { // not a finite number
		return int(math.Max(1, math.Ceil(q*float64(n))))
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(n)))
	whole, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	rank := int(whole.Int64())
	if rest.Sign() > 0 {
		rank++
	}
	return max(1, min(rank, n))
}
