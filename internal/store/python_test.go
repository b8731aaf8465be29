package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// The bundles in testdata/python were exported by Oloproof 0.1.0a20 (PyPI) and
// trimmed of what is not read:
//
//	baseline     examples/blackbox_rag with oloproof.http.yaml
//	candidate    the same with example-server --expand-query
//	cupboard     six cases of our own: every evaluator, quantiles, a failed call,
//	             an answer without the field, a case without anything expected
//	interrupted  a run that was stopped before its last three cases
//	staged       examples/support_rag with oloproof.python.yaml
func pythonBundle(name string) string { return filepath.Join("testdata", "python", name) }

func openPython(t testing.TB, path string) *Run {
	t.Helper()
	r := must[*Run](t)(openTest(t).Resolve(path))
	t.Cleanup(func() { r.Close() })
	return r
}

// measured returns the metrics of a run by their ids.
func measured(t *testing.T, r *Run) map[string]measure.Metric {
	t.Helper()
	table := measure.NewTable(r.Manifest.Metrics, r.Manifest.Slices)
	check(t, r.Outcomes(table.Add))
	all := map[string]measure.Metric{}
	for _, m := range table.Metrics(0.95) {
		all[m.Spec.ID] = m
	}
	return all
}

// The slices of a staged run are those that the Python tool printed for it.
func TestPythonStaged(t *testing.T) {
	r := openPython(t, pythonBundle("staged"))
	budget := 40
	want := &evidence.StagedSettings{Depth: 6, TopK: 2, TokenBudget: &budget, IndexVersion: "thistlewick-1", CitationsPath: "citations"}
	if diff := cmp.Diff(want, r.Manifest.System.Staged); diff != "" || r.Manifest.System.Kind != "rag" {
		t.Errorf("kind %s, settings (-want +got):\n%s", r.Manifest.System.Kind, diff)
	}
	table := measure.NewTable(r.Manifest.Metrics, r.Manifest.Slices)
	check(t, r.Outcomes(table.Add))
	got := map[string]string{}
	for _, s := range table.Slices(0.95, 4) {
		if s.Metric.Spec.ID == "answer_correct" && !strings.HasPrefix(s.Name, "metadata.") {
			got[s.Name+"="+s.Value] = fmt.Sprintf("%d / %d p %.2g", s.Metric.Passed, s.Support, *s.PValue)
		}
	}
	printed := map[string]string{
		"relevant_position=top_k": "9 / 12 p 0.94", "relevant_position=not_retrieved": "0 / 1 p 0.62",
		"context_truncated=false": "5 / 7 p 1", "context_truncated=true": "4 / 6 p 1",
	}
	if diff := cmp.Diff(printed, got); diff != "" {
		t.Error(diff)
	}
}

// What is measured from the cases of a bundle is what the Python tool measured.
func TestPythonMetrics(t *testing.T) {
	for _, name := range []string{"baseline", "candidate", "cupboard", "staged"} {
		r := openPython(t, pythonBundle(name))
		got := measured(t, r)
		var file struct {
			Run struct {
				Metrics []struct {
					Metric   string
					Estimate float64
					Interval struct{ Lower, Upper *float64 }
					Total    int `json:"n_total"`
					Observed int `json:"n_observed"`
					Missing  int `json:"n_missing"`
				}
			}
		}
		check(t, json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join(pythonBundle(name), manifestFile))), &file))
		for _, want := range file.Run.Metrics {
			if want.Metric == "tokens_p50" { // left out, see TestPythonManifest
				continue
			}
			m, ok := got[want.Metric]
			if !ok || m.Estimate == nil {
				t.Errorf("%s: no %s", name, want.Metric)
				continue
			}
			cases := measure.Cases{Observed: want.Observed, Missing: want.Missing, Excluded: want.Total - want.Observed - want.Missing}
			if diff := cmp.Diff(cases, m.Cases); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", want.Metric, name, diff)
			}
			near := func(what string, a, b *float64) {
				if (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > 1e-9 {
					t.Errorf("%s of %s: %s is %v, want %v", want.Metric, name, what, b, a)
				}
			}
			near("estimate", &want.Estimate, m.Estimate)
			near("lower bound", want.Interval.Lower, m.Interval.Lower)
			near("upper bound", want.Interval.Upper, m.Interval.Upper)
		}
		if len(got) != len(r.Manifest.Metrics) || len(got) < 4 {
			t.Errorf("%s: %d metrics", name, len(got))
		}
	}
}

// The cases, the data set and the evaluators of the same suite have the content
// ids that they have here.
func TestPythonIdentity(t *testing.T) {
	r := openPython(t, pythonBundle("baseline"))
	s := must[*suite.Suite](t)(suite.Load("../../examples/blackbox_rag/oloproof.http.yaml"))
	var ids []string
	for i := range s.Evaluators {
		spec := r.Manifest.Metrics[i]
		if spec.ID != s.Evaluators[i].Criterion || spec.Type != s.Evaluators[i].Type ||
			spec.Evaluator != s.EvaluatorDigest(i) || string(spec.Options) != string(s.Evaluators[i].Options()) {
			t.Errorf("metric %d is %+v\nwant %s %s", i, spec, s.EvaluatorDigest(i), s.Evaluators[i].Options())
		}
	}
	data := must[*dataset.Dataset](t)(dataset.Open("../../examples/blackbox_rag/data/support.jsonl", dataset.Options{}))
	defer data.Close()
	if r.Manifest.Dataset.Digest != data.Digest() || r.Manifest.Dataset.Cases != data.Len() {
		t.Errorf("data set %+v, want %s of %d cases", r.Manifest.Dataset, data.Digest(), data.Len())
	}
	for i, o := range outcomes(t, r) {
		ids = append(ids, o.ID)
		if o.ID != data.ID(i) || o.Digest != data.CaseDigest(i) {
			t.Errorf("case %d is %s %s, want %s %s", i, o.ID, o.Digest, data.ID(i), data.CaseDigest(i))
		}
	}
	if len(ids) != 15 {
		t.Errorf("cases %q", ids)
	}
}

// A comparison with a bundle of the Python tool gives the figures that it gives
// itself, whether the candidate is one too or is of this tool.
func TestPythonComparison(t *testing.T) {
	exported := filepath.Join(t.TempDir(), "bundle")
	check(t, openTest(t).Export(openPython(t, pythonBundle("candidate")), exported))
	for _, path := range []string{pythonBundle("candidate"), exported} {
		candidate, baseline := openPython(t, path), openPython(t, pythonBundle("baseline"))
		c := must[*compare.Comparison](t)(compare.Runs(
			compare.Side{Manifest: candidate.Manifest, Outcomes: candidate.Outcomes},
			compare.Side{Manifest: baseline.Manifest, Outcomes: baseline.Outcomes}, compare.Options{Level: 0.95}))
		var got []string
		for _, d := range c.Differences {
			got = append(got, fmt.Sprintf("%s %+.1f [%.1f, %+.1f] %d %d %d", d.Spec.ID, 100**d.Estimate,
				math.Floor(1000**d.Interval.Lower)/10, math.Ceil(1000**d.Interval.Upper)/10, d.Cases.Observed, d.Cases.Missing, d.Cases.Excluded))
		}
		want := []string{
			"answer_correct +6.7 [-26.5, +40.8] 15 0 0",
			"hit_rate_at_2 +7.7 [-29.8, +45.5] 13 0 2",
			"recall_at_2 +7.7 [-29.8, +45.5] 13 0 2",
			"citations_valid +6.7 [-26.5, +40.8] 15 0 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if c.Paired != 15 || len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.NotComparable) != 0 || len(c.Slices) != 20 {
			t.Errorf("%d pairs, %q added, %q removed, %q changed, %v, %d slices", c.Paired, c.Added, c.Removed, c.Changed, c.NotComparable, len(c.Slices))
		}
	}
}

// Evaluators made from what a bundle says of its own judge its cases as the
// Python tool did, so that they are the same.
func TestPythonEvaluators(t *testing.T) {
	for _, name := range []string{"baseline", "candidate", "cupboard"} {
		r := openPython(t, pythonBundle(name))
		var specs []evidence.MetricSpec
		var places []int
		judged := 0
		for _, spec := range r.Manifest.Metrics {
			if spec.Options != nil {
				specs, places = append(specs, spec), append(places, judged)
			}
			if spec.Kind != evidence.Quantile {
				judged++
			}
		}
		if len(specs) < 4 {
			t.Fatalf("%d evaluators of %s", len(specs), name)
		}
		set := must[*evaluate.Set](t)(evaluate.ForMetrics(name, specs))
		check(t, r.CaseLines(func(line evidence.CaseLine) error {
			for i, got := range set.Judge(&line.Case, &line.Execution) {
				want := line.Judgments[places[i]].Judgment
				if got.State != want.State || got.Reason != want.Reason || math.Abs(got.Value-want.Value) > 1e-12 {
					t.Errorf("%s of case %s of %s: judged %+v, recorded %+v", specs[i].ID, line.Case.ID, name, got, want)
				}
			}
			return nil
		}))
	}
}

func TestPythonManifest(t *testing.T) {
	m := openPython(t, pythonBundle("cupboard")).Manifest
	var got []string
	for _, s := range m.Metrics {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %v %s %s", s.ID, s.Kind, s.Range, s.Type, string(s.Options))))
	}
	want := []string{
		`correct rate [0 1] contains {"criterion":"correct","expected_field":"answer","field":"answer","on_execution_error":"missing","type":"contains"}`,
		`correct_or_down rate [0 1] contains {"criterion":"correct_or_down","expected_field":"answer","field":"answer","on_execution_error":"fail","type":"contains"}`,
		`exact rate [0 1] exact_match {"casefold":true,"criterion":"exact","expected_field":null,"field":"answer","on_execution_error":"missing","strip":true,"type":"exact_match"}`,
		`no_dash rate [0 1] regex {"criterion":"no_dash","field":"answer","on_execution_error":"missing","pass_if":"no_match","pattern":"—|–","type":"regex"}`,
		`shape rate [0 1] json_schema`,
		`hit_rate_at_1 rate [0 1] hit_rate {"criterion":"hit_rate_at_1","k":1,"on_execution_error":"missing","relevance_unit":"doc","type":"hit_rate"}`,
		`found rate [0 1] retrieval`,
		`recall_at_2 mean [0 1] recall {"criterion":"recall_at_2","k":2,"on_execution_error":"missing","relevance_unit":"doc","type":"recall"}`,
		`mrr_at_3 mean [0 1] mrr {"criterion":"mrr_at_3","k":3,"on_execution_error":"missing","relevance_unit":"doc","type":"mrr"}`,
		`ndcg_at_3 mean [0 1] ndcg {"criterion":"ndcg_at_3","k":3,"on_execution_error":"missing","relevance_unit":"doc","type":"ndcg"}`,
		`gain mean [0 1] retrieval`,
		`citations_valid rate [0 1] citation_validity {"criterion":"citations_valid","on_execution_error":"missing","require_citations":false,"type":"citation_validity"}`,
		`latency_p90 quantile [0 0]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	digests := map[evidence.Digest]string{}
	for _, s := range m.Metrics {
		if s.Kind == evidence.Quantile {
			continue
		}
		if other, taken := digests[s.Evaluator]; taken || len(s.Evaluator.Hex()) != 64 {
			t.Errorf("the evaluators of %s and %q have the digest %q", s.ID, other, s.Evaluator)
		}
		digests[s.Evaluator] = s.ID
	}
	m.Metrics = nil
	for _, d := range []*evidence.Digest{&m.Dataset.Digest, &m.System.Digest, &m.SuiteDigest} {
		if len(d.Hex()) != 64 {
			t.Errorf("digest %q", *d)
		}
		*d = ""
	}
	text, err := json.Marshal(m)
	check(t, err)
	f := m.Files[0]
	wantText := `{"schema":"oloproof/run/v1","tool":{"name":"oloproof (Python)","version":""},"id":"run_01M8PEF6HAD0FBEX8NGKFZ42YE",` +
		`"status":"EXPLORED","completeness":"COMPLETE","name":"","project":"","suite_path":"","suite_digest":"",` +
		`"dataset":{"path":"cases.jsonl","digest":"","cases":6},"system":{"name":"cupboard","version":"3","kind":"unknown","digest":""},` +
		`"metrics":null,"slices":["metadata.topic","metadata.level","metadata.new"],"min_slice_support":1,"concurrency":0,` +
		`"counts":{"cases":6,"ok":5,"error":1,"not_run":0},"cache":{"execution_hits":0,"execution_misses":6,"judgment_hits":0,"judgment_misses":45},` +
		`"started_at":"2026-11-30T14:41:45.515288Z","finished_at":"2026-11-30T14:41:45.722295124Z",` +
		`"notes":["the metric tokens_p50 of the Python tool's run is left out: it is a quantile of input_tokens"],` +
		fmt.Sprintf(`"files":[{"name":"cases.jsonl","sha256":%q,"bytes":%d}]}`, f.SHA256, f.Bytes)
	if diff := cmp.Diff(normal(t, wantText), normal(t, string(text))); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

// normal returns JSON as Go values, without fields that hold nothing.
func normal(t *testing.T, text string) any {
	t.Helper()
	var v map[string]any
	check(t, json.Unmarshal([]byte(text), &v))
	for key, member := range v {
		if member == nil || member == "" || member == "0001-01-01T00:00:00Z" {
			delete(v, key)
		}
	}
	return v
}

func TestPythonOutcomes(t *testing.T) {
	r := openPython(t, pythonBundle("cupboard"))
	var got []string
	for _, o := range outcomes(t, r) {
		line := fmt.Sprintf("%s %s %s/%d %q", o.ID, o.Status, o.ErrorKind, o.HTTPStatus, o.Slices)
		for _, j := range o.Judgments {
			line += fmt.Sprintf(" %d/%.3g%s", j.State, j.Value, j.Reason)
		}
		got = append(got, line)
	}
	none := evidence.NoSlice
	want := []string{
		fmt.Sprintf("mug OK /0 %q 1/1 1/1 1/0 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1", []string{"mugs", "1", "true"}),
		fmt.Sprintf("kettle OK /0 %q 1/1 1/1 1/0 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1", []string{"kettles", "2.5", "false"}),
		fmt.Sprintf("spoon OK /0 %q 1/0 1/0 1/0 1/1 1/1 1/0 1/0 1/0 1/0.333 1/0.5 1/0 1/1", []string{"spoons", "100.0", none}),
		fmt.Sprintf("broken ERROR http_status/404 %q 2/0%[2]s 1/0 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s",
			[]string{"mugs", none, none}, evidence.ReasonExecutionError),
		fmt.Sprintf("plain OK /0 %q 2/0%[2]s 2/0%[2]s 2/0%[2]s 2/0%[2]s 1/0 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 1/1",
			[]string{none, none, none}, evidence.ReasonMissingField, evidence.ReasonNoRelevanceLabels),
		fmt.Sprintf("7 OK /0 %q 3/0%[2]s 3/0%[2]s 3/0%[2]s 1/1 1/1 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 3/0%[3]s 1/1",
			[]string{none, none, none}, evidence.ReasonNoExpected, evidence.ReasonNoRelevanceLabels),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	line := must[evidence.CaseLine](t)(r.CaseLine("plain"))
	if line.Case.Index != 4 || line.Judgments[0].Criterion != "correct" || !strings.Contains(line.Judgments[0].Detail, "no field 'answer'") {
		t.Errorf("%+v", line)
	}
	_, err := r.CaseLine("plainly")
	wantError(t, err, `no case "plainly" among its 6`, `did you mean "plain"?`)
	if b, err := r.Document(); b != nil || err != nil {
		t.Errorf("document %q, %v", b, err)
	}
	wantError(t, r.SaveDocument(nil), "bundle of the Python tool")
}

// A run that was stopped has every case, those that did not run as missing.
func TestPythonInterrupted(t *testing.T) {
	r := openPython(t, pythonBundle("interrupted"))
	m := r.Manifest
	if m.Completeness != evidence.Partial || m.Status != evidence.RunCanceled || m.Stopped == "" ||
		m.Counts != (evidence.Counts{Cases: 9, OK: 5, Error: 1, NotRun: 3}) {
		t.Errorf("%+v", m)
	}
	all := outcomes(t, r)
	if len(all) != 9 {
		t.Fatalf("%d outcomes", len(all))
	}
	for i, o := range all {
		if notRun := i >= 6; notRun != (o.Status == evidence.StatusNotRun) || notRun && o.Judgments[0] != (evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}) {
			t.Errorf("%d: %+v", i, o)
		}
	}
}

// Exporting a bundle of the Python tool makes one of this tool that says the
// same.
func TestExportPython(t *testing.T) {
	for _, name := range []string{"baseline", "cupboard", "interrupted"} {
		s := openTest(t)
		r := must[*Run](t)(s.Resolve(pythonBundle(name)))
		dir := filepath.Join(t.TempDir(), "bundle")
		check(t, s.Export(r, dir))
		own := must[*Run](t)(s.Resolve(dir))
		if own.python != nil {
			t.Fatal("exported as a bundle of the Python tool")
		}
		if diff := cmp.Diff(outcomes(t, r), outcomes(t, own)); diff != "" {
			t.Errorf("outcomes of %s (-want +got):\n%s", name, diff)
		}
		want, got := *r.Manifest, *own.Manifest
		want.Files, got.Files = nil, nil
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("manifest of %s (-want +got):\n%s", name, diff)
		}
		var lines [2][]evidence.CaseLine
		for i, r := range []*Run{r, own} {
			check(t, r.CaseLines(func(line evidence.CaseLine) error {
				slices.SortFunc(line.Judgments, func(a, b evidence.NamedJudgment) int { return strings.Compare(a.Criterion, b.Criterion) })
				line.Case.Input, line.Case.Expected, line.Case.Metadata = nil, nil, nil // their digest is compared
				line.Execution.Attempts = nil
				lines[i] = append(lines[i], line)
				return nil
			}))
		}
		if diff := cmp.Diff(lines[0], lines[1]); diff != "" {
			t.Errorf("cases of %s (-want +got):\n%s", name, diff)
		}
		wantError(t, s.Export(r, pythonBundle(name)), "is the run itself")
	}
}

func TestPythonZip(t *testing.T) {
	for _, under := range []string{"", "run_01M8PEAHGNXTWW1VM99F712VQP/"} {
		path := filepath.Join(t.TempDir(), "b.zip")
		writeZip(t, path, append(dirEntries(t, pythonBundle("baseline"), under), entryOf{name: under + "diagnoses.jsonl"}))
		r := openPython(t, path)
		if diff := cmp.Diff(outcomes(t, openPython(t, pythonBundle("baseline"))), outcomes(t, r)); diff != "" {
			t.Error(diff)
		}
		check(t, readAll(r))
	}
}

// The keys of an object may stand in any order, those of judgments too.
func TestPythonOrderOfKeys(t *testing.T) {
	dir := copyBundle(t, "cupboard")
	for _, name := range []string{manifestFile, casesFile} {
		path := filepath.Join(dir, name)
		var out []string
		for _, line := range splitJSON(t, must[[]byte](t)(os.ReadFile(path))) {
			out = append(out, string(must[[]byte](t)(json.Marshal(line)))) // sorted by key
		}
		check(t, os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644))
	}
	got, want := openPython(t, dir), openPython(t, pythonBundle("cupboard"))
	if diff := cmp.Diff(outcomes(t, want), outcomes(t, got)); diff != "" {
		t.Error(diff)
	}
	got.Manifest.Files, want.Manifest.Files = nil, nil
	if diff := cmp.Diff(want.Manifest, got.Manifest); diff != "" {
		t.Error(diff)
	}
}

func splitJSON(t *testing.T, b []byte) (values []any) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(string(b))); d.More(); {
		d.UseNumber()
		var v any
		check(t, d.Decode(&v))
		values = append(values, v)
	}
	return values
}

func copyBundle(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	check(t, os.CopyFS(dir, os.DirFS(pythonBundle(name))))
	return dir
}

func TestTamperedPythonBundle(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				panic(old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	firstLines := func(n int) func(string) string {
		return func(s string) string { return strings.Join(strings.SplitAfter(s, "\n")[:n], "") }
	}
	for _, tt := range []struct {
		name, file string
		change     func(string) string
		err        []string // none: it may be so
	}{
		{"verdict", casesFile, replace(`"passed":true`, `"passed":false`), []string{casesFile, "correct has 3 of 6 cases observed and 2 failed here, run.json says 3 of 6 and 1", "changed since the export"}},
		{"judgment removed", casesFile, func(s string) string {
			i := strings.Index(s, `"correct":{`)
			return s[:i] + s[strings.Index(s, `"correct_or_down":{`):]
		}, []string{"correct has 2 of 6 cases observed"}},
		{"cut off at a line", casesFile, firstLines(4), []string{casesFile, "has 4 cases, run.json says 6", "cut off"}},
		{"cut off in a line", casesFile, func(s string) string { return s[:len(s)/2] }, []string{casesFile, "line 3"}},
		{"emptied", casesFile, func(string) string { return "" }, []string{"has 0 cases, run.json says 6"}},
		{"garbage", casesFile, func(string) string { return "\x00\xff" }, []string{casesFile, "line 1"}},
		{"a blank line", casesFile, func(s string) string { return s + "\n" }, []string{"line 7"}},
		{"removed", casesFile, nil, []string{"has no cases.jsonl, from which a bundle of the Python tool is read"}},
		{"duplicate id", casesFile, replace(`"id":"kettle"`, `"id":"mug"`), []string{casesFile, `the case id "mug" stands twice, in lines 1 and 2`}},
		{"duplicate line", casesFile, func(s string) string { return s + firstLines(1)(s) }, []string{`"mug" stands twice, in lines 1 and 7`}},
		{"of another run", casesFile, replace(`"run_id":"run_01M8PEF6`, `"run_id":"run_01M8PEF7`), []string{"line 1", `case "mug": it belongs to the run "run_01M8PEF7HAD0FBEX8NGKFZ42YE"`}},
		{"verdict as a score", casesFile, replace(`"passed":true`, `"score":0.5`), []string{`judgment of "correct": value 0.5 of a rate`}},
		{"verdict as a text", casesFile, replace(`"passed":true`, `"passed":"true"`), []string{"line 1", "want true or false"}},
		{"score out of range", casesFile, replace(`"score":1.0`, `"score":1.5`), []string{`judgment of "recall_at_2": value 1.5 is outside [0, 1]`}},
		{"id as a number", casesFile, replace(`"id":"mug"`, `"id":7`), []string{"id is of the wrong type"}},
		{"key twice", casesFile, replace(`"id":"mug"`, `"id":"mug","id":"jug"`), []string{"stands twice in one object"}},
		{"malformed artifact", casesFile, replace(`"depth":3`, `"depth":"3"`), []string{"retrieval/v1[0]: depth: want a whole number"}},
		{"lone surrogate", casesFile, replace("How much", `How \ud800`), []string{"lone surrogate"}},
		{"no UTF-8", casesFile, replace("How much", "How \xff"), []string{"not UTF-8"}},
		{"negative latency", casesFile, replace(`"latency_ms":`, `"latency_ms":-`), []string{"negative"}},
		{"endless latency", casesFile, replace(`"latency_ms":`, `"latency_ms":1e300,"x":`), nil},
		{"no link", casesFile, replace(`"link":{`, `"other":{`), nil},

		{"newer", manifestFile, replace(`"v1"`, `"v2"`), []string{manifestFile, `schema_version "v2" is not read`, "update oloproof"}},
		{"of another tool", manifestFile, func(string) string { return `{"schema_version": "2.1.0", "runs": []}` }, []string{manifestFile, `schema_version "2.1.0" is not read`}},
		{"of another tool, numbered", manifestFile, func(string) string { return `{"schema_version": 1}` }, []string{manifestFile, "damaged: schema_version"}},
		{"without a run", manifestFile, func(string) string { return `{"schema_version": "v1", "comparison": {}}` }, []string{"no bundle of a run"}},
		{"cut off", manifestFile, func(s string) string { return s[:len(s)/2] }, []string{manifestFile, "damaged"}},
		{"more text", manifestFile, func(s string) string { return s + "{}" }, []string{manifestFile, "more text"}},
		{"run twice", manifestFile, replace(`"suite":`, `"run": {}, "suite":`), []string{"damaged: run: it stands twice"}},
		{"run is a list", manifestFile, func(string) string { return `{"schema_version": "v1", "run": []}` }, []string{"run: want an object"}},
		{"id with a path", manifestFile, replace(`"id": "run_01M8PEF6HAD0FBEX8NGKFZ42YE"`, `"id": "run_../../../../../../etc/passwd"`), []string{"is no run id"}},
		{"of a diagnosis", manifestFile, replace(`"parent_run_id": null`, `"parent_run_id": "run_01M8PEF6HAD0FBEX8NGKFZ42YF"`), []string{"run of a diagnosis"}},
		{"fewer cases", manifestFile, replace(`"scenario_count": 6`, `"scenario_count": 5`), []string{"has 6 cases, run.json says 5"}},
		{"no count", manifestFile, replace(`"scenario_count": 6`, `"scenario_counts": 6`), []string{"has 6 cases, run.json says 0"}},
		{"metric twice", manifestFile, replace(`"id": "exact"`, `"id": "correct"`), []string{`metric "correct" has no id of its own`}},
		{"metric without an evaluator", manifestFile, replace(`"criterion": "exact"`, `"criterion": "exactly"`), []string{`the metric "exact" has no evaluator`}},
		{"two evaluators", manifestFile, func(s string) string {
			i := strings.Index(s, `"evaluators"`)
			return s[:i] + strings.Replace(s[i:], `"criterion": "exact"`, `"criterion": "correct"`, 1)
		}, []string{`"correct" has two evaluators`}},
		{"option of another type", manifestFile, replace(`"casefold": true`, `"casefold": "yes"`), []string{`the evaluator of "exact" has a config that no exact_match has`}},
		{"range", manifestFile, replace("\"range\": [\n", "\"range\": [1e400, \n"), []string{"damaged"}},
		{"quantile", manifestFile, replace(`"quantile": 0.9`, `"quantile": 90`), []string{"is the quantile 90"}},
		{"no time", manifestFile, replace(`"created_at": "`, `"created_at": "x`), []string{"run: created_at"}},
		{"status", manifestFile, replace(`"status": "DECIDED"`, `"status": "FINE"`), []string{`status "FINE" is none`}},
		{"completeness", manifestFile, replace(`"completeness": "COMPLETE"`, `"completeness": "MOSTLY"`), []string{`completeness "MOSTLY"`}},
		{"slice twice", manifestFile, replace(`"metadata.level"`, `"metadata.topic"`), []string{`slice "metadata.topic" stands twice`}},
		{"many slices", manifestFile, replace(`"metadata.level"`, `"metadata.x`+strings.Join(strings.Fields(strings.Repeat("x ", 300)), `", "metadata.x`)+`"`), []string{"302 slices, at most 1000 and 256"}},
		{"unknown slice", manifestFile, replace(`"metadata.level"`, `"relevant_position"`), nil},
		{"system", manifestFile, replace(`"name": "cupboard"`, `"name": ""`), []string{"no run.id and system.name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := copyBundle(t, "cupboard")
			path := filepath.Join(dir, tt.file)
			if tt.change == nil {
				check(t, os.Remove(path))
			} else {
				check(t, os.WriteFile(path, []byte(tt.change(string(must[[]byte](t)(os.ReadFile(path))))), 0o644))
			}
			zipped := filepath.Join(t.TempDir(), "b.zip")
			writeZip(t, zipped, dirEntries(t, dir, ""))
			for _, name := range []string{dir, zipped} {
				r, err := openTest(t).Resolve(name)
				if err == nil {
					defer r.Close()
					err = readAll(r)
				}
				if tt.err == nil {
					check(t, err)
					continue
				}
				wantError(t, err, append(tt.err, name)...)
			}
		})
	}
}

// What changes after the bundle was opened is noticed when it is read.
func TestPythonBundleChanges(t *testing.T) {
	dir := copyBundle(t, "cupboard")
	r := openPython(t, dir)
	path := filepath.Join(dir, casesFile)
	text := string(must[[]byte](t)(os.ReadFile(path)))
	check(t, os.WriteFile(path, []byte(strings.Replace(text, "Mugs hold", "Jugs hold", 1)), 0o644))
	wantError(t, readAll(r), path, "changed while it was being read")
}

func TestPythonReplicatesAndEarlyStop(t *testing.T) {
	dir := copyBundle(t, "cupboard")
	path := filepath.Join(dir, manifestFile)
	text := string(must[[]byte](t)(os.ReadFile(path)))
	check(t, os.WriteFile(path, []byte(strings.Replace(text, `"replicates": 1`, `"replicates": 3`, 1)), 0o644))
	if notes := openPython(t, dir).Manifest.Notes; len(notes) != 2 || !strings.Contains(notes[0], "every case 3 times") {
		t.Errorf("notes %q", notes)
	}
	dir = copyBundle(t, "interrupted")
	path = filepath.Join(dir, manifestFile)
	text = string(must[[]byte](t)(os.ReadFile(path)))
	text = strings.NewReplacer(`"PARTIAL"`, `"COMPLETE"`, `"CANCELLED"`, `"DECIDED_EARLY"`).Replace(text)
	check(t, os.WriteFile(path, []byte(text), 0o644))
	if m := openPython(t, dir).Manifest; len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "3 cases were not run") || m.Completeness != evidence.Complete {
		t.Errorf("%+v", m)
	}
}

// run.json of the Python tool repeats every scenario, so it may be larger than
// ours ever is. Only a single text that is endless is refused.
func TestLargePythonManifest(t *testing.T) {
	text := string(must[[]byte](t)(os.ReadFile(filepath.Join(pythonBundle("cupboard"), manifestFile))))
	with := func(more string) string {
		dir := copyBundle(t, "cupboard")
		at := strings.Index(text, `"scenarios": [`) + len(`"scenarios": [`)
		check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(text[:at]+more+text[at:]), 0o644))
		return dir
	}
	r := openPython(t, with(strings.Repeat(`{"id": "`+strings.Repeat("x", 1<<10)+`"},`+"\n", maxManifest>>10+1)))
	if got := len(outcomes(t, r)); got != 6 {
		t.Errorf("%d outcomes", got)
	}
	_, err := openTest(t).Resolve(with(`"` + strings.Repeat("x", maxToken+1<<20) + `",`))
	wantError(t, err, manifestFile, "a value is too long")
	dir := copyBundle(t, "cupboard")
	check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(strings.Replace(text, `"source": "cases`, `"source": "`+strings.Repeat("x", maxPart+1<<20), 1)), 0o644))
	_, err = openTest(t).Resolve(dir)
	wantError(t, err, "suite: source: ", "a value is too long")
}

// A bundle of the Python tool in the place of a run is read, and not resumed.
func TestResumePython(t *testing.T) {
	s := openTest(t)
	id := "run_01M8PEJN7KPSTPMB4HM5VBRW5W"
	check(t, os.CopyFS(s.runDir(id), os.DirFS(pythonBundle("interrupted"))))
	r := must[*Run](t)(s.Resolve("latest"))
	if r.Manifest.ID != id {
		t.Errorf("%s", r.Manifest.ID)
	}
	_, err := s.Resume(id)
	wantError(t, err, "bundle of the Python tool", "start a new run")
	if names := names(contents(t, s.runDir(id))); !slices.Equal(names, []string{casesFile, manifestFile}) {
		t.Errorf("files %q", names)
	}
}

func TestPythonBundleError(t *testing.T) {
	dir := copyBundle(t, "cupboard")
	check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"schema_version": "v9"}`), 0o644))
	_, err := openTest(t).Resolve(dir)
	var python *PythonBundleError
	if !errors.As(err, &python) || python.Version != "v9" {
		t.Errorf("error %v, want a PythonBundleError", err)
	}
}

// memory is a source of files in memory.
type memory map[string][]byte

func (m memory) open(name string) (io.ReadCloser, error) {
	b, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (m memory) missing(name string) bool { return m[name] == nil }
func (m memory) place(name string) string { return name }
func (m memory) Close() error             { return nil }

// A bundle is anybody's bytes: reading it may fail and does nothing else, and
// what it gives fits its manifest.
func FuzzPythonBundle(f *testing.F) {
	read := func(name, file string) []byte {
		return must[[]byte](f)(os.ReadFile(filepath.Join(pythonBundle(name), file)))
	}
	for _, name := range []string{"cupboard", "interrupted"} {
		f.Add(read(name, manifestFile), read(name, casesFile))
	}
	line, _, _ := strings.Cut(string(read("interrupted", casesFile)), "\n")
	one := strings.Replace(string(read("interrupted", manifestFile)), `"scenario_count": 9`, `"scenario_count": 1`, 1)
	f.Add([]byte(one), []byte(line))
	f.Add([]byte(`{"schema_version":"v1","run":{"id":"run_01M8PEJN7KPSTPMB4HM5VBRW5W","status":"DECIDED","completeness":"COMPLETE","created_at":"2026-11-30T14:43:00Z"},"suite":{"scenario_count":1},"system":{"name":"s"}}`),
		[]byte(`{"scenario":{"id":"a","input":1},"execution":null,"judgments":{}}`))
	f.Fuzz(func(t *testing.T, manifest, cases []byte) {
		r, err := openRun(memory{manifestFile: manifest, casesFile: cases}, "")
		if err != nil || r.python == nil {
			return
		}
		check(t, readAll(r))
		m := r.Manifest
		n, judged := 0, m.JudgedMetrics()
		var line []byte
		check(t, r.Outcomes(func(i int, o *evidence.Outcome) error {
			n++
			if len(o.Judgments) != judged || len(o.Slices) != len(m.Slices) {
				t.Fatalf("%+v", o)
			}
			line = evidence.AppendOutcome(line[:0], m, o)
			var again evidence.Outcome
			if err := evidence.DecodeOutcome(line, m, &again); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return nil
		}))
		if n != m.Dataset.Cases {
			t.Fatalf("%d outcomes of %d cases", n, m.Dataset.Cases)
		}
	})
}
