package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func latencies(values ...float64) *Latencies {
	var l Latencies
	for _, v := range values {
		l.Add(&evidence.Outcome{Status: evidence.StatusOK, LatencyMS: v})
	}
	return &l
}

func TestLatencies(t *testing.T) {
	l := latencies(30, 10, 20, 10)
	l.Add(&evidence.Outcome{Status: evidence.StatusError, LatencyMS: 9999})
	l.Add(&evidence.Outcome{Status: evidence.StatusOK, LatencyMS: math.NaN()})
	if got := *l.Mean(); got != 17.5 || l.Count() != 4 {
		t.Errorf("mean %v of %d, want 17.5 of 4", got, l.Count())
	}
	if median, p95 := *l.Quantile(0.5), *l.Quantile(0.95); median != 10 || p95 != 30 {
		t.Errorf("median %v and p95 %v, want 10 and 30", median, p95)
	}
	var none Latencies
	if none.Mean() != nil || none.Quantile(0.5) != nil || none.Histogram(10).Width != 0 {
		t.Error("no latency gives figures")
	}
}

func TestHistogram(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		bins   int
		want   Histogram
	}{
		{"round", []float64{1, 4, 5, 9, 10}, 3, Histogram{Width: 5, Counts: []int{2, 2, 1}}},
		{"all equal", []float64{7, 7}, 4, Histogram{Width: 2, Counts: []int{0, 0, 0, 2}}},
		{"zero", []float64{0, 0}, 4, Histogram{Width: 1, Counts: []int{2}}},
		{"below one", []float64{0.11, 0.29, 0.35}, 3, Histogram{Width: 0.2, Counts: []int{1, 2}}},
		{"one bin", []float64{3, 4}, 1, Histogram{Width: 5, Counts: []int{2}}},
	} {
		if diff := cmp.Diff(tt.want, latencies(tt.values...).Histogram(tt.bins)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	var l Latencies
	for range 299 {
		l.Add(&evidence.Outcome{Status: evidence.StatusOK, LatencyMS: 10})
	}
	l.Add(&evidence.Outcome{Status: evidence.StatusOK, LatencyMS: 90000})
	if h := l.Histogram(20); h.Over != 1 || h.Width > 10 {
		t.Errorf("a straggler: %+v", h)
	}
}

// Every value is counted once, in no more bins than were asked for.
func TestHistogramCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e9), 1, 50).Draw(t, "values")
		bins := rapid.IntRange(1, 40).Draw(t, "bins")
		h := latencies(values...).Histogram(bins)
		total := h.Over
		for _, n := range h.Counts {
			total += n
		}
		if total != len(values) || len(h.Counts) > bins || !(h.Width > 0) {
			t.Errorf("%+v counts %d of %d values in %d bins", h, total, len(values), bins)
		}
	})
}
