package evidence

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// benchCase is a case of the size that RAG suites have.
func benchCase() (*Manifest, *Case, *Execution, []Judgment) {
	m := &Manifest{Slices: []string{"metadata.topic"}}
	for _, id := range []string{"answer_correct", "hit_rate_at_2", "recall_at_2", "citations_valid"} {
		m.Metrics = append(m.Metrics, MetricSpec{ID: id, Kind: Rate, Range: [2]float64{0, 1}})
	}
	c := &Case{
		ID: "case_001234", Digest: DigestOf([32]byte{1, 2, 3}),
		Input:    Value(`{"question":"How many seats does a team plan include?"}`),
		Expected: Value(`{"answer":"5 seats","relevant":[{"doc_id":"kb-03"}]}`), Metadata: Value(`{"topic":"billing"}`),
	}
	passage := strings.Repeat("Team plans include five seats. ", 5)
	candidates, score, position, tokens := []Passage{}, 3.0, 1, 17
	for i := range 6 {
		candidates = append(candidates, Passage{DocID: fmt.Sprintf("kb-%02d", i), Score: &score, Text: &passage})
	}
	e := &Execution{
		Status: StatusOK, Output: Value(`{"answer":"Team plans include five seats.","citations":["kb-03"]}`),
		LatencyMS: 12.345, StartedAt: time.Unix(1764511394, 0), Attempts: []Attempt{{HTTPStatus: 200, LatencyMS: 12.345}},
		Artifacts: Artifacts{
			Retrieval: []Retrieval{{Query: Value(`"How many seats does a team plan include?"`), Depth: 6, Candidates: candidates}},
			Context:   []Context{{Items: []ContextItem{{DocID: "kb-03", Position: &position, Tokens: &tokens, Text: &passage}}, Dropped: []DroppedItem{}, Source: "retrieval"}},
			Citations: []Citations{{IDs: []string{"kb-03"}}},
		},
	}
	return m, c, e, []Judgment{{State: Judged, Value: 1}, {State: Judged}, {State: NotApplicable, Reason: ReasonNoRelevanceLabels}, {State: Judged, Value: 1}}
}

func BenchmarkAppendOutcome(b *testing.B) {
	m, c, e, judgments := benchCase()
	o := OutcomeOf(c, e, []string{"billing"}, judgments)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendOutcome(buf[:0], m, &o)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkAppendCaseLine(b *testing.B) {
	m, c, e, judgments := benchCase()
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendCaseLine(buf[:0], m, c, e, judgments)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeOutcome(b *testing.B) {
	m, c, e, judgments := benchCase()
	o := OutcomeOf(c, e, []string{"billing"}, judgments)
	line := AppendOutcome(nil, m, &o)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	var got Outcome
	for b.Loop() {
		if err := DecodeOutcome(line, m, &got); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeCaseLine(b *testing.B) {
	m, c, e, judgments := benchCase()
	line := AppendCaseLine(nil, m, c, e, judgments)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := DecodeCaseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeArtifacts(b *testing.B) {
	_, _, e, _ := benchCase()
	v := AppendArtifacts(nil, &e.Artifacts)
	b.ReportAllocs()
	b.SetBytes(int64(len(v)))
	for b.Loop() {
		var a Artifacts
		if err := decodeArtifacts(v, &a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCaseDigest(b *testing.B) {
	_, c, _, _ := benchCase()
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if _, buf, err = AppendCaseSum(buf[:0], c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	m, c, e, judgments := benchCase()
	line := AppendCaseLine(nil, m, c, e, judgments)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := ParseJSON(line); err != nil {
			b.Fatal(err)
		}
	}
}
