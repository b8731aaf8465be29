package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/stats"
)

var near = cmpopts.EquateApprox(0, 1e-9)

// TestDifferencesReproduceTheReference reads testdata/differences.json, whose
// source is stated in it.
func TestDifferencesReproduceTheReference(t *testing.T) {
	b, err := os.ReadFile("testdata/differences.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows []struct {
			Type                string
			Wins, Losses, Pairs int
			Differences         []float64
			Missing             int `json:"n_missing"`
			Level               float64
			Estimate            float64
			Lower, Upper        float64
			ConditionalExact    []float64 `json:"conditional_exact"`
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Rows) != 31 {
		t.Fatalf("%d rows, want 31", len(golden.Rows))
	}
	for _, row := range golden.Rows {
		name := fmt.Sprintf("%s %d/%d of %d and %d missing at %v", row.Type, row.Wins, row.Losses, max(row.Pairs, len(row.Differences)), row.Missing, row.Level)
		t.Run(name, func(t *testing.T) {
			candidate, baseline := verdicts(row.Wins, row.Losses, row.Pairs, row.Missing)
			if row.Type == "score" {
				candidate, baseline = scores(row.Differences, row.Missing)
			}
			check := func(method string, want ...float64) {
				t.Helper()
				d := compared(t, candidate, baseline, Options{Level: row.Level, Method: method}).Differences[0]
				if diff := cmp.Diff(want, []float64{*d.Estimate, *d.Interval.Lower, *d.Interval.Upper}, near); diff != "" {
					t.Errorf("%s: estimate and limits (-want +got):\n%s", d.Interval.Method, diff)
				}
				if d.Cases.Missing != row.Missing {
					t.Errorf("%d missing, want %d", d.Cases.Missing, row.Missing)
				}
			}
			check("", row.Estimate, row.Lower, row.Upper)
			if row.ConditionalExact != nil {
				check(stats.MethodConditionalExact, row.Estimate, row.ConditionalExact[0], row.ConditionalExact[1])
			}
		})
	}
}

// points writes a difference of a rate as the product does: limits outward.
func points(d Difference) string {
	tenths := func(x float64) float64 { return x / 10 }
	return fmt.Sprintf("%+.1f points [%+.1f, %+.1f] · %d paired · %d missing · %d excluded",
		*d.Estimate*100, tenths(math.Floor(*d.Interval.Lower*1000)), tenths(math.Ceil(*d.Interval.Upper*1000)),
		d.Cases.Observed, d.Cases.Missing, d.Cases.Excluded)
}

func TestTutorial(t *testing.T) {
	candidate, baseline := tutorial()
	c := compared(t, candidate, baseline, Options{})
	var got []string
	for _, d := range c.Differences {
		got = append(got, d.Spec.ID+": "+points(d))
	}
	want := []string{
		"answer_correct: +6.7 points [-26.5, +40.8] · 15 paired · 0 missing · 0 excluded",
		"hit_rate_at_2: +7.7 points [-29.8, +45.5] · 13 paired · 0 missing · 2 excluded",
		"recall_at_2: +7.7 points [-29.8, +45.5] · 13 paired · 0 missing · 2 excluded",
		"citations_valid: +6.7 points [-26.5, +40.8] · 15 paired · 0 missing · 0 excluded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]measure.ReasonCount{{Reason: evidence.ReasonNoRelevanceLabels, Cases: 2}}, c.Differences[1].Exclusions); diff != "" {
		t.Error(diff)
	}
	if c.Paired != 15 || c.Shared != 15 || c.BaselineCases != 15 {
		t.Errorf("%d paired, %d shared of %d, want 15 each", c.Paired, c.Shared, c.BaselineCases)
	}
	flips := []Flip{
		{"case_06", "answer_correct", true}, {"case_06", "hit_rate_at_2", true},
		{"case_06", "recall_at_2", true}, {"case_06", "citations_valid", true},
	}
	if diff := cmp.Diff(flips, c.Flips); diff != "" {
		t.Error(diff)
	}
	if len(c.Slices) != 20 {
		t.Errorf("%d slice differences, want 5 topics of 4 metrics", len(c.Slices))
	}
	billing := c.Slices[8]
	if billing.Value != "billing" || billing.Support != 8 || billing.Difference.Interval == nil {
		t.Errorf("slice %s of %d pairs with interval %v", billing.Value, billing.Support, billing.Difference.Interval)
	}
	account := c.Slices[0]
	if account.Value != "account" || account.Support != 2 || account.Difference.Interval != nil {
		t.Errorf("slice %s of %d pairs with interval %v, want account of 2 without", account.Value, account.Support, account.Difference.Interval)
	}
}

func TestWithoutAChange(t *testing.T) {
	candidate, baseline := verdicts(0, 0, 13, 0)
	d := compared(t, candidate, baseline, Options{}).Differences[0]
	if got, want := points(d), "+0.0 points [-33.6, +33.6] · 13 paired · 0 missing · 0 excluded"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCases(t *testing.T) {
	candidate, baseline := newRun("run_c", nil, correct), newRun("run_b", nil, correct)
	for _, id := range []string{"new_2", "same_1", "edited_2", "new_1", "edited_1", "same_2"} {
		candidate.add(id, nil, judged(1))
	}
	for _, id := range []string{"gone_2", "edited_1", "same_2", "same_1", "edited_2", "gone_1"} {
		o := baseline.add(id, nil, judged(0))
		if strings.HasPrefix(id, "edited") {
			o.Digest = "sha256:before"
		}
	}
	c := compared(t, candidate, baseline, Options{})
	type lists struct{ Added, Removed, Changed []string }
	want := lists{[]string{"new_2", "new_1"}, []string{"gone_2", "gone_1"}, []string{"edited_2", "edited_1"}}
	if diff := cmp.Diff(want, lists{c.Added, c.Removed, c.Changed}); diff != "" {
		t.Error(diff)
	}
	if c.Shared != 2 || c.Paired != 2 || c.BaselineCases != 6 || c.Differences[0].Wins != 2 {
		t.Errorf("%d shared, %d paired, %d of the baseline, %d wins", c.Shared, c.Paired, c.BaselineCases, c.Differences[0].Wins)
	}
	if diff := cmp.Diff([]Flip{{"same_1", correct.ID, true}, {"same_2", correct.ID, true}}, c.Flips); diff != "" {
		t.Error(diff)
	}
}

func TestOneSideDecidesWhetherAPairCounts(t *testing.T) {
	a, b := "reason_a", "reason_b"
	tests := []struct {
		now, before evidence.Judgment
		cases       measure.Cases
		reason      string
	}{
		{judged(1), judged(0), measure.Cases{Observed: 1}, ""},
		{judged(1), missing(b), measure.Cases{Missing: 1}, b},
		{judged(1), excluded(b), measure.Cases{Excluded: 1}, b},
		{missing(a), judged(1), measure.Cases{Missing: 1}, a},
		{missing(a), missing(b), measure.Cases{Missing: 1}, a},
		{missing(a), excluded(b), measure.Cases{Excluded: 1}, b},
		{excluded(a), judged(1), measure.Cases{Excluded: 1}, a},
		{excluded(a), missing(b), measure.Cases{Excluded: 1}, a},
		{excluded(a), excluded(b), measure.Cases{Excluded: 1}, a},
	}
	for _, spec := range []evidence.MetricSpec{correct, ndcg} {
		for _, tt := range tests {
			candidate, baseline := newRun("run_c", nil, spec), newRun("run_b", nil, spec)
			candidate.add("a", nil, tt.now)
			baseline.add("a", nil, tt.before)
			d := compared(t, candidate, baseline, Options{}).Differences[0]
			if d.Cases != tt.cases {
				t.Errorf("%s: %+v against %+v counts as %+v, want %+v", spec.ID, tt.now, tt.before, d.Cases, tt.cases)
			}
			var want []measure.ReasonCount
			if tt.reason != "" {
				want = []measure.ReasonCount{{Reason: tt.reason, Cases: 1}}
			}
			if diff := cmp.Diff(want, append(d.Missing, d.Exclusions...)); diff != "" {
				t.Errorf("%s: %+v against %+v (-want +got):\n%s", spec.ID, tt.now, tt.before, diff)
			}
			if (d.Interval == nil) != (d.Cases.Eligible() == 0) || (d.Estimate == nil) != (d.Cases.Observed == 0) {
				t.Errorf("%s: %+v with estimate %v and interval %v", spec.ID, d.Cases, d.Estimate, d.Interval)
			}
		}
	}
}

func TestQuantileOfPerCaseDifferences(t *testing.T) {
	median := p90
	median.Quantile = 0.5
	candidate, baseline := newRun("run_c", nil, median), newRun("run_b", nil, median)
	for i := range 15 {
		id := fmt.Sprint("case_", i)
		candidate.add(id, nil).LatencyMS = 100 + float64(i)
		baseline.add(id, nil).LatencyMS = 100
	}
	candidate.add("down", nil).Status = evidence.StatusError
	baseline.add("down", nil)
	d := compared(t, candidate, baseline, Options{}).Differences[0]
	i := stats.PairedQuantile(d.Values, 1, 0.5, level)
	if *d.Estimate != 7 || *d.Interval.Lower != i.Lower || *d.Interval.Upper != i.Upper || d.Interval.Method != stats.MethodPairedQuantile {
		t.Errorf("%v [%v, %v] by %s", *d.Estimate, *d.Interval.Lower, *d.Interval.Upper, d.Interval.Method)
	}
	if diff := cmp.Diff(measure.Cases{Observed: 15, Missing: 1}, d.Cases); diff != "" {
		t.Error(diff)
	}
	p95 := median
	p95.Quantile = 0.95
	candidate.Metrics, baseline.Metrics = []evidence.MetricSpec{p95}, []evidence.MetricSpec{p95}
	if i := compared(t, candidate, baseline, Options{}).Differences[0].Interval; i.Upper != nil {
		t.Errorf("p95 of 16 pairs has the upper limit %v, want none", *i.Upper)
	}
}

func TestMetricsThatCannotBeCompared(t *testing.T) {
	other := func(s evidence.MetricSpec, change func(*evidence.MetricSpec)) evidence.MetricSpec {
		change(&s)
		return s
	}
	tests := []struct {
		name   string
		before evidence.MetricSpec
		now    evidence.MetricSpec
		detail string
	}{
		{"type", correct, other(correct, func(s *evidence.MetricSpec) { s.Type = "regex" }), "the evaluator is regex, in the baseline contains"},
		{"options", correct, other(correct, func(s *evidence.MetricSpec) { s.Evaluator = "sha256:x" }), "the options of the evaluator differ"},
		{"range", ndcg, other(ndcg, func(s *evidence.MetricSpec) { s.Range[1] = 5 }), "the range is [0, 5], in the baseline [0, 1]"},
		{"quantile", p90, other(p90, func(s *evidence.MetricSpec) { s.Quantile = 0.5 }), "the quantile is 0.5, in the baseline 0.9"},
		{"unit", p90, other(p90, func(s *evidence.MetricSpec) { s.Unit = "s" }), "the source is latency_ms in s, in the baseline latency_ms in ms"},
		{"kind", other(p90, func(s *evidence.MetricSpec) { s.ID = correct.ID }), correct, "the kind is rate, in the baseline quantile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			candidate, baseline := newRun("run_c", nil, hit, tt.now), newRun("run_b", nil, tt.before, hit)
			judge := func(r *run) {
				js := make([]evidence.Judgment, r.JudgedMetrics())
				for i := range js {
					js[i] = judged(1)
				}
				r.add("a", nil, js...)
			}
			judge(candidate)
			judge(baseline)
			c := compared(t, candidate, baseline, Options{})
			want := []NotComparable{{tt.now.ID, ReasonEvaluatorChanged, tt.detail}}
			if diff := cmp.Diff(want, c.NotComparable); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, Unlike(&candidate.Manifest, &baseline.Manifest)); diff != "" {
				t.Error(diff)
			}
			if len(c.Differences) != 1 || c.Differences[0].Spec.ID != hit.ID || c.Differences[0].Cases.Observed != 1 {
				t.Errorf("differences %+v, want that of %s", c.Differences, hit.ID)
			}
			only := compared(t, candidate, baseline, Options{Criteria: []string{tt.now.ID}})
			if len(only.Differences) != 0 || only.Paired != 0 || only.Shared != 1 {
				t.Errorf("%d differences of %d pairs, %d shared", len(only.Differences), only.Paired, only.Shared)
			}
		})
	}
}

// Recall is a rate or a mean by the labels of the whole data set. The cases
// that both runs have carry the same labels, so it is a rate on them when it is
// in either run.
func TestRecallAsRateAndAsMean(t *testing.T) {
	mean := recall
	mean.Kind = evidence.Mean
	for _, kinds := range [][2]evidence.MetricSpec{{recall, mean}, {mean, recall}} {
		candidate, baseline := newRun("run_c", nil, kinds[0]), newRun("run_b", nil, kinds[1])
		for i := range 10 {
			id := fmt.Sprint("case_", i)
			candidate.add(id, nil, judged(1))
			baseline.add(id, nil, judged(float64(min(i, 1))))
		}
		// A case with two labels makes the one run's metric a mean.
		two := candidate
		if kinds[1].Kind == evidence.Mean {
			two = baseline
		}
		two.add("two_labels", nil, judged(0.5))
		d := compared(t, candidate, baseline, Options{}).Differences[0]
		if d.Spec.Kind != evidence.Rate || d.Wins != 1 || d.Losses != 0 || d.Cases.Observed != 10 {
			t.Errorf("%s against %s is a %s of %d pairs with %d wins", kinds[0].Kind, kinds[1].Kind, d.Spec.Kind, d.Cases.Observed, d.Wins)
		}
		// Runs that contradict each other are refused.
		one := candidate
		if kinds[0].Kind == evidence.Mean {
			one = baseline
		}
		one.add("two_labels", nil, judged(1))
		_, err := Runs(candidate.side(), baseline.side(), Options{Level: level})
		if err == nil || !strings.Contains(err.Error(), `case "two_labels": metric recall_at_2: a rate in one run`) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCriteria(t *testing.T) {
	candidate, baseline := tutorial()
	candidate.Metrics = append(candidate.Metrics, p90)
	baseline.Metrics = append(baseline.Metrics, other("latency_p95"))
	c := compared(t, candidate, baseline, Options{Criteria: []string{"citations_valid", "answer_correct", "answer_correct"}})
	if diff := cmp.Diff([]string{"answer_correct", "citations_valid"}, []string{c.Differences[0].Spec.ID, c.Differences[1].Spec.ID}); diff != "" || len(c.Differences) != 2 {
		t.Errorf("%d differences: %s", len(c.Differences), diff)
	}
	if diff := cmp.Diff([][]string{{"latency_p90"}, {"latency_p95"}}, [][]string{c.OnlyCandidate, c.OnlyBaseline}); diff != "" {
		t.Error(diff)
	}
}

func other(id string) evidence.MetricSpec {
	s := p90
	s.ID = id
	return s
}

func TestSlices(t *testing.T) {
	names := []string{"metadata.topic", "relevant_position", "metadata.new", "context_truncated"}
	candidate, baseline := newRun("run_c", names, correct), newRun("run_b", []string{"relevant_position", "metadata.topic", "metadata.old"}, correct)
	candidate.MinSupport, baseline.MinSupport = 2, 3
	add := func(id, topic, fresh, now, before string) {
		candidate.add(id, []string{topic, now, fresh, "true"}, judged(1))
		baseline.add(id, []string{before, topic, "x"}, judged(0))
	}
	add("a", "t1", "n", "top_k", "not_retrieved")
	add("b", "t1", "n", "top_k", "not_retrieved")
	add("c", "t1", evidence.NoSlice, "top_k", "top_k")
	add("d", evidence.NoSlice, "m", evidence.NoSlice, "top_k")
	baseline.add("e", []string{"beyond_top_k", "t0", "x"}, judged(0)) // of no pair
	c := compared(t, candidate, baseline, Options{})
	var got []string
	for _, s := range c.Slices {
		got = append(got, fmt.Sprintf("%s=%s %d %v", s.Name, s.Value, s.Support, s.Difference.Interval != nil))
	}
	want := []string{
		"metadata.topic=t1 3 true",
		"relevant_position=not_retrieved 2 false", "relevant_position=top_k 2 false",
		"metadata.new=m 1 false", "metadata.new=n 2 false",
	}
	if diff := cmp.Diff(want, got); diff != "" || c.MinSupport != 3 {
		t.Errorf("least support %d, slices (-want +got):\n%s", c.MinSupport, diff)
	}
}

// The support of a slice is its pairs that belong to the metric, missing ones
// included and excluded ones not.
func TestSupportOfSlices(t *testing.T) {
	names := []string{"metadata.topic"}
	candidate, baseline := newRun("run_c", names, correct), newRun("run_b", names, correct)
	candidate.MinSupport, baseline.MinSupport = 3, 3
	for i, now := range []evidence.Judgment{judged(1), judged(0), missing(evidence.ReasonExecutionError), excluded(evidence.ReasonNoExpected)} {
		id := fmt.Sprintf("case_%d", i)
		candidate.add(id, []string{"t"}, now)
		baseline.add(id, []string{"t"}, judged(1))
	}
	s := compared(t, candidate, baseline, Options{}).Slices[0]
	if want := (measure.Cases{Observed: 2, Missing: 1, Excluded: 1}); s.Difference.Cases != want || s.Support != 3 || s.Difference.Interval == nil {
		t.Errorf("%+v, support %d, interval %v", s.Difference.Cases, s.Support, s.Difference.Interval)
	}
}

func TestErrors(t *testing.T) {
	candidate, baseline := tutorial()
	change := func(edit func(candidate, baseline *run)) (Side, Side) {
		c, b := tutorial()
		edit(c, b)
		return c.side(), b.side()
	}
	tests := []struct {
		name string
		edit func(c, b *run)
		opt  Options
		want string
	}{
		{"level", func(c, b *run) {}, Options{Level: 95}, "confidence level 95 is not between 0 and 1"},
		{"level not a number", func(c, b *run) {}, Options{Level: math.NaN()}, "confidence level NaN"},
		{"method", func(c, b *run) {}, Options{Method: "bootstrap@1"}, `difference_method "bootstrap@1" is unknown (there are: bounded_paired_difference@1, `},
		{"criterion", func(c, b *run) {}, Options{Criteria: []string{"answer"}}, `metric "answer" is not in both runs (both have: answer_correct, hit_rate_at_2, recall_at_2, citations_valid)`},
		{"no metric", func(c, b *run) {
			for i := range b.Metrics {
				b.Metrics[i].ID += "_old"
			}
		}, Options{}, "share no metric (candidate: answer_correct, "},
		{"no metric at all", func(c, b *run) { b.Metrics = nil }, Options{}, "baseline: none): compare runs of one suite"},
		{"no case", func(c, b *run) {
			for i := range b.cases {
				if b.cases[i].Digest = "sha256:x"; i > 9 {
					b.cases[i].ID += "_old"
				}
			}
		}, Options{}, "share no case (5 only in the candidate, 5 only in the baseline, 10 with other content under the same id)"},
		{"baseline without a case", func(c, b *run) { b.cases = nil }, Options{}, "(15 only in the candidate, 0 only"},
		{"twice in the baseline", func(c, b *run) { b.cases[3].ID = b.cases[2].ID }, Options{}, `baseline run_b: case "case_02": its id stands twice`},
		{"twice in the candidate", func(c, b *run) { c.cases[3].ID = c.cases[2].ID }, Options{}, `candidate run_c: case "case_02": its id stands twice`},
		{"twice and new", func(c, b *run) { c.cases[3].ID, c.cases[4].ID = "new", "new" }, Options{}, `candidate run_c: case "new": its id stands twice`},
		{"twice and changed", func(c, b *run) { c.cases[3] = c.cases[2]; c.cases[2].Digest, c.cases[3].Digest = "x", "x" }, Options{}, "its id stands twice"},
		{"judgments", func(c, b *run) { c.cases[0].Judgments = c.cases[0].Judgments[:2] }, Options{}, `case "case_00": 2 judgments for 4 judged metrics`},
		{"slice values", func(c, b *run) { b.cases[0].Slices = nil }, Options{}, `baseline run_b: case "case_00": 0 slice values for 1 slices`},
		{"not a verdict", func(c, b *run) { b.cases[1].Judgments = slices.Repeat([]evidence.Judgment{judged(0.5)}, 4) }, Options{}, "metric answer_correct: 0.5 is neither"},
		{"not a number", func(c, b *run) { c.cases[1].Judgments = slices.Repeat([]evidence.Judgment{judged(math.NaN())}, 4) }, Options{}, "metric answer_correct: NaN is neither"},
		{"no state", func(c, b *run) { c.cases[1].Judgments = make([]evidence.Judgment, 4) }, Options{}, "unknown state 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, b := change(tt.edit)
			if tt.opt.Level == 0 {
				tt.opt.Level = level
			}
			got, err := Runs(c, b, tt.opt)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if got != nil {
				t.Error("a comparison beside the error")
			}
		})
	}

	var noMetric *NoSharedMetricError
	only := newRun("run_b", nil, p90)
	if got := Unlike(&candidate.Manifest, &only.Manifest); got != nil {
		t.Errorf("runs without a common metric: %+v", got)
	}
	if _, err := Runs(candidate.side(), only.side(), Options{Level: level}); !errors.As(err, &noMetric) {
		t.Errorf("error %v, want a NoSharedMetricError", err)
	}
	var noCase *NoSharedCaseError
	baseline.cases = baseline.cases[:0]
	if _, err := Runs(candidate.side(), baseline.side(), Options{Level: level}); !errors.As(err, &noCase) || noCase.Added != 15 {
		t.Errorf("error %v, want a NoSharedCaseError with 15 added", err)
	}
	broken := errors.New("torn")
	bad := candidate.side()
	bad.Outcomes = func(func(int, *evidence.Outcome) error) error { return broken }
	if _, err := Runs(bad, candidate.side(), Options{Level: level}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "candidate run_c: torn") {
		t.Errorf("error %v, want the reader's with the name of the run", err)
	}
}

func TestTooManyPairsForTheExactTest(t *testing.T) {
	candidate, baseline := verdicts(1, 0, 1990, 11)
	_, err := Runs(candidate.side(), baseline.side(), Options{Level: level, Method: stats.MethodExact})
	var many *TooManyPairsError
	if !errors.As(err, &many) || many.Pairs != 2001 {
		t.Fatalf("error %v, want one about 2001 pairs", err)
	}
	want := "exact_unconditional@1 takes at most 2000 pairs and answer_correct has 2001: set difference_method to bounded_paired_difference@1 or conditional_exact_paired_difference@1"
	if err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestEveryIntervalNamesItsMethod(t *testing.T) {
	for _, method := range Methods() {
		candidate, baseline := newRun("run_c", nil, correct, ndcg, p90), newRun("run_b", nil, correct, ndcg, p90)
		for i := range 20 {
			id := fmt.Sprint("case_", i)
			candidate.add(id, nil, judged(1), judged(0.5))
			baseline.add(id, nil, judged(float64(i%2)), judged(0.25))
		}
		c := compared(t, candidate, baseline, Options{Method: method})
		var got []string
		for _, d := range c.Differences {
			got = append(got, d.Interval.Method)
		}
		want := []string{method, stats.MethodPaired, stats.MethodPairedQuantile}
		if diff := cmp.Diff(want, got); diff != "" || c.Method != method {
			t.Errorf("method %s: %s", c.Method, diff)
		}
		for _, d := range c.Differences {
			wide := d.IntervalAt(0.999)
			if wide.Method != d.Interval.Method || wide.Level != 0.999 {
				t.Errorf("%s at 0.999: %+v", d.Spec.ID, wide)
			}
		}
	}
}

func TestScoresWithoutARange(t *testing.T) {
	endless := ndcg
	endless.Range = [2]float64{0, math.Inf(1)}
	candidate, baseline := newRun("run_c", nil, endless), newRun("run_b", nil, endless)
	candidate.add("a", nil, judged(7))
	baseline.add("a", nil, judged(3))
	_, err := Runs(candidate.side(), baseline.side(), Options{Level: level})
	// Nothing in a manifest is infinite: JSON has no such number.
	if err == nil {
		t.Error("a comparison with an endless range")
	}
	point := ndcg
	point.Range = [2]float64{1, 1}
	candidate.Metrics, baseline.Metrics = []evidence.MetricSpec{point}, []evidence.MetricSpec{point}
	candidate.cases[0].Judgments[0].Value, baseline.cases[0].Judgments[0].Value = 1, 1
	if d := compared(t, candidate, baseline, Options{}).Differences[0]; d.Interval != nil || *d.Estimate != 0 {
		t.Errorf("estimate %v with interval %v, want 0 without", *d.Estimate, d.Interval)
	}
}
