package decide

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

func superior() policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.Superiority, HigherBetter: true, Scope: "global"}
}

func notWorse(margin float64) policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.NonInferiority, Margin: &margin, HigherBetter: true, Scope: "global"}
}

func alike(margin float64) policy.Rule {
	return policy.Rule{ID: "r", Metric: "m", Kind: policy.Equivalence, Margin: &margin, HigherBetter: true, Scope: "global"}
}

func lessIsBetter(r *policy.Rule) { r.HigherBetter = false }

func named(id string) func(*policy.Rule) { return func(r *policy.Rule) { r.ID = id } }

func on(metric string) func(*policy.Rule) { return func(r *policy.Rule) { r.Metric = metric } }

func inSlice(value string, support int) func(*policy.Rule) {
	return func(r *policy.Rule) { r.Scope, r.MinSupport = "slice/metadata.topic="+value, &support }
}

// verdictDifference is a difference of a rate with its real interval.
func verdictDifference(level float64, wins, losses, observed, missing int) compare.Difference {
	d := compare.Difference{
		Spec: evidence.MetricSpec{ID: "m", Kind: evidence.Rate, Range: [2]float64{0, 1}},
		Wins: wins, Losses: losses, Cases: measure.Cases{Observed: observed, Missing: missing},
	}
	if observed > 0 {
		d.Estimate = ptr(d.Pairs().Difference())
	}
	if observed+missing > 0 {
		i := stats.PairedVerdicts(d.Pairs(), level)
		d.Interval = &measure.Interval{Lower: &i.Lower, Upper: &i.Upper, Level: level, Method: stats.MethodPaired}
	}
	return d
}

// limited is a difference of which only the limits matter.
func limited(lower, upper *float64) compare.Difference {
	d := verdictDifference(level, 0, 0, 10, 0)
	d.Interval.Lower, d.Interval.Upper = lower, upper
	return d
}

func scoreDifference(missing int, values ...float64) compare.Difference {
	slices.Sort(values)
	d := compare.Difference{
		Spec:  evidence.MetricSpec{ID: "m", Kind: evidence.Mean, Range: [2]float64{0, 1}},
		Cases: measure.Cases{Observed: len(values), Missing: missing}, Values: values,
		Estimate: ptr(stats.Estimate(values)),
	}
	i := stats.PairedScores(values, missing, 1, level)
	d.Interval = &measure.Interval{Lower: &i.Lower, Upper: &i.Upper, Level: level, Method: stats.MethodPaired}
	return d
}

func latencyDifference(q float64, missing int, values ...float64) compare.Difference {
	slices.Sort(values)
	d := compare.Difference{
		Spec:  evidence.MetricSpec{ID: "m", Kind: evidence.Quantile, Source: "latency_ms", Quantile: q, Unit: "ms"},
		Cases: measure.Cases{Observed: len(values), Missing: missing}, Values: values,
		Estimate: ptr(stats.QuantileEstimate(values, q)),
	}
	i := stats.PairedQuantile(values, missing, q, level)
	d.Interval = &measure.Interval{Lower: finite(i.Lower), Upper: finite(i.Upper), Level: level, Method: stats.MethodPairedQuantile}
	return d
}

// comparison is a comparison of complete runs whose cases are all paired.
func comparison(differences ...compare.Difference) *compare.Comparison {
	complete := compare.RunRef{Completeness: evidence.Complete}
	return &compare.Comparison{
		ID: "sha256:c", Candidate: complete, Baseline: complete, Level: level, Method: stats.MethodPaired,
		Shared: 10, Paired: 10, BaselineCases: 10, Differences: differences,
	}
}

func decided(r policy.Rule, d compare.Difference) Decision {
	return Compare(blockAll(r), comparison(d)).Decisions[0]
}

func TestLimitsOfADifference(t *testing.T) {
	none := (*float64)(nil)
	up := func(x float64) float64 { return math.Nextafter(x, 2) }
	down := func(x float64) float64 { return math.Nextafter(x, -2) }
	pass, fail, open := policy.Pass, policy.Fail, policy.InsufficientEvidence
	tests := []struct {
		name         string
		rule         policy.Rule
		lower, upper *float64
		state        policy.State
		reason       string
	}{
		{"above zero", superior(), ptr(up(0)), ptr(0.2), pass, ReasonAboveZero},
		{"lower at zero", superior(), ptr(0.0), ptr(0.2), open, ReasonOverlapsZero},
		{"upper at zero", superior(), ptr(-0.2), ptr(0.0), fail, ReasonBelowZero},
		{"upper above zero", superior(), ptr(-0.2), ptr(up(0)), open, ReasonOverlapsZero},
		{"exactly zero", superior(), ptr(0.0), ptr(0.0), fail, ReasonBelowZero},
		{"no upper, above zero", superior(), ptr(0.1), none, pass, ReasonAboveZero},
		{"no upper, undecided", superior(), ptr(-0.1), none, open, ReasonIntervalUnbounded},
		{"no lower, below zero", superior(), none, ptr(-0.1), fail, ReasonBelowZero},
		{"less is better, below zero", with(superior(), lessIsBetter), ptr(-0.2), ptr(down(0)), pass, ReasonAboveZero},
		{"less is better, above zero", with(superior(), lessIsBetter), ptr(0.0), ptr(0.2), fail, ReasonBelowZero},
		{"less is better, no lower", with(superior(), lessIsBetter), none, ptr(-0.1), pass, ReasonAboveZero},
		{"less is better, no upper", with(superior(), lessIsBetter), ptr(-0.1), none, open, ReasonIntervalUnbounded},

		{"margin met", notWorse(0.05), ptr(-0.05), ptr(0.2), pass, ReasonLowerAboveMargin},
		{"margin missed", notWorse(0.05), ptr(down(-0.05)), ptr(0.2), open, ReasonOverlapsMargin},
		{"upper at the margin", notWorse(0.05), ptr(-0.2), ptr(-0.05), open, ReasonOverlapsMargin},
		{"upper below the margin", notWorse(0.05), ptr(-0.2), ptr(down(-0.05)), fail, ReasonUpperBelowMargin},
		{"less is better, margin met", with(notWorse(0.05), lessIsBetter), ptr(-0.2), ptr(0.05), pass, ReasonLowerAboveMargin},
		{"less is better, margin missed", with(notWorse(0.05), lessIsBetter), ptr(-0.2), ptr(up(0.05)), open, ReasonOverlapsMargin},
		{"less is better, worse", with(notWorse(0.05), lessIsBetter), ptr(up(0.05)), ptr(0.2), fail, ReasonUpperBelowMargin},
		{"not a number", notWorse(0.05), ptr(math.NaN()), ptr(math.NaN()), open, ReasonOverlapsMargin},
		{"no lower", notWorse(0.05), none, ptr(0.2), open, ReasonIntervalUnbounded},

		{"within the margins", alike(0.05), ptr(up(-0.05)), ptr(down(0.05)), pass, ReasonWithinMargins},
		{"lower at the margin", alike(0.05), ptr(-0.05), ptr(0.01), open, ReasonOverlapsMargins},
		{"upper at the other margin", alike(0.05), ptr(-0.01), ptr(0.05), open, ReasonOverlapsMargins},
		{"at or below the margin", alike(0.05), ptr(-0.2), ptr(-0.05), fail, ReasonOutsideMargins},
		{"at or above the margin", alike(0.05), ptr(0.05), ptr(0.2), fail, ReasonOutsideMargins},
		{"around both", alike(0.05), ptr(-0.2), ptr(0.2), open, ReasonOverlapsMargins},
		{"above, no upper", alike(0.05), ptr(0.06), none, fail, ReasonOutsideMargins},
		{"no upper, within on the other side", alike(0.05), ptr(-0.01), none, open, ReasonIntervalUnbounded},
		{"less is better means nothing", with(alike(0.05), lessIsBetter), ptr(up(-0.05)), ptr(down(0.05)), pass, ReasonWithinMargins},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decided(tt.rule, limited(tt.lower, tt.upper))
			if d.State != tt.state || !slices.Equal(d.Reasons, []string{tt.reason}) {
				t.Errorf("%s %v, want %s %s", d.State, d.Reasons, tt.state, tt.reason)
			}
		})
	}
}

func TestTiersOfAComparisonRule(t *testing.T) {
	good := limited(ptr(0.1), ptr(0.2))
	of := func(change func(*compare.Difference)) compare.Difference {
		d := limited(ptr(0.1), ptr(0.2))
		change(&d)
		return d
	}
	noMargin := notWorse(0.05)
	noMargin.Margin = nil
	endless := of(func(d *compare.Difference) {
		d.Spec.Kind, d.Spec.Range, d.Cases.Missing, d.Interval = evidence.Mean, [2]float64{}, 1, nil
	})
	unlike := func(c *compare.Comparison) {
		c.Differences = nil
		c.NotComparable = []compare.NotComparable{{Metric: "m", Reason: compare.ReasonEvaluatorChanged}}
	}
	few := func(shared, all int) func(*compare.Comparison) {
		return func(c *compare.Comparison) { c.Shared, c.BaselineCases = shared, all }
	}
	same := func(*compare.Comparison) {}
	share := func(s float64) func(*policy.Policy) { return func(p *policy.Policy) { p.MinPairedShare = s } }
	asIs := share(0.9)
	insufficient := policy.InsufficientEvidence
	tests := []struct {
		name    string
		rule    policy.Rule
		d       compare.Difference
		c       func(*compare.Comparison)
		p       func(*policy.Policy)
		state   policy.State
		reasons []string
		blocks  bool // always
	}{
		{"decided", notWorse(0.05), good, same, asIs, policy.Pass, []string{ReasonLowerAboveMargin}, false},
		{"review", with(notWorse(0.05), review), good, same, asIs, policy.ManualReview, []string{ReasonPolicyRequiresReview}, false},
		{"review of nothing", with(notWorse(0.05), review), verdictDifference(level, 0, 0, 0, 0), same, asIs, policy.ManualReview, []string{ReasonPolicyRequiresReview}, true},
		{"no margin", noMargin, good, same, asIs, policy.ManualReview, []string{ReasonUnsupportedMethod}, false},
		{"margin of zero", notWorse(0), good, same, asIs, policy.ManualReview, []string{ReasonUnsupportedMethod}, false},
		{"margin of the whole range", notWorse(1), good, same, asIs, policy.ManualReview, []string{ReasonUnsupportedMethod}, false},
		{"margin that is no number", notWorse(math.NaN()), good, same, asIs, policy.ManualReview, []string{ReasonUnsupportedMethod}, false},
		{"all reasons for review", with(alike(5), review), good, same, asIs, policy.ManualReview, []string{ReasonPolicyRequiresReview, ReasonUnsupportedMethod}, false},

		{"no pair", superior(), verdictDifference(level, 0, 0, 0, 0), same, asIs, insufficient, []string{ReasonNoObservations, ReasonIntervalUnavailable}, true},
		{"all missing", superior(), verdictDifference(level, 0, 0, 0, 5), same, asIs, insufficient, []string{ReasonNoObservations}, true},
		{"too many missing", with(notWorse(0.05), maxMissing(0.09)), verdictDifference(level, 0, 0, 90, 10), same, asIs, insufficient, []string{ReasonMissingnessExceedsPolicy}, true},
		{"missing at the limit", with(notWorse(0.9), maxMissing(0.1)), verdictDifference(level, 0, 0, 90, 10), same, asIs, policy.Pass, []string{ReasonLowerAboveMargin}, false},
		{"scores without a range", notWorse(0.05), endless, same, asIs, insufficient, []string{ReasonMissingnessUnbounded, ReasonIntervalUnavailable}, false},
		{"another level", notWorse(0.05), of(func(d *compare.Difference) { d.Interval.Level = 0.9 }), same, asIs, insufficient, []string{ReasonIntervalUnavailable}, false},
		{"another method", notWorse(0.05), good, same, func(p *policy.Policy) { p.DifferenceMethod = stats.MethodConditionalExact }, insufficient, []string{ReasonIntervalUnavailable}, false},
		{"another method of scores", notWorse(0.9), scoreDifference(0, times(20, 0)...), same, func(p *policy.Policy) { p.DifferenceMethod = stats.MethodConditionalExact }, policy.Pass, []string{ReasonLowerAboveMargin}, false},
		{"unknown metric", with(superior(), on("other")), good, same, asIs, insufficient, []string{ReasonNoObservations, ReasonIntervalUnavailable}, true},

		{"enough pairs", notWorse(0.05), good, few(9, 10), asIs, policy.Pass, []string{ReasonLowerAboveMargin}, false},
		{"too few pairs", notWorse(0.05), good, few(89, 100), asIs, insufficient, []string{ReasonTooFewPairs}, false},
		{"too few pairs for the policy", notWorse(0.05), good, few(99, 100), share(1), insufficient, []string{ReasonTooFewPairs}, false},
		{"any number of pairs", notWorse(0.05), good, few(1, 100), share(0), policy.Pass, []string{ReasonLowerAboveMargin}, false},
		{"too few pairs of a FAIL", superior(), limited(ptr(-0.2), ptr(-0.1)), few(1, 100), asIs, insufficient, []string{ReasonTooFewPairs}, false},
		{"too few pairs and none observed", superior(), verdictDifference(level, 0, 0, 0, 0), few(1, 100), asIs, insufficient, []string{ReasonTooFewPairs, ReasonNoObservations, ReasonIntervalUnavailable}, true},

		{"evaluator changed", notWorse(0.05), good, unlike, asIs, insufficient, []string{ReasonEvaluatorChanged}, false},
		{"evaluator changed, too few pairs", notWorse(0.05), good, func(c *compare.Comparison) { unlike(c); few(1, 100)(c) }, asIs, insufficient, []string{ReasonEvaluatorChanged, ReasonTooFewPairs}, false},
		{"metric of the candidate only", notWorse(0.05), good, func(c *compare.Comparison) { c.Differences, c.OnlyCandidate = nil, []string{"m"} }, asIs, insufficient, []string{ReasonBaselineIncompatible}, false},
		{"metric of the baseline only", notWorse(0.05), good, func(c *compare.Comparison) { c.Differences, c.OnlyBaseline = nil, []string{"m"} }, asIs, insufficient, []string{ReasonEvaluatorChanged}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, c := blockAll(tt.rule), comparison(tt.d)
			tt.p(p)
			tt.c(c)
			d := Compare(p, c).Decisions[0]
			if d.State != tt.state || !slices.Equal(d.Reasons, tt.reasons) || d.MissingEvidence != tt.blocks {
				t.Errorf("%s %v, blocks %v, want %s %v %v", d.State, d.Reasons, d.MissingEvidence, tt.state, tt.reasons, tt.blocks)
			}
		})
	}
}

func TestSliceRules(t *testing.T) {
	slice := func(value string, d compare.Difference) compare.SliceDifference {
		return compare.SliceDifference{Name: "metadata.topic", Value: value, Difference: d, Support: d.Cases.Eligible()}
	}
	unseen := limited(ptr(0.1), ptr(0.2))
	unseen.Interval = nil // below min_slice_support
	c := comparison(limited(ptr(-0.9), ptr(-0.8)))
	c.Slices = []compare.SliceDifference{
		slice("billing", limited(ptr(0.1), ptr(0.2))),
		slice("a=b", limited(ptr(-0.5), ptr(-0.4))),
		slice("api", unseen),
	}
	tests := []struct {
		value   string
		support int
		state   policy.State
		reasons []string
	}{
		{"billing", 10, policy.Pass, []string{ReasonAboveZero}},
		{"billing", 11, policy.InsufficientEvidence, []string{ReasonInsufficientSupport}},
		{"a=b", 1, policy.Fail, []string{ReasonBelowZero}},
		{"api", 1, policy.InsufficientEvidence, []string{ReasonIntervalUnavailable}},
		{"api", 30, policy.InsufficientEvidence, []string{ReasonIntervalUnavailable, ReasonInsufficientSupport}},
		{"security", 1, policy.InsufficientEvidence, []string{ReasonNoObservations, ReasonIntervalUnavailable, ReasonInsufficientSupport}},
	}
	for _, tt := range tests {
		d := Compare(blockAll(with(superior(), inSlice(tt.value, tt.support))), c).Decisions[0]
		if d.State != tt.state || !slices.Equal(d.Reasons, tt.reasons) {
			t.Errorf("slice %s of %d: %s %v, want %s %v", tt.value, tt.support, d.State, d.Reasons, tt.state, tt.reasons)
		}
		if d.Planning != nil {
			t.Errorf("slice %s: planning %+v", tt.value, d.Planning)
		}
	}
}

func TestDecisionCarriesWhatDecided(t *testing.T) {
	p := blockAll(with(floor(0.7), named("one")), with(notWorse(0.05), named("two")), with(superior(), named("three")))
	p.Families = []policy.Family{{ID: "f", Correction: "holm", Rules: []string{"three"}}}
	c := comparison(verdictDifference(level, 1, 0, 15, 0))
	r := Compare(p, c)
	if r.Skipped != 1 || len(r.Decisions) != 2 {
		t.Fatalf("%d skipped, %d decided, want 1 and 2", r.Skipped, len(r.Decisions))
	}
	two, three := r.Decisions[0], r.Decisions[1]
	if two.Rule.ID != "two" || two.Comparison != "sha256:c" || two.Family != "" || three.Family != "f" || two.Metric != nil {
		t.Errorf("decision %+v", two)
	}
	if diff := cmp.Diff(&c.Differences[0], two.Difference); diff != "" || two.Difference == &c.Differences[0] {
		t.Errorf("difference, to be a copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Family{{ID: "f", Correction: "holm", Rules: 1}}, r.Families); diff != "" {
		t.Error(diff)
	}
}

func TestPartialRunsOfAComparison(t *testing.T) {
	p := blockAll(notWorse(0.5))
	p.BlockOn = nil
	for _, partial := range []func(c *compare.Comparison){
		func(c *compare.Comparison) { c.Candidate.Completeness = evidence.Partial },
		func(c *compare.Comparison) { c.Baseline.Completeness = evidence.Partial },
	} {
		c := comparison(verdictDifference(level, 0, 0, 100, 0))
		if g := Compare(p, c).Gate; g.Action != Allow {
			t.Errorf("gate %+v of complete runs", g)
		}
		partial(c)
		want := Gate{Action: Block, ExitCode: ExitBlocked, Reasons: []string{GatePartialRun}}
		if diff := cmp.Diff(want, Compare(p, c).Gate); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWithoutBaseline(t *testing.T) {
	p := blockAll(floor(0.7), notWorse(0.05), with(superior(), review), with(alike(0.1), named("e")))
	p.Families = []policy.Family{{ID: "f", Correction: "holm", Rules: []string{"e"}}}
	for _, reason := range []string{ReasonNoBaseline, ReasonBaselineIncompatible} {
		r := WithoutBaseline(p, reason, evidence.Complete)
		var got []string
		for _, d := range r.Decisions {
			got = append(got, fmt.Sprintf("%s %v %v", d.State, d.Reasons, d.MissingEvidence))
		}
		want := []string{
			"INSUFFICIENT_EVIDENCE [" + reason + "] false",
			"MANUAL_REVIEW [policy_requires_review] false",
			"INSUFFICIENT_EVIDENCE [" + reason + "] false",
		}
		if diff := cmp.Diff(want, got); diff != "" || r.Skipped != 1 || r.Decisions[2].Family != "f" || len(r.Families) != 1 {
			t.Errorf("skipped %d, families %+v, decisions (-want +got):\n%s", r.Skipped, r.Families, diff)
		}
		if r.Gate.Action != Block || r.Gate.ExitCode != ExitBlocked || r.Gate.Reasons != nil {
			t.Errorf("gate %+v", r.Gate)
		}
	}
	p.BlockOn, p.WarnOn = []policy.State{policy.Fail}, []policy.State{policy.InsufficientEvidence}
	if g := WithoutBaseline(p, ReasonNoBaseline, evidence.Complete).Gate; g.Action != Warn || g.ExitCode != ExitAllowed {
		t.Errorf("gate %+v, want a warning", g)
	}
	if g := WithoutBaseline(p, ReasonNoBaseline, evidence.Partial).Gate; g.Action != Block {
		t.Errorf("gate %+v of a partial run, want BLOCK", g)
	}
}

// side is a run in memory with one pass/fail criterion, m.
func side(id string, verdicts []float64) compare.Side {
	spec := evidence.MetricSpec{ID: "m", Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"}
	return compare.Side{
		Manifest: &evidence.Manifest{ID: id, Completeness: evidence.Complete, Metrics: []evidence.MetricSpec{spec}},
		Outcomes: func(visit func(int, *evidence.Outcome) error) error {
			for i, v := range verdicts {
				o := evidence.Outcome{ID: fmt.Sprint("case_", i), Status: evidence.StatusOK, Judgments: []evidence.Judgment{{State: evidence.Judged, Value: v}}}
				if err := visit(i, &o); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// paired compares two runs that differ in so many of their cases.
func paired(t testing.TB, wins, losses, pairs int, opt compare.Options) *compare.Comparison {
	t.Helper()
	now, before := make([]float64, pairs), make([]float64, pairs)
	for i := range wins + losses {
		if i < wins {
			now[i] = 1
		} else {
			before[i] = 1
		}
	}
	c, err := compare.Runs(side("run_c", now), side("run_b", before), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPlanningOfPairsReproducesTheReference reads testdata/planning_pairs.json,
// whose source is stated in it, through pairing and deciding.
func TestPlanningOfPairsReproducesTheReference(t *testing.T) {
	b, err := os.ReadFile("testdata/planning_pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows []struct {
			Wins, Losses, Pairs int
			Margin              *float64
			Kind                policy.Kind
			Level, Lower, Upper float64
			State               policy.State
			Reasons             []string
			Total, More         int
			Differing           string
			Unsized             bool
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Rows) != 26 {
		t.Fatalf("%d rows, want 26", len(golden.Rows))
	}
	for _, row := range golden.Rows {
		margin := 0.0
		if row.Margin != nil {
			margin = *row.Margin
		}
		t.Run(fmt.Sprintf("%d wins and %d losses of %d, %s %v at %v", row.Wins, row.Losses, row.Pairs, row.Kind, margin, row.Level), func(t *testing.T) {
			p := blockAll(policy.Rule{ID: "r", Metric: "m", Kind: row.Kind, Margin: row.Margin, HigherBetter: true, Scope: "global"})
			p.ConfidenceLevel, p.MinPairedShare = row.Level, 0.9
			d := Compare(p, paired(t, row.Wins, row.Losses, row.Pairs, compare.Options{Level: row.Level})).Decisions[0]

			i := d.Difference.Interval
			if diff := cmp.Diff([]float64{row.Lower, row.Upper}, []float64{*i.Lower, *i.Upper}, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if d.State != row.State || !slices.Equal(d.Reasons, row.Reasons) {
				t.Errorf("%s %v, want %s %v", d.State, d.Reasons, row.State, row.Reasons)
			}
			switch got := d.Planning; {
			case row.Total > 0:
				if got == nil || got.Total != row.Total || got.More != row.More {
					t.Fatalf("planning %+v, want %d in all and %d more", got, row.Total, row.More)
				}
				differing := ""
				if got.Discordance != nil {
					differing = fmt.Sprintf("%.0f%%", math.RoundToEven(*got.Discordance*100))
				}
				if differing != row.Differing {
					t.Errorf("%s discordance, want %s", differing, row.Differing)
				}
			case row.Unsized:
				if got == nil || got.Total != 0 || got.Reason != PlanPastThreshold && got.Reason != PlanAtThreshold {
					t.Errorf("planning %+v, want that no size would make it PASS", got)
				}
			default:
				if got != nil {
					t.Errorf("planning %+v, want none", got)
				}
			}
		})
	}
}

func TestPlanningOfComparisons(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	slower := times(15, 20, 30) // per-case differences of latency in ms
	tests := []struct {
		name string
		rule policy.Rule
		d    compare.Difference
		want *Planning
	}{
		{"PASS", notWorse(0.5), verdictDifference(level, 0, 0, 100, 0), nil},
		{"FAIL", superior(), verdictDifference(level, 0, 90, 100, 0), nil},
		{"manual review", with(notWorse(0.05), review), verdictDifference(level, 1, 0, 15, 0), nil},
		{"missing pairs", notWorse(0.05), verdictDifference(level, 1, 0, 15, 1), nil},
		{"nothing observed", notWorse(0.05), verdictDifference(level, 0, 0, 0, 4), nil},
		{"zero discordance", notWorse(0.02), verdictDifference(level, 0, 0, 13, 0), &Planning{Total: 271, More: 258}},
		{"both sides", alike(0.05), verdictDifference(level, 1, 0, 15, 0), &Planning{Reason: PlanPastThreshold}},
		{"both sides, zero discordance", alike(0.1), verdictDifference(level, 0, 0, 13, 0), &Planning{Total: 52, More: 39}},
		{"the other side decides", alike(0.02), verdictDifference(level, 5, 0, 200, 0), &Planning{Reason: PlanPastThreshold}},
		{"less is better mirrors", with(notWorse(0.05), lessIsBetter), verdictDifference(level, 0, 1, 15, 0), &Planning{Total: 53, More: 38, Discordance: at(1.0 / 15)}},
		{"at the margin", notWorse(0.1), verdictDifference(level, 0, 1, 10, 0), &Planning{Reason: PlanAtThreshold}},
		{"not better than zero", superior(), verdictDifference(level, 0, 0, 13, 0), &Planning{Reason: PlanAtThreshold}},

		{"scores", notWorse(0.05), scoreDifference(0, times(13, 0)...), &Planning{Total: 107, More: 94}},
		{"scores, less is better", with(notWorse(0.05), lessIsBetter), scoreDifference(0, times(13, 0)...), &Planning{Total: 107, More: 94}},
		{"scores past the margin", notWorse(0.05), scoreDifference(0, times(13, -0.06)...), &Planning{Reason: PlanPastThreshold}},
		{"scores, less is better, past the margin", with(notWorse(0.05), lessIsBetter), scoreDifference(0, times(13, 0.06)...), &Planning{Reason: PlanPastThreshold}},
		{"scores with a missing pair", notWorse(0.05), scoreDifference(1, times(13, 0)...), nil},

		{"too few for an upper limit", with(notWorse(50), lessIsBetter), latencyDifference(0.95, 0, slower...), &Planning{Total: 72, More: 42}},
		{"too few for any limit", with(notWorse(50), lessIsBetter), latencyDifference(0.5, 0, 20), &Planning{Total: 6, More: 5}},
		{"latency past the margin", with(notWorse(25), lessIsBetter), latencyDifference(0.95, 0, 10, 10, 10, 10, 30), &Planning{Reason: PlanPastThreshold}},
		{"latency at the margin", with(notWorse(30), lessIsBetter), latencyDifference(0.95, 0, slower...), &Planning{Total: 72, More: 42}},
		{"latency with a missing pair", with(notWorse(50), lessIsBetter), latencyDifference(0.95, 1, slower...), nil},
		{"faster", with(superior(), lessIsBetter), latencyDifference(0.95, 0, times(10, -5.0)...), &Planning{Total: 72, More: 62}},
		{"as fast as before", with(superior(), lessIsBetter), latencyDifference(0.95, 0, -1, -1, -1, -1, 0), &Planning{Reason: PlanAtThreshold}},
		{"latency alike, upper side", alike(50), latencyDifference(0.95, 0, slower...), &Planning{Total: 72, More: 42}},
		{"latency alike, lower side", alike(50), latencyDifference(0.05, 0, slower...), &Planning{Total: 72, More: 42}},
		{"latency, more is better", notWorse(50), latencyDifference(0.05, 0, slower...), &Planning{Total: 72, More: 42}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decided(tt.rule, tt.d)
			if diff := cmp.Diff(tt.want, d.Planning); diff != "" {
				t.Errorf("planning of a rule that is %s %v (-want +got):\n%s", d.State, d.Reasons, diff)
			}
		})
	}
}

// The size that a planning line gives decides the rule, on both sides of an
// equivalence too; one pair less does not.
func TestPlannedSizeDecides(t *testing.T) {
	for _, tt := range []struct {
		rule         policy.Rule
		wins, losses int
		pairs        int
	}{
		{alike(0.05), 0, 0, 13}, {alike(0.1), 0, 2, 30}, {alike(0.1), 2, 0, 30}, {alike(0.1), 3, 1, 60},
		{notWorse(0.02), 1, 0, 15}, {superior(), 3, 0, 40},
	} {
		plan := decided(tt.rule, verdictDifference(level, tt.wins, tt.losses, tt.pairs, 0)).Planning
		if plan == nil || plan.Total == 0 {
			t.Fatalf("%s of %d/%d of %d: planning %+v", tt.rule.Kind, tt.wins, tt.losses, tt.pairs, plan)
		}
		at := func(n int) policy.State {
			wins := int(math.RoundToEven(float64(n) * float64(tt.wins) / float64(tt.pairs)))
			losses := int(math.RoundToEven(float64(n) * float64(tt.losses) / float64(tt.pairs)))
			return decided(tt.rule, verdictDifference(level, wins, losses, n, 0)).State
		}
		if at(plan.Total) != policy.Pass || at(plan.Total-1) == policy.Pass {
			t.Errorf("%s of %d/%d of %d: %s at %d, %s at one less", tt.rule.Kind, tt.wins, tt.losses, tt.pairs, at(plan.Total), plan.Total, at(plan.Total-1))
		}
	}
}

func TestMethodsOfDifferences(t *testing.T) {
	for method, want := range map[string]*Planning{
		stats.MethodPaired:           {Total: 107, More: 47},
		stats.MethodConditionalExact: {Total: 86, More: 26},
		stats.MethodExact:            {Total: 79, More: 19},
	} {
		p := blockAll(notWorse(0.05))
		p.DifferenceMethod = method
		d := Compare(p, paired(t, 0, 0, 60, compare.Options{Level: level, Method: method})).Decisions[0]
		if diff := cmp.Diff(want, d.Planning); diff != "" || d.Difference.Interval.Method != method {
			t.Errorf("%s, planning (-want +got):\n%s", d.Difference.Interval.Method, diff)
		}
		if d := Compare(p, paired(t, 0, 0, want.Total, compare.Options{Level: level, Method: method})).Decisions[0]; d.State != policy.Pass {
			t.Errorf("%s: %s at %d pairs, want PASS", method, d.State, want.Total)
		}
	}
	// Its sizes end where the test does.
	p := blockAll(superior())
	p.DifferenceMethod = stats.MethodExact
	d := Compare(p, paired(t, 40, 39, 150, compare.Options{Level: level, Method: stats.MethodExact})).Decisions[0]
	if diff := cmp.Diff(&Planning{Reason: PlanNotUpTo, UpTo: stats.MaxExactPairs}, d.Planning); diff != "" {
		t.Error(diff)
	}
}

// The figures of the tutorial: state, reason and planning of its two rules.
func TestTutorialComparison(t *testing.T) {
	p := blockAll(with(notWorse(0.05), named("answers-not-worse")), with(notWorse(0.02), named("citations-not-worse")))
	p.MinPairedShare = 0.9
	r := Compare(p, paired(t, 1, 0, 15, compare.Options{Level: level}))
	var got []string
	for _, d := range r.Decisions {
		got = append(got, fmt.Sprintf("%s %s %s: about %d more (%d in total at %.0f%% discordance)",
			d.Rule.ID, d.State, strings.Join(d.Reasons, ", "), d.Planning.More, d.Planning.Total, *d.Planning.Discordance*100))
	}
	want := []string{
		"answers-not-worse INSUFFICIENT_EVIDENCE interval_overlaps_margin: about 38 more (53 in total at 7% discordance)",
		"citations-not-worse INSUFFICIENT_EVIDENCE interval_overlaps_margin: about 68 more (83 in total at 7% discordance)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Gate{Action: Block, ExitCode: ExitBlocked}, r.Gate); diff != "" {
		t.Error(diff)
	}
}
