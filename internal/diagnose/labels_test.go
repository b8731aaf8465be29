package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// passages reads "a b#2 c": documents, some with a chunk.
func passages(s string) []evidence.Passage {
	all := []evidence.Passage{}
	for _, name := range strings.Fields(s) {
		doc, chunk, _ := strings.Cut(name, "#")
		all = append(all, evidence.Passage{DocID: doc, ChunkID: chunk})
	}
	return all
}

// recorded is a failed case: what is relevant (as JSON), what was retrieved and
// what reached the model.
func recorded(t testing.TB, id, relevant, retrieved, context string) Case {
	t.Helper()
	c := Case{Case: evidence.Case{ID: id, Expected: evidence.Value(`{"relevant":` + relevant + `}`)}}
	var err error
	if c.Relevant, err = evidence.RelevantOf(&c.Case); err != nil {
		t.Fatal(err)
	}
	c.Retrieval = &evidence.Retrieval{Depth: 6, Candidates: passages(retrieved)}
	c.Context = &evidence.Context{}
	for _, p := range passages(context) {
		c.Context.Items = append(c.Context.Items, evidence.ContextItem{DocID: p.DocID, ChunkID: p.ChunkID})
	}
	return c
}

// The rows of the label table, each at its borders. Those of relevance were
// checked with the diagnoses of Oloproof 0.1.0a20 (PyPI) for the same cases.
func TestLabelTable(t *testing.T) {
	const a, a1 = `[{"doc_id":"a"}]`, `[{"doc_id":"a","chunk_id":"1"}]`
	recovers := Result{Failed, Passed}
	for _, test := range []struct {
		name               string
		relevant           string
		retrieved, context string
		result             Result
		want               string
	}{
		{"control passed", a, "a", "a", Result{Passed, Passed}, "UNRESOLVED unstable_under_control none 1"},
		{"control passed, intervention failed", a, "a", "a", Result{Passed, Failed}, "UNRESOLVED unstable_under_control none 1"},
		{"control missing", a, "a", "a", Result{Missing, Passed}, "UNRESOLVED intervention_evidence_missing none 1"},
		{"intervention missing", a, "a", "a", Result{Failed, Missing}, "UNRESOLVED intervention_evidence_missing none 1"},
		{"both missing beats the control", a, "a", "a", Result{Passed, Missing}, "UNRESOLVED intervention_evidence_missing none 1"},
		{"fails with gold", a, "z a", "z", Result{Failed, Failed}, "GENERATION_FAILURE fails_with_gold_context intervention_non_recovery 2"},
		{"fails with gold, no labels", `[]`, "z a", "z", Result{Failed, Failed}, "GENERATION_FAILURE fails_with_gold_context intervention_non_recovery none"},
		{"no labels", `null`, "a", "a", recovers, "UNRESOLVED no_relevance_labels none none"},
		{"grade 0 is no label", `[{"doc_id":"a","grade":0}]`, "a", "a", recovers, "UNRESOLVED no_relevance_labels none none"},
		{"grade 0 is passed over", `[{"doc_id":"a","grade":0},{"doc_id":"m"}]`, "a y#7 m", "a y#7", recovers, "RANKED_OUT relevant_ranked_below_top_k intervention_recovery 3"},

		{"nothing retrieved", a, "", "", recovers, "RETRIEVAL_MISS relevant_not_retrieved intervention_recovery none"},
		{"another document", a, "b c d", "b", recovers, "RETRIEVAL_MISS relevant_not_retrieved intervention_recovery none"},
		{"another chunk", a1, "a#2", "a#2", recovers, "RETRIEVAL_MISS relevant_not_retrieved intervention_recovery none"},
		{"just below top-k", a, "x y a", "x y", recovers, "RANKED_OUT relevant_ranked_below_top_k intervention_recovery 3"},
		{"last within top-k, dropped", a, "z a#7", "z", recovers, "CONTEXT_ASSEMBLY_LOSS relevant_dropped_from_context intervention_recovery 2"},
		{"first, dropped", a, "a#7 z", "", recovers, "CONTEXT_ASSEMBLY_LOSS relevant_dropped_from_context intervention_recovery 1"},
		{"within, and in the context", a, "z a", "z a", recovers, "UNRESOLVED recovered_with_relevant_in_context none 2"},
		{"one of two is enough", `[{"doc_id":"a"},{"doc_id":"b"}]`, "a b", "a", recovers, "UNRESOLVED recovered_with_relevant_in_context none 1"},
		{"the best of two was dropped", `[{"doc_id":"a"},{"doc_id":"b"}]`, "q b a", "q", recovers, "CONTEXT_ASSEMBLY_LOSS relevant_dropped_from_context intervention_recovery 2"},

		{"chunk of a document that is named", a, "a#9", "a#9", recovers, "UNRESOLVED recovered_with_relevant_in_context none 1"},
		{"no chunk where one is named", a1, "a", "a", recovers, "UNRESOLVED relevance_unit_mismatch none none"},
		{"no chunk, far below", a1, "y z a", "y z", recovers, "UNRESOLVED relevance_unit_mismatch none none"},
		{"the chunk before the doubt", a1, "a#1 z a", "a#1 z", recovers, "UNRESOLVED recovered_with_relevant_in_context none 1"},
		{"the doubt before the chunk", a1, "a a#1", "a a#1", recovers, "UNRESOLVED relevance_unit_mismatch none none"},
		{"the doubt before the chunk below top-k", a1, "a q a#1", "a q", recovers, "UNRESOLVED relevance_unit_mismatch none none"},
		{"a document before the doubt", `[{"doc_id":"b"},{"doc_id":"a","chunk_id":"1"}]`, "b a", "b a", recovers, "UNRESOLVED recovered_with_relevant_in_context none 1"},
		{"the document is named too", `[{"doc_id":"a","chunk_id":"1"},{"doc_id":"a"}]`, "a", "a", recovers, "UNRESOLVED recovered_with_relevant_in_context none 1"},
		{"doubt in the context only", a1, "a#1", "a", recovers, "UNRESOLVED relevance_unit_mismatch none 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := recorded(t, "x", test.relevant, test.retrieved, test.context)
			if got := words(find(&c, test.result, true, 2)); got != test.want {
				t.Errorf("find = %s, want %s", got, test.want)
			}
		})
	}
	c := recorded(t, "x", a, "a", "a")
	for _, test := range []struct {
		name   string
		change func(*Case)
		topK   int
	}{
		{"no retrieval", func(c *Case) { c.Retrieval = nil }, 2},
		{"no context", func(c *Case) { c.Context = nil }, 2},
		{"no top_k", func(*Case) {}, 0},
	} {
		c := c
		test.change(&c)
		if got := find(&c, recovers, true, test.topK); got.Reason != ReasonEvidenceMissing || got.Label != Unresolved {
			t.Errorf("%s: %s", test.name, words(got))
		}
	}
	if got := words(find(&c, Result{}, false, 2)); got != "UNRESOLVED intervention_unsupported none 1" {
		t.Errorf("not staged: %s", got)
	}
}

func words(f Finding) string {
	position := "none"
	if f.Position != nil {
		position = fmt.Sprint(*f.Position)
	}
	return fmt.Sprintf("%s %s %s %s", f.Label, f.Reason, f.Strength, position)
}

// diagnosisOf makes a gold-context diagnosis of cases whose ids tell their
// result: those that begin with "fails" fail with the gold passages as well.
func diagnosisOf(t testing.TB, cases ...Case) *Diagnosis {
	t.Helper()
	in := Input{
		Selection: &Selection{Run: "run_1", Criterion: "ok", Cases: cases}, Intervention: Intervention{Kind: GoldContext},
		Staged: true, TopK: 2, Depth: 6,
	}
	in.Selection.sort()
	for i := range cases {
		r := Result{Failed, Passed}
		if strings.HasPrefix(in.Selection.Cases[i].ID, "fails") {
			r.Intervention = Failed
		}
		in.Results = append(in.Results, r)
	}
	d, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func cases(t testing.TB, prefix string, n int, relevant, retrieved, context string) []Case {
	var all []Case
	for i := range n {
		all = append(all, recorded(t, fmt.Sprintf("%s-%d", prefix, i), relevant, retrieved, context))
	}
	return all
}

func TestImplications(t *testing.T) {
	const a = `[{"doc_id":"a"}]`
	missed := func(n int) []Case { return cases(t, "missed", n, a, "z", "z") }
	dropped := func(n int) []Case { return cases(t, "dropped", n, a, "z a", "z") }
	ranked := func(n int) []Case { return cases(t, "ranked", n, a, "x y z a", "x y") }
	fails := func(n int) []Case { return cases(t, "fails", n, a, "a", "a") }
	join := func(lists ...[]Case) []Case {
		var all []Case
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, test := range []struct {
		name  string
		cases []Case
		want  []string
	}{
		{"nothing", nil, nil},
		{"one missed", missed(1), []string{"retrieval coverage 1/1 recovered: a greater retrieval depth; another index or embedding configuration"}},
		{"a tie", join(missed(2), dropped(2)), []string{
			"retrieval coverage 2/4 recovered: a greater retrieval depth; another index or embedding configuration",
			"context budget 2/4 recovered: a larger token budget; smaller chunks"}},
		{"two ranked out are too few", ranked(2), nil},
		{"two ranked out still outnumber one", join(ranked(2), missed(1)), nil},
		{"three ranked out", ranked(3), []string{"ranking depth 3/3 recovered: a reranker [reranker]; top_k 4 [top-k 4]"}},
		{"half fail with gold", join(fails(2), missed(2)), []string{
			"retrieval coverage 2/2 recovered: a greater retrieval depth; another index or embedding configuration",
			"generation with correct context 2/4 selected: a prompt or model change, evaluated against this run"}},
		{"less than half fail with gold", join(fails(1), missed(2)), []string{
			"retrieval coverage 2/2 recovered: a greater retrieval depth; another index or embedding configuration"}},
		{"all fail with gold", fails(1), []string{"generation with correct context 1/1 selected: a prompt or model change, evaluated against this run"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, i := range diagnosisOf(t, test.cases...).Implicated {
				var parts []string
				for _, e := range i.Experiments {
					part := e.What
					if e.Replay != nil {
						part += " [" + strings.TrimSpace(e.Replay.String()) + "]"
					}
					parts = append(parts, part)
				}
				got = append(got, fmt.Sprintf("%s %d/%d %s: %s", i.Stage, i.Cases, i.Of, i.Among, strings.Join(parts, "; ")))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The top_k that is proposed covers nine in ten of the cases: the nearest-rank
// percentile, at most the depth.
func TestCoveringTopK(t *testing.T) {
	const a = `[{"doc_id":"a"}]`
	var all []Case
	for i := range 10 {
		retrieved := strings.Repeat("z ", 2+i) + "a"
		all = append(all, recorded(t, fmt.Sprintf("c%02d", i), a, retrieved, "z z"))
	}
	for _, test := range []struct{ n, depth, want int }{
		{3, 20, 5}, {4, 20, 6}, {10, 20, 11}, {10, 8, 8}, {10, 0, 11},
	} {
		d := diagnosisOf(t, all[:test.n]...)
		if got := d.coveringTopK(test.depth); got != test.want {
			t.Errorf("%d cases at depth %d: top_k %d, want %d", test.n, test.depth, got, test.want)
		}
	}
}
