package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// The schemas of what is stored, and where they lie in the repository.
var schemas = []struct {
	path, title string
	of          any
}{
	{"../../schema/document.schema.json", "Document of oloproof: gate.json and --json", &Document{}},
	{"../../schema/diagnosis.schema.json", "Diagnosis of oloproof: diagnose --json", &Diagnosis{}},
}

// generateSchema makes a schema from the types and their comments.
func generateSchema(t *testing.T, title string, of any) []byte {
	t.Helper()
	words := map[reflect.Type][]any{
		reflect.TypeFor[evidence.RunStatus](): {
			evidence.RunRunning, evidence.RunDecided, evidence.RunExplored, evidence.RunError, evidence.RunCanceled,
		},
		reflect.TypeFor[evidence.Completeness](): {evidence.Complete, evidence.Partial},
		reflect.TypeFor[evidence.Kind]():         {evidence.Rate, evidence.Mean, evidence.Quantile},
	}
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if list, ok := words[t]; ok {
				return &jsonschema.Schema{Type: "string", Enum: list}
			}
			return nil
		},
	}
	for _, dir := range []string{".", "../compare", "../diagnose", "../evidence", "../measure"} {
		if err := r.AddGoComments("github.com/oloproof/oloproof-go/internal/report", dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(of)
	s.Title = title
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func TestSchemaIsGenerated(t *testing.T) {
	for _, s := range schemas {
		got := generateSchema(t, s.title, s.of)
		if *update {
			if err := os.WriteFile(filepath.FromSlash(s.path), got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(filepath.FromSlash(s.path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the types say; -update writes it (-want +got):\n%s", s.path, diff)
		}
	}
}

func compileSchema(t *testing.T, of any) *validator.Schema {
	t.Helper()
	parsed, err := validator.UnmarshalJSON(bytes.NewReader(generateSchema(t, "", of)))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("document.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDocumentsFollowTheSchema(t *testing.T) {
	schema := compileSchema(t, &Document{})
	for name, in := range inputs() {
		b := encode(t, Build(in))
		v, err := validator.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
	}
	for name, broken := range map[string]string{
		"another version": `"oloproof/document/v1"->"oloproof/document/v2"`,
		"unknown state":   `"FAIL"->"RED"`,
		"unknown key":     `"slices":->"groups":`,
		"text for number": `"exit_code": 1->"exit_code": "1"`,
		"a bad time":      `"2026-11-30T10:58:03Z"->"yesterday"`,
	} {
		from, to, _ := strings.Cut(broken, "->")
		b := encode(t, Build(exampleInput()))
		changed := bytes.ReplaceAll(b, []byte(from), []byte(to))
		if bytes.Equal(b, changed) {
			t.Fatalf("%s: nothing to change", name)
		}
		v, err := validator.UnmarshalJSON(bytes.NewReader(changed))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(v) == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func inputs() map[string]Input {
	empty := Input{Manifest: &evidence.Manifest{ID: "run_0", Status: evidence.RunError, Completeness: evidence.Partial}}
	wild := troubledInput()
	nan, inf := math.NaN(), math.Inf(1)
	wild.Metrics[0].Estimate, wild.Metrics[0].Interval = &nan, &measure.Interval{Lower: &nan, Upper: &inf, Level: 0.95}
	wild.Metrics[1].Spec.Range = [2]float64{math.Inf(-1), inf}
	wild.Slices[0].PValue = &nan
	wild.Policies[0].Result.Decisions[0].Rule.Min = &inf
	wild.Policies[0].Result.Decisions[0].Planning.Reach = &nan
	compared := compareInput(exampleComparison(), comparePolicy())
	compared.Baseline = &Baseline{State: BaselineFound, Run: baselineID, Trail: []Rejects{{"run_older", "another suite"}}}
	compared.Relaxations = []Relaxation{{File: "compare.yaml", Line: 4, Text: "margin widened from 0.02 to 0.05"}}
	compared.LatencyMS = ptr(812.5)
	without := compareInput(exampleComparison(), comparePolicy())
	without.Comparisons = nil
	without.Policies[0].Result = decide.WithoutBaseline(comparePolicy(), decide.ReasonNoBaseline, evidence.Complete)
	without.Baseline = &Baseline{State: BaselineNone}
	return map[string]Input{
		"example": exampleInput(), "troubled": troubledInput(), "explored": exploredInput(), "empty": empty, "wild": wild,
		"compared": compared, "everything": everythingInput(), "without a baseline": without,
	}
}

func encode(t fataler, d *Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, d); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	golden(t, "document_example.json", string(encode(t, Build(exampleInput()))))
}

// A stored document says the same as the one that was stored, in every rendering.
func TestJSONRoundTrip(t *testing.T) {
	for name, in := range inputs() {
		d := Build(in)
		b := encode(t, d)
		back, err := ReadJSON(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(string(b), string(encode(t, back))); diff != "" {
			t.Errorf("%s (-stored +read):\n%s", name, diff)
		}
		if diff := cmp.Diff(render(t, d, TextOptions{}), render(t, back, TextOptions{})); diff != "" {
			t.Errorf("%s (-stored +read):\n%s", name, diff)
		}
	}
}

func TestReadJSONRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                                  "read document: ",
		`{`:                                 "read document: ",
		`[]`:                                "read document: ",
		`{}`:                                "read document: no schema, so it is no document of this tool",
		`{"schema":"oloproof/document/v2"}`: `read document: schema "oloproof/document/v2", this version of the tool reads "oloproof/document/v1"`,
		`{"schema":"oloproof/document/v1","metrics":"x"}`:      "read document: ",
		`{"schema":"oloproof/document/v1","schema":"x"}`:       "read document: ",
		`{"schema":"oloproof/document/v1","notes":["\ud800"]}`: "read document: ",
	} {
		if _, err := ReadJSON([]byte(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ReadJSON(%s) = %v, want %q", in, err, want)
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	for _, in := range inputs() {
		f.Add(encode(f, Build(in)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadJSON(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Text(&b, d, TextOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
		if err := CompareText(&b, d, TextOptions{Width: 80, Slices: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unprintable) {
				t.Errorf("unsafe line %q", line)
			}
		}
		source := []byte(renderMarkdown(t, d, MarkdownOptions{Budget: 60_000}))
		if problems := problemsOf(source); len(problems) > 0 || len(source) > 60_000 {
			t.Errorf("%q in %d bytes\n%s", problems, len(source), source)
		}
		if problems := junitProblems(renderJUnit(t, d, nil)); len(problems) > 0 {
			t.Errorf("JUnit: %q", problems)
		}
		if err := Trend(io.Discard, []TrendEntry{TrendEntryOf(d)}, "answer_correct", 80); err != nil {
			t.Error(err)
		}
	})
}

// Every document can be rendered in every way, also after it was stored.
func TestEveryDocumentIsRendered(t *testing.T) {
	for name, in := range inputs() {
		d, err := ReadJSON(encode(t, Build(in)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		page := renderHTML(t, d, HTMLOptions{History: []TrendEntry{TrendEntryOf(d), TrendEntryOf(d)}})
		if !strings.Contains(page, "</html>") || strings.Count(page, "<script") != 1 {
			t.Errorf("%s: a page of %d bytes", name, len(page))
		}
		if text := renderCompare(t, d, TextOptions{Width: 80}); !strings.Contains(text, "Gate: ") {
			t.Errorf("%s: no gate in\n%s", name, text)
		}
		if md := renderMarkdown(t, d, MarkdownOptions{}); !strings.HasPrefix(md, "### ") {
			t.Errorf("%s: no heading in\n%s", name, md)
		}
	}
}

// Where a rule is PASS, its printed lower bound is not below the printed
// floor, and the gate's sentence names every rule that is not PASS.
func TestPassIsVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := float64(rapid.IntRange(0, 1000).Draw(t, "floor")) / 1000
		lower := rapid.Float64Range(floor, 1).Draw(t, "lower")
		in := exampleInput()
		m := rate("answer_correct", 11, 15, 0, lower, 1)
		in.Policies[0].Result = decide.Result{
			Decisions: []decide.Decision{{
				Rule:  policy.Rule{ID: "answer-floor", Metric: "answer_correct", Kind: policy.IntervalThreshold, Min: &floor},
				State: policy.Pass, Metric: &m,
			}},
			Gate: decide.Gate{Action: decide.Allow},
		}
		d := Build(in).Policies[0].Decisions[0]
		shown := parse(t, strings.TrimPrefix(strings.Split(d.Display.Interval, ",")[0], "["), "%")
		required := parse(t, strings.TrimPrefix(d.Requires, "at least "), "%")
		if shown < required {
			t.Errorf("PASS with %s, requires %s", d.Display.Interval, d.Requires)
		}
	})
}

func TestMeaning(t *testing.T) {
	block := []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview}
	rules := func(states ...policy.State) []decide.Decision {
		var out []decide.Decision
		for i, s := range states {
			out = append(out, decide.Decision{Rule: policy.Rule{ID: string(rune('a' + i))}, State: s})
		}
		return out
	}
	unmeasured := rules(policy.InsufficientEvidence, policy.Pass)
	unmeasured[0].MissingEvidence = true
	const insufficient = policy.InsufficientEvidence
	for _, tt := range []struct {
		name      string
		block     []policy.State
		warn      []policy.State
		decisions []decide.Decision
		gate      decide.Gate
		want      string
	}{
		{"all pass", block, nil, rules(policy.Pass, policy.Pass), decide.Gate{Action: decide.Allow}, "Allowed because all 2 rules are PASS (established)."},
		{"one passes", block, nil, rules(policy.Pass), decide.Gate{Action: decide.Allow}, "Allowed because its one rule, a, is PASS (established)."},
		{"no rule", block, nil, nil, decide.Gate{Action: decide.Allow}, "Allowed, but nothing was decided: the policy has no rule on a single run."},
		{"allowed anyway", nil, nil, rules(policy.Fail, policy.Pass), decide.Gate{Action: decide.Allow},
			"Allowed although a is FAIL (ruled out): the policy neither blocks nor warns on that."},
		{"warned", nil, []policy.State{insufficient}, rules(insufficient, policy.Pass), decide.Gate{Action: decide.Warn},
			"Allowed with a warning because a is INSUFFICIENT_EVIDENCE (not established yet)."},
		{"blocked by some", []policy.State{policy.Fail}, nil, rules(insufficient, policy.Fail), decide.Gate{Action: decide.Block, ExitCode: 1},
			"Blocked because b is FAIL (ruled out)."},
		{"blocked by all", block, nil, rules(insufficient, policy.Fail, policy.ManualReview, policy.Fail), decide.Gate{Action: decide.Block, ExitCode: 1},
			"Blocked because b and d are FAIL (ruled out); c is MANUAL_REVIEW (a person decides); a is INSUFFICIENT_EVIDENCE (not established yet)."},
		{"many", block, nil, rules(policy.Fail, policy.Fail, policy.Fail, policy.Fail, policy.Fail, policy.Fail, policy.Fail), decide.Gate{Action: decide.Block, ExitCode: 1},
			"Blocked because a, b, c, d, e and 2 more are FAIL (ruled out)."},
		{"nothing measured", nil, nil, unmeasured, decide.Gate{Action: decide.Block, ExitCode: 3, Reasons: []string{decide.GateMissingEvidence}},
			"Blocked because a lacks the evidence for a decision, which blocks whatever the policy says."},
		{"partial", block, nil, rules(policy.Pass), decide.Gate{Action: decide.Block, ExitCode: 3, Reasons: []string{decide.GatePartialRun}},
			"Blocked because not every case ran."},
	} {
		got := meaning(&policy.Policy{BlockOn: tt.block, WarnOn: tt.warn}, decide.Result{Decisions: tt.decisions, Gate: tt.gate})
		if got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// Of several policies the strictest gate is the document's.
func TestStrictestGate(t *testing.T) {
	gates := []decide.Gate{
		{Action: decide.Allow}, {Action: decide.Warn}, {Action: decide.Block, ExitCode: 3}, {Action: decide.Block, ExitCode: 1},
	}
	for i, a := range gates {
		for j, b := range gates {
			in := exampleInput()
			in.Policies = []PolicyResult{
				{Role: RoleBase, Policy: &policy.Policy{}, Result: decide.Result{Gate: a}},
				{Role: RoleProposed, Policy: &policy.Policy{}, Result: decide.Result{Gate: b}},
			}
			want := gates[max(i, j)]
			if got := Build(in).Gate; got.Action != string(want.Action) || got.ExitCode != want.ExitCode {
				t.Errorf("%v and %v give %v", a, b, got)
			}
		}
	}
}
