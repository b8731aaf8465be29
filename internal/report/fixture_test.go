package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

const (
	level     = 0.95
	fixtureID = "run_01M4FCBPE0G550CKCVGXCNEM2P"
)

// rate is a rate with the interval given; the figures of the example are
// computed with Oloproof 0.1.0a20 (PyPI).
func rate(id string, passed, observed, excluded int, lower, upper float64) measure.Metric {
	estimate := float64(passed) / float64(observed)
	m := measure.Metric{
		Spec:     evidence.MetricSpec{ID: id, Kind: evidence.Rate, Range: [2]float64{0, 1}, Type: "contains"},
		Estimate: &estimate, Passed: passed,
		Interval: &measure.Interval{Lower: &lower, Upper: &upper, Level: level, Method: "clopper_pearson_missing_bounded@1"},
		Cases:    measure.Cases{Observed: observed, Excluded: excluded},
	}
	if excluded > 0 {
		m.Exclusions = []measure.ReasonCount{{Reason: evidence.ReasonNoRelevanceLabels, Cases: excluded}}
	}
	return m
}

func manifest() *evidence.Manifest {
	start := time.Date(2026, 11, 30, 10, 58, 3, 0, time.UTC)
	return &evidence.Manifest{
		Schema: "oloproof/run/v1", Tool: evidence.Tool{Name: "oloproof", Version: "1.0.0"},
		ID: fixtureID, Status: evidence.RunDecided, Completeness: evidence.Complete,
		Name: "oloproof.yaml", Project: "support", SuitePath: "oloproof.yaml", SuiteDigest: "sha256:51",
		Dataset: evidence.DatasetID{Path: "data/support.jsonl", Digest: "sha256:d5", Cases: 15},
		System:  evidence.SystemID{Name: "support-rag-http", Version: "tutorial", Kind: "http", Digest: "sha256:55", URL: "http://127.0.0.1:8766/answer"},
		Slices:  []string{"metadata.topic"}, MinSupport: 4,
		Counts:    evidence.Counts{Cases: 15, OK: 15},
		Cache:     evidence.CacheCounts{ExecutionMisses: 15, JudgmentMisses: 56},
		StartedAt: start, FinishedAt: start.Add(2 * time.Second),
	}
}

// exampleInput is the run of the example project.
func exampleInput() Input {
	answers := rate("answer_correct", 11, 15, 0, 0.4489967589630295, 0.9221284537089564)
	hits := rate("hit_rate_at_2", 12, 13, 2, 0.6397025647321225, 0.9980543715026533)
	recall := hits
	recall.Spec.ID = "recall_at_2"
	citations := rate("citations_valid", 14, 15, 0, 0.6805154007379005, 0.9983133904128163)
	billing := rate("answer_correct", 5, 8, 0, 0.2448632113426157, 0.9147665892627054)
	account := rate("answer_correct", 2, 2, 0, 0, 1)
	account.Interval = nil
	release := &policy.Policy{
		Path: "release.yaml", Digest: "sha256:b0", ConfidenceLevel: level,
		BlockOn: []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview},
	}
	return Input{
		Manifest: manifest(),
		Metrics:  []measure.Metric{answers, hits, recall, citations},
		Slices: []measure.Slice{
			{Name: "metadata.topic", Value: "account", Metric: account, Support: 2, PValue: ptr(1.0)},
			{Name: "metadata.topic", Value: "billing", Metric: billing, Support: 8, PValue: ptr(0.7312)},
		},
		Policies: []PolicyResult{{Role: RoleOnly, Policy: release, Result: decide.Result{
			Decisions: []decide.Decision{
				{
					Rule:  policy.Rule{ID: "answer-floor", Metric: "answer_correct", Kind: policy.IntervalThreshold, Min: ptr(0.7), Line: 5},
					State: policy.InsufficientEvidence, Reasons: []string{"interval_overlaps_threshold"}, Metric: &answers,
					Planning: &decide.Planning{Total: 768, More: 753},
				},
				{
					Rule:  policy.Rule{ID: "retrieval-floor", Metric: "hit_rate_at_2", Kind: policy.IntervalThreshold, Min: ptr(0.8), Line: 8},
					State: policy.InsufficientEvidence, Reasons: []string{"interval_overlaps_threshold"}, Metric: &hits,
					Planning: &decide.Planning{Total: 48, More: 35},
				},
				{
					Rule:  policy.Rule{ID: "citations-valid", Metric: "citations_valid", Kind: policy.ObservedCount, MaxFailures: ptr(0), Line: 11},
					State: policy.Fail, Reasons: []string{"observed_failures_exceed_limit"}, Metric: &citations, Failures: ptr(1),
				},
			},
			Gate: decide.Gate{Action: decide.Block, ExitCode: 1},
		}}},
	}
}

// troubledInput is a run in which much went wrong: errors, missing cases, a
// partial run, reused answers, hostile and wide text, every kind of metric.
func troubledInput() Input {
	in := exampleInput()
	m := in.Manifest
	m.Status, m.Completeness, m.Stopped = evidence.RunCanceled, evidence.Partial, "it was interrupted"
	m.Counts = evidence.Counts{Cases: 1200, OK: 1100, Error: 60, NotRun: 40}
	m.Cache = evidence.CacheCounts{ExecutionHits: 1100, ExecutionMisses: 60, JudgmentMisses: 4400}
	in.Notes = []string{"2 cases have the same input: they count as independent observations", "release.yaml has 2 comparison rules"}
	answers := rate("antwort_korrekt_日本語", 1000, 1100, 0, 0.8123, 0.9871)
	answers.Cases.Missing = 100
	answers.Missing = []measure.ReasonCount{{Reason: evidence.ReasonExecutionError, Cases: 60}, {Reason: evidence.ReasonNotRun, Cases: 40}}
	ndcg := measure.Metric{
		Spec:     evidence.MetricSpec{ID: "ndcg_at_6", Kind: evidence.Mean, Range: [2]float64{0, 1}},
		Estimate: ptr(0.8658), Interval: &measure.Interval{Lower: ptr(0.5067), Upper: ptr(0.9899), Level: level, Method: "bounded_mean_betting_mixture@1"},
		Cases: measure.Cases{Observed: 13},
	}
	latency := measure.Metric{
		Spec:     evidence.MetricSpec{ID: "latency_p95", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.95, Unit: "ms"},
		Estimate: ptr(1249.23), Interval: &measure.Interval{Lower: ptr(269.29), Level: level, Method: "order_statistic_quantile@1"},
		Cases: measure.Cases{Observed: 1100, Missing: 100},
	}
	citations := measure.Metric{
		Spec:     evidence.MetricSpec{ID: "citations_valid", Kind: evidence.Rate, Range: [2]float64{0, 1}},
		Interval: &measure.Interval{Lower: ptr(0.0), Upper: ptr(1.0), Level: level, Method: "clopper_pearson_missing_bounded@1"},
		Cases:    measure.Cases{Missing: 1200}, Missing: []measure.ReasonCount{{Reason: evidence.ReasonMissingArtifact, Cases: 1200}},
	}
	in.Metrics = []measure.Metric{answers, ndcg, latency, citations}
	hostile := rate("antwort_korrekt_日本語", 3, 9, 0, 0.0749, 0.7007)
	in.Slices = []measure.Slice{
		{Name: "metadata.topic", Value: "évil\x1b[31m\u202e\n👩‍💻", Metric: hostile, Support: 9, PValue: ptr(0.0001), Marked: true},
		{Name: "metadata.topic", Value: "請求と支払い", Metric: ndcg, Support: 13},
	}
	in.Problems = []CaseProblem{
		{Kind: "http_status", Status: 503, Count: 48, CaseIDs: []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b\x1b]0;x\a"}},
		{Kind: "not_run", Count: 40, CaseIDs: []string{"z1"}},
		{Kind: "timeout", Count: 12, CaseIDs: []string{"c1", "c2"}},
	}
	p := in.Policies[0].Policy
	in.Policies[0].Result = decide.Result{
		Skipped: 2,
		Decisions: []decide.Decision{
			{
				Rule:  policy.Rule{ID: "answers", Metric: answers.Spec.ID, Kind: policy.IntervalThreshold, Min: ptr(0.85)},
				State: policy.InsufficientEvidence, Reasons: []string{"missingness_exceeds_policy"}, Metric: &answers, MissingEvidence: true,
				Planning: &decide.Planning{Reason: decide.PlanResolveMissing, Reach: ptr(0.8961)},
			},
			{
				Rule:  policy.Rule{ID: "ranking", Metric: "ndcg_at_6", Kind: policy.IntervalThreshold, Min: ptr(0.5)},
				State: policy.Pass, Reasons: []string{"lower_bound_meets_minimum"}, Metric: &ndcg,
			},
			{
				Rule:  policy.Rule{ID: "fast", Metric: "latency_p95", Kind: policy.IntervalThreshold, Max: ptr(2000.0)},
				State: policy.InsufficientEvidence, Reasons: []string{"interval_unbounded"}, Metric: &latency,
				Planning: &decide.Planning{Total: 1201, More: 1},
			},
			{
				Rule:  policy.Rule{ID: "cited", Metric: "citations_valid", Kind: policy.ObservedCount, MaxFailures: ptr(1)},
				State: policy.InsufficientEvidence, Reasons: []string{"no_observations"}, Metric: &citations, Failures: ptr(0), MissingEvidence: true,
			},
			{
				Rule:  policy.Rule{ID: "gone", Metric: "no_such_metric", Kind: policy.IntervalThreshold, Min: ptr(0.5)},
				State: policy.ManualReview, Reasons: []string{"policy_requires_review", "unsupported_method"}, MissingEvidence: true,
			},
		},
		Gate: decide.Gate{Action: decide.Block, ExitCode: 3, Reasons: []string{decide.GateMissingEvidence, decide.GatePartialRun}},
	}
	p.BlockOn = []policy.State{policy.Fail, policy.ManualReview}
	return in
}

// exploredInput is a run without a policy.
func exploredInput() Input {
	in := exampleInput()
	in.Policies = nil
	in.Manifest.Status = evidence.RunExplored
	return in
}
