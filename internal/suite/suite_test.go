package suite

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/mapping"
	"github.com/oloproof/oloproof-go/internal/problem"
)

var update = flag.Bool("update", false, "write the goldens anew")

func at(line, column int) Position { return Position{Line: line, Column: column} }

func ptr[T any](v T) *T { return &v }

// minimal is the least that a suite needs, with room for more.
const minimal = `project: p
dataset: d.jsonl
system: {name: s, version: v, http: {url: "http://x/"}}
evaluators: [{type: contains, criterion: ok}]
`

func parse(t *testing.T, text string) *Suite {
	t.Helper()
	s, err := Parse("oloproof.yaml", []byte(text), noFile)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return s
}

func noFile(path string) ([]byte, error) { return nil, os.ErrNotExist }

func TestLoadExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/oloproof*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.Dir != filepath.Dir(file) || len(s.Evaluators) == 0 || len(s.Notes) != 0 {
			t.Errorf("%s: %+v", file, s)
		}
	}
}

func TestParseFillsInDefaults(t *testing.T) {
	s := parse(t, minimal)
	got := *s
	got.Lines, got.DatasetPos, got.System.Pos, got.System.HTTP.URLPos = nil, Position{}, Position{}, Position{}
	got.Evaluators[0].Pos, got.Evaluators[0].KeyPos = Position{}, nil
	got.KeyPos, got.System.HTTP.KeyPos, got.System.HTTP.Places, got.System.HTTP.Calls = nil, nil, nil, mapping.Calls{}
	want := Suite{
		Path: "oloproof.yaml", Dir: ".", Project: "p", Dataset: "d.jsonl",
		System: System{Name: "s", Version: "v", HTTP: &HTTP{
			Limits: Limits{Burst: 1, Retries: 3},
			URL:    "http://x/", Method: "POST", Timeout: 30 * time.Second, MaxBody: 32 << 20,
		}, Timeout: ProgramTimeout, DefaultTimeout: true},
		Concurrency:     Concurrency{System: 8, Judge: 4},
		Evaluators:      []Evaluator{{Type: "contains", Criterion: "ok"}},
		MinSliceSupport: 30,
		Labels:          DefaultLabels,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseReadsEveryKey(t *testing.T) {
	s := parse(t, `version: 1
project: p
dataset: data/d.jsonl
suite_role: release
system:
  name: s
  config: {model: m, n: 1.0}
  http:
    url: https://${HOST}:8443/a
    method: PUT
    headers: {Authorization: "Bearer ${TOKEN}", X-Empty: ""}
    output_path: result.0.answer
    artifacts: {retrieval/v1: e.r, citations/v1: {path: e.c, optional: true}, trace: t}
    version: v2
    timeout_s: 0.5
    max_body_bytes: 1000
  start:
    command: ["${OLOPROOF_BIN}", serve, ""]
    ready: "127.0.0.1:${PORT}"
    timeout_s: 5
    env: {A: "${B}", C: ""}
concurrency: {system: 16}
evaluators:
  - {type: exact_match, criterion: e, field: null, expected_field: a.0, strip: no, casefold: true, on_execution_error: fail}
  - {type: regex, criterion: r, pattern: '^\d', pass_if: no_match}
  - {type: json_schema, criterion: j, schema: {type: object}}
  - {type: ndcg, relevance_unit: chunk, on_execution_error: missing}
metrics: [{type: quantile, id: p95, source: latency_ms, quantile: 0.95}]
slices: [metadata.topic, metadata.a.b-c]
min_slice_support: 4
cache: true
replicates: 1
egress: [raw_inputs]
export_key: {fingerprint: x}
pricing: [{model: m, input_per_mtok: 1, output_per_mtok: 2}]
`)
	if s.System.Version != "v2" || s.System.HTTP.Method != "PUT" || s.System.HTTP.Timeout != 500*time.Millisecond || s.System.HTTP.MaxBody != 1000 {
		t.Errorf("system: %+v %+v", s.System, s.System.HTTP)
	}
	if got := string(s.System.Config); got != `{"model":"m","n":1.0}` {
		t.Errorf("config: %s", got)
	}
	wantArtifacts := []ArtifactPath{
		{"retrieval/v1", "e.r", false, at(13, 31), nil}, {"citations/v1", "e.c", true, at(13, 50), nil}, {"trace", "t", false, at(13, 86), nil},
	}
	if diff := cmp.Diff(wantArtifacts, s.System.HTTP.Artifacts); diff != "" {
		t.Error(diff)
	}
	wantStart := &Start{
		Command: []string{"${OLOPROOF_BIN}", "serve", ""}, Ready: "127.0.0.1:${PORT}", Timeout: 5 * time.Second,
		Env: []Header{{"A", "${B}", at(21, 14)}, {"C", "", at(21, 25)}}, Pos: at(18, 5),
	}
	if diff := cmp.Diff(wantStart, s.System.Start); diff != "" {
		t.Error(diff)
	}
	want := []Evaluator{
		{Type: "exact_match", Criterion: "e", ExpectedField: ptr("a.0"), CaseFold: true, FailOnError: true},
		{Type: "regex", Criterion: "r", Pattern: `^\d`, PassIfNoMatch: true},
		{Type: "json_schema", Criterion: "j", Schema: evidence.Value(`{"type":"object"}`)},
		{Type: "ndcg", Criterion: "ndcg_at_10", K: 10, ChunkUnit: true},
	}
	for i := range s.Evaluators {
		if s.Evaluators[i].Pos.Line != 24+i {
			t.Errorf("evaluator %d stands at %v", i, s.Evaluators[i].Pos)
		}
		s.Evaluators[i].Pos, s.Evaluators[i].KeyPos = Position{}, nil
	}
	if diff := cmp.Diff(want, s.Evaluators); diff != "" {
		t.Error(diff)
	}
	if len(s.Notes) != 3 || !s.Cache || s.MinSliceSupport != 4 || s.Concurrency.Judge != 4 || s.Measures[0].Quantile != 0.95 {
		t.Errorf("%+v", s)
	}
}

// TestValidationGoldens holds every row to the exit code that it states, as far
// as reading and resolving a suite decide it.
func TestValidationGoldens(t *testing.T) {
	data, err := os.ReadFile("testdata/validation_config.json")
	if err != nil {
		t.Fatal(err)
	}
	var goldens struct {
		Rows []struct {
			Name string
			Text *string `json:"oloproof.yaml"`
			Exit int
		}
	}
	if err := json.Unmarshal(data, &goldens); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, row := range goldens.Rows {
		if row.Text == nil {
			continue // about the command line
		}
		rows++
		s, err := Parse("oloproof.yaml", []byte(*row.Text), noFile)
		if err == nil {
			_, err = s.Resolve(environment(map[string]string{"URL": "http://127.0.0.1:1/a"}), ResolveOptions{})
		}
		if (err != nil) != (row.Exit == 2) {
			t.Errorf("%s: exit %d, got %v", row.Name, row.Exit, err)
		}
		if err == nil {
			continue
		}
		l, ok := errors.AsType[problem.List](err)
		if !ok {
			t.Errorf("%s: not a list of problems: %v", row.Name, err)
			continue
		}
		for _, p := range l {
			if *row.Text != "" && (p.Line == 0 || p.Column == 0 || p.Source == "") {
				t.Errorf("%s: no place: %v", row.Name, err)
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows", rows)
	}
}

func TestLoadOfAbsentFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"))
	if err == nil || !strings.Contains(err.Error(), "absent.yaml does not exist") {
		t.Errorf("got %v", err)
	}
}

// TestProblems compares every message with a golden.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse("oloproof.yaml", data, func(path string) ([]byte, error) {
			if data, err := os.ReadFile(filepath.Join("testdata/problems", path)); err == nil {
				return data, nil
			}
			return nil, problem.Errorf("%s does not exist", path)
		})
		if err == nil {
			t.Errorf("%s: no problem found", file)
			continue
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, readErr := os.ReadFile(golden)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestSliceSentencesAreFixed(t *testing.T) {
	for slice, sentence := range map[string]string{
		"relevant_position": "slice 'relevant_position' compares relevant positions with top_k, so it needs a staged system",
		"context_truncated": "slice 'context_truncated' compares the context with top_k, so it needs a staged system",
	} {
		_, err := Parse("oloproof.yaml", []byte(minimal+"slices: ["+slice+"]\n"), noFile)
		if err == nil || !strings.HasPrefix(err.Error(), "Configuration error: "+sentence+"\n") {
			t.Errorf("%s: got %v", slice, err)
		}
	}
}

func TestSchemaFile(t *testing.T) {
	text := strings.Replace(minimal, "{type: contains, criterion: ok}", "{type: json_schema, criterion: ok, schema: a/s.json}", 1)
	s, err := Parse("sub/oloproof.yaml", []byte(text), func(path string) ([]byte, error) {
		if path != filepath.Join("sub", "a", "s.json") {
			t.Errorf("read %s", path)
		}
		return []byte("\ufeff{ \"type\": \"object\" }\n"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Evaluators[0].Schema); got != `{"type":"object"}` {
		t.Errorf("got %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	files, _ := filepath.Glob("testdata/problems/*.yaml")
	examples, _ := filepath.Glob("../../examples/*/*.yaml")
	for _, file := range append(files, examples...) {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("oloproof.yaml", data, noFile)
		if err != nil {
			if l, ok := errors.AsType[problem.List](err); !ok || len(l) == 0 {
				t.Fatalf("not a list of problems: %v", err)
			}
			return
		}
		checkInvariants(t, s)
	})
}

// checkInvariants asks of a suite that was read what everything else relies on.
func checkInvariants(t *testing.T, s *Suite) {
	t.Helper()
	if s.Project == "" || s.Dataset == "" || s.System.Name == "" || s.System.Kind() == "" || s.System.HTTP != nil && (s.System.Version == "" || s.System.HTTP.URL == "") {
		t.Fatalf("a required key is empty: %+v", s)
	}
	h := s.System.HTTP
	if h == nil {
		h = &HTTP{Timeout: 1, MaxBody: 1}
	}
	if r := s.System.RAG; r != nil && (r.Object == "") == (r.Command == nil) {
		t.Fatalf("not one kind of stages: %+v", r)
	}
	if h.Timeout <= 0 || h.MaxBody < 1 || s.Concurrency.System < 1 || s.Concurrency.Judge < 1 || s.MinSliceSupport < 1 {
		t.Fatalf("a bound is not kept: %+v %+v", s, h)
	}
	names := map[string]bool{}
	for i, e := range s.Evaluators {
		if e.Criterion == "" || names[e.Criterion] {
			t.Fatalf("criterion %q", e.Criterion)
		}
		names[e.Criterion] = true
		if AsksModel(e.Type) != (len(e.Stages()) > 0) {
			t.Fatalf("%s has %d judges", e.Type, len(e.Stages()))
		}
		for _, stage := range e.Stages() {
			if j := stage.Judge; j == nil || j.Provider == "" || j.Model == "" || j.Endpoint() == "" || j.APIKeyEnv == "" || j.Timeout <= 0 || j.Prompt < 1 || stage.Criterion != e.Criterion {
				t.Fatalf("a judge without what it needs: %+v %+v", stage, j)
			}
		}
		if slices.Contains(e.Needs(), evidence.RetrievalKind) && e.K < 1 {
			t.Fatalf("%s: k is %d", e.Type, e.K)
		}
		if e.Type == "json_schema" && e.Schema.Kind() != '{' {
			t.Fatalf("schema %s", e.Schema)
		}
		s.EvaluatorDigest(i)
	}
	for _, q := range s.Measures {
		spec := q.Spec()
		_, measured := evidence.UnitOf(spec.Source)
		if names[q.ID] || spec.Judged() || !measured || (q.Type == "quantile") != (q.Quantile > 0 && q.Quantile < 1) || q.Range[0] > q.Range[1] {
			t.Fatalf("metric %+v", q)
		}
		names[q.ID] = true
	}
	if s.System.Config != nil && s.System.Config.Kind() != '{' {
		t.Fatalf("config %s", s.System.Config)
	}
	if !strings.HasPrefix(string(s.Digest()), "sha256:") {
		t.Fatal("no digest")
	}
	r, err := s.Resolve(func(string) (string, bool) { return "se\x00cret", true }, ResolveOptions{AllowExec: true, Bin: "b", Port: func() (int, error) { return 1, nil }})
	if (r == nil) == (err == nil) {
		t.Fatalf("resolved to %v and %v", r, err)
	}
	if err != nil && strings.Contains(err.Error(), "cret") && !strings.Contains(strings.Join(s.Lines, "\n"), "cret") {
		t.Fatalf("the message shows a value of the environment: %v", err)
	}
}

func TestEvaluatorOptionsAreReadBack(t *testing.T) {
	for _, text := range []string{
		"{type: contains, criterion: c, field: answer.text, expected_field: a}",
		"{type: contains, criterion: c, field: null}",
		"{type: exact_match, criterion: c, strip: false, casefold: true, on_execution_error: fail}",
		`{type: regex, criterion: c, pattern: "^a\\d+$ # \u2028 '", pass_if: no_match}`,
		"{type: json_schema, criterion: c, schema: {type: object, required: [answer], minimum: 1.50}}",
		"{type: hit_rate, k: 3, relevance_unit: chunk}",
		"{type: recall}", "{type: mrr}", "{type: ndcg, k: 7}",
		"{type: citation_validity, require_citations: true}",
	} {
		s, err := Parse("oloproof.yaml", []byte(`project: p
dataset: d.jsonl
system:
  name: s
  version: "1"
  http: {url: "http://localhost/x", artifacts: {retrieval/v1: r, context/v1: c, citations/v1: i}}
evaluators:
  - `+text+"\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want := s.Evaluators[0].Options()
		e, err := ReadEvaluator("run.json", want)
		if err != nil {
			t.Errorf("%s: ReadEvaluator(%s): %v", text, want, err)
			continue
		}
		if got := e.Options(); string(got) != string(want) {
			t.Errorf("%s: read back as %s, want %s", text, got, want)
		}
	}
}
