package report

import (
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

const (
	comparisonID = "sha256:2feb024c6c1d2a2bd7a24b4e0d0b0a7a3f1c9be54d6c1f0a9d8e7f6a5b4c3d2e"
	candidateID  = "run_01M4FCCJYCVVYA8NB4XZDV6YMB"
	baselineID   = "run_01M4FCCHVBG9WHDP7G5HFX7RDT"
)

// difference is a difference of verdicts with the interval given; those of the
// example are computed with Oloproof 0.1.0a20 (PyPI).
func difference(id string, wins, losses, pairs, excluded int, lower, upper float64) compare.Difference {
	estimate := float64(wins-losses) / float64(pairs)
	d := compare.Difference{
		Spec:     evidence.MetricSpec{ID: id, Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"},
		Estimate: &estimate, Wins: wins, Losses: losses,
		Interval: &measure.Interval{Lower: &lower, Upper: &upper, Level: level, Method: "bounded_paired_difference@1"},
		Cases:    measure.Cases{Observed: pairs, Excluded: excluded},
	}
	if excluded > 0 {
		d.Exclusions = []measure.ReasonCount{{Reason: evidence.ReasonNoRelevanceLabels, Cases: excluded}}
	}
	return d
}

func runRef(id, version string) compare.RunRef {
	m := manifest()
	m.System.Version = version
	return compare.RunRef{ID: id, Completeness: evidence.Complete, System: m.System, Dataset: m.Dataset}
}

// exampleComparison is the comparison of the example project's candidate.
func exampleComparison() *compare.Comparison {
	c := &compare.Comparison{
		ID: comparisonID, Candidate: runRef(candidateID, "tutorial+expand"), Baseline: runRef(baselineID, "tutorial"),
		Level: level, Method: "bounded_paired_difference@1", MinSupport: 4, Paired: 15, Shared: 15, BaselineCases: 15,
		Differences: []compare.Difference{
			difference("answer_correct", 1, 0, 15, 0, -0.264280204736848, 0.4079601698507359),
			difference("hit_rate_at_2", 1, 0, 13, 2, -0.2970935288169456, 0.4547703817191451),
			difference("recall_at_2", 1, 0, 13, 2, -0.2970935288169456, 0.4547703817191451),
			difference("citations_valid", 1, 0, 15, 0, -0.264280204736848, 0.4079601698507359),
		},
	}
	for _, d := range c.Differences {
		c.Flips = append(c.Flips, compare.Flip{CaseID: "money_back", Criterion: d.Spec.ID, Passing: true})
	}
	for _, topic := range []string{"account", "billing", "onboarding", "refunds", "security"} {
		for _, d := range c.Differences {
			s := compare.SliceDifference{Name: "metadata.topic", Value: topic, Difference: difference(d.Spec.ID, 0, 0, 3, 0, -0.78, 0.78), Support: 3}
			s.Difference.Interval = nil
			if topic == "refunds" {
				s = compare.SliceDifference{Name: "metadata.topic", Value: topic, Difference: difference(d.Spec.ID, 1, 0, 4, 0, -0.56, 0.86), Support: 4}
			}
			c.Slices = append(c.Slices, s)
		}
	}
	return c
}

// comparePolicy is the comparison policy of the example.
func comparePolicy() *policy.Policy {
	return &policy.Policy{
		Path: "compare.yaml", Digest: "sha256:c0", ConfidenceLevel: level, MinPairedShare: 0.9,
		BlockOn: []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview},
		Rules: []policy.Rule{
			{ID: "answers-not-worse", Metric: "answer_correct", Kind: policy.NonInferiority, Margin: ptr(0.05), HigherBetter: true, Line: 4},
			{ID: "citations-not-worse", Metric: "citations_valid", Kind: policy.NonInferiority, Margin: ptr(0.02), HigherBetter: true, Line: 8},
		},
	}
}

// compareInput is the comparison with what the policy says of it.
func compareInput(c *compare.Comparison, p *policy.Policy) Input {
	in := exampleInput()
	in.Manifest.ID = c.Candidate.ID
	in.Policies = []PolicyResult{{Role: RoleOnly, Policy: p, Result: decide.Compare(p, c)}}
	in.Comparisons = []ComparisonInput{{Comparison: c}}
	return in
}

func comparedDocument(c *compare.Comparison) *Document {
	return Build(compareInput(c, comparePolicy()))
}

// everythingInput is a run held against a baseline and against a fixed
// reference, with every kind of rule, metric and trouble.
func everythingInput() Input {
	in := troubledInput()
	c := exampleComparison()
	c.Candidate.ID = in.Manifest.ID
	c.Candidate.Commit, c.Baseline.Commit = "1f2e3d4c5b6a", "0a1b2c3d4e5f"
	c.Shared, c.BaselineCases = 14, 15
	c.Added, c.Removed, c.Changed = []string{"new_case"}, []string{"old_case"}, []string{"seat_count\x1b[31m"}
	answers := difference("answer_correct", 2, 61, 400, 0, -0.231, -0.071)
	scores := compare.Difference{
		Spec:     evidence.MetricSpec{ID: "ndcg_at_6", Kind: evidence.Mean, Range: [2]float64{0, 1}},
		Estimate: ptr(0.0123), Interval: &measure.Interval{Lower: ptr(-0.0312), Upper: ptr(0.0456), Level: level, Method: "bounded_paired_difference@1"},
		Cases: measure.Cases{Observed: 380, Missing: 20}, Missing: []measure.ReasonCount{{Reason: evidence.ReasonExecutionError, Cases: 20}},
		Values: slices.Repeat([]float64{0.0123}, 380),
	}
	latency := compare.Difference{
		Spec:     evidence.MetricSpec{ID: "latency_p95", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.95, Unit: "ms"},
		Estimate: ptr(12.5), Interval: &measure.Interval{Lower: ptr(-3.25), Level: level, Method: "order_statistic_paired_difference@1"},
		Cases: measure.Cases{Observed: 400}, Values: slices.Sorted(slices.Values(append(slices.Repeat([]float64{-3.25, 12.5}, 199), 60, 80))),
	}
	cited := difference("citations_valid", 3, 2, 100, 0, -0.046, 0.069)
	cited.Interval.Method = "exact_unconditional@1"
	none := compare.Difference{Spec: evidence.MetricSpec{ID: "recall_at_2", Kind: evidence.Rate, Range: [2]float64{0, 1}}, Cases: measure.Cases{Excluded: 400},
		Exclusions: []measure.ReasonCount{{Reason: evidence.ReasonNoRelevanceLabels, Cases: 400}}}
	c.Differences = []compare.Difference{answers, scores, latency, cited, none}
	c.Slices = []compare.SliceDifference{
		{Name: "metadata.topic", Value: "billing", Support: 90, Difference: difference("answer_correct", 1, 20, 90, 0, -0.31, -0.04)},
		{Name: "metadata.topic", Value: "évil\u202e<b>", Support: 2, Difference: difference("answer_correct", 0, 0, 2, 0, -1, 1)},
		{Name: "metadata.topic", Value: "billing", Support: 90, Difference: scores},
	}
	c.Slices[1].Difference.Interval = nil
	c.Flips = nil
	for i := range 31 {
		c.Flips = append(c.Flips, compare.Flip{CaseID: fmt.Sprintf("case-%02d it's", i), Criterion: "answer_correct"})
	}
	for _, id := range []string{"money_back", "<script>alert(1)</script>"} {
		c.Flips = append(c.Flips, compare.Flip{CaseID: id, Criterion: "answer_correct", Passing: true}, compare.Flip{CaseID: id, Criterion: "citations_valid", Passing: true})
	}
	c.NotComparable = []compare.NotComparable{{Metric: "hit_rate_at_2", Reason: compare.ReasonEvaluatorChanged, Detail: "the options of the evaluator differ"}}
	c.Rejudged, c.OnlyCandidate = []string{"answer_correct"}, []string{"groundedness"}
	pin := exampleComparison()
	pin.ID, pin.Candidate.ID, pin.Baseline.ID = "sha256:11", in.Manifest.ID, "run_01M0000000000000000000PIN0"
	p := comparePolicy()
	p.Path = "compare.yaml"
	p.Rules = append(p.Rules,
		policy.Rule{ID: "answers-better", Metric: "answer_correct", Kind: policy.Superiority, HigherBetter: true},
		policy.Rule{ID: "as-ranked", Metric: "ndcg_at_6", Kind: policy.Equivalence, Margin: ptr(0.05), HigherBetter: true},
		policy.Rule{ID: "not-slower", Metric: "latency_p95", Kind: policy.NonInferiority, Margin: ptr(50.0)},
		policy.Rule{ID: "billing", Metric: "answer_correct", Kind: policy.NonInferiority, Margin: ptr(0.1), HigherBetter: true, Scope: "slice/metadata.topic=billing", MinSupport: ptr(30)},
		policy.Rule{ID: "retrieval", Metric: "hit_rate_at_2", Kind: policy.NonInferiority, Margin: ptr(0.05), HigherBetter: true},
	)
	p.Families = []policy.Family{{ID: "answers", Correction: "holm", Rules: []string{"answers-not-worse", "billing"}}}
	in.Policies = append(in.Policies,
		PolicyResult{Role: RoleBase, Policy: p, Result: decide.Compare(p, c)},
		PolicyResult{Role: RoleProposed, Policy: comparePolicy(), Result: decide.Compare(comparePolicy(), pin)})
	in.Comparisons = []ComparisonInput{{RoleBaseline, c}, {RolePin, pin}}
	in.Baseline = &Baseline{State: BaselineFound, Run: c.Baseline.ID, Commit: c.Baseline.Commit, Branch: "main", Age: "2 days",
		Trail: []Rejects{{"run 7", "its workflow is another"}, {"run 6", "expired"}}}
	in.Relaxations = []Relaxation{{File: "compare.yaml", Line: 4, Text: "margin of answers-not-worse widened from 0.02 to 0.05"}, {File: "oloproof.yaml", Text: "slice metadata.topic dropped"}}
	in.LatencyMS = ptr(812.5)
	in.Manifest.Concurrency = 8
	return in
}
