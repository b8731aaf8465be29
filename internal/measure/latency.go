package measure

import (
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Latencies collects the latencies of the answered cases of a run. The order in
// which they come changes nothing. The zero value is ready to use.
type Latencies struct {
	values []float64 // milliseconds, at least 0
}

// Add takes the latency of an outcome; of a case without an answer it takes none.
func (l *Latencies) Add(o *evidence.Outcome) {
	if o.Status == evidence.StatusOK && o.LatencyMS >= 0 && !math.IsInf(o.LatencyMS, 0) {
		l.values = append(l.values, o.LatencyMS)
	}
}

// Count is the number of latencies.
func (l *Latencies) Count() int { return len(l.values) }

// Mean is their mean in milliseconds; nil without one.
func (l *Latencies) Mean() *float64 {
	if len(l.values) == 0 {
		return nil
	}
	slices.Sort(l.values) // so that the sum does not depend on the order
	mean := 0.0
	for _, v := range l.values {
		mean += v / float64(len(l.values))
	}
	return &mean
}

// Quantile is the q quantile in milliseconds, by the rule of the metrics; nil
// without a latency.
func (l *Latencies) Quantile(q float64) *float64 {
	if len(l.values) == 0 {
		return nil
	}
	slices.Sort(l.values)
	at := stats.QuantileEstimate(l.values, q)
	return &at
}

// Histogram counts values in bins of equal width, from 0 upwards.
type Histogram struct {
	Width  float64 // of a bin, in the unit of the values; 0 without a value
	Counts []int   // Counts[i] values lie in [i*Width, (i+1)*Width)
	Over   int     // values beyond the last bin
}

// Histogram counts the latencies in at most that many bins of a round width.
// Bins end where 99 of 100 values lie below, so that one straggler does not
// press all others into one bin.
func (l *Latencies) Histogram(bins int) Histogram {
	if len(l.values) == 0 || bins < 1 {
		return Histogram{}
	}
	most := *l.Quantile(0.99)
	h := Histogram{Width: roundWidth(most / float64(bins))}
	for float64(bins)*h.Width <= most { // the last value must lie within its bin
		h.Width = roundWidth(h.Width * 1.01)
	}
	h.Counts = make([]int, int(math.Floor(most/h.Width))+1)
	for _, v := range l.values {
		if i := v / h.Width; i < float64(len(h.Counts)) {
			h.Counts[int(i)]++
		} else {
			h.Over++
		}
	}
	return h
}

// roundWidth is the smallest of 1, 2 and 5 times a power of ten that is at
// least x; 1 for what is no positive number.
func roundWidth(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	exponent := math.Floor(math.Log10(x))
	for {
		for _, step := range []float64{1, 2, 5} {
			// Powers below one are divided by, which rounds better.
			width := step * math.Pow(10, exponent)
			if exponent < 0 {
				width = step / math.Pow(10, -exponent)
			}
			if width >= x {
				return width
			}
		}
		exponent++
	}
}
