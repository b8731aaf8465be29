package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

func meanOf(source string, low, high float64) evidence.MetricSpec {
	unit, _ := evidence.UnitOf(source)
	return evidence.MetricSpec{ID: "m", Kind: evidence.Mean, Source: source, Unit: unit, Range: [2]float64{low, high}}
}

// What each source says of an answer, of one that says nothing, and of an error.
func TestQuantities(t *testing.T) {
	in, out, cost, first := int64(120), int64(7), 0.0025, 33.5
	told := &evidence.Outcome{ID: "told", Status: evidence.StatusOK, LatencyMS: 50, Usage: &evidence.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &cost, FirstTokenMS: &first}}
	silent := &evidence.Outcome{ID: "silent", Status: evidence.StatusOK, LatencyMS: 10}
	failed := &evidence.Outcome{ID: "failed", Status: evidence.StatusError, LatencyMS: 10, Usage: told.Usage}
	stopped := &evidence.Outcome{ID: "stopped", Status: evidence.StatusNotRun}
	for source, want := range map[string]float64{"latency_ms": 30, "first_token_ms": 33.5, "input_tokens": 120, "output_tokens": 7, "cost_usd": 0.0025} {
		m := build(t, []evidence.MetricSpec{meanOf(source, 0, 1000)}, nil, []*evidence.Outcome{told, silent, failed, stopped}).Metrics(level)[0]
		missing := []ReasonCount{{evidence.ReasonExecutionError, 1}, {evidence.ReasonNotRecorded, 1}, {evidence.ReasonNotRun, 1}}
		if source == "latency_ms" {
			missing = []ReasonCount{{evidence.ReasonExecutionError, 1}, {evidence.ReasonNotRun, 1}}
		}
		// ReasonCounts are sorted by reason.
		if *m.Estimate != want || m.Interval.Method != stats.MethodMean {
			t.Errorf("%s: estimate %v by %s, want %v", source, *m.Estimate, m.Interval.Method, want)
		}
		if d := cmp.Diff(missing, m.Missing); d != "" {
			t.Errorf("%s: %s", source, d)
		}
	}
}

// An error rate observes every case that ran.
func TestErrorRate(t *testing.T) {
	spec := evidence.MetricSpec{ID: "error_rate", Kind: evidence.Rate, Source: evidence.SourceError, Range: [2]float64{0, 1}}
	var all []*evidence.Outcome
	for _, status := range []evidence.Status{evidence.StatusOK, evidence.StatusError, evidence.StatusOK, evidence.StatusTimeout, evidence.StatusNotRun, evidence.StatusOK} {
		all = append(all, &evidence.Outcome{ID: string(status), Status: status})
	}
	m := build(t, []evidence.MetricSpec{spec}, nil, all).Metrics(level)[0]
	want := stats.Rate(2, 5, 1, level)
	if m.Cases != (Cases{Observed: 5, Missing: 1}) || *m.Estimate != 0.4 || *m.Interval.Lower != want.Lower || *m.Interval.Upper != want.Upper {
		t.Errorf("%+v, estimate %v, interval [%v, %v]", m.Cases, *m.Estimate, *m.Interval.Lower, *m.Interval.Upper)
	}
}

// Without a range a mean has a lower limit only; with one that a value
// contradicts, the limit on that side is gone and the other no wider than it was.
func TestLimitsOfMeans(t *testing.T) {
	run := func(spec evidence.MetricSpec, latencies ...float64) Metric {
		var all []*evidence.Outcome
		for _, l := range latencies {
			all = append(all, &evidence.Outcome{Status: evidence.StatusOK, LatencyMS: l})
		}
		return build(t, []evidence.MetricSpec{spec}, nil, all).Metrics(level)[0]
	}
	values := []float64{100, 200, 300, 200, 100, 300, 200, 100, 300, 200}
	free := run(meanOf("latency_ms", 0, 0), values...)
	if free.Interval.Upper != nil || *free.Interval.Lower != stats.MeanAtLeast(values, 0, level).Lower || free.Interval.Method != stats.MethodMeanAtLeast {
		t.Errorf("without a range: %+v", free.Interval)
	}
	bounded := run(meanOf("latency_ms", 0, 1000), values...)
	if bounded.Interval.Upper == nil || bounded.Interval.Lower == nil {
		t.Errorf("with a range: %+v", bounded.Interval)
	}
	above := run(meanOf("latency_ms", 0, 250), values...)
	if above.Interval.Upper != nil || above.Interval.Lower == nil || *above.Estimate != 200 || *above.Interval.Lower > *bounded.Interval.Lower {
		t.Errorf("with a value above the range: %+v, lower limit within it %v", above.Interval, *bounded.Interval.Lower)
	}
	below := run(meanOf("latency_ms", 150, 1000), values...)
	if below.Interval.Lower != nil || below.Interval.Upper == nil || *below.Interval.Upper < 200 {
		t.Errorf("with a value below the range: %+v", below.Interval)
	}
	for name, one := range map[string]Metric{"above": run(meanOf("latency_ms", 0, 299), 100, 200, 300), "below": run(meanOf("latency_ms", 101, 400), 100, 200, 300)} {
		if (one.Interval.Upper == nil) != (name == "above") || (one.Interval.Lower == nil) != (name == "below") {
			t.Errorf("with one value %s the range: %+v", name, one.Interval)
		}
	}
	both := run(meanOf("latency_ms", 150, 250), values...)
	if both.Interval.Lower != nil || both.Interval.Upper != nil {
		t.Errorf("with values on both sides: %+v", both.Interval)
	}
	if b, a := both.Outside(); b != 3 || a != 3 {
		t.Errorf("%d below and %d above", b, a)
	}
}

// A cost that the system says goes before one by prices.
func TestPrices(t *testing.T) {
	in, out, said := int64(1_000_000), int64(500_000), 9.0
	spec := meanOf("cost_usd", 0, 100)
	spec.Prices = &evidence.Prices{Input: 0.5, Output: 2}
	for _, c := range []struct {
		usage *evidence.Usage
		want  float64 // below 0: missing
	}{
		{&evidence.Usage{InputTokens: &in, OutputTokens: &out}, 1.5},
		{&evidence.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &said}, 9},
		{&evidence.Usage{CostUSD: &said}, 9},
		{&evidence.Usage{InputTokens: &in}, -1},
		{nil, -1},
	} {
		m := build(t, []evidence.MetricSpec{spec}, nil, []*evidence.Outcome{{Status: evidence.StatusOK, Usage: c.usage}}).Metrics(level)[0]
		if (m.Estimate == nil) != (c.want < 0) || m.Estimate != nil && *m.Estimate != c.want {
			t.Errorf("%+v: %v, want %v", c.usage, m.Estimate, c.want)
		}
	}
}
