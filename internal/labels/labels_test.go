package labels

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

const good = `{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"pass","by":"p","at":"2026-11-24T09:30:00Z","judge":{"verdict":"pass","evaluator":"sha256:e","model":"m-1"}}
{"case":"b","criterion":"grounded","evidence":"sha256:2","verdict":"fail","by":"p","at":"2026-11-24T09:30:00Z","judge":{"verdict":"pass","evaluator":"sha256:e","model":"m-1"}}
{"case":"c","criterion":"grounded","evidence":"sha256:3","verdict":"pass","by":"p","at":"2026-11-24T09:30:00Z","judge":{"verdict":"fail","evaluator":"sha256:e","model":"m-1"}}
{"case":"d","criterion":"grounded","evidence":"sha256:4","verdict":"fail","by":"p","at":"2026-11-24T09:30:00Z","judge":{"verdict":"fail","evaluator":"sha256:e","model":"m-1"}}

{"case":"d","criterion":"grounded","evidence":"sha256:4","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z","judge":{"verdict":"fail","evaluator":"sha256:e","model":"m-1"}}
{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z","judge":{"verdict":"pass","evaluator":"sha256:e","model":"m-1"}}
{"case":"e","criterion":"grounded","evidence":"sha256:5","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z","judge":{"verdict":"pass","evaluator":"sha256:older","model":"m-1"}}
{"case":"f","criterion":"grounded","evidence":"sha256:6","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z","judge":{"verdict":"pass","evaluator":"sha256:e","model":"m-0"}}
{"case":"g","criterion":"grounded","evidence":"sha256:7","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z"}
{"case":"a","criterion":"tone","evidence":"sha256:8","verdict":"pass","by":"q","at":"2026-11-24T09:30:00Z"}
`

func spec() evidence.MetricSpec {
	return evidence.MetricSpec{ID: "grounded", Type: "rubric_judge", Evaluator: "sha256:e", Served: []string{"m-1"}}
}

// TestOf: each answer counts once, and only for the instrument that judged it.
func TestOf(t *testing.T) {
	f, err := Parse("labels.jsonl", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := evidence.Trust{BothPass: 1, JudgeOnly: 1, HumanOnly: 1, BothFail: 0, Unsettled: 1, Others: 3, People: 2}
	if got := f.Of(spec()); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := f.Of(evidence.MetricSpec{ID: "other"}); got != nil {
		t.Errorf("of a metric without labels: %+v", got)
	}
	retired := string(AppendLine(nil, Retirement{Criterion: "grounded", Retired: "nobody agrees", By: "p"}))
	if f, err = Parse("labels.jsonl", []byte(good+retired)); err != nil {
		t.Fatal(err)
	}
	if got := f.Of(spec()); got.Retired != "nobody agrees" || got.BothPass != 1 {
		t.Errorf("retired: %+v", got)
	}
}

// TestOfJudgeThatMoved: a judge that said both of one answer is not taken at the word
// that suits it.
func TestOfJudgeThatMoved(t *testing.T) {
	const line = `{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"pass","by":"%","at":"2026-11-24T09:30:00Z","judge":{"verdict":"%","evaluator":"sha256:e","model":"m-1"}}` + "\n"
	one := func(by, judge string) string {
		return strings.Replace(strings.Replace(line, "%", by, 1), "%", judge, 1)
	}
	for _, text := range []string{one("p", Pass) + one("q", Fail), one("p", Fail) + one("q", Pass)} {
		f, err := Parse("labels.jsonl", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Of(spec()); got.Labels() != 0 || got.Unsettled != 1 {
			t.Errorf("got %+v, want the answer unsettled", got)
		}
	}
}

// TestOfServed: a model that nobody labelled beside is another instrument, a provider
// that stops naming its models too.
func TestOfServed(t *testing.T) {
	f, err := Parse("labels.jsonl", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		kind    string
		served  []string
		labels  int
		unknown int
	}{
		{"rubric_judge", []string{"m-1"}, 3, 3},
		{"rubric_judge", []string{"m-0", "m-1"}, 4, 2},
		{"rubric_judge", []string{"m-1", "m-2"}, 0, 9},
		{"rubric_judge", []string{"m-2"}, 0, 9},
		{"rubric_judge", nil, 0, 9},
		{"rubric_judge", []string{"", "m-1"}, 0, 9},      // one without a name gave verdicts too
		{"cascade", []string{"m-0", "m-1", "m-2"}, 4, 2}, // m-2 is asked about some answers only
		{"cascade", []string{"m-1"}, 3, 3},               // m-0 was not asked
		{"cascade", []string{"m-1", "m-2"}, 0, 9},        // m-2 took the place of m-0
	} {
		s := spec()
		s.Type, s.Served = x.kind, x.served
		if got := f.Of(s); got == nil || got.Labels() != x.labels || got.Others != x.unknown {
			t.Errorf("%s served by %v: %+v, want %d that count and %d of others", x.kind, x.served, got, x.labels, x.unknown)
		}
	}
	nameless := `{"case":"c","criterion":"grounded","evidence":"sha256:3","verdict":"pass","by":"p","judge":{"verdict":"pass","evaluator":"sha256:e"}}`
	if f, err = Parse("labels.jsonl", []byte(nameless)); err != nil {
		t.Fatal(err)
	}
	s := spec()
	s.Served = nil
	if got := f.Of(s); got == nil || got.BothPass != 1 {
		t.Errorf("a provider that never named its models: %+v", got)
	}
	if got := f.Of(spec()); got == nil || got.Labels() != 0 || got.Others != 1 {
		t.Errorf("a provider that names its models now: %+v", got)
	}
}

// TestProblems: every line that is wrong is told, in one pass.
func TestProblems(t *testing.T) {
	_, err := Parse("labels.jsonl", []byte(`not json
[1]
{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"yes","by":"p"}
{"case":"a","criteron":"grounded"}
{"case":"a","criterion":"grounded","verdict":"pass"}
{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":true,"by":"p"}
{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"pass","by":"p"}
{"case":"a","criterion":"grounded","evidence":"sha256:1","verdict":"fail","by":"p"}
{"case":"b","criterion":"grounded","evidence":"sha256:2","verdict":"pass","by":"p","judge":{"verdict":"pass"}}
{"criterion":"grounded","retired":"x"}
{"case":"c","criterion":"grounded","evidence":"sha256:3","verdict":"pass","by":"p","at":"yesterday"}
{"case":5}
`))
	want := []string{
		"labels.jsonl:1:1", "not valid JSON", "labels.jsonl:2:1", "a line must be a JSON object",
		`labels.jsonl:3:1`, `verdict is "yes", it must be pass or fail`, "unknown key criteron, did you mean criterion?",
		"a label without evidence, by", "labels.jsonl:6:1", "verdict must not be a JSON bool",
		"p labelled case a for grounded twice: line 7 has it too", "judge needs a verdict, pass or fail, and an evaluator",
		"a retirement needs criterion, retired and by", `at is "yesterday", it must be a time such as`, "\n  at labels.jsonl:12:1", "error: case must not be a JSON number",
	}
	if err == nil {
		t.Fatal("no problem was found")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("want %q in\n%s", w, err)
		}
	}
}

// TestSample: a sample is its seed's, in whatever order the ids come, and a
// larger one begins with the smaller.
func TestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringN(1, 5, -1), 0, 20, rapid.ID[string]).Draw(t, "ids")
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(0, 25).Draw(t, "n")
		shuffled := rapid.Permutation(ids).Draw(t, "order")
		got := Sample(ids, n, seed)
		if !slices.Equal(got, Sample(shuffled, n, seed)) {
			t.Fatal("the order of the ids changes the sample")
		}
		if len(got) != min(n, len(ids)) {
			t.Fatalf("%d of %d ids, want %d", len(got), len(ids), n)
		}
		if more := Sample(ids, n+3, seed); !slices.Equal(more[:len(got)], got) {
			t.Fatalf("%v does not begin with %v", more, got)
		}
	})
}

// TestSampleIsRandom: over many seeds every id is drawn as often as any other, and
// first as often. (Seeds are fixed, and so is the result.)
func TestSampleIsRandom(t *testing.T) {
	const seeds, of, n = 3000, 12, 3
	var ids []string
	for i := range of {
		ids = append(ids, string(rune('a'+i)))
	}
	drawn, first := map[string]int{}, map[string]int{}
	for seed := range uint64(seeds) {
		sample := Sample(ids, n, seed)
		first[sample[0]]++
		for _, id := range sample {
			drawn[id]++
		}
	}
	for _, id := range ids {
		// 750 and 250 are expected; the standard deviations are 24 and 15.
		if math.Abs(float64(drawn[id]-seeds*n/of)) > 5*24 || math.Abs(float64(first[id]-seeds/of)) > 5*15 {
			t.Errorf("%s is drawn %d times, %d times as the first", id, drawn[id], first[id])
		}
	}
}

func TestSheets(t *testing.T) {
	sheets, err := ParseSheets("sheets.jsonl", []byte(`{"case":"a","criterion":"g","evidence":"sha256:1","run":"run_1","verdict":"pass","output":{"x":1}}
{"case":"b","criterion":"g","evidence":"sha256:2","run":"run_1","verdict":""}
`))
	if err != nil || len(sheets) != 2 || sheets[0].Verdict != Pass || sheets[1].Line != 2 {
		t.Errorf("%+v, %v", sheets, err)
	}
	_, err = ParseSheets("sheets.jsonl", []byte(`{"case":"a","criterion":"g","evidence":"sha256:1","run":"run_1","verdict":"ok"}
{"case":"b","criterion":"g"}
{"case":"c","criterion":"g","evidence":"sha256:1","run":"run_1","verdict":"pass"}
{"case":"c","criterion":"g","evidence":"sha256:1","run":"run_1","verdict":"fail"}
`))
	for _, want := range []string{`verdict is "ok"`, "a sheet needs case, criterion, evidence and run", "case c is labelled twice for g: line 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}

func TestSaid(t *testing.T) {
	judge := evidence.MetricSpec{ID: "grounded", Evaluator: "e1"}
	named := func(criterion string, j evidence.Judgment) evidence.NamedJudgment {
		return evidence.NamedJudgment{Criterion: criterion, Judgment: j}
	}
	other := named("tone", evidence.Judgment{State: evidence.Judged, Value: 1})
	for _, x := range []struct {
		name string
		said []evidence.NamedJudgment
		want *Judged
	}{
		{"nothing", nil, nil},
		{"of another criterion", []evidence.NamedJudgment{other}, nil},
		{"no verdict", []evidence.NamedJudgment{named("grounded", evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonJudgeFailed})}, nil},
		{"pass", []evidence.NamedJudgment{other, named("grounded", evidence.Judgment{State: evidence.Judged, Value: 1, Asked: &evidence.Asked{Model: "m1"}})}, &Judged{Pass, "e1", "m1"}},
		{"fail, of no named model", []evidence.NamedJudgment{named("grounded", evidence.Judgment{State: evidence.Judged})}, &Judged{Fail, "e1", ""}},
	} {
		if diff := cmp.Diff(x.want, Said(judge, evidence.CaseLine{Judgments: x.said})); diff != "" {
			t.Errorf("%s: %s", x.name, diff)
		}
	}
}

func TestTake(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600))
	said := &Judged{Pass, "e1", "m1"}
	answers := map[string]Answer{"c1": {"x1", said}, "c2": {"x2", said}, "c3": {"x3", said}, "c4": {"x4", said}}
	f := &File{Labels: []Label{
		{Case: "c3", Criterion: "grounded", Evidence: "x3", By: "ann"},
		{Case: "c4", Criterion: "grounded", Evidence: "x4", By: "bob"},
		{Case: "c1", Criterion: "tone", Evidence: "x1", By: "ann"},
	}}
	sheet := func(id, evidenceID string, line int) Sheet {
		return Sheet{Case: id, Criterion: "grounded", Evidence: evidence.Digest(evidenceID), Run: "latest", Verdict: Fail, Line: line}
	}
	added, problems := f.Take("s.jsonl", []Sheet{
		sheet("c1", "x1", 1), sheet("c2", "x9", 2), sheet("c3", "x3", 3), sheet("c4", "x4", 4), sheet("c5", "x5", 5),
	}, "run_1", answers, "ann", func() time.Time { return at })
	label := func(id, evidenceID string) Label {
		return Label{Case: id, Criterion: "grounded", Evidence: evidence.Digest(evidenceID), Verdict: Fail, By: "ann", At: at.UTC(), Judge: said}
	}
	if diff := cmp.Diff([]Label{label("c1", "x1"), label("c4", "x4")}, added); diff != "" {
		t.Error(diff)
	}
	want := problem.List{
		{File: "s.jsonl", Line: 2, Message: "case c2: the label is of another answer than run_1 has: take evidence as labels export wrote it"},
		{File: "s.jsonl", Line: 3, Message: "case c3: ann has labelled this answer before; a person has one verdict on an answer"},
		{File: "s.jsonl", Line: 5, Message: "run_1 has no case c5 that grounded judged"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"criterion":"g","retired":"x","by":"p"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("labels.jsonl", data)
		if err != nil {
			return
		}
		var again []byte
		for _, l := range file.Labels {
			again = AppendLine(again, l)
		}
		for _, r := range file.Retired {
			again = AppendLine(again, r)
		}
		kept, err := Parse("labels.jsonl", again)
		if err != nil || len(kept.Labels) != len(file.Labels) || len(kept.Retired) != len(file.Retired) {
			t.Fatalf("%q is not read again: %v", again, err)
		}
	})
}
