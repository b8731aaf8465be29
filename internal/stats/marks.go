package stats

import (
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// The p values of slices lie on a grid: they are found by bisection between
// these ends, to within their distance from 0.
const (
	smallestP = 1e-4
	largestP  = 1 - 1e-4
)

// SlicePValue returns the smallest a at which the interval of [Rate] at level
// 1-a excludes the rate of the whole run, taken as known: found by bisection
// to within 1e-4, at least 1e-4, and 1 when none excludes it.
func SlicePValue(passed, observed, missing int, overall float64) float64 {
	n := observed + missing
	// Twice the tail probabilities of the two limits at the overall rate.
	extreme := min(
		rateTail(passed, n, overall),
		rateTail(n-passed-missing, n, 1-overall),
	) * 2
	excludes := func(a float64) bool { return extreme < a }
	switch {
	case !excludes(largestP):
		return 1
	case excludes(smallestP):
		return smallestP
	}
	lo, hi := smallestP, largestP
	for hi-lo > smallestP {
		if mid := lo + (hi-lo)/2; excludes(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// rateTail is the probability of x or more passes of n at a rate.
func rateTail(x, n int, rate float64) float64 {
	switch {
	case x == 0 || rate >= 1:
		return 1
	case rate <= 0:
		return 0
	}
	return mathext.RegIncBeta(float64(x), float64(n-x+1), rate)
}

// FalseDiscoveryRate is the share of marked slices that may be marked by
// chance alone, on average.
const FalseDiscoveryRate = 0.1

// Marks returns which of m p values are marked at [FalseDiscoveryRate], whatever
// their dependence: with the p values in ascending order and H the m-th harmonic number, all up
// to the last one with p <= i/m * rate / H.
//
// Source: Benjamini and Yekutieli, "The control of the false discovery rate in
// multiple testing under dependency", Annals of Statistics 29 (2001), theorem 1.3.
func Marks(p []float64) []bool {
	ordered := slices.Clone(p)
	slices.Sort(ordered)
	m, harmonic := float64(len(p)), 0.0
	for i := range p {
		harmonic += 1 / float64(i+1)
	}
	marked := make([]bool, len(p))
	for i := len(ordered) - 1; i >= 0; i-- {
		if ordered[i] > float64(i+1)/m*FalseDiscoveryRate/harmonic {
			continue
		}
		for k := range p {
			marked[k] = p[k] <= ordered[i]
		}
		break
	}
	return marked
}
