package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// relaxed has a line for everything that can make a suite laxer.
const relaxed = `project: p
dataset: d.jsonl
suite_role: development
min_slice_support: 10
cache: false
slices: [metadata.topic, metadata.plan]
system:
  name: s
  version: v
  http:
    url: "http://x/"
    output_path: result
    artifacts:
      retrieval/v1: e.r
      context/v1: {path: e.c, optional: false}
      citations/v1: e.i
evaluators:
  - {type: contains, criterion: c, field: answer, expected_field: want, on_execution_error: missing}
  - {type: exact_match, criterion: e, strip: false, casefold: false, on_execution_error: fail}
  - {type: regex, criterion: r, pattern: a, pass_if: match}
  - {type: json_schema, criterion: j, schema: {type: object, required: [a]}}
  - {type: hit_rate, criterion: h, k: 4, relevance_unit: chunk}
  - {type: recall, criterion: rec, k: 5, relevance_unit: doc}
  - {type: mrr, criterion: m, k: 6}
  - {type: ndcg, criterion: n, k: 7}
  - {type: citation_validity, criterion: cit, require_citations: true}
  - {type: rubric_judge, criterion: rub, provider: openai, model: m, rubric_text: polite, temperature: 0, send_temperature: true, max_tokens: 9}
  - {type: probability_judge, criterion: prob, provider: openai, model: m, question: so, form: yes_no, min_probability: 0.6}
  - {type: probability_judge, criterion: opt, provider: openai, model: m, question: which, form: choice, min_probability: 0.7, options: {a: "", b: ""}, pass_options: [a], order: [a, b], calibration: {slope: 1, intercept: 0, from_version: v}}
  - {type: probability_judge, criterion: lev, provider: openai, model: m, question: how, form: score, min_probability: 0.8, levels: {l: "", h: ""}, pass_at_least: h}
  - {type: cascade, criterion: cas, first: {type: probability_judge, provider: openai, model: c, question: so, form: yes_no, min_probability: 0.5}, then: {type: rubric_judge, provider: openai, model: c2, rubric_text: kind}, escalate_between: [0.3, 0.9]}
metrics:
  - {type: quantile, id: p95, source: latency_ms, quantile: 0.95}
`

func parseAt(t *testing.T, path, text string) *Suite {
	t.Helper()
	s, err := Parse(path, []byte(text), noFile)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return s
}

func diff(old, new *Suite) []string {
	var all []string
	for _, r := range Relaxations(old, new) {
		all = append(all, fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text))
	}
	return all
}

// suiteEdit is a change of a suite's text with the relaxations of each direction.
type suiteEdit struct {
	from, to    string
	there, back []string
}

func suiteEdits() []suiteEdit {
	const another = ": another part of the response is judged"
	return []suiteEdit{
		{"suite_role: development", "suite_role: release", []string{"b:3: suite_role changed from development to release: policies that require this role decide the suite"}, nil},
		{"min_slice_support: 10", "min_slice_support: 20", []string{"b:4: min_slice_support raised from 10 to 20: fewer slices show an interval"}, nil},
		{"min_slice_support: 10\n", "version: 1\n", []string{"a:4: min_slice_support raised from 10 to 30: fewer slices show an interval (line of the old file)"}, nil},
		{"cache: false", "cache: true", []string{"b:5: cache changed from false to true: answers of earlier runs may be judged"}, nil},
		{"metadata.topic, ", "", []string{"a:6: slice metadata.topic removed (line of the old file)"}, nil},
		{"metadata.topic, metadata.plan", "metadata.plan, metadata.topic", nil, nil},
		{"output_path: result", "output_path: other", []string{"b:12: output_path changed from result to other" + another}, []string{"b:12: output_path changed from other to result" + another}},
		{"    output_path: result\n", "    method: POST\n", []string{"a:12: output_path changed from result to none" + another + " (line of the old file)"}, []string{"b:12: output_path changed from none to result" + another}},
		{"retrieval/v1: e.r", "retrieval/v1: e.x", []string{"b:14: artifact retrieval/v1: path changed from e.r to e.x" + another}, []string{"b:14: artifact retrieval/v1: path changed from e.x to e.r" + another}},
		{"optional: false", "optional: true", []string{"b:15: artifact context/v1: optional: a response without it is a missing observation and no longer ends the run"}, nil},
		{"{path: e.c, optional: false}", "e.c", nil, nil},
		{`"http://x/"`, `"http://y/"`, nil, nil},
		{"name: s", "name: t", nil, nil},
		{"dataset: d.jsonl", "dataset: e.jsonl", nil, nil},

		{"  - {type: regex, criterion: r, pattern: a, pass_if: match}\n", "", []string{"a:20: evaluator r removed (line of the old file)"}, nil},
		{"criterion: r,", "criterion: other,", []string{"b:20: criterion changed from r to other: rules on r do not see it"}, []string{"b:20: criterion changed from other to r: rules on other do not see it"}},
		{"criterion: r, pattern: a", "criterion: other, pattern: b", []string{"a:20: evaluator r removed (line of the old file)"}, []string{"a:20: evaluator other removed (line of the old file)"}},
		{"{type: mrr,", "{type: ndcg,", []string{"b:24: evaluator m: type changed from mrr to ndcg"}, []string{"b:24: evaluator m: type changed from ndcg to mrr"}},
		{", field: answer", ", field: result.0", []string{`b:18: evaluator c: field changed from "answer" to "result.0"`}, []string{`b:18: evaluator c: field changed from "result.0" to "answer"`}},
		{", expected_field: want", "", []string{`b:18: evaluator c: expected_field changed from "want" to none`}, []string{`b:18: evaluator c: expected_field changed from none to "want"`}},
		{"on_execution_error: missing", "on_execution_error: fail", []string{`b:18: evaluator c: on_execution_error changed from "missing" to "fail": a case without an answer no longer counts as missing`},
			[]string{`b:18: evaluator c: on_execution_error changed from "fail" to "missing": a case without an answer no longer counts as failed`}},
		{"strip: false", "strip: true", []string{"b:19: evaluator e: strip changed from false to true"}, nil},
		{"casefold: false", "casefold: true", []string{"b:19: evaluator e: casefold changed from false to true"}, nil},
		{"pattern: a", "pattern: .*", []string{`b:20: evaluator r: pattern changed from "a" to ".*"`}, []string{`b:20: evaluator r: pattern changed from ".*" to "a"`}},
		{"pass_if: match", "pass_if: no_match", []string{`b:20: evaluator r: pass_if changed from "match" to "no_match"`}, []string{`b:20: evaluator r: pass_if changed from "no_match" to "match"`}},
		{"required: [a]", "required: []", []string{`b:21: evaluator j: schema changed from {"required":["a"],"type":"object"} to {"required":[],"type":"object"}`},
			[]string{`b:21: evaluator j: schema changed from {"required":[],"type":"object"} to {"required":["a"],"type":"object"}`}},
		{"{type: object, required: [a]}", "{required: [a], type: object}", nil, nil},
		{"k: 4", "k: 5", []string{"b:22: evaluator h: k raised from 4 to 5"}, nil},
		{"k: 5", "k: 8", []string{"b:23: evaluator rec: k raised from 5 to 8"}, nil},
		{"k: 6", "k: 8", []string{"b:24: evaluator m: k raised from 6 to 8"}, nil},
		{"k: 7", "k: 8", []string{"b:25: evaluator n: k raised from 7 to 8"}, []string{"b:25: evaluator n: k lowered from 8 to 7"}},
		{"relevance_unit: chunk", "relevance_unit: doc", []string{`b:22: evaluator h: relevance_unit changed from "chunk" to "doc"`}, nil},
		{"relevance_unit: doc", "relevance_unit: chunk", []string{`b:23: evaluator rec: relevance_unit changed from "doc" to "chunk"`}, []string{`b:23: evaluator rec: relevance_unit changed from "chunk" to "doc"`}},
		{"require_citations: true", "require_citations: false", []string{"b:26: evaluator cit: require_citations changed from true to false"}, nil},

		{"rubric_text: polite", "rubric_text: short", []string{`b:27: evaluator rub: rubric_text changed from "polite" to "short"`}, []string{`b:27: evaluator rub: rubric_text changed from "short" to "polite"`}},
		{"provider: openai, model: m, rubric_text: polite", "provider: openai_compatible, base_url: http://h/v1, model: m2, rubric_text: polite",
			[]string{`b:27: evaluator rub: base_url changed from none to "http://h/v1"`, `b:27: evaluator rub: model changed from "m" to "m2"`, `b:27: evaluator rub: provider changed from "openai" to "openai_compatible"`},
			[]string{`b:27: evaluator rub: base_url changed from "http://h/v1" to none`, `b:27: evaluator rub: model changed from "m2" to "m"`, `b:27: evaluator rub: provider changed from "openai_compatible" to "openai"`}},
		{"temperature: 0, send_temperature: true, max_tokens: 9", "temperature: 1, send_temperature: false, max_tokens: 8",
			[]string{"b:27: evaluator rub: max_tokens lowered from 9 to 8", "b:27: evaluator rub: send_temperature changed from true to false", "b:27: evaluator rub: temperature raised from 0 to 1"},
			[]string{"b:27: evaluator rub: max_tokens raised from 8 to 9", "b:27: evaluator rub: send_temperature changed from false to true", "b:27: evaluator rub: temperature lowered from 1 to 0"}},
		{"rubric_text: polite,", "rubric_text: polite, api_key_env: OTHER, timeout_s: 5, prompt: 1,", nil, nil},
		{"min_probability: 0.6", "min_probability: 0.7", nil, []string{"b:28: evaluator prob: min_probability lowered from 0.7 to 0.6"}},
		{"question: so, form: yes_no, min_probability: 0.6", "question: not so, form: yes_no, min_probability: 0.6", []string{`b:28: evaluator prob: question changed from "so" to "not so"`}, []string{`b:28: evaluator prob: question changed from "not so" to "so"`}},
		{"options: {a: \"\", b: \"\"}, pass_options: [a], order: [a, b], calibration: {slope: 1, ", "options: {a: x, b: \"\"}, pass_options: [b], order: [b, a], calibration: {slope: 2, ",
			[]string{`b:29: evaluator opt: calibration changed from {"from_version":"v","intercept":0,"slope":1} to {"from_version":"v","intercept":0,"slope":2}`, `b:29: evaluator opt: options changed from {"a":"","b":""} to {"a":"x","b":""}`, `b:29: evaluator opt: order changed from ["a","b"] to ["b","a"]`, `b:29: evaluator opt: pass_options changed from ["a"] to ["b"]`},
			[]string{`b:29: evaluator opt: calibration changed from {"from_version":"v","intercept":0,"slope":2} to {"from_version":"v","intercept":0,"slope":1}`, `b:29: evaluator opt: options changed from {"a":"x","b":""} to {"a":"","b":""}`, `b:29: evaluator opt: order changed from ["b","a"] to ["a","b"]`, `b:29: evaluator opt: pass_options changed from ["b"] to ["a"]`}},
		{"levels: {l: \"\", h: \"\"}", "levels: {l: \"\", h: good}", []string{`b:30: evaluator lev: levels changed from {"h":"","l":""} to {"h":"good","l":""}`}, []string{`b:30: evaluator lev: levels changed from {"h":"good","l":""} to {"h":"","l":""}`}},
		{"escalate_between: [0.3, 0.9]", "escalate_between: [0.5, 0.9]", []string{"b:31: evaluator cas: escalate_between changed from [0.3,0.9] to [0.5,0.9]"}, []string{"b:31: evaluator cas: escalate_between changed from [0.5,0.9] to [0.3,0.9]"}},

		{"metrics:\n  - {type: quantile, id: p95, source: latency_ms, quantile: 0.95}\n", "", []string{"a:33: metric p95 removed (line of the old file)"}, nil},
		{"quantile: 0.95", "quantile: 0.9", []string{"b:33: metric p95: quantile lowered from 0.95 to 0.9"}, []string{"b:33: metric p95: quantile raised from 0.9 to 0.95"}},
	}
}

// noInstrument lists options that change nothing about how is judged: a rubric's
// file shows in rubric_text, there is one version of the prompts, one form has the
// options of the others refused, and stages of a cascade are judges.
var noInstrument = []string{"api_key_env", "timeout_s", "rubric_file", "prompt", "form", "pass_at_least", "first", "then"}

func TestRelaxations(t *testing.T) {
	same := parseAt(t, "a", relaxed)
	if got := diff(same, same); got != nil {
		t.Errorf("a suite is laxer than itself: %q", got)
	}
	for _, e := range suiteEdits() {
		if strings.Count(relaxed, e.from) != 1 {
			t.Errorf("%q stands %d times in the suite", e.from, strings.Count(relaxed, e.from))
			continue
		}
		edited := strings.Replace(relaxed, e.from, e.to, 1)
		if d := cmp.Diff(e.there, diff(parseAt(t, "a", relaxed), parseAt(t, "b", edited))); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", e.from, e.to, d)
		}
		if d := cmp.Diff(e.back, diff(parseAt(t, "a", edited), parseAt(t, "b", relaxed))); d != "" {
			t.Errorf("%q back to %q (-want +got):\n%s", e.to, e.from, d)
		}
	}
}

// TestRelaxationsKnowEveryOption: an option that is added to evaluators must be
// looked at here.
func TestRelaxationsKnowEveryOption(t *testing.T) {
	tested := ""
	for _, e := range slices.Concat(suiteEdits(), answerEdits()) {
		tested += strings.Join(slices.Concat(e.there, e.back), "\n") + "\n"
	}
	for _, row := range strictyaml.Reference(Key()) {
		if option, ok := strings.CutPrefix(row.Path, "evaluators["); ok {
			_, key, _ := strings.Cut(option, "].")
			if strings.HasPrefix(row.Path, "evaluators[cascade].") { // its stages are judges themselves
				key, _, _ = strings.Cut(key, "[")
			}
			key, _, _ = strings.Cut(key, ".") // one option with all that is in it
			if slices.Contains(noInstrument, key) {
				continue
			}
			if !strings.Contains(tested, " "+key+" ") && !strings.Contains(tested, ": "+key+" ") {
				t.Errorf("no test says what a change of %s relaxes", row.Path)
			}
		}
	}
}

// TestRelaxationsOfAMapping: whatever of an answer is judged in another way is
// told, and what is sent.
func TestRelaxationsOfAMapping(t *testing.T) {
	const head = "project: p\ndataset: d.jsonl\nevaluators: [{type: contains, criterion: c}]\nsystem:\n  name: s\n  version: v\n  http:\n    url: http://x/\n"
	for _, test := range []struct{ old, new, want string }{
		{"output: a", "output: b", "system.http.output: another part of the response is judged"},
		{"output: a", "output: {path: [a]}", ""},
		{"strip: [think]", "strip: [think, {regex: x}]", "system.http.strip: another part of the response is judged"},
		{"ok: good", "", "system.http.ok: other answers count as errors"},
		{"request: {path: /a}", "request: {path: /b}", "system.http.request: the system is asked something else"},
		{"artifacts: {retrieval/v1: {jq: .a}}", "artifacts: {retrieval/v1: {jq: .b}}", "system.http.artifacts: another part of the response is judged"},
		{"error_message: a", "error_message: b", ""},
		{"usage: {cost_usd: a}", "usage: {cost_usd: b}", ""},
	} {
		got := ""
		for _, r := range Relaxations(parse(t, head+"    "+test.old+"\n"), parse(t, head+"    "+test.new+"\n")) {
			got += strings.TrimSuffix(r.Text, " (line of the old file)")
		}
		if got != test.want {
			t.Errorf("%s to %s: %q, want %q", test.old, test.new, got, test.want)
		}
	}
}
