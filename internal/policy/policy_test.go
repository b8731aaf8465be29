package policy

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/policies"
)

var update = flag.Bool("update", false, "write the goldens anew")

func ptr[T any](v T) *T { return &v }

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("release.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return p
}

// rate is the spec of a metric that passes or fails.
func rate(id string) evidence.MetricSpec {
	return evidence.MetricSpec{ID: id, Kind: evidence.Rate, Range: [2]float64{0, 1}}
}

func exampleSpecs() []evidence.MetricSpec {
	return []evidence.MetricSpec{
		rate("answer_correct"), rate("hit_rate_at_2"), rate("citations_valid"),
		{ID: "ndcg_at_10", Kind: evidence.Mean, Range: [2]float64{0, 1}},
		{ID: "p95", Kind: evidence.Quantile, Source: "latency_ms", Quantile: 0.95, Unit: "ms"},
	}
}

func TestParseFillsInDefaults(t *testing.T) {
	got := parse(t, "rules:\n  - {id: r, metric: ok, min: 0.5}\n")
	if !strings.HasPrefix(got.Digest, "sha256:") {
		t.Errorf("digest %q", got.Digest)
	}
	got.Digest = ""
	want := &Policy{
		Path: "release.yaml", Lines: []string{"rules:", "  - {id: r, metric: ok, min: 0.5}"},
		ConfidenceLevel: 0.95, BlockOn: []State{Fail, InsufficientEvidence, ManualReview}, BlockOnPartialRun: true,
		MinPairedShare: 0.9, SuiteChanges: SuiteChangesReview, ReviewLabel: "oloproof-reviewed",
		Rules: []Rule{{
			ID: "r", Metric: "ok", Kind: IntervalThreshold, Min: ptr(0.5), HigherBetter: true, Scope: "global", Line: 2, Column: 5,
			KeyPos: map[string][2]int{"id": {2, 10}, "metric": {2, 21}, "min": {2, 30}},
		}},
		KeyPos:      map[string][2]int{"rules": {2, 3}},
		MinClusters: 20, RequireValidatedEvaluators: true, JudgeFloor: "judge_floor@1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseReadsEveryKey(t *testing.T) {
	p := parse(t, `version: 1
confidence_level: 0.9
block_on: []
warn_on: [FAIL, PASS]
block_on_partial_run: false
difference_method: conditional_exact_paired_difference@1
min_paired_share: 1
require_suite_role: release
suite_changes: allow
review_label: ok
require_validated_evaluators: false
minimum_evaluator_agreement: 0.8
maximum_evaluator_bias: 0.2
judge_floor: none
allow_approximate_methods: true
min_clusters: 10
early_stopping: false
early_stopping_seed: 18446744073709551615
early_stopping_batch_size: 5
require_approval: false
rules:
  - {id: a, metric: m, kind: interval_threshold, max: 100, max_missing_fraction: 0.1, requires_manual_review: true}
  - {id: b, metric: m, kind: null, max_failures: 3, min: null}
  - {id: c, metric: m, kind: superiority, direction: max, judge_bias_bar: 0.5}
  - {id: d, metric: m, kind: non_inferiority, margin: 0.05, scope: "slice/metadata.topic=a=b", min_support: 4}
  - {id: e, metric: m, kind: equivalence, margin: 10, max_missing_fraction: 0}
families: [{id: f, rules: [d, e]}]
`)
	type rule struct {
		id   string
		kind Kind
		up   bool
	}
	var got []rule
	for _, r := range p.Rules {
		got = append(got, rule{r.ID, r.Kind, r.HigherBetter})
	}
	want := []rule{{"a", IntervalThreshold, true}, {"b", ObservedCount, true}, {"c", Superiority, false}, {"d", NonInferiority, true}, {"e", Equivalence, true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(rule{})); diff != "" {
		t.Error(diff)
	}
	if name, value, ok := p.Rules[3].Slice(); !ok || name != "metadata.topic" || value != "a=b" {
		t.Errorf("slice %q %q %v", name, value, ok)
	}
	if len(p.RunRules()) != 2 || len(p.ComparisonRules()) != 3 || p.RunRules()[1].ID != "b" || p.ComparisonRules()[0].ID != "c" {
		t.Errorf("run %v, comparison %v", p.RunRules(), p.ComparisonRules())
	}
	if p.Families[0].Correction != "holm" || len(p.BlockOn) != 0 || p.BlockOn == nil || !slices.Equal(p.WarnOn, []State{Fail, Pass}) {
		t.Errorf("%+v", p)
	}
	if *p.Rules[1].MaxFailures != 3 || p.Rules[1].Min != nil || *p.Rules[4].MaxMissing != 0 {
		t.Errorf("%+v", p.Rules)
	}
}

// TestValidationGoldens holds every row to the exit code that it states, as far
// as reading and checking a policy decide it.
func TestValidationGoldens(t *testing.T) {
	data, err := os.ReadFile("testdata/validation_policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var goldens struct {
		Rows []struct {
			Name string
			Text *string `json:"release.yaml"`
			Exit int
		}
	}
	if err := json.Unmarshal(data, &goldens); err != nil {
		t.Fatal(err)
	}
	if len(goldens.Rows) < 30 {
		t.Fatalf("only %d rows", len(goldens.Rows))
	}
	for _, row := range goldens.Rows {
		p, err := Parse("release.yaml", []byte(*row.Text))
		if err == nil {
			err = p.Check([]evidence.MetricSpec{rate("ok")}, nil)
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
		}
		for _, p := range l {
			if *row.Text != "" && (p.Line == 0 || p.Column == 0 || p.Source == "") {
				t.Errorf("%s: no place: %v", row.Name, err)
			}
		}
	}
}

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
		p, err := Parse("release.yaml", data)
		if err == nil {
			err = p.Check(exampleSpecs(), []string{"metadata.topic"})
		}
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

func TestBuiltin(t *testing.T) {
	if got, want := policies.Names(), []string{"compare", "nightly", "release", "strict"}; !slices.Equal(got, want) {
		t.Errorf("there are %v", got)
	}
	for _, name := range policies.Names() {
		p, err := Load("builtin:" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Path != "builtin:"+name || !strings.HasPrefix(p.Lines[0], "# For ") {
			t.Errorf("%s: path %s, first line %q", name, p.Path, p.Lines[0])
		}
		if err := p.Check(exampleSpecs(), nil); err != nil {
			t.Errorf("%s does not fit the example: %v", name, err)
		}
	}
	for name, want := range map[string]string{"stric": "did you mean builtin:strict?", "../release": "there are", "": "there are", "policies.go": "there are"} {
		if _, err := Load("builtin:" + name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("builtin:%s: got %v", name, err)
		}
	}
	strict, err := Load("builtin:strict")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []State{Fail, InsufficientEvidence, ManualReview} {
		if !slices.Contains(strict.BlockOn, s) {
			t.Errorf("strict lets %s through", s)
		}
	}
}

// TestExamplePoliciesFit loads the policies of the examples.
func TestExamplePoliciesFit(t *testing.T) {
	for _, name := range []string{"release", "compare"} {
		p, err := Load(filepath.Join("../../examples/blackbox_rag", name+".yaml"))
		if err != nil {
			t.Error(err)
		} else if err := p.Check(exampleSpecs(), []string{"metadata.topic"}); err != nil {
			t.Error(err)
		}
	}
}

func TestLoadOfAbsentFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"))
	if err == nil || !strings.Contains(err.Error(), "absent.yaml does not exist") {
		t.Errorf("got %v", err)
	}
}

func TestDigestDependsOnMeaningOnly(t *testing.T) {
	const text = "version: 1\nblock_on: [FAIL, MANUAL_REVIEW]\nrules:\n  - {id: r, metric: ok, min: 0.5}\n  - {id: q, metric: ok, kind: superiority}\n"
	before := parse(t, text)
	for _, test := range []struct {
		from, to string
		changes  bool
	}{
		{"version: 1\n", "# a comment\n", false},
		{"[FAIL, MANUAL_REVIEW]", "[MANUAL_REVIEW, FAIL]", false},
		{"{id: r, metric: ok, min: 0.5}\n  - {id: q, metric: ok, kind: superiority}", "{kind: superiority, id: q, metric: ok}\n  - {id: r, metric: ok, min: 0.50}", false},
		{"min: 0.5", "min: 0.5, kind: interval_threshold, scope: global", false},
		{"version: 1", "confidence_level: 0.95", false},
		{"version: 1", "difference_method: bounded_paired_difference@1", false},
		{"version: 1", "confidence_level: 0.9", true},
		{"version: 1", "difference_method: conditional_exact_paired_difference@1", true},
		{"version: 1", "warn_on: [INSUFFICIENT_EVIDENCE]", true},
		{"version: 1", "block_on_partial_run: false", true},
		{"version: 1", "review_label: x", true},
		{"[FAIL, MANUAL_REVIEW]", "[FAIL]", true},
		{"min: 0.5", "min: 0.6", true},
		{"min: 0.5", "max: 0.5", true},
		{"min: 0.5", "min: 0.5, max_missing_fraction: 0", true},
		{"min: 0.5", "min: 0.5, requires_manual_review: true", true},
		{"kind: superiority", "kind: superiority, direction: max", true},
		{"id: r", "id: s", true},
	} {
		if !strings.Contains(text, test.from) {
			t.Fatalf("%q does not stand in the policy", test.from)
		}
		after := parse(t, strings.Replace(text, test.from, test.to, 1))
		if changed := before.Digest != after.Digest; changed != test.changes {
			t.Errorf("%q to %q: changed: %v, want %v", test.from, test.to, changed, test.changes)
		}
	}
}

// TestSchemaDefaultOfBlockOn: the list's default stands in the table for
// readers, and in Parse for the program.
func TestSchemaDefaultOfBlockOn(t *testing.T) {
	p := parse(t, "rules:\n  - {id: r, metric: ok, min: 0.5}\n")
	q := parse(t, "block_on: [FAIL, INSUFFICIENT_EVIDENCE, MANUAL_REVIEW]\nrules:\n  - {id: r, metric: ok, min: 0.5}\n")
	if !slices.Equal(p.BlockOn, q.BlockOn) || p.Digest != q.Digest {
		t.Errorf("got %v, documented %v", p.BlockOn, q.BlockOn)
	}
}

func FuzzParse(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/problems/*.yaml")
	examples, _ := filepath.Glob("../../policies/*.yaml")
	for _, file := range append(inputs, examples...) {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("release.yaml", data)
		if err != nil {
			if l, ok := errors.AsType[problem.List](err); !ok || len(l) == 0 {
				t.Fatalf("not a list of problems: %v", err)
			}
			return
		}
		checkInvariants(t, p)
	})
}

// checkInvariants asks of a policy that was read what deciding relies on.
func checkInvariants(t *testing.T, p *Policy) {
	t.Helper()
	if len(p.Rules) == 0 || !(p.ConfidenceLevel > 0 && p.ConfidenceLevel < 1) || !(p.MinPairedShare >= 0 && p.MinPairedShare <= 1) {
		t.Fatalf("%+v", p)
	}
	ids := map[string]bool{}
	for _, r := range p.Rules {
		if r.ID == "" || ids[r.ID] || r.Metric == "" || r.Line < 1 || r.Column < 1 || r.Scope == "" {
			t.Fatalf("%+v", r)
		}
		ids[r.ID] = true
		var ok bool
		switch r.Kind {
		case IntervalThreshold:
			ok = (r.Min != nil) != (r.Max != nil) && r.MaxFailures == nil && r.Margin == nil
		case ObservedCount:
			ok = r.Min == nil && r.Max == nil && r.MaxFailures != nil && *r.MaxFailures >= 0 && r.MaxMissing == nil
		case Superiority:
			ok = r.Min == nil && r.Max == nil && r.MaxFailures == nil && r.Margin == nil
		case NonInferiority, Equivalence:
			ok = r.Min == nil && r.Max == nil && r.MaxFailures == nil && r.Margin != nil && *r.Margin > 0
		}
		if _, _, slice := r.Slice(); slice && (!r.Kind.Comparison() || r.MinSupport == nil) {
			ok = false
		}
		if !ok {
			t.Fatalf("%+v", r)
		}
	}
	for _, s := range p.WarnOn {
		if slices.Contains(p.BlockOn, s) {
			t.Fatalf("%s blocks and warns", s)
		}
	}
	for _, f := range p.Families {
		for _, id := range f.Rules {
			if !ids[id] {
				t.Fatalf("family of %s", id)
			}
		}
	}
	if err := p.Check(exampleSpecs(), nil); err != nil {
		if l, ok := errors.AsType[problem.List](err); !ok || len(l) == 0 {
			t.Fatalf("not a list of problems: %v", err)
		}
	}
}
