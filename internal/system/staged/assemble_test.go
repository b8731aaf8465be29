package staged_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// TestAssembleAsRecorded holds Assemble to what the Python tool Oloproof
// 0.1.0a20 assembled of random candidates (testdata/g_context_assembly.json,
// recorded from it; the file says how).
func TestAssembleAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/g_context_assembly.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Count int
		Rows  []struct {
			TopK        int  `json:"top_k"`
			TokenBudget *int `json:"token_budget"`
			Candidates  []struct {
				DocID   string `json:"doc_id"`
				ChunkID string `json:"chunk_id"`
				Tokens  int
			}
			Context          json.RawMessage
			PassedToGenerate int `json:"passed_to_generate"`
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden.Rows) != golden.Count || golden.Count == 0 {
		t.Fatalf("%d rows, %v", len(golden.Rows), err)
	}
	for i, row := range golden.Rows {
		text := "x" // of every passage, as the file has it
		var candidates []evidence.Passage
		var tokens []int
		for _, c := range row.Candidates {
			candidates = append(candidates, evidence.Passage{DocID: c.DocID, ChunkID: c.ChunkID, Text: &text})
			tokens = append(tokens, c.Tokens)
		}
		got, passages := staged.Assemble(candidates, row.TopK, row.TokenBudget, tokens)
		var want evidence.Artifacts
		if err := evidence.DecodeArtifact(evidence.ContextKind, evidence.Value(row.Context), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Context[0], got); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
		if len(passages) != row.PassedToGenerate {
			t.Errorf("row %d passes %d passages, want %d", i, len(passages), row.PassedToGenerate)
		}
	}
}

// Every candidate is in the context or dropped, once and in order; the context is
// a prefix that fits the budget, and one more passage would not.
func TestAssembleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 10).Draw(t, "tokens")
		topK := rapid.IntRange(1, 12).Draw(t, "topK")
		budget := rapid.IntRange(1, 60).Draw(t, "budget")
		candidates := make([]evidence.Passage, len(tokens))
		for i := range candidates {
			candidates[i].DocID = string(rune('a' + i))
		}
		c, passages := staged.Assemble(candidates, topK, &budget, tokens)
		used := 0
		for i, item := range c.Items {
			if item.DocID != candidates[i].DocID || passages[i].DocID != item.DocID || *item.Position != i+1 {
				t.Fatalf("item %d is %+v", i, item)
			}
			used += *item.Tokens
		}
		if used > budget || len(c.Items) > topK || len(passages) != len(c.Items) {
			t.Fatalf("%d items of %d tokens, budget %d, top_k %d", len(c.Items), used, budget, topK)
		}
		if n := len(c.Items); n < min(topK, len(tokens)) && used+tokens[n] <= budget {
			t.Fatalf("item %d of %d tokens would fit: %d of %d are used", n, tokens[n], used, budget)
		}
		if len(c.Items)+len(c.Dropped) != len(candidates) {
			t.Fatalf("%d in, %d dropped, of %d", len(c.Items), len(c.Dropped), len(candidates))
		}
		for i, d := range c.Dropped {
			if want := len(c.Items) + i + 1; *d.Position != want || (d.Reason == "top_k") != (want > topK) {
				t.Fatalf("dropped %d is %+v", i, d)
			}
		}
	})
}
