package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func caseLines(list ...evidence.CaseLine) CaseLines {
	return func(visit func(evidence.CaseLine) error) error {
		for _, l := range list {
			if err := visit(l); err != nil {
				return err
			}
		}
		return nil
	}
}

// inspected is a manifest with criteria of both kinds; the lines hold their
// judgments in another order, as files do.
func inspected(cases int) *evidence.Manifest {
	m := manifest()
	m.Counts.Cases = cases
	for _, id := range []string{"answer_correct", "hit_rate_at_2", "citations_valid"} {
		m.Metrics = append(m.Metrics, evidence.MetricSpec{ID: id, Kind: evidence.Rate})
	}
	m.Metrics = append(m.Metrics, evidence.MetricSpec{ID: "ndcg_at_6", Kind: evidence.Mean}, evidence.MetricSpec{ID: "latency_p95", Kind: evidence.Quantile})
	return m
}

func judged(criterion string, value float64) evidence.NamedJudgment {
	return evidence.NamedJudgment{Criterion: criterion, Judgment: evidence.Judgment{State: evidence.Judged, Value: value}}
}

func missing(criterion, reason, detail string) evidence.NamedJudgment {
	return evidence.NamedJudgment{Criterion: criterion, Judgment: evidence.Judgment{State: evidence.Missing, Reason: reason, Detail: detail}}
}

func answered(id, output string, judgments ...evidence.NamedJudgment) evidence.CaseLine {
	return evidence.CaseLine{
		Case:      evidence.Case{ID: id, Input: evidence.Value(`{"question":"Where?"}`)},
		Execution: evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(output), LatencyMS: 14.97, Attempts: []evidence.Attempt{{HTTPStatus: 200, LatencyMS: 14.97}}},
		Judgments: judgments,
	}
}

func errored(id string) evidence.CaseLine {
	l := answered(id, "", missing("answer_correct", evidence.ReasonExecutionError, ""), judged("citations_valid", 0))
	l.Execution = evidence.Execution{
		Status: evidence.StatusError, LatencyMS: 3,
		Error: &evidence.ExecutionError{
			Kind: evidence.ErrStatus, HTTPStatus: 503, URL: "http://127.0.0.1:8766/answer", Snippet: "<h1>busy\x1b[2J</h1>",
			Message: "the service answered 503 Service Unavailable\nto all attempts",
		},
		Attempts: []evidence.Attempt{
			{HTTPStatus: 503, Error: evidence.ErrStatus, LatencyMS: 12},
			{Error: evidence.ErrConnection, LatencyMS: 0.4, WaitMS: 512.3},
			{HTTPStatus: 503, Error: evidence.ErrStatus, LatencyMS: 3, WaitMS: 1024},
		},
	}
	return l
}

func listFailures(t *testing.T, lines CaseLines, m *evidence.Manifest, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Failures(&b, lines, m, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFailures(t *testing.T) {
	long := `{"answer":"` + strings.Repeat("Every refund is logged. ", 20) + `","citations":["kb-01"]}`
	lines := caseLines(
		answered("fine", `"yes"`, judged("answer_correct", 1), judged("ndcg_at_6", 0)),
		answered("refund_review", long, judged("answer_correct", 0), judged("hit_rate_at_2", 1)),
		answered("money_back", `{"answer":"I could not find that.","citations":[]}`,
			judged("answer_correct", 0), judged("citations_valid", 0), judged("hit_rate_at_2", 0), judged("ndcg_at_6", 0)),
		answered("no_citations", `null`, missing("citations_valid", evidence.ReasonMissingArtifact, "no citations/v1"), judged("answer_correct", 1)),
		errored("busy"),
		evidence.CaseLine{Case: evidence.Case{ID: "late\x1b[1m"}, Execution: evidence.Execution{Status: evidence.StatusNotRun},
			Judgments: []evidence.NamedJudgment{missing("answer_correct", evidence.ReasonNotRun, "")}},
		answered("excluded", `1`, evidence.NamedJudgment{Criterion: "hit_rate_at_2", Judgment: evidence.Judgment{State: evidence.NotApplicable, Reason: evidence.ReasonNoRelevanceLabels}}),
	)
	golden(t, "failures.txt", listFailures(t, lines, inspected(7), 0))
	golden(t, "failures_limit_2_unfinished.txt", listFailures(t, lines, inspected(20), 2))
	if got, want := listFailures(t, caseLines(answered("fine", `"yes"`, judged("answer_correct", 1))), inspected(1), 50),
		"0 of 1 case failed, errored or did not finish\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The cut of an output: 159 characters and an ellipsis.
func TestFailuresCutsOutputs(t *testing.T) {
	for _, n := range []int{2, 159, 160, 161, 5000} {
		text := strings.Repeat("é", n-2)
		got := listFailures(t, caseLines(answered("a", `"`+text+`"`, judged("answer_correct", 0))), inspected(1), 0)
		want := `"` + text + `"`
		if n > 160 {
			want = `"` + strings.Repeat("é", 158) + "…"
		}
		if !strings.Contains(got, "  output: "+want+"\n") {
			t.Errorf("%d characters: got\n%s", n, got)
		}
	}
}

func TestFailuresReturnsTheReadError(t *testing.T) {
	broken := errors.New("line 3: torn")
	lines := func(func(evidence.CaseLine) error) error { return broken }
	var b bytes.Buffer
	if err := Failures(&b, lines, inspected(3), 0); !errors.Is(err, broken) || b.Len() > 0 {
		t.Errorf("Failures = %v, printed %q", err, b.String())
	}
}

func TestCase(t *testing.T) {
	l := answered("money_back", "{\"answer\":\"I could not find that.\u202e\",\"n\":10000000000000000000001,\"citations\":[]}",
		judged("answer_correct", 0), judged("ndcg_at_6", 0.63093), judged("citations_valid", 1),
		evidence.NamedJudgment{Criterion: "hit_rate_at_2", Judgment: evidence.Judgment{State: evidence.NotApplicable, Reason: evidence.ReasonNoRelevanceLabels}},
		missing("unknown", evidence.ReasonEvaluatorError, "line 1\nline 2\x1b[0m"))
	l.Judgments[0].Detail = `"14 days" does not occur in the answer`
	l.Case.GroupID = "customer-7"
	l.Case.Expected = evidence.Value(`{"answer":"14 days"}`)
	l.Case.Metadata = evidence.Value(`{"topic":"billing"}`)
	l.Execution.Artifacts = evidence.Artifacts{
		Retrieval: []evidence.Retrieval{{Query: evidence.Value(`"Where?"`), Depth: 6, Candidates: []evidence.Passage{}}},
		Citations: []evidence.Citations{{IDs: []string{}}},
	}
	for name, l := range map[string]evidence.CaseLine{"case_answered.txt": l, "case_errored.txt": errored("busy")} {
		var b bytes.Buffer
		if err := Case(&b, l, inspected(2)); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unprintable) {
				t.Errorf("unsafe line %q", line)
			}
		}
	}
}

func TestRuns(t *testing.T) {
	decided := manifest()
	decided.StartedAt = time.Date(2026, 11, 30, 10, 58, 59, 0, time.UTC)
	decided.Gate = "BLOCK"
	partial := manifest()
	partial.ID, partial.Status, partial.Completeness = "run_01M4FCBPE0G550CKCVGXCNEM2A", evidence.RunCanceled, evidence.Partial
	var b bytes.Buffer
	if err := Runs(&b, []RunEntry{{decided, Build(exampleInput())}, {Manifest: partial}}); err != nil {
		t.Fatal(err)
	}
	want := `latest     run_01M4FCBPE0G550CKCVGXCNEM2P  2026-11-30 10:58  DECIDED  BLOCK
  answer-floor: not established yet
  retrieval-floor: not established yet
  citations-valid: ruled out
latest~1   run_01M4FCBPE0G550CKCVGXCNEM2A  2026-11-30 10:58  CANCELLED/PARTIAL  no policy
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	if err := Runs(&b, nil); err != nil || b.String() != "no runs yet: oloproof run makes one\n" {
		t.Errorf("Runs of none = %q, %v", b.String(), err)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"日本語 👩‍💻 é":              "日本語 👩‍💻 é",
		"a\x1b[31mb":             `a\u001b[31mb`,
		"a\nb\r\tc":              `a\nb\r\tc`,
		"\u202eevil\u2066":       `\u202eevil\u2066`,
		"\u2028\u2029\u0085\x7f": `\u2028\u2029\u0085\u007f`,
		"\xff\xfe":               "\ufffd\ufffd",
		"\U000e0041":             `\udb40\udc41`,
		"\ufeffbom":              `\ufeffbom`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProblemTally(t *testing.T) {
	var all []evidence.Outcome
	for i := range 12 {
		all = append(all, evidence.Outcome{ID: fmt.Sprintf("a%d", i), Status: evidence.StatusError, ErrorKind: evidence.ErrStatus, HTTPStatus: 503})
	}
	all = append(all,
		evidence.Outcome{ID: "b", Status: evidence.StatusError, ErrorKind: evidence.ErrStatus, HTTPStatus: 500},
		evidence.Outcome{ID: "c", Status: evidence.StatusTimeout, ErrorKind: evidence.ErrTimeout},
		evidence.Outcome{ID: "d", Status: evidence.StatusNotRun},
		evidence.Outcome{ID: "e", Status: evidence.StatusOK},
		evidence.Outcome{ID: "f", Status: evidence.StatusError})
	want := []CaseProblem{
		{"http_status", 503, 12, []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"}},
		{"error", 0, 1, []string{"f"}},
		{"http_status", 500, 1, []string{"b"}},
		{"not_run", 0, 1, []string{"d"}},
		{"timeout", 0, 1, []string{"c"}},
	}
	rapid.Check(t, func(t *rapid.T) { // in whatever order cases finish
		indexes := make([]int, len(all))
		for i := range indexes {
			indexes[i] = i
		}
		var tally ProblemTally
		for _, i := range rapid.Permutation(indexes).Draw(t, "order") {
			tally.Add(i, &all[i])
		}
		if diff := cmp.Diff(want, tally.Problems()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
