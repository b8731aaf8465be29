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
		{"    url:", "    output: o\n    url:", true, true, false},
		{"    url:", "    request: {body: {a: 1}}\n    url:", true, true, false},
		{"    url:", "    depth: 3\n    url:", true, true, false},
		{"    url:", "    setup: {path: /s}\n    url:", true, true, false},
		{"    url:", "    requests: {x: {path: /s}}\n    url:", true, true, false},
		{"    url:", "    poll: {path: /s, until: done}\n    url:", true, true, false},
		{"    url:", "    ok: fine\n    url:", true, true, false},
		{"    url:", "    error_message: m\n    url:", true, true, false},
		{"    url:", "    strip: [think]\n    url:", true, true, false},
		{"    url:", "    usage: {input_tokens: n}\n    url:", true, true, false},
		{"retrieval/v1: r,", "retrieval/v1: {jq: .r},", true, true, false},
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

// TestDigestOfAMapping replaces a part of a mapping and asks whether the
// system's content id changes.
func TestDigestOfAMapping(t *testing.T) {
	const mapped = `project: p
dataset: d.jsonl
evaluators: [{type: contains, criterion: c}]
system:
  name: s
  version: v
  http:
    url: http://x/
    depth: 3
    request: {path: /a, body: {q: "{{case.input}}"}}
    poll: {path: /b, until: {path: state, equals: done}, interval_s: 1}
    output: a.b
    artifacts:
      retrieval/v1: {items: docs, fields: {doc_id: id, text: content}}
      citations/v1: {markers: "[1]"}
`
	before := parse(t, mapped)
	for _, test := range []struct {
		from, to string
		changed  bool
	}{
		{"output: a.b", "output: [a.b]", false},
		{"output: a.b", "output: {path: a.b}", false},
		{"{doc_id: id, text: content}", "{doc_id: {path: [id]}, text: content}", false},
		{"interval_s: 1", "interval_s: 7, deadline_s: 9", false},
		{"output: a.b", "output: a.c", true},
		{"output: a.b", "output: [a.b, a.c]", true},
		{"output: a.b", "output: {path: a.b, type: any}", true},
		{"output: a.b", "output: {path: a.b, cut: last_segment}", true},
		{"doc_id: id", "doc_id: key", true},
		{"items: docs,", "items: docs, source: context,", true},
		{"items: docs,", "items: docs, optional: true,", true},
		{"markers: \"[1]\"", "markers: \"[doc1]\"", true},
		{"markers: \"[1]\"", "markers: \"[1]\", base: 0", true},
		{"equals: done", "equals: [done]", true},
		{"depth: 3", "depth: 4", true},
		{"path: /a", "path: /c", true},
		{"{{case.input}}", "{{case.id}}", true},
	} {
		if !strings.Contains(mapped, test.from) {
			t.Fatalf("%q does not stand in the suite", test.from)
		}
		after := parse(t, strings.Replace(mapped, test.from, test.to, 1))
		if changed := before.SystemDigest() != after.SystemDigest(); changed != test.changed {
			t.Errorf("%q to %q: changed: %v, want %v", test.from, test.to, changed, test.changed)
		}
	}
}
