package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// rate is a rate with its real interval.
func rate(passed, observed, missing int) measure.Metric {
	return rateAt(level, passed, observed, missing)
}

func rateAt(level float64, passed, observed, missing int) measure.Metric {
	i := stats.Rate(passed, observed, missing, level)
	m := metric(passed, observed, missing, &i.Lower, &i.Upper)
	m.Interval.Level = level
	m.Interval.Method = stats.MethodRate
	if observed > 0 {
		m.Estimate = ptr(float64(passed) / float64(observed))
	}
	if observed+missing == 0 {
		m.Interval = nil
	}
	return m
}

func stateOf(r policy.Rule, m measure.Metric) policy.State {
	return Run(blockAll(r), []measure.Metric{m}, evidence.Complete).Decisions[0].State
}

// rank orders the states from the worst evidence to the best.
func rank(s policy.State) int {
	return map[policy.State]int{policy.Fail: 0, policy.InsufficientEvidence: 1, policy.Pass: 2}[s]
}

func TestPassNeedsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.IntRange(1, 400).Draw(t, "observed")
		missing := rapid.IntRange(0, 20).Draw(t, "missing")
		m := rate(rapid.IntRange(0, observed).Draw(t, "passed"), observed, missing)
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")

		want := policy.InsufficientEvidence
		if *m.Interval.Lower >= threshold {
			want = policy.Pass
		} else if *m.Interval.Upper < threshold {
			want = policy.Fail
		}
		if got := stateOf(floor(threshold), m); got != want {
			t.Fatalf("floor %v of [%v, %v] = %s, want %s", threshold, *m.Interval.Lower, *m.Interval.Upper, got, want)
		}
		want = policy.InsufficientEvidence
		if *m.Interval.Upper <= threshold {
			want = policy.Pass
		} else if *m.Interval.Lower > threshold {
			want = policy.Fail
		}
		if got := stateOf(ceiling(threshold), m); got != want {
			t.Fatalf("ceiling %v of [%v, %v] = %s, want %s", threshold, *m.Interval.Lower, *m.Interval.Upper, got, want)
		}
	})
}

func TestMorePassesNeverMakeAFloorWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.IntRange(1, 200).Draw(t, "observed")
		missing := rapid.IntRange(0, 10).Draw(t, "missing")
		few := rapid.IntRange(0, observed).Draw(t, "few")
		many := rapid.IntRange(few, observed).Draw(t, "many")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		limit := rapid.IntRange(0, observed).Draw(t, "limit")

		for _, r := range []policy.Rule{floor(threshold), count(limit)} {
			less, more := stateOf(r, rate(few, observed, missing)), stateOf(r, rate(many, observed, missing))
			if rank(more) < rank(less) {
				t.Fatalf("%d of %d is %s, %d of %d is %s", few, observed, less, many, observed, more)
			}
		}
		less, more := stateOf(ceiling(threshold), rate(few, observed, missing)), stateOf(ceiling(threshold), rate(many, observed, missing))
		if rank(more) > rank(less) {
			t.Fatalf("ceiling: %d of %d is %s, %d of %d is %s", few, observed, less, many, observed, more)
		}
	})
}

// A decided rule stays decided, whatever the missing cases turn out to be.
func TestResolvingMissingCasesKeepsADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.IntRange(1, 100).Draw(t, "observed")
		passed := rapid.IntRange(0, observed).Draw(t, "passed")
		missing := rapid.IntRange(1, 20).Draw(t, "missing")
		good := rapid.IntRange(0, missing).Draw(t, "missing cases that pass")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		limit := rapid.IntRange(0, observed).Draw(t, "limit")

		for _, r := range []policy.Rule{floor(threshold), ceiling(threshold), count(limit)} {
			before, after := stateOf(r, rate(passed, observed, missing)), stateOf(r, rate(passed+good, observed+missing, 0))
			if before != policy.InsufficientEvidence && before != after {
				t.Fatalf("%d of %d and %d missing is %s, %d of %d is %s", passed, observed, missing, before, passed+good, observed+missing, after)
			}
		}
	})
}

func TestMoreOfTheSameNeverTurnsPassToFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.IntRange(1, 100).Draw(t, "observed")
		passed := rapid.IntRange(0, observed).Draw(t, "passed")
		times := rapid.IntRange(2, 20).Draw(t, "times")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		for _, r := range []policy.Rule{floor(threshold), ceiling(threshold)} {
			one, all := stateOf(r, rate(passed, observed, 0)), stateOf(r, rate(passed*times, observed*times, 0))
			if one != policy.InsufficientEvidence && one != all {
				t.Fatalf("%d of %d is %s, and %d times as many %s", passed, observed, one, times, all)
			}
		}
	})
}

var anyState = rapid.SampledFrom(allStates)

// anyPolicy draws a policy over the metrics m0 to m4.
func anyPolicy(t *rapid.T) *policy.Policy {
	p := &policy.Policy{
		ConfidenceLevel:   level,
		BlockOnPartialRun: rapid.Bool().Draw(t, "block on partial"),
		BlockOn:           rapid.SliceOfDistinct(anyState, rapid.ID[policy.State]).Draw(t, "block on"),
		WarnOn:            rapid.SliceOfDistinct(anyState, rapid.ID[policy.State]).Draw(t, "warn on"),
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		r := rapid.SampledFrom([]policy.Rule{floor(threshold), ceiling(threshold), count(3), with(floor(threshold), maxMissing(0.1))}).Draw(t, "rule")
		r.ID = fmt.Sprint("r", i)
		r.Metric = fmt.Sprint("m", rapid.IntRange(0, 4).Draw(t, "metric"))
		r.ManualReview = rapid.IntRange(0, 9).Draw(t, "review") == 0
		p.Rules = append(p.Rules, r)
	}
	return p
}

func anyMetrics(t *rapid.T) []measure.Metric {
	var metrics []measure.Metric
	for i := range 5 {
		observed := rapid.IntRange(0, 60).Draw(t, "observed")
		m := rate(rapid.IntRange(0, observed).Draw(t, "passed"), observed, rapid.IntRange(0, 5).Draw(t, "missing"))
		m.Spec.ID = fmt.Sprint("m", i)
		metrics = append(metrics, m)
	}
	return metrics
}

var anyCompleteness = rapid.SampledFrom([]evidence.Completeness{evidence.Complete, evidence.Partial})

func TestOrderOfRulesAndMetricsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, metrics := anyPolicy(t), anyMetrics(t)
		completeness := anyCompleteness.Draw(t, "completeness")
		before := Run(p, metrics, completeness)

		shuffled := *p
		shuffled.Rules = rapid.Permutation(p.Rules).Draw(t, "order of rules")
		after := Run(&shuffled, rapid.Permutation(metrics).Draw(t, "order of metrics"), completeness)

		if diff := cmp.Diff(before.Gate, after.Gate); diff != "" {
			t.Fatalf("the gate depends on the order (-want +got):\n%s", diff)
		}
		states := map[string]policy.State{}
		for _, d := range before.Decisions {
			states[d.Rule.ID] = d.State
		}
		for _, d := range after.Decisions {
			if states[d.Rule.ID] != d.State {
				t.Fatalf("rule %s is %s or %s, by the order", d.Rule.ID, states[d.Rule.ID], d.State)
			}
		}
	})
}

// The gate depends on nothing but the states, on whether evidence is missing,
// and on the policy.
func TestGateDependsOnStatesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, completeness := anyPolicy(t), anyCompleteness.Draw(t, "completeness")
		r := Run(p, anyMetrics(t), completeness)
		var bare []Decision
		for _, d := range r.Decisions {
			bare = append(bare, Decision{State: d.State, MissingEvidence: d.MissingEvidence})
		}
		lists := &policy.Policy{BlockOn: p.BlockOn, WarnOn: p.WarnOn, BlockOnPartialRun: p.BlockOnPartialRun}
		if diff := cmp.Diff(r.Gate, gateOf(lists, bare, completeness)); diff != "" {
			t.Fatalf("the gate depends on more than the states (-want +got):\n%s", diff)
		}
	})
}

// Whatever is drawn, a gate that is open rests on evidence.
func TestAnOpenGateRestsOnEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t)
		r := Run(p, anyMetrics(t), anyCompleteness.Draw(t, "completeness"))
		for _, d := range r.Decisions {
			if len(d.Reasons) == 0 {
				t.Fatalf("rule %s is %s without a reason", d.Rule.ID, d.State)
			}
			if r.Gate.Action != Block && d.Metric.Cases.Observed == 0 {
				t.Fatalf("gate %s, and rule %s observed nothing", r.Gate.Action, d.Rule.ID)
			}
			if d.State == policy.Pass && d.Metric.Cases.Observed == 0 {
				t.Fatalf("rule %s passed without an observation", d.Rule.ID)
			}
		}
		if (r.Gate.Action == Block) != (r.Gate.ExitCode != 0) {
			t.Fatalf("gate %s with exit code %d", r.Gate.Action, r.Gate.ExitCode)
		}
	})
}
