package diagnose

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func manifest() *evidence.Manifest {
	return &evidence.Manifest{ID: "run_1", Metrics: []evidence.MetricSpec{
		{ID: "ok", Kind: evidence.Rate, Evaluator: "sha256:e"},
		{ID: "hit", Kind: evidence.Rate},
		{ID: "ndcg", Kind: evidence.Mean},
		{ID: "p95", Kind: evidence.Quantile},
	}}
}

func line(id, expected string, j evidence.Judgment) *evidence.CaseLine {
	return &evidence.CaseLine{
		Case:      evidence.Case{ID: id, Expected: evidence.Value(expected), Digest: evidence.Digest("sha256:" + id)},
		Judgments: []evidence.NamedJudgment{{Criterion: "ok", Judgment: j}},
	}
}

func TestSelection(t *testing.T) {
	const gold = `{"gold_context":[{"doc_id":"g","text":"t"}]}`
	pass, fail := evidence.Judgment{State: evidence.Judged, Value: 1}, evidence.Judgment{State: evidence.Judged}
	s, err := Select(manifest(), "ok")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*evidence.CaseLine{
		line("z", gold, fail),
		line("passed", gold, pass),
		line("no gold", `{"answer":"x"}`, fail),
		line("nothing expected", ``, fail),
		line("null gold", `{"gold_context":null}`, fail),
		line("empty gold", `{"gold_context":[]}`, fail),
		line("errored", gold, evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonExecutionError}),
		line("not applicable", gold, evidence.Judgment{State: evidence.NotApplicable, Reason: evidence.ReasonNoExpected}),
		line("a", gold, fail),
	} {
		if err := s.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	id, err := s.ID()
	if err != nil {
		t.Fatal(err)
	}
	if got := caseIDs(s.Cases); got != "a z" {
		t.Errorf("selected %s", got)
	}
	want := []Exclusion{{NoGoldContext, []string{"empty gold", "no gold", "nothing expected", "null gold"}}}
	if diff := cmp.Diff(want, id.Excluded); diff != "" {
		t.Error(diff)
	}
	if id.Unjudged != 1 {
		t.Errorf("%d unjudged, want the errored case", id.Unjudged)
	}
}

func caseIDs(cases []Case) string {
	var ids []string
	for i := range cases {
		ids = append(ids, cases[i].ID)
	}
	return strings.Join(ids, " ")
}

func TestSelectionRefuses(t *testing.T) {
	for criterion, want := range map[string]string{
		"ndcg": "ndcg is a score, and only a case that passes or fails can be selected: choose ok, hit",
		"p95":  "p95 is a score, and only a case that passes or fails can be selected: choose ok, hit",
		"no":   `run_1 has no criterion "no": choose ok, hit`,
	} {
		if _, err := Select(manifest(), criterion); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", criterion, err, want)
		}
	}
	for expected, want := range map[string]string{
		`{"gold_context":{"doc_id":"a","text":"t"}}`:                                          `case "c": expected.gold_context: want a list of {doc_id, text}, found {"doc_id":"a","text":"t"}`,
		`{"gold_context":["a"]}`:                                                              `case "c": expected.gold_context[0]: want an object such as {"doc_id": "…"}, found "a"`,
		`{"gold_context":[{"doc_id":"a","text":"t"},{"text":"t"}]}`:                           `case "c": expected.gold_context[1]: no doc_id`,
		`{"gold_context":[{"doc_id":"","text":"t"}]}`:                                         `case "c": expected.gold_context[0]: doc_id: want a string that is not empty, found ""`,
		`{"gold_context":[{"doc_id":"a"}]}`:                                                   `case "c": expected.gold_context[0]: text: want the passage as a string, found nothing`,
		`{"gold_context":[{"doc_id":"a","chunk_id":3,"text":"t"}]}`:                           `case "c": expected.gold_context[0]: chunk_id: want a string that is not empty, found 3`,
		`{"gold_context":[{"doc_id":"a","text":"t"}],"relevant":{}}`:                          `case "c": expected.relevant: want a list of {doc_id, chunk_id, grade}, found {}`,
		`{"gold_context":[{"doc_id":"a","text":"t"}],"relevant":[{"grade":1}]}`:               `case "c": expected.relevant[0]: no doc_id`,
		`{"gold_context":[{"doc_id":"a","text":"t"}],"relevant":[{"doc_id":"a","grade":-1}]}`: `case "c": expected.relevant[0]: grade: want a finite number of at least 0, found -1`,
	} {
		s, err := Select(manifest(), "ok")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(line("c", expected, evidence.Judgment{State: evidence.Judged})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expected, err, want)
		}
	}
}

func TestNotStaged(t *testing.T) {
	for _, kind := range Kinds {
		d, err := New(Input{
			Selection:    &Selection{Run: "run_1", Criterion: "ok", Cases: cases(t, "c", 2, `[{"doc_id":"a"}]`, "a", "a")},
			Intervention: Intervention{Kind: kind, TopK: 4},
		})
		if err != nil {
			t.Fatal(err)
		}
		if d.Executed || d.Control != "" || len(d.Implicated) != 0 {
			t.Errorf("%s: %+v", kind, d)
		}
		if diff := cmp.Diff([]LabelCount{{Unresolved, ReasonUnsupported, 2}}, d.Labels); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

func TestWithoutControl(t *testing.T) {
	in := Input{
		Selection:    &Selection{Run: "run_1", Criterion: "ok", Cases: cases(t, "c", 1, `[{"doc_id":"a"}]`, "", "")},
		Intervention: Intervention{Kind: GoldContext}, Staged: true, NoControl: true, TopK: 2,
		Results: []Result{{Intervention: Passed}},
	}
	d, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if d.Control != NoControl || d.Assumption != Deterministic || d.Counts.Recovered != 1 || d.Cases[0].Label != RetrievalMiss || d.Cases[0].Control != "" {
		t.Errorf("%+v", d)
	}
}

// A replay carries the labels on; what it recovers of the cases that were ranked
// out is confirmed, and nothing else changes.
func TestReplay(t *testing.T) {
	const a = `[{"doc_id":"a"}]`
	all := slices.Concat(cases(t, "ranked", 3, a, "x y z a", "x y"), cases(t, "dropped", 1, a, "z a", "z"), cases(t, "fails", 1, a, "a", "a"))
	gold := diagnosisOf(t, all...)
	s := &Selection{Run: "run_1", Criterion: "ok", Cases: all}
	in := Input{Selection: s, Intervention: Intervention{Kind: TopK, TopK: 4}, Staged: true, TopK: 2, Depth: 6, Gold: gold}
	s.sort()
	for i := range s.Cases { // ranked-0 and the dropped one recover; ranked-1 was not stable
		r := Result{Failed, Failed}
		switch s.Cases[i].ID {
		case "ranked-0", "dropped-0":
			r = Result{Failed, Passed}
		case "ranked-1":
			r = Result{Passed, Passed}
		}
		in.Results = append(in.Results, r)
	}
	d, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := (CaseCounts{Selected: 5, ControlPassed: 1, Recovered: 2, RankedOut: 3, Confirmed: 1}); d.Counts != want {
		t.Errorf("counts %+v, want %+v", d.Counts, want)
	}
	if diff := cmp.Diff(&LabelsFrom{gold.ID, 4, 5}, d.LabelsFrom); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(gold.Labels, d.Labels); diff != "" {
		t.Error(diff)
	}
	if len(d.Implicated) != 0 {
		t.Errorf("a replay proposes %v", d.Implicated)
	}
	for i := range d.Cases {
		want := gold.Cases[i].Finding
		if d.Cases[i].ID == "ranked-0" {
			want.Strength = ReplayConfirmed
		}
		if diff := cmp.Diff(want, d.Cases[i].Finding); diff != "" {
			t.Errorf("%s: %s", d.Cases[i].ID, diff)
		}
	}

	other := *in.Selection
	other.Cases = other.Cases[1:]
	in.Selection, in.Results = &other, in.Results[1:]
	if _, err := New(in); err == nil {
		t.Error("labels of other cases were carried")
	}
	in.Gold = nil
	if _, err := New(in); err == nil {
		t.Error("a replay without labels")
	}
}

// Laws of a diagnosis, whatever the cases came to: each has one label, the
// counts are over all, the order of the cases changes nothing, and the id
// follows from what is said.
func TestLaws(t *testing.T) {
	outcome := rapid.SampledFrom([]Outcome{Passed, Failed, Missing})
	ids := rapid.SampledFrom([]string{"", "a", "a#1", "a#2", "b", "b#1", "z"})
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(rt, "cases")
		in := Input{
			Selection: &Selection{Run: "run_1", Criterion: "ok"}, Intervention: Intervention{Kind: GoldContext},
			Staged: true, NoControl: rapid.Bool().Draw(rt, "no control"), TopK: rapid.IntRange(0, 4).Draw(rt, "top_k"), Depth: 6,
		}
		for i := range n {
			relevant := rapid.SampledFrom([]string{`[]`, `[{"doc_id":"a"}]`, `[{"doc_id":"a","chunk_id":"1"}]`, `[{"doc_id":"b","grade":0},{"doc_id":"z"}]`}).Draw(rt, "relevant")
			retrieved := strings.Join(rapid.SliceOfN(ids, 0, 6).Draw(rt, "retrieved"), " ")
			context := strings.Join(rapid.SliceOfN(ids, 0, 3).Draw(rt, "context"), " ")
			in.Selection.Cases = append(in.Selection.Cases, recorded(t, fmt.Sprintf("c%d", i), relevant, retrieved, context))
			in.Results = append(in.Results, Result{outcome.Draw(rt, "control"), outcome.Draw(rt, "intervention")})
		}
		d, err := New(in)
		if err != nil {
			rt.Fatal(err)
		}
		labelled, recovered := 0, 0
		for _, l := range d.Labels {
			labelled += l.Cases
		}
		for i := range d.Cases {
			c := &d.Cases[i]
			if c.Recovered {
				recovered++
			}
			if stage := c.Strength == InterventionRecovery; stage != slices.Contains(labelOrder[:3], c.Label) || stage && !c.Recovered {
				rt.Fatalf("%+v", c)
			}
			if c.Label == GenerationFailure && c.Intervention != Failed {
				rt.Fatalf("%+v", c)
			}
		}
		if labelled != n || recovered != d.Counts.Recovered || d.Counts.Selected != n {
			rt.Fatalf("%d cases: labels %v, counts %+v", n, d.Labels, d.Counts)
		}
		if err := d.Check(); err != nil {
			rt.Fatal(err)
		}
		again := shuffled(in, rapid.Uint64().Draw(rt, "seed"))
		d2, err := New(again)
		if err != nil {
			rt.Fatal(err)
		}
		if n == 0 {
			return
		}
		if diff := cmp.Diff(d, d2); diff != "" {
			rt.Fatal(diff)
		}
		if !in.NoControl {
			again.Results[0].Control = map[Outcome]Outcome{Passed: Failed, Failed: Missing, Missing: Passed}[again.Results[0].Control]
			if d3, err := New(again); err != nil || d3.ID == d.ID {
				rt.Fatalf("another outcome has the same id: %v", err)
			}
		}
	})
}

// shuffled gives the cases in another order, and the results in that of the ids.
func shuffled(in Input, seed uint64) Input {
	s := *in.Selection
	s.Cases = slices.Clone(s.Cases)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(s.Cases), func(i, j int) { s.Cases[i], s.Cases[j] = s.Cases[j], s.Cases[i] })
	in.Selection, in.Results = &s, slices.Clone(in.Results)
	return in
}

// The id names what is said: each part of it changes the id, and reading the
// JSON back does not.
func TestContentID(t *testing.T) {
	const a = `[{"doc_id":"a"}]`
	base := func() Input {
		return Input{
			Selection:    &Selection{Run: "run_1", Criterion: "ok", Cases: cases(t, "c", 2, a, "z a", "z"), Excluded: []string{"x"}},
			Intervention: Intervention{Kind: GoldContext}, Staged: true, TopK: 2, Depth: 6,
			Results: []Result{{Failed, Passed}, {Failed, Failed}},
		}
	}
	d, err := New(base())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[evidence.Digest]string{d.ID: "nothing"}
	for name, change := range map[string]func(*Input){
		"run":       func(in *Input) { in.Selection.Run = "run_2" },
		"criterion": func(in *Input) { in.Selection.Criterion = "hit" },
		"evaluator": func(in *Input) { in.Selection.Evaluator = "sha256:e" },
		"case":      func(in *Input) { in.Selection.Cases[0].Digest = "sha256:1" },
		"excluded":  func(in *Input) { in.Selection.Excluded = []string{"y"} },
		"outcome":   func(in *Input) { in.Results[0].Intervention = Failed },
		"control":   func(in *Input) { in.NoControl = true },
		"evidence":  func(in *Input) { in.TopK = 1 },
	} {
		in := base()
		change(&in)
		other, err := New(in)
		if err != nil {
			t.Fatal(err)
		}
		if same, ok := seen[other.ID]; ok {
			t.Errorf("%s changes nothing against %s", name, same)
		}
		seen[other.ID] = name
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var read Diagnosis
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Check(); err != nil {
		t.Error(err)
	}
	read.Cases[0].Label = RankedOut
	if read.Check() == nil {
		t.Error("a changed label keeps the id")
	}
}
