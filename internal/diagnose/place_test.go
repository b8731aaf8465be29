package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func at(n int) *int { return &n }

func TestPlaces(t *testing.T) {
	c := recorded(t, "x", `[{"doc_id":"a"}]`, "z a b c d", "")
	c.Context = &evidence.Context{
		Items: []evidence.ContextItem{{DocID: "z", Position: at(1)}, {DocID: "c"}, {DocID: "elsewhere"}},
		Dropped: []evidence.DroppedItem{
			{ContextItem: evidence.ContextItem{DocID: "a", Position: at(2)}, Reason: FateBudget},
			{ContextItem: evidence.ContextItem{DocID: "b", Position: at(3)}, Reason: FateTopK},
			{ContextItem: evidence.ContextItem{DocID: "q", Position: at(9)}, Reason: FateTopK},
		},
	}
	want := []Place{{false, FateContext}, {true, FateBudget}, {false, FateTopK}, {false, FateContext}, {false, FateUnknown}}
	if diff := cmp.Diff(&Retrieved{want}, c.places()); diff != "" {
		t.Error(diff)
	}
	score := 0.5
	c.Retrieval.Candidates[0].Score = &score
	got := c.Passages()
	if len(got) != 3 || got[0].Score != &score || got[1].DocID != "c" || got[2].DocID != "elsewhere" {
		t.Errorf("%+v", got)
	}
	c.Context = nil
	if c.Passages() != nil || c.places().Candidates[0].Fate != FateUnknown {
		t.Error("a context out of nothing")
	}
	c.Retrieval = nil
	if c.places() != nil {
		t.Error("candidates out of nothing")
	}
}

func texts(s ...string) []evidence.Passage {
	var all []evidence.Passage
	for _, x := range s {
		doc, text, _ := strings.Cut(x, ":")
		all = append(all, evidence.Passage{DocID: doc, Text: &text})
	}
	return all
}

func TestReorder(t *testing.T) {
	c := &Case{Case: evidence.Case{ID: "x"}, Retrieval: &evidence.Retrieval{Candidates: texts("a:1", "b:2", "a:1", "c:3")}}
	for _, test := range []struct {
		name  string
		given []evidence.Passage
		want  string // the error, or the order
	}{
		{"reversed", texts("c:3", "a:1", "b:2", "a:1"), "c a b a"},
		{"some left out", texts("b:2"), "b"},
		{"all left out", nil, ""},
		{"one that stands twice, twice", texts("a:1", "a:1"), "a a"},
		{"one too often", texts("a:1", "a:1", "a:1"), `case "x": the reranker gave back "a" at place 3, which it has given back already`},
		{"another document", texts("b:2", "d:4"), `case "x": the reranker gave back "d" at place 2, which the run did not retrieve`},
		{"another text", texts("b:two"), `case "x": the reranker gave back "b" at place 1, which the run did not retrieve`},
		{"no text", []evidence.Passage{{DocID: "b"}}, `case "x": the reranker gave back "b" at place 1, which the run did not retrieve`},
	} {
		t.Run(test.name, func(t *testing.T) {
			order, err := c.Reorder(test.given)
			got := ""
			for _, p := range order {
				got = strings.TrimSpace(got + " " + p.DocID)
			}
			if err != nil {
				got = err.Error()
			}
			if got != test.want && !(err != nil && strings.HasPrefix(got, test.want)) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Any order of any part of the candidates is taken, as it is.
func TestReorderTakesEveryOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a:1", "a:2", "b:1", "c:"}), 0, 6).Draw(rt, "candidates")
		c := &Case{Retrieval: &evidence.Retrieval{Candidates: texts(names...)}}
		order := rapid.Permutation(names).Draw(rt, "order")
		order = order[:rapid.IntRange(0, len(order)).Draw(rt, "kept")]
		got, err := c.Reorder(texts(order...))
		if err != nil {
			rt.Fatal(err)
		}
		same := slices.EqualFunc(got, texts(order...), func(a, b evidence.Passage) bool { return samePassage(&a, &b) })
		if !same {
			rt.Fatalf("%v became %v", order, got)
		}
	})
}
