package suite

import (
	"os"
	"strings"
	"testing"
)

const identified = `version: 1
project: p
dataset: d.jsonl
system:
  name: s
  version: v
  config: {a: 1, b: 2}
  http:
    url: http://x/${A}
    headers: {X-A: "${A}", X-B: b}
    artifacts: {retrieval/v1: r, context/v1: c}
evaluators:
  - {type: contains, criterion: ok, field: answer}
  - {type: hit_rate, k: 2}
slices: [metadata.a, metadata.b]
`

// TestDigestsDependOnMeaningOnly replaces a part of a suite and asks which
// content ids change.
func TestDigestsDependOnMeaningOnly(t *testing.T) {
	before := parse(t, identified)
	for _, test := range []struct {
		from, to          string
		suite, system, ev bool // what changes; ev is the first evaluator
	}{
		{"version: 1\n", "# a comment\n\n", false, false, false},
		{"project: p", "project: q", false, false, false},
		{"d.jsonl", "e.jsonl", false, false, false},
		{"slices:", "concurrency: {system: 3}\nslices:", false, false, false},
		{"{a: 1, b: 2}", "{b: 2, a: 1}", false, false, false},
		{"{X-A: \"${A}\", X-B: b}", "{x-b: b, X-A: \"${A}\"}", false, false, false},
		{"retrieval/v1: r, context/v1: c", "context/v1: c, retrieval/v1: r", false, false, false},
		{"[metadata.a, metadata.b]", "[metadata.b, metadata.a]", false, false, false},
		{"    url:", "    timeout_s: 3\n    url:", false, false, false},
		{"type: contains, criterion: ok, field: answer", "field: answer, type: contains, criterion: ok", false, false, false},
		{"k: 2}", "k: 2, relevance_unit: doc}", false, false, false},

		{"version: v", "version: w", true, true, false},
		{"name: s", "name: z", true, true, false},
		{"{a: 1, b: 2}", "{a: 1, b: 3}", true, true, false},
		{"http://x/${A}", "http://x/${B}", true, true, false},
		{"X-B: b", "X-B: c", true, true, false},
		{"retrieval/v1: r", "retrieval/v1: q", true, true, false},
		{"retrieval/v1: r", "retrieval/v1: {path: r, optional: true}", true, true, false},
		{"    url:", "    method: PUT\n    url:", true, true, false},
		{"    url:", "    output_path: o\n    url:", true, true, false},
		{"  http:", "  start: {command: [a], ready: \"b:1\"}\n  http:", true, true, false},
		{"field: answer", "field: other", true, false, true},
		{"field: answer", "expected_field: answer", true, false, true},
		{"field: answer", "field: answer, on_execution_error: fail", true, false, true},
		{"criterion: ok", "criterion: good", true, false, false},
		{"type: contains", "type: exact_match", true, false, true},
		{"k: 2}", "k: 3}", true, false, false},
		{"metadata.b", "metadata.c", true, false, false},
		{"slices:", "metrics: [{type: quantile, id: p, source: latency_ms, quantile: 0.5}]\nslices:", true, false, false},
		{"slices:", "metrics: [{type: mean, id: p, source: cost_usd}]\nslices:", true, false, false},
		{"slices:", "metrics: [{type: error_rate}]\nslices:", true, false, false},
	} {
		if !strings.Contains(identified, test.from) {
			t.Fatalf("%q does not stand in the suite", test.from)
		}
		after := parse(t, strings.Replace(identified, test.from, test.to, 1))
		check := func(what string, changed, want bool) {
			if changed != want {
				t.Errorf("%q to %q: %s changed: %v, want %v", test.from, test.to, what, changed, want)
			}
		}
		check("suite", before.Digest() != after.Digest(), test.suite)
		check("system", before.SystemDigest() != after.SystemDigest(), test.system)
		check("evaluator", before.EvaluatorDigest(0) != after.EvaluatorDigest(0), test.ev)
	}
}

// TestDigestsAreStable holds the ids of the example: a change makes every
// stored run incomparable and needs a new domain.
func TestDigestsAreStable(t *testing.T) {
	s := parse(t, identified)
	got := strings.Join([]string{string(s.Digest()), string(s.SystemDigest()), string(s.EvaluatorDigest(0)), string(s.EvaluatorDigest(1))}, "\n") + "\n"
	const golden = "testdata/digests.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSchemaDigestIsOfTheContent: the same schema in place and in a file is the
// same evaluator.
func TestSchemaDigestIsOfTheContent(t *testing.T) {
	inline := parse(t, strings.Replace(minimal, "{type: contains, criterion: ok}", "{type: json_schema, criterion: ok, schema: {type: object, required: [a]}}", 1))
	text := strings.Replace(minimal, "{type: contains, criterion: ok}", "{type: json_schema, criterion: ok, schema: s.json}", 1)
	file, err := Parse("oloproof.yaml", []byte(text), func(string) ([]byte, error) {
		return []byte("{\"required\": [\"a\"],\n \"type\": \"object\"}"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inline.EvaluatorDigest(0) != file.EvaluatorDigest(0) {
		t.Error("they differ")
	}
}
