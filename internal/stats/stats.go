// Package stats computes confidence intervals, and the number of cases that
// would decide a rule. Numbers in, numbers out: it knows nothing of cases,
// criteria or policies, and uses no randomness, so that the same observations
// give the same limits in whatever order they came.
//
// # Guarantees
//
// Every interval is two-sided at a confidence level: each limit errs with a
// probability of at most (1 - level) / 2, for every number of independent
// observations, without a normal approximation. Missing observations are
// counted at their worst for each limit, so that a limit holds whatever they
// would have been.
//
// Limits err outward. A rule is decided by comparing the limit, as returned,
// with its threshold; planning asks the same question of larger samples and
// gives the same answer as computing the limit would.
//
// Levels lie in (0, 1), counts are not negative, values are finite; the caller
// has checked that.
package stats

import "math"

// Method ids, one for each way to compute an interval. The number after the @
// changes when the limits of a method change.
const (
	MethodRate             = "clopper_pearson_missing_bounded@1"
	MethodMean             = "bounded_mean_betting_mixture@1"
	MethodMeanAtLeast      = "nonnegative_mean_betting_mixture@1"
	MethodQuantile         = "order_statistic_quantile@1"
	MethodPaired           = "bounded_paired_difference@1"
	MethodConditionalExact = "conditional_exact_paired_difference@1"
	MethodExact            = "exact_unconditional@1"
	MethodPairedQuantile   = "order_statistic_paired_difference@1"
)

// Interval is a two-sided confidence interval. A limit of minus or plus
// infinity is no bound.
type Interval struct {
	Lower, Upper float64
}

// Direction says on which side of its threshold a value should lie.
type Direction uint8

// The directions. The zero value is invalid.
const (
	AtLeast Direction = iota + 1 // a floor: the lower limit must reach it
	AtMost                       // a ceiling: the upper limit must not exceed it
)

// tail is the probability that one limit may err with.
func tail(level float64) float64 { return (1 - level) / 2 }

// roundHalfEven returns n*num/den rounded to the nearest integer, halves to
// the even one. All arguments are at least 0, den is not 0, and n*num fits.
func roundHalfEven(n, num, den int) int {
	q, r := n*num/den, n*num%den
	if 2*r > den || 2*r == den && q%2 == 1 {
		q++
	}
	return q
}

// noBound is the interval that excludes nothing.
func noBound() Interval { return Interval{Lower: math.Inf(-1), Upper: math.Inf(1)} }
