package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMeanAtLeastCoverage enumerates samples of three values, one of them far
// and rare: the lower limit errs no more often than the level allows, and there
// is no upper one.
func TestMeanAtLeastCoverage(t *testing.T) {
	values := []float64{0, 1, 50}
	for _, n := range []int{1, 5, 12} {
		for _, far := range []float64{0.001, 0.02, 0.2} {
			for _, near := range []float64{0.1, 0.5, 0.75} {
				mean, errs := near*values[1]+far*values[2], 0.0
				for w := range n + 1 {
					for l := range n + 1 - w {
						sample := slices.Concat(slices.Repeat(values[:1], n-w-l), slices.Repeat(values[1:2], w), slices.Repeat(values[2:], l))
						i := MeanAtLeast(sample, 0, 0.95)
						if !math.IsInf(i.Upper, 1) {
							t.Fatalf("%v has the upper limit %v", sample, i.Upper)
						}
						if i.Lower > mean {
							errs += trinomial(w, l, n, near, far)
						}
					}
				}
				if errs > tail(0.95)+slack {
					t.Errorf("n %d, far %v, near %v: the lower limit errs with %v", n, far, near, errs)
				}
			}
		}
	}
}

// The limit follows the unit of measure, lies at or below the mean, and is the
// lower limit of the mean with any largest value that is at least that of the sample.
func TestMeanAtLeastLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 30).Draw(t, "values")
		missing := rapid.IntRange(0, 3).Draw(t, "missing")
		lower := MeanAtLeast(values, missing, 0.95).Lower
		if lower > Estimate(values) {
			t.Errorf("%v: limit %v above the mean %v", values, lower, Estimate(values))
		}
		scaled := make([]float64, len(values))
		for i, v := range values {
			scaled[i] = 8 * v
		}
		if got := MeanAtLeast(scaled, missing, 0.95).Lower; math.Abs(got-8*lower) > 1e-9*(1+got) {
			t.Errorf("%v: %v in eighths, %v", values, got, lower)
		}
		if bounded := Mean(values, missing, 0, 5000, 0.95).Lower; math.Abs(bounded-lower) > 1e-9*(1+lower) {
			t.Errorf("%v: %v with a range, %v without", values, bounded, lower)
		}
		if more := MeanAtLeast(values, missing+1, 0.95).Lower; more > lower {
			t.Errorf("%v: one more missing case raises the limit from %v to %v", values, lower, more)
		}
	})
	if i := MeanAtLeast([]float64{0, 0}, 1, 0.95); i.Lower != 0 {
		t.Errorf("of zeros: %+v", i)
	}
}
