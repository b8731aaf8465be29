package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPositionSlice holds the slice to what the Python tool Oloproof 0.1.0a20
// made of these cases with top_k 2, run case by case; "" is in no slice.
func TestPositionSlice(t *testing.T) {
	const chunkOfOne, two = `{"doc_id":"d1","chunk_id":"c1"}`, `{"doc_id":"d2"}`
	tests := []struct {
		name, candidates, relevant, want string
	}{
		{"match, then ambiguous", "d2 d1", chunkOfOne + "," + two, "top_k"},
		{"ambiguous, then match", "d1 d2", chunkOfOne + "," + two, ""},
		{"ambiguous, then match beyond", "d1 x y d2", chunkOfOne + "," + two, ""},
		{"match, ambiguous beyond", "d2 x y d1", chunkOfOne + "," + two, "top_k"},
		{"ambiguous before its own chunk", "d1 d1#c1", chunkOfOne, ""},
		{"ambiguous behind its own chunk", "d1#c1 d1", chunkOfOne, "top_k"},
		{"any chunk of a document", "d1#c9", `{"doc_id":"d1"}`, "top_k"},
		{"document and chunk named", "d1", chunkOfOne + `,{"doc_id":"d1"}`, "top_k"},
		{"another chunk", "d1#c2", chunkOfOne, "not_retrieved"},
		{"grade 0 only", "d1", `{"doc_id":"d1","grade":0}`, ""},
		{"grade 0 and another", "d1 d2", `{"doc_id":"d1","grade":0},` + two, "top_k"},
		{"grade 0, the other beyond", "d1 x d2", `{"doc_id":"d1","grade":0},` + two, "beyond_top_k"},
		{"no labels", "d1", "", ""},
		{"beyond", "x y d1", `{"doc_id":"d1"}`, "beyond_top_k"},
		{"nothing found", "", `{"doc_id":"d1"}`, "not_retrieved"},
		{"ambiguous of grade 0", "d1", `{"doc_id":"d1","chunk_id":"c1","grade":0},` + two, "not_retrieved"},
	}
	m := &Manifest{Slices: []string{PositionSlice}, System: SystemID{Staged: &StagedSettings{TopK: 2}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Case{Expected: Value(fmt.Sprintf(`{"relevant":[%s]}`, tt.relevant))}
			e := &Execution{Status: StatusOK, Artifacts: Artifacts{Retrieval: []Retrieval{{Candidates: passages(tt.candidates)}}}}
			got := SliceValues(m, c, e)[0]
			if got != tt.want && !(got == NoSlice && tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
			e.Status = StatusError
			if got := SliceValues(m, c, e)[0]; got != NoSlice {
				t.Errorf("a failed case is in %q", got)
			}
		})
	}
}

func passages(ids string) []Passage {
	var all []Passage
	for id := range strings.FieldsSeq(ids) {
		doc, chunk, _ := strings.Cut(id, "#")
		all = append(all, Passage{DocID: doc, ChunkID: chunk})
	}
	return all
}

func TestTruncatedSlice(t *testing.T) {
	m := &Manifest{Slices: []string{TruncatedSlice, "metadata.topic"}}
	c := &Case{Metadata: Value(`{"topic":"billing"}`)}
	for want, dropped := range map[string][]DroppedItem{
		"false": {{Reason: "top_k"}}, "true": {{Reason: "token_budget"}, {Reason: "top_k"}},
	} {
		e := &Execution{Status: StatusOK, Artifacts: Artifacts{Context: []Context{{Dropped: dropped}}}}
		if got := SliceValues(m, c, e); !slices.Equal(got, []string{want, "billing"}) {
			t.Errorf("%q, want %s", got, want)
		}
		e.Status = StatusTimeout
		if got := SliceValues(m, c, e); !slices.Equal(got, []string{NoSlice, "billing"}) {
			t.Errorf("a failed case is in %q", got)
		}
	}
	if got := SliceValues(m, c, &Execution{Status: StatusOK}); got[0] != NoSlice {
		t.Errorf("without a context: %q", got)
	}
}
