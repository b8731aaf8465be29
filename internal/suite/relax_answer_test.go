package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// relaxedAnswers is a suite with the options of the evaluators of answers.
const relaxedAnswers = `project: p
dataset: d.jsonl
system: {name: s, version: v, http: {url: "http://x/", artifacts: {retrieval/v1: r, context/v1: c}}}
evaluators:
  - {type: contains, criterion: any, any_of: [a, b], casefold: false}
  - {type: contains, criterion: all, all_of: [a, b]}
  - {type: contains, criterion: list, expected_list: all_of, normalise: squad}
  - {type: numeric, criterion: n, tolerance: {absolute: 1, relative: 0.1}, unit: days, pick: any, decimal: point}
  - {type: refusal, criterion: ref, patterns: [a], builtin: refusal_patterns@1}
  - {type: precision_at_k, criterion: p, k: 4}
  - {type: map, criterion: m, k: 5}
  - {type: context_recall, criterion: cr, relevance_unit: chunk}
  - {type: context_precision, criterion: cp}
metrics:
  - {type: mean, id: cost, source: cost_usd, range: [0, 1]}
  - {type: error_rate}
`

func answerEdits() []suiteEdit {
	both := func(from, to, there, back string) suiteEdit {
		return suiteEdit{from, to, []string{there}, []string{back}}
	}
	return []suiteEdit{
		{"any_of: [a, b]", "any_of: [a]", nil, []string{`b:5: evaluator any: any_of changed from ["a"] to ["a","b"]`}},
		both("any_of: [a, b]", "any_of: [a, c]", `b:5: evaluator any: any_of changed from ["a","b"] to ["a","c"]`, `b:5: evaluator any: any_of changed from ["a","c"] to ["a","b"]`),
		{"casefold: false", "casefold: true", []string{"b:5: evaluator any: casefold changed from none to true"}, nil},
		both(", unit: days", "", `b:8: evaluator n: unit changed from "days" to none`, `b:8: evaluator n: unit changed from none to "days"`),
		both(", normalise: squad", "", `b:7: evaluator list: normalise changed from ["squad"] to none`, `b:7: evaluator list: normalise changed from none to ["squad"]`),
		{"all_of: [a, b]", "all_of: [a]", []string{`b:6: evaluator all: all_of changed from ["a","b"] to ["a"]`}, nil},
		both("expected_list: all_of", "expected_list: any_of", `b:7: evaluator list: expected_list changed from "all_of" to "any_of"`, `b:7: evaluator list: expected_list changed from "any_of" to "all_of"`),
		both("normalise: squad", "normalise: [whitespace]", `b:7: evaluator list: normalise changed from ["squad"] to ["whitespace"]`, `b:7: evaluator list: normalise changed from ["whitespace"] to ["squad"]`),
		{"absolute: 1,", "absolute: 2,", []string{`b:8: evaluator n: tolerance changed from {"absolute":1,"relative":0.1} to {"absolute":2,"relative":0.1}`}, nil},
		both("unit: days", "unit: hours", `b:8: evaluator n: unit changed from "days" to "hours"`, `b:8: evaluator n: unit changed from "hours" to "days"`),
		{"pick: any", "pick: only", nil, []string{`b:8: evaluator n: pick changed from "only" to "any"`}},
		both("decimal: point", "decimal: comma", `b:8: evaluator n: decimal changed from "point" to "comma"`, `b:8: evaluator n: decimal changed from "comma" to "point"`),
		both("patterns: [a]", "patterns: [b]", `b:9: evaluator ref: patterns changed from ["a"] to ["b"]`, `b:9: evaluator ref: patterns changed from ["b"] to ["a"]`),
		both("builtin: refusal_patterns@1", "builtin: none", `b:9: evaluator ref: builtin changed from "refusal_patterns@1" to "none"`, `b:9: evaluator ref: builtin changed from "none" to "refusal_patterns@1"`),
		both("k: 4", "k: 6", "b:10: evaluator p: k raised from 4 to 6", "b:10: evaluator p: k lowered from 6 to 4"),
		both("range: [0, 1]", "range: [0, 2.5]", "b:15: metric cost: range changed from [0, 1] to [0, 2.5]", "b:15: metric cost: range changed from [0, 2.5] to [0, 1]"),
		{", range: [0, 1]", "", nil, []string{"b:15: metric cost: range changed from none to [0, 1]"}}, // a mean without a range has no upper limit
		both("{type: mean, id: cost, source: cost_usd, range: [0, 1]}", "{type: quantile, id: cost, source: cost_usd, quantile: 0.5}",
			"b:15: metric cost: type changed from mean to quantile", "b:15: metric cost: type changed from quantile to mean"),
		both("range: [0, 1]", "range: [0, 1], prices: {input_per_mtok: 0.15, output_per_mtok: 0.6}", "b:15: metric cost: prices changed from none to 0.15 and 0.6", "b:15: metric cost: prices changed from 0.15 and 0.6 to none"),
		{"  - {type: error_rate}\n", "", []string{"a:16: metric error_rate removed (line of the old file)"}, nil},
		{"k: 5", "k: 6", []string{"b:11: evaluator m: k raised from 5 to 6"}, nil},
		both("relevance_unit: chunk", "relevance_unit: doc", `b:12: evaluator cr: relevance_unit changed from "chunk" to "doc"`, `b:12: evaluator cr: relevance_unit changed from "doc" to "chunk"`),
		{"casefold: false", "on_execution_error: fail", []string{`b:5: evaluator any: on_execution_error changed from "missing" to "fail": a case without an answer no longer counts as missing`},
			[]string{`b:5: evaluator any: on_execution_error changed from "fail" to "missing": a case without an answer no longer counts as failed`}},
	}
}

func TestRelaxationsOfAnswers(t *testing.T) {
	for _, e := range answerEdits() {
		if strings.Count(relaxedAnswers, e.from) != 1 {
			t.Errorf("%q stands %d times in the suite", e.from, strings.Count(relaxedAnswers, e.from))
			continue
		}
		edited := strings.Replace(relaxedAnswers, e.from, e.to, 1)
		if d := cmp.Diff(e.there, diff(parseAt(t, "a", relaxedAnswers), parseAt(t, "b", edited))); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", e.from, e.to, d)
		}
		if d := cmp.Diff(e.back, diff(parseAt(t, "a", edited), parseAt(t, "b", relaxedAnswers))); d != "" {
			t.Errorf("%q back to %q (-want +got):\n%s", e.to, e.from, d)
		}
	}
}

// Each new option is read back from what a run stores, and an evaluator with
// none of them keeps the content id it had before there were any.
func TestOptionsOfAnswersAreReadBack(t *testing.T) {
	s := parseAt(t, "a", relaxedAnswers)
	for i := range s.Evaluators {
		e := &s.Evaluators[i]
		again, err := ReadEvaluator("run.json", e.Options())
		if err != nil || string(again.Options()) != string(e.Options()) || again.Criterion != e.Criterion {
			t.Errorf("%s: %v\n%s\n%s", e.Criterion, err, e.Options(), again.Options())
		}
	}
	old := Evaluator{Type: "contains", Criterion: "c"}
	want := `{"criterion":"c","expected_field":null,"field":null,"on_execution_error":"missing","type":"contains"}`
	if got := string(old.Options()); got != want {
		t.Errorf("options without the new ones: %s", got)
	}
	for i, want := range []string{"p", "m"} {
		if s.Evaluators[5+i].Criterion != want {
			t.Errorf("criterion %s", s.Evaluators[5+i].Criterion)
		}
	}
	named := parseAt(t, "a", strings.NewReplacer(" criterion: p,", "", " criterion: m,", "", " criterion: cr,", "", ", criterion: cp", "").Replace(relaxedAnswers))
	for i, want := range []string{"precision_at_4", "map_at_5", "context_recall", "context_precision"} {
		if got := named.Evaluators[5+i].Criterion; got != want {
			t.Errorf("criterion %s, want %s", got, want)
		}
	}
}
