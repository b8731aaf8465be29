package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func callText(t *testing.T, l evidence.CaseLine, hint string, judgments ...evidence.Judgment) string {
	t.Helper()
	var b bytes.Buffer
	if err := Call(&b, &l.Case, &l.Execution, inspected(1).Metrics, judgments, hint); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCall(t *testing.T) {
	l := answered("a", `{"answer":"yes"}`)
	position := 2
	l.Execution.Artifacts = evidence.Artifacts{
		Retrieval: []evidence.Retrieval{{Depth: 8, Candidates: []evidence.Passage{
			{DocID: "a"}, {DocID: "b", ChunkID: "1"}, {DocID: "c"}, {DocID: "d"}, {DocID: "e"}, {DocID: "f"}, {DocID: "g"}, {DocID: "h\x1b[31m"},
		}}},
		Context: []evidence.Context{{
			Items:   []evidence.ContextItem{{DocID: "a"}},
			Dropped: []evidence.DroppedItem{{ContextItem: evidence.ContextItem{DocID: "b", ChunkID: "1", Position: &position}, Reason: "token_budget"}},
		}},
		Citations: []evidence.Citations{{}},
		Other:     map[string][]evidence.Value{"trace/v1": {evidence.Value(`{"ms":4}`)}},
	}
	got := callText(t, l, "oloproof check --full",
		evidence.Judgment{State: evidence.Judged, Value: 1},
		evidence.Judgment{State: evidence.NotApplicable, Reason: evidence.ReasonNoRelevanceLabels},
		evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonMissingField, Detail: `output: nothing at "text"`},
		evidence.Judgment{State: evidence.Judged, Value: 0.5},
	)
	want := `input: {"question": "Where?"}
execution: OK, 15.0 ms, 1 attempt
output: {"answer": "yes"}
retrieval/v1: depth 8, 8 candidates: a, b#1, c, d, e, f and 2 more
context/v1: 1 item: a; dropped b#1 (token_budget)
citations/v1: no id
trace/v1: {"ms": 4}
(in full: oloproof check --full)
judgments:
  answer_correct: passed
  hit_rate_at_2: excluded (no_relevance_labels)
  citations_valid: errored (missing_field)
    output: nothing at "text"
    the output has nothing at the evaluator's field: correct the field, or output_path, in the suite
  ndcg_at_6: 0.5
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallInFull(t *testing.T) {
	l := answered("a", `{"answer":"`+strings.Repeat("yes ", 200)+`"}`)
	if short := callText(t, l, "hint"); strings.Contains(short, strings.Repeat("yes ", 200)) || !strings.Contains(short, "…\n") {
		t.Errorf("not cut:\n%s", short)
	}
	full := callText(t, l, "")
	for _, part := range []string{strings.Repeat("yes ", 200), "artifacts: none\n", "input: {\n"} {
		if !strings.Contains(full, part) {
			t.Errorf("no %q in\n%s", part, full)
		}
	}
}

// TestCallFailed shows each fact of a failed call once: the error itself is the
// command's.
func TestCallFailed(t *testing.T) {
	l := errored("a")
	l.Execution.Attempts = []evidence.Attempt{{HTTPStatus: 503, Error: evidence.ErrStatus, LatencyMS: 1}, {HTTPStatus: 503, Error: evidence.ErrStatus, LatencyMS: 2, WaitMS: 100}}
	got := callText(t, l, "hint", evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonExecutionError})
	want := `input: {"question": "Where?"}
execution: ERROR, 3.00 ms, 2 attempts
attempts:
  1  http_status 503, 1.00 ms
  2  http_status 503, 2.00 ms, after waiting 100 ms
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
