package compare

import (
	"fmt"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// A mean with a range is compared by betting, unless a value contradicts the
// range; without one its difference has no interval.
func TestMeansOfQuantities(t *testing.T) {
	spec := evidence.MetricSpec{ID: "cost", Kind: evidence.Mean, Source: evidence.SourceCost, Unit: "USD", Range: [2]float64{0, 1}}
	pair := func(spec evidence.MetricSpec, most float64) Difference {
		candidate, baseline := newRun("run_c", nil, spec), newRun("run_b", nil, spec)
		for i := range 20 {
			now, before := 0.5, 0.25
			if i == 0 {
				before = most
			}
			id := fmt.Sprint("case_", i)
			candidate.add(id, nil).Usage = &evidence.Usage{CostUSD: &now}
			baseline.add(id, nil).Usage = &evidence.Usage{CostUSD: &before}
		}
		return compared(t, candidate, baseline, Options{}).Differences[0]
	}
	d := pair(spec, 0.25)
	want := stats.PairedScores(d.Values, 0, 1, level)
	if *d.Estimate != 0.25 || *d.Interval.Lower != want.Lower || *d.Interval.Upper != want.Upper || d.Outside != 0 {
		t.Errorf("%v [%v, %v], want [%v, %v]", *d.Estimate, *d.Interval.Lower, *d.Interval.Upper, want.Lower, want.Upper)
	}
	if d := pair(spec, 1.25); d.Interval != nil || d.Outside != 1 || *d.Estimate != 0.2 {
		t.Errorf("with a value outside of the range: %+v, %d outside", d.Interval, d.Outside)
	}
	spec.Range = [2]float64{}
	if d := pair(spec, 0.25); d.Interval != nil || *d.Estimate != 0.25 {
		t.Errorf("without a range: %+v", d.Interval)
	}
}

// Errors are paired as verdicts are, and are no flips of what passes.
func TestErrorRates(t *testing.T) {
	spec := evidence.MetricSpec{ID: "error_rate", Kind: evidence.Rate, Source: evidence.SourceError, Range: [2]float64{0, 1}}
	candidate, baseline := newRun("run_c", nil, spec), newRun("run_b", nil, spec)
	for i := range 10 {
		id := fmt.Sprint("case_", i)
		now, before := candidate.add(id, nil), baseline.add(id, nil)
		if i < 3 {
			now.Status = evidence.StatusError
		}
		if i == 9 {
			before.Status = evidence.StatusTimeout
		}
	}
	c := compared(t, candidate, baseline, Options{})
	d := c.Differences[0]
	if d.Wins != 3 || d.Losses != 1 || d.Cases.Observed != 10 || *d.Estimate != 0.2 {
		t.Errorf("%+v", d)
	}
	if len(c.Flips) != 0 {
		t.Errorf("errors are flips: %+v", c.Flips)
	}
}
