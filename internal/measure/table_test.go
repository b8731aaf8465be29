package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
	"pgregory.net/rapid"
)

const level = 0.95

var (
	correct = evidence.MetricSpec{ID: "answer_correct", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"}
	hit     = evidence.MetricSpec{ID: "hit_rate_at_2", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "hit_rate"}
	ndcg    = evidence.MetricSpec{ID: "ndcg_at_6", Kind: evidence.Mean, Range: [2]float64{0, 1}, Type: "ndcg"}
	p90     = evidence.MetricSpec{ID: "latency_p90", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.9, Unit: "ms"}
)

func judged(v float64) evidence.Judgment {
	return evidence.Judgment{State: evidence.Judged, Value: v, Detail: "not kept"}
}

func missing(reason string) evidence.Judgment {
	return evidence.Judgment{State: evidence.Missing, Reason: reason}
}

func excluded(reason string) evidence.Judgment {
	return evidence.Judgment{State: evidence.NotApplicable, Reason: reason}
}

func outcome(topic string, js ...evidence.Judgment) *evidence.Outcome {
	return &evidence.Outcome{ID: "c", Status: evidence.StatusOK, LatencyMS: 10, Slices: []string{topic}, Judgments: js}
}

func build(t testing.TB, specs []evidence.MetricSpec, slices []string, outcomes []*evidence.Outcome) *Table {
	t.Helper()
	table := NewTable(specs, slices)
	for i, o := range outcomes {
		if err := table.Add(i, o); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// tutorial is the run of the product's tutorial: 15 cases, topics billing 8,
// account 2, data 2, security 2 and api 1, of which one account case and one
// billing case have no relevance labels.
func tutorial() []*evidence.Outcome {
	pass, fail, none := judged(1), judged(0), excluded(evidence.ReasonNoRelevanceLabels)
	var os []*evidence.Outcome
	add := func(topic string, answers, hits []evidence.Judgment) {
		for i := range answers {
			os = append(os, outcome(topic, answers[i], hits[i]))
		}
	}
	add("billing",
		[]evidence.Judgment{pass, pass, fail, pass, fail, pass, fail, pass},
		[]evidence.Judgment{pass, pass, fail, pass, pass, pass, pass, none})
	add("account", []evidence.Judgment{pass, pass}, []evidence.Judgment{pass, none})
	add("data", []evidence.Judgment{pass, pass}, []evidence.Judgment{pass, pass})
	add("security", []evidence.Judgment{pass, fail}, []evidence.Judgment{pass, pass})
	add("api", []evidence.Judgment{pass}, []evidence.Judgment{pass})
	return os
}

func TestTutorial(t *testing.T) {
	table := build(t, []evidence.MetricSpec{correct, hit}, []string{"metadata.topic"}, tutorial())
	metrics := table.Metrics(level)
	if got := metrics[0].Cases; got != (Cases{Observed: 15}) || metrics[0].Passed != 11 {
		t.Errorf("answers: %d of %+v", metrics[0].Passed, got)
	}
	if got := metrics[1].Cases; got != (Cases{Observed: 13, Excluded: 2}) || metrics[1].Passed != 12 {
		t.Errorf("retrieval: %d of %+v", metrics[1].Passed, got)
	}
	if d := cmp.Diff([]ReasonCount{{evidence.ReasonNoRelevanceLabels, 2}}, metrics[1].Exclusions); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("73.3 [44.9, 92.2]", percent(metrics[0])); d != "" {
		t.Error(d)
	}

	// Figures of the slices: Oloproof 0.1.0a20 (PyPI) on its own example.
	var got []string
	for _, s := range table.Slices(level, 4) {
		got = append(got, fmt.Sprintf("%s=%s %s %s support %d p %.2g %v", s.Name, s.Value, s.Metric.Spec.ID, percent(s.Metric), s.Support, *s.PValue, s.Marked))
	}
	want := []string{
		"metadata.topic=account answer_correct 100.0 support 2 p 1 false",
		"metadata.topic=account hit_rate_at_2 100.0 support 1 p 1 false",
		"metadata.topic=api answer_correct 100.0 support 1 p 1 false",
		"metadata.topic=api hit_rate_at_2 100.0 support 1 p 1 false",
		"metadata.topic=billing answer_correct 62.5 [24.5, 91.5] support 8 p 0.73 false",
		"metadata.topic=billing hit_rate_at_2 85.7 [42.1, 99.6] support 7 p 0.86 false",
		"metadata.topic=data answer_correct 100.0 support 2 p 1 false",
		"metadata.topic=data hit_rate_at_2 100.0 support 2 p 1 false",
		"metadata.topic=security answer_correct 50.0 support 2 p 0.92 false",
		"metadata.topic=security hit_rate_at_2 100.0 support 2 p 1 false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// percent shows a metric rounded to the nearest tenth of a percent.
func percent(m Metric) string {
	s := fmt.Sprintf("%.1f", 100**m.Estimate)
	if m.Interval != nil {
		s += fmt.Sprintf(" [%.1f, %.1f]", 100**m.Interval.Lower, 100**m.Interval.Upper)
	}
	return s
}

func TestEdges(t *testing.T) {
	specs := []evidence.MetricSpec{correct, ndcg, p90}
	zero, one := 0.0, 1.0
	unit := func(method string) *Interval { return &Interval{&zero, &one, level, method} }
	broken := outcome("a", missing(evidence.ReasonExecutionError), missing(evidence.ReasonExecutionError))
	broken.Status = evidence.StatusError
	unfinished := outcome("a", missing(evidence.ReasonNotRun), missing(evidence.ReasonNotRun))
	unfinished.Status = evidence.StatusNotRun

	tests := []struct {
		name     string
		outcomes []*evidence.Outcome
		want     []Metric
	}{
		{"no case", nil, []Metric{{Spec: correct}, {Spec: ndcg}, {Spec: p90}}},
		{"all missing", []*evidence.Outcome{broken, unfinished}, []Metric{
			{Spec: correct, Interval: unit(stats.MethodRate), Cases: Cases{Missing: 2},
				Missing: []ReasonCount{{evidence.ReasonExecutionError, 1}, {evidence.ReasonNotRun, 1}}},
			{Spec: ndcg, Cases: Cases{Missing: 2},
				Missing: []ReasonCount{{evidence.ReasonExecutionError, 1}, {evidence.ReasonNotRun, 1}}},
			{Spec: p90, Interval: &Interval{nil, nil, level, stats.MethodQuantile}, Cases: Cases{Missing: 2},
				Missing: []ReasonCount{{evidence.ReasonExecutionError, 1}, {evidence.ReasonNotRun, 1}}},
		}},
		{"all excluded", []*evidence.Outcome{
			outcome("a", excluded(evidence.ReasonNoExpected), excluded(evidence.ReasonNoRelevanceLabels)),
		}, []Metric{
			{Spec: correct, Cases: Cases{Excluded: 1}, Exclusions: []ReasonCount{{evidence.ReasonNoExpected, 1}}},
			{Spec: ndcg, Cases: Cases{Excluded: 1}, Exclusions: []ReasonCount{{evidence.ReasonNoRelevanceLabels, 1}}},
			{Spec: p90, Estimate: ptr(10), Interval: &Interval{nil, nil, level, stats.MethodQuantile},
				Cases: Cases{Observed: 1}, Values: []float64{10}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := build(t, specs, []string{"metadata.topic"}, tt.outcomes)
			if d := cmp.Diff(tt.want, table.Metrics(level)); d != "" {
				t.Error(d)
			}
			for _, s := range table.Slices(level, 1) {
				if s.PValue != nil || s.Marked || s.Support != s.Metric.Cases.Eligible() {
					t.Errorf("slice %+v", s)
				}
			}
		})
	}
}

func ptr(x float64) *float64 { return &x }

func TestMinusZero(t *testing.T) {
	score := evidence.MetricSpec{ID: "s", Kind: evidence.Mean, Range: [2]float64{-1, 1}}
	m := build(t, []evidence.MetricSpec{score}, nil, []*evidence.Outcome{
		{ID: "a", Judgments: []evidence.Judgment{judged(math.Copysign(0, -1))}},
	}).Metrics(level)[0]
	if math.Signbit(m.Values[0]) || math.Signbit(*m.Estimate) {
		t.Errorf("-0 was kept: %v, estimate %v", m.Values, *m.Estimate)
	}
}

func TestNoSlice(t *testing.T) {
	table := build(t, []evidence.MetricSpec{correct}, []string{"metadata.topic"}, []*evidence.Outcome{
		outcome(evidence.NoSlice, judged(1)), outcome("", judged(0)),
	})
	s := table.Slices(level, 1)
	if len(s) != 1 || s[0].Value != "" || s[0].Support != 1 {
		t.Errorf("slices %+v, want the one of the empty value", s)
	}
}

func TestMinSupport(t *testing.T) {
	var os []*evidence.Outcome
	for range 3 {
		os = append(os, outcome("a", judged(1)))
	}
	os = append(os, outcome("a", missing("x")), outcome("a", excluded("y")), outcome("b", judged(1)))
	s := build(t, []evidence.MetricSpec{correct}, []string{"metadata.topic"}, os).Slices(level, 4)
	if s[0].Support != 4 || s[0].Metric.Interval == nil {
		t.Errorf("support %d, interval %v: the missing case counts, the excluded one does not", s[0].Support, s[0].Metric.Interval)
	}
	if s[1].Support != 1 || s[1].Metric.Interval != nil || s[1].Metric.Estimate == nil {
		t.Errorf("below the support: %+v", s[1])
	}
}

func TestMarked(t *testing.T) {
	var os []*evidence.Outcome
	for range 40 {
		os = append(os, outcome("good", judged(1)), outcome("bad", judged(0)))
	}
	for _, s := range build(t, []evidence.MetricSpec{correct}, []string{"metadata.topic"}, os).Slices(level, 1) {
		if !s.Marked || *s.PValue != 1e-4 {
			t.Errorf("%s: p %v, marked %v", s.Value, *s.PValue, s.Marked)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	good := func() *evidence.Outcome { return outcome("a", judged(1), judged(0.5)) }
	tests := []struct {
		name   string
		index  int
		change func(*evidence.Outcome)
		want   string
	}{
		{"twice", 0, func(*evidence.Outcome) {}, "counted before"},
		{"negative place", -1, func(*evidence.Outcome) {}, "no place -1"},
		{"huge place", math.MaxInt64, func(*evidence.Outcome) {}, "no place"},
		{"too few judgments", 1, func(o *evidence.Outcome) { o.Judgments = o.Judgments[:1] }, "1 judgments for 2"},
		{"too many judgments", 1, func(o *evidence.Outcome) { o.Judgments = append(o.Judgments, judged(1)) }, "3 judgments for 2"},
		{"no slice value", 1, func(o *evidence.Outcome) { o.Slices = nil }, "0 slice values for 1"},
		{"half a verdict", 1, func(o *evidence.Outcome) { o.Judgments[0] = judged(0.5) }, "answer_correct: 0.5 is neither"},
		{"NaN verdict", 1, func(o *evidence.Outcome) { o.Judgments[0] = judged(math.NaN()) }, "answer_correct: NaN is neither"},
		{"score above", 1, func(o *evidence.Outcome) { o.Judgments[1] = judged(1.5) }, "ndcg_at_6: 1.5 lies outside the range from 0 to 1"},
		{"NaN score", 1, func(o *evidence.Outcome) { o.Judgments[1] = judged(math.NaN()) }, "ndcg_at_6: NaN lies outside"},
		{"no state", 1, func(o *evidence.Outcome) { o.Judgments[1] = evidence.Judgment{} }, "unknown state 0"},
		{"negative latency", 1, func(o *evidence.Outcome) { o.LatencyMS = -1 }, "latency_ms of -1"},
		{"NaN latency", 1, func(o *evidence.Outcome) { o.LatencyMS = math.NaN() }, "latency_ms of NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := build(t, []evidence.MetricSpec{correct, p90, ndcg}, []string{"metadata.topic"}, []*evidence.Outcome{good()})
			o := good()
			o.ID = "faulty"
			tt.change(o)
			err := table.Add(tt.index, o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `"faulty"`) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			for _, m := range table.Metrics(level) {
				if m.Cases != (Cases{Observed: 1}) {
					t.Errorf("%s counted something: %+v", m.Spec.ID, m.Cases)
				}
			}
			if err := table.Add(1, good()); err != nil {
				t.Errorf("the place is taken after a refusal: %v", err)
			}
		})
	}
}

func TestManyReasons(t *testing.T) {
	table := NewTable([]evidence.MetricSpec{correct}, nil)
	var err error
	n := 0
	for ; err == nil && n < 2000; n++ {
		err = table.Add(n, &evidence.Outcome{Judgments: []evidence.Judgment{missing(fmt.Sprint("r", n))}})
	}
	if err == nil || n != 1001 {
		t.Errorf("%d reasons, error %v", n, err)
	}
}

func TestUnknownSourceAndKind(t *testing.T) {
	cost := p90
	cost.Source = "steps"
	if err := NewTable([]evidence.MetricSpec{cost}, nil).Add(0, &evidence.Outcome{}); err == nil {
		t.Error("a source that is not measured was accepted")
	}
	odd := correct
	odd.Kind = "odd"
	if err := NewTable([]evidence.MetricSpec{odd}, nil).Add(0, &evidence.Outcome{Judgments: []evidence.Judgment{judged(1)}}); err == nil {
		t.Error("an unknown kind was accepted")
	}
}

// TestOrder: the order of Add changes nothing, to the last bit.
func TestOrder(t *testing.T) {
	reasons := []string{"r1", "r2", "r3"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		judgment := func(value float64) evidence.Judgment {
			switch rapid.IntRange(0, 5).Draw(t, "state") {
			case 0:
				return missing(rapid.SampledFrom(reasons).Draw(t, "reason"))
			case 1:
				return excluded(rapid.SampledFrom(reasons).Draw(t, "reason"))
			}
			return judged(value)
		}
		outcomes := make([]*evidence.Outcome, n)
		for i := range outcomes {
			outcomes[i] = &evidence.Outcome{
				Status:    rapid.SampledFrom([]evidence.Status{evidence.StatusOK, evidence.StatusError}).Draw(t, "status"),
				LatencyMS: rapid.Float64Range(0, 1e6).Draw(t, "latency"),
				Slices: []string{
					rapid.SampledFrom([]string{"a", "b", "ä", evidence.NoSlice}).Draw(t, "s1"),
					rapid.SampledFrom([]string{"1", "10", "2"}).Draw(t, "s2"),
				},
				Judgments: []evidence.Judgment{
					judgment(float64(rapid.IntRange(0, 1).Draw(t, "passed"))),
					judgment(rapid.Float64Range(0, 1).Draw(t, "score")),
				},
			}
		}
		result := func(order []int) string {
			table := NewTable([]evidence.MetricSpec{correct, p90, ndcg}, []string{"metadata.b", "metadata.a"})
			for _, i := range order {
				if err := table.Add(i, outcomes[i]); err != nil {
					t.Fatal(err)
				}
			}
			text, err := json.Marshal([]any{table.Metrics(level), table.Slices(level, 3)})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		forward := make([]int, n)
		for i := range forward {
			forward[i] = i
		}
		shuffled := rapid.Permutation(forward).Draw(t, "order")
		if a, b := result(forward), result(shuffled); a != b {
			t.Errorf("order changes the result:\n%s\n%s", a, b)
		}
	})
}

// TestCounts: every case is counted exactly once in each metric, and the
// slices of one name, with the cases in none, are the whole.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		table := NewTable([]evidence.MetricSpec{correct, p90}, []string{"metadata.a"})
		inNone := 0
		for i := range n {
			j := rapid.SampledFrom([]evidence.Judgment{judged(0), judged(1), missing("m"), excluded("e")}).Draw(t, "j")
			slice := rapid.SampledFrom([]string{"x", "y", evidence.NoSlice}).Draw(t, "slice")
			if slice == evidence.NoSlice {
				inNone++
			}
			if err := table.Add(i, outcome(slice, j)); err != nil {
				t.Fatal(err)
			}
		}
		sum := func(m Metric) int {
			reasons := 0
			for _, r := range append(m.Exclusions, m.Missing...) {
				reasons += r.Cases
			}
			if reasons != m.Cases.Missing+m.Cases.Excluded {
				t.Fatalf("reasons %v do not add up to %+v", reasons, m.Cases)
			}
			return m.Cases.Observed + m.Cases.Missing + m.Cases.Excluded
		}
		for _, m := range table.Metrics(level) {
			if sum(m) != n {
				t.Errorf("%s counts %d of %d cases", m.Spec.ID, sum(m), n)
			}
			if m.Estimate != nil && m.Interval != nil && m.Interval.Lower != nil && *m.Interval.Lower > *m.Estimate {
				t.Errorf("%s: lower limit above the estimate", m.Spec.ID)
			}
		}
		bySpec := map[string]int{}
		for _, s := range table.Slices(level, 1) {
			bySpec[s.Metric.Spec.ID] += sum(s.Metric)
		}
		for id, got := range bySpec {
			if got != n-inNone {
				t.Errorf("%s: slices count %d of %d cases", id, got, n-inNone)
			}
		}
	})
}

// TestMemory: a table of 100,000 cases with four metrics, two of them with a
// value for each case, stays well below 20 MB.
func TestMemory(t *testing.T) {
	table := large(t)
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(table)
	table = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	if used := int64(with.HeapAlloc) - int64(without.HeapAlloc); used > 10<<20 {
		t.Errorf("the table takes %d bytes", used)
	} else {
		t.Logf("the table takes %.1f MB", float64(used)/(1<<20))
	}
}

const largeCases = 100_000

func large(t testing.TB) *Table {
	r := rand.New(rand.NewPCG(1, 2))
	table := NewTable([]evidence.MetricSpec{correct, hit, ndcg, p90}, []string{"metadata.topic"})
	topics := []string{"billing", "account", "data", "security", "api"}
	for i := range largeCases {
		o := outcome(topics[r.IntN(len(topics))], judged(float64(r.IntN(2))), judged(float64(r.IntN(2))), judged(float64(r.IntN(11))/10))
		o.LatencyMS = r.Float64() * 1000
		if err := table.Add(i, o); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func BenchmarkAdd(b *testing.B) {
	o := outcome("billing", judged(1), judged(0), judged(0.5))
	table := NewTable([]evidence.MetricSpec{correct, hit, ndcg, p90}, []string{"metadata.topic"})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := table.Add(i, o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMetrics(b *testing.B) {
	table := large(b)
	for b.Loop() {
		table.Metrics(level)
	}
}

func BenchmarkSlices(b *testing.B) {
	table := large(b)
	for b.Loop() {
		table.Slices(level, 30)
	}
}
