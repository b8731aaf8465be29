package report

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	stagedRunID = "run_01M4FCHT2M4Q0V6K9R3Y7T5B8D"
	goldRunID   = "run_01M4FCJ0E5S8N2W4Z6X1C3V7B9"
	controlID   = "run_01M4FCJ0E7D1F3G5H7J9K2M4N6"
	replayRunID = "run_01M4FCM2R1T3Y5P7A9S2D4F6G8"
)

// selected is a failed case that names document a as relevant: what was
// retrieved, and how many of that reached the model.
func selected(id, retrieved string, kept, topK int) diagnose.Case {
	c := diagnose.Case{
		Case: evidence.Case{ID: id, Digest: evidence.Digest("sha256:" + id), Input: evidence.Value(`{"question":"Why ` + id + `?"}`),
			Expected: evidence.Value(`{"answer":"Because.","relevant":[{"doc_id":"a"}],"gold_context":[{"doc_id":"a","text":"Because of a."}]}`)},
		Gold:      []evidence.Passage{{DocID: "a"}},
		Relevant:  []evidence.Relevant{{DocID: "a"}},
		Retrieval: &evidence.Retrieval{Depth: 6},
		Context:   &evidence.Context{},
	}
	for i, doc := range strings.Fields(retrieved) {
		rank := i + 1
		c.Retrieval.Candidates = append(c.Retrieval.Candidates, evidence.Passage{DocID: doc})
		item := evidence.ContextItem{DocID: doc, Position: &rank}
		switch {
		case i < kept:
			c.Context.Items = append(c.Context.Items, item)
		case i < topK:
			c.Context.Dropped = append(c.Context.Dropped, evidence.DroppedItem{ContextItem: item, Reason: "token_budget"})
		default:
			c.Context.Dropped = append(c.Context.Dropped, evidence.DroppedItem{ContextItem: item, Reason: "top_k"})
		}
	}
	return c
}

const (
	heldBack = diagnose.Failed
	passes   = diagnose.Passed
)

// exampleSelection is that of the staged example, by id.
func exampleSelection() *diagnose.Selection {
	return &diagnose.Selection{Run: stagedRunID, Criterion: "answer_correct", Evaluator: "sha256:e", Cases: []diagnose.Case{
		selected("money_back", "", 0, 2),
		selected("refund_review", "d a e f g", 1, 2),
		selected("seat_count", "a b c", 2, 2),
		selected("security_review", "d a e", 1, 2),
	}}
}

func stagedManifest() *evidence.Manifest {
	m := manifest()
	m.ID, m.System = stagedRunID, evidence.SystemID{Name: "thistlewick-help", Version: "tutorial", Kind: "rag", Digest: "sha256:5a"}
	return m
}

func diagnosisOf(t fataler, in diagnose.Input, children ...ChildRun) *Diagnosis {
	t.Helper()
	d, err := diagnose.New(in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	at := time.Date(2026, 11, 30, 11, 4, 5, 0, time.UTC)
	return BuildDiagnosis(DiagnosisInput{
		Manifest: stagedManifest(), Tool: evidence.Tool{Name: "oloproof", Version: "1.2.3"}, Diagnosis: d, ChildRuns: children,
		StartedAt: at, FinishedAt: at.Add(3 * time.Second), Notes: nil,
	})
}

var goldRuns = []ChildRun{{Name: "gold context", Role: "intervention", Run: goldRunID}, {Name: "control", Role: "control", Run: controlID}}

func goldDiagnosis(t fataler) *Diagnosis {
	return diagnosisOf(t, diagnose.Input{
		Selection: exampleSelection(), Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}, Staged: true, TopK: 2, Depth: 6,
		Results: []diagnose.Result{{Control: heldBack, Intervention: passes}, {Control: heldBack, Intervention: passes}, {Control: heldBack, Intervention: heldBack}, {Control: heldBack, Intervention: passes}},
	}, goldRuns...)
}

func replayDiagnosis(t fataler) *Diagnosis {
	carried := slices.Clone(goldRuns)
	for i := range carried {
		carried[i].Carried = true
	}
	gold := goldDiagnosis(t)
	return diagnosisOf(t, diagnose.Input{
		Selection: exampleSelection(), Intervention: diagnose.Intervention{Kind: diagnose.TopK, TopK: 4}, Staged: true, TopK: 2, Depth: 6, Gold: &gold.Diagnosis,
		Results: slices.Repeat([]diagnose.Result{{Control: heldBack, Intervention: heldBack}}, 4),
	}, append(carried, ChildRun{Name: "top-k 4", Role: "intervention", Run: replayRunID}, ChildRun{Name: "replay control", Role: "control", Run: controlID})...)
}

// everyLabel is a diagnosis with every label and reason.
func everyLabel(t fataler) *Diagnosis {
	s := exampleSelection()
	s.Excluded, s.Unjudged = []string{"opening_hours", "area_code"}, 3
	add := func(c diagnose.Case) { s.Cases = append(s.Cases, c) }
	for i := range 4 {
		add(selected(fmt.Sprintf("ranked_out_%d", i), "b c d e a", 2, 2))
	}
	add(selected("unstable", "a", 1, 2))
	add(selected("in_context", "a", 1, 2))
	add(selected("unheard", "a", 1, 2))
	unlabelled := selected("unlabelled", "b", 1, 2)
	unlabelled.Relevant = nil
	add(unlabelled)
	chunked := selected("chunked", "a", 1, 2)
	chunked.Relevant = []evidence.Relevant{{DocID: "a", ChunkID: "3"}}
	add(chunked)
	unrecorded := selected("unrecorded", "a", 1, 2)
	unrecorded.Retrieval = nil
	add(unrecorded)
	in := diagnose.Input{Selection: s, Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}, Staged: true, TopK: 2, Depth: 6}
	if _, err := s.ID(); err != nil { // sorts
		t.Fatalf("%v", err)
	}
	for _, c := range s.Cases {
		r := diagnose.Result{Control: heldBack, Intervention: passes}
		switch c.ID {
		case "unstable":
			r.Control = passes
		case "seat_count":
			r.Intervention = heldBack
		case "unheard":
			r.Intervention = diagnose.Missing
		}
		in.Results = append(in.Results, r)
	}
	return diagnosisOf(t, in, goldRuns...)
}

func unsupportedDiagnosis(t fataler) *Diagnosis {
	return diagnosisOf(t, diagnose.Input{Selection: exampleSelection(), Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}})
}

func diagnoses(t fataler) map[string]*Diagnosis {
	none := &diagnose.Selection{Run: stagedRunID, Criterion: "answer_correct"}
	assumed := diagnosisOf(t, diagnose.Input{
		Selection: &diagnose.Selection{Run: stagedRunID, Criterion: "answer_correct", Cases: exampleSelection().Cases[:1]}, NoControl: true,
		Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}, Staged: true, TopK: 2,
		Results: []diagnose.Result{{Intervention: passes}},
	}, goldRuns[0])
	return map[string]*Diagnosis{
		"gold": goldDiagnosis(t), "replay": replayDiagnosis(t), "every": everyLabel(t), "unsupported": unsupportedDiagnosis(t),
		"assumed": assumed, "none": diagnosisOf(t, diagnose.Input{Selection: none, Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}, Staged: true}),
	}
}

func diagnosisText(t fataler, d *Diagnosis, opt DiagnosisOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := DiagnosisText(&b, d, opt); err != nil {
		t.Fatalf("DiagnosisText: %v", err)
	}
	return b.String()
}

func TestDiagnosisGoldens(t *testing.T) {
	for name, d := range diagnoses(t) {
		golden(t, "diagnosis_"+name+".txt", diagnosisText(t, d, DiagnosisOptions{Cases: true, Flags: " --config x/oloproof.yaml"}))
	}
}

// The words and figures of these lines are fixed by the specification.
func TestDiagnosisFixedLines(t *testing.T) {
	got := diagnosisText(t, goldDiagnosis(t), DiagnosisOptions{Cases: true})
	id := string(goldDiagnosis(t).ID)
	want := `Selected: 4 failed cases with gold context (observed; no population claim)
Control: 0 of 4 passed when re-executed without the intervention
Recovered under gold context: 3 of 4
RETRIEVAL_MISS: 1 of 4, recovered; no relevant evidence was retrieved
CONTEXT_ASSEMBLY_LOSS: 2 of 4, recovered; relevant evidence within top-k was left out of the context
GENERATION_FAILURE: 1 of 4, still failed with the gold context
Implicated: context budget, in 2 of the 3 recovered failures.
Candidate experiment: a larger token budget. This is a hypothesis to test, not an established cause.
Candidate experiment: smaller chunks. This is a hypothesis to test, not an established cause.
Diagnosis ` + id + `
Child runs: gold context ` + goldRunID + `, control ` + controlID + `
Cases: oloproof inspect ` + id + `

money_back: RETRIEVAL_MISS, relevant_not_retrieved, strength intervention_recovery, best relevant position none
refund_review: CONTEXT_ASSEMBLY_LOSS, relevant_dropped_from_context, strength intervention_recovery, best relevant position 2
seat_count: GENERATION_FAILURE, fails_with_gold_context, strength intervention_non_recovery, best relevant position 1
security_review: CONTEXT_ASSEMBLY_LOSS, relevant_dropped_from_context, strength intervention_recovery, best relevant position 2
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = diagnosisText(t, replayDiagnosis(t), DiagnosisOptions{})
	for _, want := range []string{
		"Recovered under top-k 4: 0 of 4\n",
		"Confirmed under top-k 4: 0 of 0 RANKED_OUT cases also recovered\n",
		"Labels from gold context (diagnosis " + id + "): 3 of 4 recovered\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
	if got := diagnosisText(t, unsupportedDiagnosis(t), DiagnosisOptions{}); !strings.HasPrefix(got,
		"Selected: 4 failed cases with gold context (observed; no population claim)\nUNRESOLVED: 4 of 4, the system is not staged, so no case was re-executed\nDiagnosis sha256:") {
		t.Errorf("%s", got)
	}
}

func TestDiagnosisColor(t *testing.T) {
	d := everyLabel(t)
	bare := diagnosisText(t, d, DiagnosisOptions{Color: true})
	for _, st := range []style{bold, dim, yellow, plain} {
		bare = strings.ReplaceAll(bare, "\x1b["+string(st)+"m", "")
	}
	if diff := cmp.Diff(diagnosisText(t, d, DiagnosisOptions{}), strings.ReplaceAll(bare, "\x1b[0m", "")); diff != "" {
		t.Error(diff)
	}
}

func diagnosisJSON(t fataler, d *Diagnosis) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := DiagnosisJSON(&b, d); err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes()
}

func TestDiagnosisJSON(t *testing.T) {
	schema := compileSchema(t, &Diagnosis{})
	for name, d := range diagnoses(t) {
		b := diagnosisJSON(t, d)
		v, err := validator.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
		read, err := ReadDiagnosis(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := diagnosisJSON(t, read); !bytes.Equal(b, again) {
			t.Errorf("%s: reading changes it:\n%s", name, cmp.Diff(string(b), string(again)))
		}
	}
	golden(t, "diagnosis_gold.json", string(diagnosisJSON(t, goldDiagnosis(t))))
}

func TestReadDiagnosisRefuses(t *testing.T) {
	b := string(diagnosisJSON(t, goldDiagnosis(t)))
	for want, change := range map[string]func(string) string{
		"read diagnosis":                        func(s string) string { return s[:len(s)/2] },
		"no schema, so it is no diagnosis":      func(string) string { return `{}` },
		`schema "oloproof/diagnosis/v9"`:        func(s string) string { return strings.Replace(s, "diagnosis/v1", "diagnosis/v9", 1) },
		"something else than its id stands for": func(s string) string { return strings.Replace(s, `"recovered": true`, `"recovered": false`, 1) },
	} {
		if _, err := ReadDiagnosis([]byte(change(b))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Ids, times and runs are not part of the content id.
func TestDiagnosisIDIsOfContent(t *testing.T) {
	d := goldDiagnosis(t)
	d.ChildRuns, d.StartedAt, d.FinishedAt, d.Notes = []ChildRun{}, time.Time{}, time.Time{}, []string{"another day"}
	if err := d.Check(); err != nil {
		t.Error(err)
	}
}

// hostileDiagnosis has bad for everything that is not ours.
func hostileDiagnosis(t fataler, bad string) *Diagnosis {
	d := replayDiagnosis(t)
	d.Run.ID, d.Run.System.Name, d.Notes = bad, bad, []string{bad}
	d.Parent, d.Criterion, d.Cases[0].ID, d.Cases[0].Reason, d.ChildRuns[0].Run = bad, bad, bad, bad, bad
	d.Intervention = diagnose.Intervention{Kind: diagnose.Reranker, Reranker: bad}
	d.Selection.Excluded, d.Selection.Unjudged = []diagnose.Exclusion{{Reason: bad, Cases: []string{bad}}}, 1
	d.Labels = append(d.Labels, diagnose.LabelCount{Label: diagnose.Label(bad), Reason: bad, Cases: 1})
	d.Implicated = []diagnose.Implication{{Stage: diagnose.Stage(bad), Experiments: []diagnose.Experiment{{What: bad, Replay: &diagnose.Intervention{Kind: diagnose.Reranker}}}}}
	return d
}

// Nothing that a case, a criterion or a reranker is called gets out of its line.
func TestDiagnosisIsClean(t *testing.T) {
	d := hostileDiagnosis(t, "x\nSelected: 0\x1b[31m\u202e")
	before := strings.Count(diagnosisText(t, replayDiagnosis(t), DiagnosisOptions{Cases: true}), "\n")
	got := diagnosisText(t, d, DiagnosisOptions{Cases: true})
	if n := strings.Count(got, "\n"); n != before+5 || strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("%d lines, want %d:\n%q", n, before+5, got)
	}
}

func diagnosisHTML(t fataler, d *Diagnosis, opt DiagnosisHTMLOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := DiagnosisHTML(&b, d, opt); err != nil {
		t.Fatalf("DiagnosisHTML: %v", err)
	}
	return b.String()
}

// diagnosisContent is what the runs of the example recorded.
func diagnosisContent() DiagnosisHTMLOptions {
	lines := func(answer string) CaseLines {
		var all []evidence.CaseLine
		for _, c := range exampleSelection().Cases {
			l := evidence.CaseLine{Case: c.Case}
			l.Execution = evidence.Execution{Status: evidence.StatusOK, Output: evidence.Value(`{"answer":"` + answer + ` ` + c.ID + `"}`)}
			text := "The text of a passage that was retrieved for " + c.ID + ", which goes on for a while."
			for _, p := range c.Retrieval.Candidates {
				p.Text = &text
				if len(l.Execution.Artifacts.Retrieval) == 0 {
					l.Execution.Artifacts.Retrieval = []evidence.Retrieval{{Depth: 6}}
				}
				l.Execution.Artifacts.Retrieval[0].Candidates = append(l.Execution.Artifacts.Retrieval[0].Candidates, p)
			}
			all = append(all, l)
		}
		return caseLines(all...)
	}
	return DiagnosisHTMLOptions{Recorded: lines("No idea about"), Control: lines("Still none about"), Changed: lines("All about")}
}

func TestDiagnosisHTMLShows(t *testing.T) {
	for name, want := range map[string][]string{
		"gold": {"3 of 4 recovered", "under gold context", "RETRIEVAL_MISS", "1 of 4", "Implicated: context budget, in 2 of the 3 recovered failures.",
			"refund_review", "5 passages retrieved; the first relevant one at 2; 1 reached the model; 1 dropped for the token budget; 3 below top-k.",
			"Nothing was retrieved.", "1 gold passage in place of the context", goldRunID, "intervention_non_recovery"},
		"every":       {"11 of 14 recovered", "Excluded: 2 failed cases", "3 cases could not be judged", "Overview", "top_k 5 (oloproof diagnose", "1 passed."},
		"replay":      {"0 of 4 recovered", "under top-k 4", "The labels are those of the gold-context diagnosis", "cut at top_k 4", "Labels from"},
		"unsupported": {"Unresolved", "Nothing: the system takes no other context.", "intervention_unsupported"},
		"assumed":     {"There was no control", "generation_deterministic"},
		"none":        {"Nothing to diagnose"},
	} {
		got := html.UnescapeString(diagnosisHTML(t, diagnoses(t)[name], DiagnosisHTMLOptions{}))
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: no %q on the page", name, text)
			}
		}
		if strings.Contains(got, "Why refund_review?") || strings.Contains(got, "Because of a") {
			t.Errorf("%s: content that was not asked for", name)
		}
	}
	got := html.UnescapeString(diagnosisHTML(t, goldDiagnosis(t), diagnosisContent()))
	for _, text := range []string{"Why refund_review?", "Answer in the run", "No idea about refund_review", "Answer unchanged", "Still none about", "Answer with gold context", "All about refund_review", "1  d  The text of a passage"} {
		if !strings.Contains(got, text) {
			t.Errorf("no %q on the page with content", text)
		}
	}
}

// Every reason of a label has its words, on the page and in the lines.
func TestDiagnosisWordsAreComplete(t *testing.T) {
	d := everyLabel(t)
	d.Labels = append(d.Labels, diagnose.LabelCount{Label: diagnose.Unresolved, Reason: diagnose.ReasonUnsupported})
	for _, l := range d.Labels {
		if reasonMeaning(l.Reason) == "" || reasonMeaning(string(l.Label)) == "" || labelPhrase(l) == l.Reason {
			t.Errorf("%s %s has no words", l.Label, l.Reason)
		}
	}
	for _, s := range []diagnose.Strength{diagnose.NoStrength, diagnose.InterventionRecovery, diagnose.InterventionNonRecovery, diagnose.ReplayConfirmed} {
		if reasonMeaning(string(s)) == "" {
			t.Errorf("%s has no words", s)
		}
	}
}

// A thousand cases with long texts make a page of less than 5 MB that says what
// it leaves out; ten thousand do, too.
func TestDiagnosisHTMLStaysSmall(t *testing.T) {
	for _, n := range []int{1000, 10_000} {
		s := &diagnose.Selection{Run: stagedRunID, Criterion: "ok"}
		in := diagnose.Input{Selection: s, Intervention: diagnose.Intervention{Kind: diagnose.GoldContext}, Staged: true, TopK: 2}
		var lines []evidence.CaseLine
		for i := range n {
			c := selected(fmt.Sprintf("case-%05d", i), "b c d e f a", 1, 2)
			s.Cases = append(s.Cases, c)
			in.Results = append(in.Results, diagnose.Result{Control: heldBack, Intervention: passes})
			lines = append(lines, answered(c.ID, `{"answer":"`+strings.Repeat("long ", 2000)+`"}`))
		}
		d := diagnosisOf(t, in, goldRuns...)
		page := diagnosisHTML(t, d, DiagnosisHTMLOptions{Recorded: caseLines(lines...)})
		if len(page) > 5_000_000 {
			t.Errorf("%d cases: %d bytes", n, len(page))
		}
		if !strings.Contains(page, "do not fit here") {
			t.Errorf("%d cases: texts are left out in silence", n)
		}
		if n > 1000 != strings.Contains(page, "more are not shown here") {
			t.Errorf("%d cases: what is left out", n)
		}
	}
}
