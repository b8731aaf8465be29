package suite

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// withEvaluators is a suite with these evaluators, the first of which begins on
// line 5.
func withEvaluators(evaluators, more string) string {
	return "project: p\ndataset: d.jsonl\nsystem: {name: s, version: v, http: {url: 'http://h/', artifacts: {context/v1: c, citations/v1: i}}}\nevaluators:\n" +
		evaluators + "\n" + more
}

func judgeFiles(path string) ([]byte, error) {
	switch path {
	case "rubric.txt":
		return []byte("\ufeffIs polite.\r\nAnd short."), nil
	case "empty.txt":
		return []byte(" \n"), nil
	case "binary.txt":
		return []byte{0xff, 0xfe}, nil
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
}

// Everything that is wrong with a judge is told with its place.
func TestJudgeProblems(t *testing.T) {
	const ask = "provider: openai, model: m"
	const token = "type: probability_judge, criterion: c, " + ask + ", question: q, min_probability: 0.5"
	tests := []struct{ name, evaluators, more, want string }{
		{"provider", "  - {type: groundedness_judge, provider: azure, model: m}", "", "oloproof.yaml:5:42 evaluators[0].provider must be openai, openai_compatible or anthropic, found \"azure\""},
		{"no model", "  - {type: groundedness_judge, provider: openai}", "", "oloproof.yaml:5:5 evaluators[0].model is missing"},
		{"empty model", "  - {type: groundedness_judge, provider: openai, model: ''}", "", "evaluators[0].model is empty"},
		{"field", "  - {type: groundedness_judge, " + ask + ", rubrik: r}", "", "unknown key evaluators[0].rubrik"},
		{"no criterion", "  - {type: rubric_judge, " + ask + ", rubric_text: r}", "", "evaluators[0].criterion is missing"},
		{"no rubric", "  - {type: rubric_judge, criterion: c, " + ask + "}", "", "oloproof.yaml:5:5 rubric_judge needs a rubric"},
		{"two rubrics", "  - {type: rubric_judge, criterion: c, " + ask + ", rubric_text: r, rubric_file: rubric.txt}", "", "oloproof.yaml:5:97 both rubric_text and rubric_file are given: remove one"},
		{"two rubrics of a context", "  - {type: citation_support_judge, " + ask + ", rubric_text: r, rubric_file: rubric.txt}", "", "both rubric_text and rubric_file"},
		{"blank rubric", "  - {type: rubric_judge, criterion: c, " + ask + ", rubric_text: ' '}", "", "rubric_text holds nothing but white space"},
		{"no file", "  - {type: rubric_judge, criterion: c, " + ask + ", rubric_file: none.txt}", "", "the rubric cannot be read: open none.txt"},
		{"empty file", "  - {type: rubric_judge, criterion: c, " + ask + ", rubric_file: empty.txt}", "", "the rubric empty.txt is empty"},
		{"no text", "  - {type: rubric_judge, criterion: c, " + ask + ", rubric_file: binary.txt}", "", "the rubric binary.txt is not UTF-8 text"},
		{"no base_url", "  - {type: groundedness_judge, provider: openai_compatible, model: m}", "", "openai_compatible needs base_url, such as"},
		{"base_url", "  - {type: groundedness_judge, " + ask + ", base_url: localhost/v1}", "", `base_url is "localhost/v1", which has no scheme`},
		{"base_url with a query", "  - {type: groundedness_judge, " + ask + ", base_url: 'http://h/v1?a=b'}", "", "base_url has a query"},
		{"base_url with a password", "  - {type: groundedness_judge, " + ask + ", base_url: 'http://u:p@h/v1'}", "", "base_url holds a user or a password"},
		{"key", "  - {type: groundedness_judge, " + ask + ", api_key_env: sk-123}", "", "api_key_env must be the name of an environment variable"},
		{"temperature", "  - {type: groundedness_judge, " + ask + ", temperature: 3}", "", "temperature must be a number from 0 to 2"},
		{"max_tokens", "  - {type: groundedness_judge, " + ask + ", max_tokens: 0}", "", "max_tokens must be a whole number of at least 1"},
		{"prompt", "  - {type: groundedness_judge, " + ask + ", prompt: 2}", "", "prompt must be a whole number from 1 to 1"},
		{"anthropic tokens", "  - {type: probability_judge, criterion: c, provider: anthropic, model: m, question: q, form: yes_no, min_probability: 0.5}", "", "anthropic reports no probabilities"},
		{"probability in percent", "  - {type: probability_judge, criterion: c, " + ask + ", question: q, form: yes_no, min_probability: 80}", "", "did you mean 0.80?"},
		{"options of yes_no", "  - {" + token + ", form: yes_no, options: {a: ''}}", "", "options does not belong to form yes_no: remove it"},
		{"one option", "  - {" + token + ", form: choice, options: {a: ''}, pass_options: [a]}", "", "at least two options"},
		{"no option passes", "  - {" + token + ", form: choice, options: {a: '', b: ''}}", "", "needs pass_options"},
		{"foreign option", "  - {" + token + ", form: choice, options: {a: '', b: ''}, pass_options: [c]}", "", `pass_options names "c"`},
		{"all pass", "  - {" + token + ", form: choice, options: {a: '', b: ''}, pass_options: [a, b]}", "", "every answer passes"},
		{"no level", "  - {" + token + ", form: score, levels: {a: '', b: ''}, pass_at_least: c}", "", "pass_at_least must name one of the levels"},
		{"lowest level", "  - {" + token + ", form: score, levels: {a: '', b: ''}, pass_at_least: a}", "", "every answer passes"},
		{"order", "  - {" + token + ", form: score, levels: {a: '', b: ''}, pass_at_least: b, order: [a]}", "", "order must name every option or level once"},
		{"slope", "  - {" + token + ", form: yes_no, calibration: {slope: 0, intercept: 0, from_version: v}}", "", "calibration.slope must be a number above 0"},
		{"cascade's first", "  - {type: cascade, criterion: c, first: {type: rubric_judge}, then: {type: rubric_judge, " + ask + ", rubric_text: r}, escalate_between: [0.2, 0.8]}", "", "unknown judge rubric_judge"},
		{"band", "  - {type: cascade, criterion: c, first: {" + token + ", form: yes_no}, then: {type: rubric_judge, " + ask + ", rubric_text: r}, escalate_between: [0.6, 0.8]}", "", "must contain min_probability of the first judge, 0.5"},
		{"band turned round", "  - {type: cascade, criterion: c, first: {" + token + ", form: yes_no}, then: {type: rubric_judge, " + ask + ", rubric_text: r}, escalate_between: [0.8, 0.2]}", "", "the first must be below the second"},
		{"band of three", "  - {type: cascade, criterion: c, first: {" + token + ", form: yes_no}, then: {type: rubric_judge, " + ask + ", rubric_text: r}, escalate_between: [0.1, 0.2, 0.8]}", "", "escalate_between must be [low, high]"},
		{"criterion of a stage", "  - {type: cascade, criterion: other, first: {" + token + ", form: yes_no}, then: {type: rubric_judge, " + ask + ", rubric_text: r}, escalate_between: [0.2, 0.8]}", "", "the stages of a cascade judge its own criterion, other"},
		{"budget without a price", "  - {type: groundedness_judge, " + ask + "}", "budget: {usd: 1}", "the model m has no price, so budget.usd cannot be kept"},
		{"empty budget", "  - {type: groundedness_judge, " + ask + "}", "budget: {}", "budget bounds nothing"},
		{"budget of zero", "  - {type: groundedness_judge, " + ask + "}", "budget: {model_calls: 0}", "budget.model_calls must be a whole number of at least 1"},
		{"two prices", "  - {type: groundedness_judge, " + ask + "}", "pricing: [{model: m, input_per_mtok: 1, output_per_mtok: 1}, {model: m, input_per_mtok: 2, output_per_mtok: 2}]", "pricing has the model m twice"},
		{"negative price", "  - {type: groundedness_judge, " + ask + "}", "pricing: [{model: m, input_per_mtok: -1, output_per_mtok: 1}]", "input_per_mtok must be a number of at least 0"},
		{"two of a name", "  - {type: groundedness_judge, " + ask + "}\n  - {type: groundedness_judge, " + ask + "}", "", "evaluators[1] makes a metric named groundedness"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("oloproof.yaml", []byte(withEvaluators(tt.evaluators, tt.more)), judgeFiles)
			if err == nil {
				t.Fatal("no problem is found")
			}
			text := strings.NewReplacer("Configuration error: ", "", "\n", " ").Replace(err.Error())
			if strings.Contains(text, "sk-123") {
				t.Errorf("a key is shown: %s", text)
			}
			place, message, placed := strings.Cut(tt.want, " ")
			if placed = placed && strings.HasPrefix(place, "oloproof.yaml:"); !placed {
				message = tt.want
			}
			if !strings.Contains(text, message) || placed && !strings.Contains(text, "at "+place+" ") || !strings.Contains(text, "at oloproof.yaml:") {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
}

// What is read of a judge makes its identity; how it is reached does not.
func TestJudgeIdentity(t *testing.T) {
	load := func(evaluator string) *Suite {
		t.Helper()
		s, err := Parse("oloproof.yaml", []byte(withEvaluators("  - "+evaluator, "")), judgeFiles)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const plain = "{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_file: rubric.txt}"
	s := load(plain)
	if got := s.Evaluators[0].Judge.Rubric; got != "Is polite.\nAnd short." {
		t.Errorf("rubric %q", got)
	}
	id, stage := s.EvaluatorDigest(0), s.Evaluators[0].StageDigest()
	for _, same := range []string{
		"criterion: c, provider: openai", "criterion: c, api_key_env: OTHER, timeout_s: 5, provider: openai",
		"criterion: d, provider: openai",
	} {
		if s := load(strings.Replace(plain, "criterion: c, provider: openai", same, 1)); s.EvaluatorDigest(0) != id || s.Evaluators[0].StageDigest() != stage {
			t.Errorf("%s is another judge", same)
		}
	}
	seen := map[evidence.Digest]string{stage: plain}
	for _, other := range []string{
		"{type: rubric_judge, criterion: c, provider: anthropic, model: m, rubric_file: rubric.txt}",
		"{type: rubric_judge, criterion: c, provider: openai, model: n, rubric_file: rubric.txt}",
		"{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_text: r}",
		"{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_text: r, temperature: 1}",
		"{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_text: r, max_tokens: 1}",
		"{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_text: r, send_temperature: false}",
		"{type: rubric_judge, criterion: c, provider: openai, model: m, rubric_text: r, base_url: 'http://h/'}",
		"{type: groundedness_judge, provider: openai, model: m, rubric_text: r}",
		"{type: citation_support_judge, provider: openai, model: m, rubric_text: r}",
		"{type: probability_judge, criterion: c, provider: openai, model: m, question: q, form: choice, options: {a: '', b: ''}, pass_options: [a], min_probability: 0.5}",
		"{type: probability_judge, criterion: c, provider: openai, model: m, question: q, form: choice, options: {b: '', a: ''}, pass_options: [a], min_probability: 0.5}",
	} {
		s := load(other)
		id := s.Evaluators[0].StageDigest()
		if twin := seen[id]; twin != "" {
			t.Errorf("%s and %s are one judge", other, twin)
		}
		seen[id] = other
		// Another version of the prompt is another instrument.
		all := s.EvaluatorDigest(0)
		s.Evaluators[0].Judge.Prompt++
		if s.Evaluators[0].StageDigest() == id || s.EvaluatorDigest(0) == all {
			t.Errorf("%s: the version of the prompt is no part of the judge", other)
		}
	}
}

// A stored evaluator is read back as it was.
func TestJudgeOptionsReadBack(t *testing.T) {
	const all = `  - {type: rubric_judge, criterion: rub, provider: anthropic, base_url: "http://h/v1", model: m, rubric_text: "polite: é", temperature: 0.5, send_temperature: false, max_tokens: 9}
  - {type: groundedness_judge, provider: openai, model: m}
  - {type: probability_judge, criterion: opt, provider: openai, model: m, question: which, form: choice, min_probability: 0.7, options: {b: x, a: ""}, pass_options: [a], calibration: {slope: 1, intercept: 0, from_version: v}}
  - {type: probability_judge, criterion: lev, provider: openai, model: m, question: how, form: score, min_probability: 0.8, levels: {low: "", high: ""}, pass_at_least: high}
  - {type: cascade, criterion: cas, first: {type: probability_judge, provider: openai, model: c, question: so, form: yes_no, min_probability: 0.5}, then: {type: rubric_judge, provider: openai, model: c2, rubric_text: kind}, escalate_between: [0.3, 0.9]}`
	s, err := Parse("oloproof.yaml", []byte(withEvaluators(all, "")), judgeFiles)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Evaluators {
		options := s.Evaluators[i].Options()
		back, err := ReadEvaluator("run.json", options)
		if err != nil {
			t.Fatalf("%s: %v", options, err)
		}
		if d := cmp.Diff(string(options), string(back.Options())); d != "" {
			t.Errorf("read back:\n%s", d)
		}
	}
}

func TestConnections(t *testing.T) {
	const all = `  - {type: groundedness_judge, provider: openai, model: m}
  - {type: rubric_judge, criterion: a, provider: anthropic, model: m, rubric_text: r}
  - {type: rubric_judge, criterion: b, provider: openai_compatible, model: m, rubric_text: r, base_url: "${BASE}/v1/", api_key_env: OWN}`
	s, err := Parse("oloproof.yaml", []byte(withEvaluators(all, "")), judgeFiles)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"OPENAI_API_KEY": " sk-one\n", "BASE": "http://127.0.0.1:1", "OWN": ""}
	r, err := s.Resolve(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Evaluators {
		c := r.Judges[s.Evaluators[i].Judge]
		got = append(got, fmt.Sprintf("%s %q %v", c.URL, c.Key, c.NeedsKey()))
	}
	want := []string{`https://api.openai.com/v1 "sk-one" true`, `https://api.anthropic.com/v1 "" true`, `http://127.0.0.1:1/v1 "" false`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
	if !strings.Contains(strings.Join(r.Secrets, " "), "sk-one") {
		t.Errorf("the key is no secret: %q", r.Secrets)
	}
	delete(env, "BASE")
	if _, err := s.Resolve(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, ResolveOptions{}); err == nil || !strings.Contains(err.Error(), "base_url: the environment variable BASE is not set") {
		t.Errorf("%v", err)
	}
	for host, needs := range map[string]bool{"http://localhost:1": false, "http://a.localhost/": false, "http://[::1]/": false, "http://127.9.9.9": false, "http://localhost.example.com": true, "http://10.0.0.1": true, "http://127.0.0.1.example.com": true, "::": true} {
		if got := (Connection{URL: host}).NeedsKey(); got != needs {
			t.Errorf("%s needs a key: %v", host, got)
		}
	}
}
