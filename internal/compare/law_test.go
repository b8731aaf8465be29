package compare

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// anyJudgment draws a judgment of a metric.
func anyJudgment(t *rapid.T, kind evidence.Kind) evidence.Judgment {
	switch rapid.IntRange(0, 9).Draw(t, "state") {
	case 0:
		return missing(rapid.SampledFrom([]string{evidence.ReasonNotRun, evidence.ReasonMissingField}).Draw(t, "reason"))
	case 1:
		return excluded(rapid.SampledFrom([]string{evidence.ReasonNoExpected, evidence.ReasonNoRelevanceLabels}).Draw(t, "reason"))
	}
	if kind == evidence.Rate {
		return judged(float64(rapid.IntRange(0, 1).Draw(t, "verdict")))
	}
	return judged(rapid.SampledFrom([]float64{0, 0.25, 0.3, 1 / math.Log2(3), 1, math.Copysign(0, -1)}).Draw(t, "score"))
}

// anyRuns draws two runs of three metrics that share some of their cases.
func anyRuns(t *rapid.T) (candidate, baseline *run) {
	names := []string{"metadata.topic"}
	candidate, baseline = newRun("run_c", names, correct, ndcg, p90), newRun("run_b", names, correct, ndcg, p90)
	candidate.MinSupport, baseline.MinSupport = 1, 2
	add := func(r *run, id, topic string) *evidence.Outcome {
		o := r.add(id, []string{topic}, anyJudgment(t, evidence.Rate), anyJudgment(t, evidence.Mean))
		o.LatencyMS = float64(rapid.IntRange(0, 5).Draw(t, "latency"))
		return o
	}
	candidate.add("shared", []string{"a"}, judged(1), judged(1))
	baseline.add("shared", []string{"a"}, judged(1), judged(1))
	for i := range rapid.IntRange(0, 25).Draw(t, "cases") {
		id, topic := fmt.Sprint("case_", i), rapid.SampledFrom([]string{"a", "b", evidence.NoSlice}).Draw(t, "topic")
		switch rapid.IntRange(0, 9).Draw(t, "sort") {
		case 0:
			add(candidate, id, topic)
		case 1:
			add(baseline, id, topic)
		case 2:
			add(candidate, id, topic).Digest = "sha256:edited"
			add(baseline, id, topic)
		default:
			add(candidate, id, topic)
			add(baseline, id, topic)
		}
	}
	return candidate, baseline
}

// The exact test is slow; its laws are those of package stats.
var anyMethod = rapid.SampledFrom(Methods()[:2])

// mirrored checks that two differences are each other's mirror image.
func mirrored(t *rapid.T, a, b *Difference) {
	if a.Cases != b.Cases || a.Wins != b.Losses || a.Losses != b.Wins {
		t.Fatalf("%+v with %d/%d, mirrored %+v with %d/%d", a.Cases, a.Wins, a.Losses, b.Cases, b.Wins, b.Losses)
	}
	if (a.Interval == nil) != (b.Interval == nil) {
		t.Fatalf("intervals %v and %v", a.Interval, b.Interval)
	}
	for i, v := range a.Values {
		if w := b.Values[len(b.Values)-1-i]; v != -w {
			t.Fatalf("value %v, mirrored %v", v, w)
		}
	}
	if a.Spec.Kind == evidence.Quantile {
		return // the q quantile of the mirrored values is the 1-q quantile of these
	}
	if a.Estimate != nil && *a.Estimate != -*b.Estimate {
		t.Fatalf("estimate %v, mirrored %v", *a.Estimate, *b.Estimate)
	}
	if a.Interval != nil && (*a.Interval.Lower != -*b.Interval.Upper || *a.Interval.Upper != -*b.Interval.Lower) {
		t.Fatalf("[%v, %v], mirrored [%v, %v]", *a.Interval.Lower, *a.Interval.Upper, *b.Interval.Lower, *b.Interval.Upper)
	}
}

func TestSwappingTheRunsMirrorsTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidate, baseline := anyRuns(t)
		opt := Options{Level: rapid.SampledFrom([]float64{0.8, 0.95, 0.99}).Draw(t, "level"), Method: anyMethod.Draw(t, "method")}
		there, err := Runs(candidate.side(), baseline.side(), opt)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Runs(baseline.side(), candidate.side(), opt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range there.Differences {
			mirrored(t, &there.Differences[i], &back.Differences[i])
		}
		if there.Shared != back.Shared || there.Paired != back.Paired || len(there.Flips) != len(back.Flips) {
			t.Fatalf("%d/%d/%d, mirrored %d/%d/%d", there.Shared, there.Paired, len(there.Flips), back.Shared, back.Paired, len(back.Flips))
		}
	})
}

func TestOrderOfTheCasesDoesNotMatter(t *testing.T) {
	order := func(t *rapid.T, r *run, name string) []int {
		all := make([]int, len(r.cases))
		for i := range all {
			all[i] = i
		}
		return rapid.Permutation(all).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		candidate, baseline := anyRuns(t)
		opt := Options{Level: level}
		want, err := Runs(candidate.side(), baseline.side(), opt)
		if err != nil {
			t.Fatal(err)
		}
		// Read in another order it is the same comparison, to the last byte.
		got, err := Runs(candidate.inOrder(order(t, candidate, "read")), baseline.inOrder(order(t, baseline, "read")), opt)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("read in another order (-want +got):\n%s", diff)
		}
		// Of data sets in another order the figures are the same; lists follow the data sets.
		for _, r := range []*run{candidate, baseline} {
			moved := slices.Clone(r.cases)
			for to, from := range order(t, r, "data set") {
				moved[to] = r.cases[from]
			}
			r.cases = moved
		}
		got, err = Runs(candidate.side(), baseline.side(), opt)
		if err != nil {
			t.Fatal(err)
		}
		less := func(a, b string) bool { return a < b }
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Comparison{}, "ID"), cmpopts.SortSlices(less),
			cmpopts.SortSlices(func(a, b Flip) bool { return fmt.Sprint(a) < fmt.Sprint(b) })); diff != "" {
			t.Fatalf("data sets in another order (-want +got):\n%s", diff)
		}
	})
}

func TestARunAgainstItselfIsZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := anyRuns(t)
		c, err := Runs(r.side(), r.side(), Options{Level: level, Method: anyMethod.Draw(t, "method")})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Flips)+len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.NotComparable) > 0 {
			t.Fatalf("a run differs from itself: %+v", c)
		}
		zero := func(d *Difference) {
			if d.Estimate != nil && (*d.Estimate != 0 || math.Signbit(*d.Estimate)) || d.Wins+d.Losses > 0 {
				t.Fatalf("%s differs from itself by %v", d.Spec.ID, *d.Estimate)
			}
			for _, v := range d.Values {
				if v != 0 || math.Signbit(v) {
					t.Fatalf("%s differs from itself in a case by %v", d.Spec.ID, v)
				}
			}
			i := d.Interval
			if i != nil && d.Spec.Kind != evidence.Quantile && *i.Lower != -*i.Upper {
				t.Fatalf("%s: [%v, %v] is not symmetric", d.Spec.ID, *i.Lower, *i.Upper)
			}
		}
		for i := range c.Differences {
			zero(&c.Differences[i])
		}
		for i := range c.Slices {
			zero(&c.Slices[i].Difference)
		}
	})
}

// Every case of the baseline is a pair, removed or changed, and every pair is
// observed, missing or excluded.
func TestEveryCaseIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidate, baseline := anyRuns(t)
		c, err := Runs(candidate.side(), baseline.side(), Options{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Shared + len(c.Removed) + len(c.Changed); n != len(baseline.cases) || n != c.BaselineCases {
			t.Fatalf("%d pairs, removed and changed, of %d cases of the baseline", n, len(baseline.cases))
		}
		if n := c.Shared + len(c.Added) + len(c.Changed); n != len(candidate.cases) {
			t.Fatalf("%d pairs, added and changed, of %d cases of the candidate", n, len(candidate.cases))
		}
		bySlice := map[string]int{}
		for _, s := range c.Slices {
			bySlice[s.Difference.Spec.ID] += total(s.Difference.Cases)
			if (s.Difference.Interval != nil) != (s.Support >= c.MinSupport) {
				t.Fatalf("slice %s of %d pairs, of at least %d, has the interval %v", s.Value, s.Support, c.MinSupport, s.Difference.Interval)
			}
		}
		for _, d := range c.Differences {
			if total(d.Cases) != c.Shared || d.Cases.Observed > c.Paired {
				t.Fatalf("%s counts %+v of %d pairs, %d observed in any metric", d.Spec.ID, d.Cases, c.Shared, c.Paired)
			}
			if bySlice[d.Spec.ID] > c.Shared {
				t.Fatalf("the slices of %s count %d of %d pairs", d.Spec.ID, bySlice[d.Spec.ID], c.Shared)
			}
			if d.Estimate != nil && d.Interval.Lower != nil && d.Interval.Upper != nil && (*d.Estimate < *d.Interval.Lower || *d.Estimate > *d.Interval.Upper) {
				t.Fatalf("%s: %v outside [%v, %v]", d.Spec.ID, *d.Estimate, *d.Interval.Lower, *d.Interval.Upper)
			}
		}
		for i := range c.Flips {
			if i > 0 && !c.Flips[i].Passing && c.Flips[i-1].Passing {
				t.Fatalf("newly failing after newly passing: %+v", c.Flips)
			}
		}
	})
}

func total(c measure.Cases) int { return c.Observed + c.Missing + c.Excluded }

// The interval holds whatever the missing pairs would have been.
func TestResolvedPairsStayWithinTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs, lost := rapid.IntRange(1, 40).Draw(t, "pairs"), rapid.IntRange(1, 6).Draw(t, "missing")
		wins := rapid.IntRange(0, pairs).Draw(t, "wins")
		losses := rapid.IntRange(0, pairs-wins).Draw(t, "losses")
		opt := Options{Level: level, Method: anyMethod.Draw(t, "method")}
		interval := func(wins, losses, pairs, lost int) *measure.Interval {
			candidate, baseline := verdicts(wins, losses, pairs, lost)
			c, err := Runs(candidate.side(), baseline.side(), opt)
			if err != nil {
				t.Fatal(err)
			}
			return c.Differences[0].Interval
		}
		won := rapid.IntRange(0, lost).Draw(t, "missing that are won")
		before, after := interval(wins, losses, pairs, lost), interval(wins+won, losses+lost-won, pairs+lost, 0)
		const rounding = 1e-12
		if *after.Lower < *before.Lower-rounding || *after.Upper > *before.Upper+rounding {
			t.Fatalf("[%v, %v], and [%v, %v] when %d missing pairs are resolved", *before.Lower, *before.Upper, *after.Lower, *after.Upper, lost)
		}
	})
}

func TestID(t *testing.T) {
	id := func(opt Options, edit func(c, b *run)) evidence.Digest {
		candidate, baseline := tutorial()
		edit(candidate, baseline)
		return compared(t, candidate, baseline, opt).ID
	}
	same := func(c, b *run) {}
	base := id(Options{}, same)
	for name, got := range map[string]evidence.Digest{
		"again":              id(Options{}, same),
		"the default method": id(Options{Method: stats.MethodPaired}, same),
		"all metrics":        id(Options{Criteria: []string{citations.ID, hit.ID, recall.ID, correct.ID}}, same),
		"counts of the run":  id(Options{}, func(c, b *run) { c.Counts.OK++ }),
	} {
		if got != base {
			t.Errorf("%s: another content id", name)
		}
	}
	seen := map[evidence.Digest]string{base: "as it is"}
	for name, got := range map[string]evidence.Digest{
		"level":              id(Options{Level: 0.9}, same),
		"method":             id(Options{Method: stats.MethodConditionalExact}, same),
		"criteria":           id(Options{Criteria: []string{correct.ID}}, same),
		"judged again":       id(Options{Rejudged: []string{correct.ID}}, same),
		"candidate":          id(Options{}, func(c, b *run) { c.ID = "run_x" }),
		"baseline":           id(Options{}, func(c, b *run) { b.ID = "run_x" }),
		"completeness":       id(Options{}, func(c, b *run) { b.Completeness = evidence.Partial }),
		"a verdict":          id(Options{}, func(c, b *run) { b.cases[0].Judgments[0] = judged(0) }),
		"a reason":           id(Options{}, func(c, b *run) { c.cases[7].Judgments[1].Reason = "other" }),
		"missing":            id(Options{}, func(c, b *run) { c.cases[0].Judgments[1] = missing(evidence.ReasonNotRun) }),
		"an edited case":     id(Options{}, func(c, b *run) { c.cases[0].Digest = "sha256:x" }),
		"a case more":        id(Options{}, func(c, b *run) { c.add("new", []string{"api"}, make4(judged(1))...) }),
		"a case less":        id(Options{}, func(c, b *run) { c.cases = c.cases[:14] }),
		"a slice value":      id(Options{}, func(c, b *run) { b.cases[0].Slices[0] = "api" }),
		"support of a slice": id(Options{}, func(c, b *run) { b.MinSupport = 30 }),
		"options of both":    id(Options{}, func(c, b *run) { c.Metrics[0].Evaluator, b.Metrics[0].Evaluator = "x", "x" }),
		"options of one":     id(Options{}, func(c, b *run) { c.Metrics[0].Evaluator = "x" }),
	} {
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have one content id", name, other)
		}
		seen[got] = name
	}
}

func make4(j evidence.Judgment) []evidence.Judgment { return slices.Repeat([]evidence.Judgment{j}, 4) }
