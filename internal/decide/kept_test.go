package decide

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// fewCases are cases in memory.
type fewCases []evidence.Case

func (c fewCases) Len() int                           { return len(c) }
func (c fewCases) ID(i int) string                    { return c[i].ID }
func (c fewCases) CaseDigest(i int) evidence.Digest   { return c[i].Digest }
func (c fewCases) Case(i int) (*evidence.Case, error) { return &c[i], nil }

// asked makes cases of words such as "a=yes": the id and what is expected, which
// may be left out; "a=yes!" has metadata of its own.
func asked(t *testing.T, words string) fewCases {
	t.Helper()
	var all fewCases
	for i, word := range strings.Fields(words) {
		id, expected, _ := strings.Cut(word, "=")
		c := evidence.Case{ID: id, Index: i, Input: evidence.Value(`"` + id + `?"`)}
		if expected, marked := strings.CutSuffix(expected, "!"); expected != "" {
			c.Expected = evidence.Value(`"` + expected + `"`)
			if marked {
				c.Metadata = evidence.Value(`{"topic":"billing"}`)
			}
		}
		var err error
		if c.Digest, err = evidence.CaseDigest(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// equals passes an answer that is what is expected.
func equals(c *evidence.Case, e *evidence.Execution) []evidence.Judgment {
	j := evidence.Judgment{State: evidence.Judged}
	switch {
	case c.Expected == nil:
		j = evidence.Judgment{State: evidence.NotApplicable, Reason: evidence.ReasonNoExpected}
	case e.Status != evidence.StatusOK:
		j = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}
	case bytes.Equal(c.Expected, e.Output):
		j.Value = 1
	}
	return []evidence.Judgment{j}
}

func verdictOf(metric string, evaluator evidence.Digest) evidence.MetricSpec {
	return evidence.MetricSpec{ID: metric, Kind: evidence.Rate, Range: [2]float64{0, 1}, Evaluator: evaluator}
}

// answered is a run in which every case was answered "yes". Its evaluator "other"
// says the opposite.
func answered(id string, spec evidence.MetricSpec, cases fewCases) Candidate {
	line := func(i int) evidence.CaseLine {
		e := evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(`"yes"`)}
		j := equals(&cases[i], &e)[0]
		if spec.Evaluator == "other" && j.State == evidence.Judged {
			j.Value = 1 - j.Value
		}
		return evidence.CaseLine{Case: cases[i], Execution: e, Judgments: []evidence.NamedJudgment{{Criterion: spec.ID, Judgment: j}}}
	}
	m := &evidence.Manifest{ID: id, Metrics: []evidence.MetricSpec{spec}, Dataset: evidence.DatasetID{Cases: len(cases)}, Completeness: evidence.Complete}
	return Candidate{
		Side: compare.Side{Manifest: m, Outcomes: func(visit func(int, *evidence.Outcome) error) error {
			for i := range cases {
				l := line(i)
				o := evidence.OutcomeOf(&l.Case, &l.Execution, nil, []evidence.Judgment{l.Judgments[0].Judgment})
				if err := visit(i, &o); err != nil {
					return err
				}
			}
			return nil
		}},
		CaseLines: func(visit func(evidence.CaseLine) error) error {
			for i := range cases {
				if err := visit(line(i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func TestKeptSuite(t *testing.T) {
	const suite = "a=yes b=yes c=no d" // 2 of 3 pass, d is outside of the denominator
	for _, x := range []struct {
		name         string
		proposed     string
		baseline     string // "-" for none
		metric       string // of the candidate; m when empty
		evaluator    evidence.Digest
		bare         bool
		nothing      bool // was taken away
		floor, ceil  [2]int
		pairs        int // with the baseline, of the metric; -1 for none that compare
		wins, losses int
		gone         bool
	}{
		{name: "the same suite", proposed: suite, baseline: suite, nothing: true},
		{name: "more cases", proposed: suite + " e=no", baseline: suite, nothing: true},
		{name: "other metadata", proposed: "a=yes! b=yes c=no d", baseline: suite, nothing: true},
		{name: "a failing case removed", proposed: "a=yes b=yes d", baseline: suite, floor: [2]int{2, 3}, ceil: [2]int{2, 3}, pairs: 3},
		{name: "a failing case edited", proposed: "a=yes b=yes c=yes d", baseline: suite, floor: [2]int{2, 3}, ceil: [2]int{2, 3}, pairs: 3},
		{name: "one that the baseline does not have", proposed: "a=yes b=yes d", baseline: "a=yes b=yes d", floor: [2]int{2, 3}, ceil: [2]int{3, 3}, pairs: 2},
		{name: "one that the baseline has otherwise", proposed: "a=yes b=yes d", baseline: "a=yes b=yes c=maybe d", floor: [2]int{2, 3}, ceil: [2]int{3, 3}, pairs: 2},
		{name: "removed without a baseline", proposed: "a=yes b=yes d", baseline: "-", floor: [2]int{2, 3}, ceil: [2]int{3, 3}},
		{name: "removed, and it never counted", proposed: "a=yes b=yes c=no", baseline: "-", floor: [2]int{2, 3}, ceil: [2]int{2, 3}},
		{name: "another evaluator", proposed: suite, baseline: suite, evaluator: "other", floor: [2]int{2, 3}, ceil: [2]int{2, 3}, pairs: 3},
		{name: "another evaluator, without answers", proposed: suite, baseline: "a=yes b=no c=no d", evaluator: "other", bare: true, floor: [2]int{1, 3}, ceil: [2]int{2, 3}, pairs: 2},
		{name: "no such metric any more", proposed: suite, baseline: suite, metric: "n", bare: true, floor: [2]int{2, 3}, ceil: [2]int{2, 3}, pairs: 3, gone: true},
		{name: "no such metric any more, and no baseline", proposed: suite, baseline: "-", metric: "n", floor: [2]int{0, 3}, ceil: [2]int{3, 3}, gone: true},
		{name: "nothing that pairs", proposed: "z=yes", baseline: "y=yes", floor: [2]int{1, 4}, ceil: [2]int{4, 4}, pairs: -1},
	} {
		t.Run(x.name, func(t *testing.T) {
			spec := verdictOf("m", "first")
			base := BaseSuite{Cases: asked(t, suite), Specs: []evidence.MetricSpec{spec}, Judge: equals}
			now := spec
			if x.metric != "" {
				now.ID = x.metric
			}
			if x.evaluator != "" {
				now.Evaluator = x.evaluator
			}
			proposed := asked(t, x.proposed)
			candidate := answered("run_now", now, proposed)
			if x.bare {
				candidate.CaseLines = nil
			}
			var baseline *compare.Side
			if x.baseline != "-" {
				baseline = &[]Candidate{answered("run_before", spec, asked(t, x.baseline))}[0].Side
			}
			k, err := NewKeptSuite(base, proposed, candidate, baseline)
			if err != nil || (k == nil) != x.nothing {
				t.Fatalf("%v, %v", k, err)
			}
			if k == nil {
				return
			}
			rules := []policy.Rule{with(floor(0.5), named("floor")), with(ceiling(0.5), named("ceiling"))}
			kept, err := k.Kept(&policy.Policy{ConfidenceLevel: level, Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			if kept.Gone("m") != x.gone || kept.Released {
				t.Errorf("gone is %t, released is %t", kept.Gone("m"), kept.Released)
			}
			for i, want := range [][2]int{x.floor, x.ceil} {
				if m := kept.Metrics(rules[i]); m == nil || m.Passed != want[0] || m.Cases.Observed != want[1] || m.Cases.Missing != 0 {
					t.Errorf("%s: %+v, want %d of %d passed", rules[i].ID, m, want[0], want[1])
				}
			}
			if baseline == nil {
				return
			}
			c, err := k.Comparison(*baseline, compare.Options{Level: level})
			if err != nil || (c == nil) != (x.pairs < 0) {
				t.Fatalf("%v, %v", c, err)
			}
			if c == nil {
				return
			}
			if d := c.Differences[0]; d.Spec.ID != "m" || d.Cases.Observed != x.pairs || d.Wins != x.wins || d.Losses != x.losses {
				t.Errorf("%+v, want %d pairs, %d wins, %d losses", d, x.pairs, x.wins, x.losses)
			}
		})
	}
}

// TestKeptJudge: what people's labels say of a judge of the base suite is asked by
// the models that served the run, or the baseline where the run has another judge.
func TestKeptJudge(t *testing.T) {
	judge := verdictOf("m", "first")
	judge.Type = "groundedness_judge"
	for _, x := range []struct {
		name      string
		evaluator evidence.Digest
		served    string
	}{{"the judge of the base suite", "first", "now"}, {"another judge", "other", "before"}} {
		t.Run(x.name, func(t *testing.T) {
			now, before := judge, judge
			now.Evaluator, now.Served, before.Served = x.evaluator, []string{"now"}, []string{"before"}
			var served []string
			base := BaseSuite{Cases: asked(t, "a=yes b=no"), Specs: []evidence.MetricSpec{judge}, Judge: equals, Trust: func(spec evidence.MetricSpec) *evidence.Trust {
				served = spec.Served
				return &evidence.Trust{BothPass: 7}
			}}
			baseline := answered("run_before", before, asked(t, "a=yes b=no"))
			proposed := asked(t, "a=yes")
			k, err := NewKeptSuite(base, proposed, answered("run_now", now, proposed), &baseline.Side)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := k.Kept(&policy.Policy{ConfidenceLevel: level, Rules: []policy.Rule{floor(0.5)}})
			if err != nil {
				t.Fatal(err)
			}
			if m := kept.Metrics(floor(0.5)); m.Spec.Trust == nil || m.Spec.Trust.BothPass != 7 || !slices.Equal(served, []string{x.served}) {
				t.Errorf("trust %+v of a judge served by %v, want %s", m.Spec.Trust, served, x.served)
			}
		})
	}
}
