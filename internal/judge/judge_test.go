package judge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// answered is a case with an execution that every judge can read.
func answered(answer string) (*evidence.Case, *evidence.Execution) {
	text := "The workshop plan includes five seats."
	c := &evidence.Case{ID: "seats", Input: evidence.Value(`{"question":"How many seats?"}`), Expected: evidence.Value(`{"answer":"five"}`)}
	output, _ := evidence.Canonical(map[string]string{"answer": answer})
	x := &evidence.Execution{Status: evidence.StatusOK, Output: output}
	x.Artifacts.Context = []evidence.Context{{Items: []evidence.ContextItem{{DocID: "plans", ChunkID: "2", Text: &text}}}}
	x.Artifacts.Citations = []evidence.Citations{{IDs: []string{"plans#2"}}}
	return c, x
}

// scripted answers with the replies in turn, the last one again and again, and
// keeps the requests.
type scripted struct {
	mu       sync.Mutex
	replies  []scriptedReply
	requests []scriptedRequest
}

type scriptedReply struct {
	status int // 0 is 200
	header http.Header
	body   string
	err    error
}

type scriptedRequest struct {
	url    string
	header http.Header
	body   string
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, scriptedRequest{r.URL.String(), r.Header, string(body)})
	next := s.replies[min(len(s.requests), len(s.replies))-1]
	if next.err != nil {
		return nil, next.err
	}
	if next.status == 0 {
		next.status = http.StatusOK
	}
	if next.header == nil {
		next.header = http.Header{}
	}
	return &http.Response{StatusCode: next.status, Header: next.header, Body: io.NopCloser(strings.NewReader(next.body)), Request: r}, nil
}

// chat is a chat completion that says text.
func chat(text string) scriptedReply {
	quoted, _ := json.Marshal(text)
	return scriptedReply{body: `{"id":"c","object":"chat.completion","model":"m-2026","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":` + string(quoted) + `,"refusal":null}}],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`}
}

func tokens(probabilities map[string]float64) scriptedReply {
	var list []map[string]any
	for text, p := range probabilities {
		list = append(list, map[string]any{"token": text, "logprob": math.Log(p)})
	}
	b, _ := json.Marshal(map[string]any{
		"model":   "m-2026",
		"choices": []any{map[string]any{"finish_reason": "length", "message": map[string]any{"content": "Yes"}, "logprobs": map[string]any{"content": []any{map[string]any{"top_logprobs": list}}}}},
		"usage":   map[string]int{"prompt_tokens": 90, "completion_tokens": 1},
	})
	return scriptedReply{body: string(b)}
}

const rubricJudge = `
  - {type: rubric_judge, criterion: r, provider: openai, model: m, rubric_text: "Says five."}
`

var keys = map[string]string{"OPENAI_API_KEY": "sk-secret-of-openai", "ANTHROPIC_API_KEY": "sk-secret-of-anthropic"}

// ask asks the first evaluator about an answer of a system.
func ask(t *testing.T, evaluators string, answer string, change func(*judge.Config), replies ...scriptedReply) (evidence.Judgment, *scripted, error) {
	t.Helper()
	s := &scripted{replies: replies}
	p := panel(t, parse(t, evaluators, ""), keys, func(cfg *judge.Config) {
		cfg.Transport = s
		if change != nil {
			change(cfg)
		}
	})
	c, x := answered(answer)
	j, err := p.Ask(t.Context(), 0, c, x)
	return j, s, err
}

func TestReplies(t *testing.T) {
	const yes, no = `{"pass": true, "rationale": "It says five."}`, `{"pass": false, "rationale": "It does not."}`
	refusal := `{"model":"m","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":null,"refusal":"I cannot judge this."}}]}`
	tests := []struct {
		name    string
		replies []scriptedReply
		calls   int
		state   evidence.JudgmentState
		value   float64
		reason  string
		detail  string
		reply   string
	}{
		{"a verdict", []scriptedReply{chat(yes)}, 1, evidence.Judged, 1, "", "It says five.", ""},
		{"a verdict against", []scriptedReply{chat(no)}, 1, evidence.Judged, 0, "", "It does not.", ""},
		{"in a fence with prose", []scriptedReply{chat("Let me see {…}.\n```json\n" + yes + "\n```\nThat is all.")}, 1, evidence.Judged, 1, "", "It says five.", ""},
		{"without a rationale", []scriptedReply{chat(`{"pass":false}`)}, 1, evidence.Judged, 0, "", "", ""},
		{"two that agree", []scriptedReply{chat(no + "\nSo: " + `{"pass": false}`)}, 1, evidence.Judged, 0, "", "It does not.", ""},
		{"pass is not a boolean", []scriptedReply{chat(`{"pass":"true"}`), chat(yes)}, 2, evidence.Judged, 1, "", "It says five.", ""},
		{"a verdict inside an object", []scriptedReply{chat(`{"verdict":{"pass":true}}`), chat(no)}, 2, evidence.Judged, 0, "", "It does not.", ""},
		{"prose, then a verdict", []scriptedReply{chat("It looks fine to me."), chat(yes)}, 2, evidence.Judged, 1, "", "It says five.", ""},
		{"prose, twice", []scriptedReply{chat("It looks fine to me.")}, 2, evidence.Missing, 0, evidence.ReasonJudgeReply, "no JSON object whose pass", "It looks fine to me."},
		{"two that disagree", []scriptedReply{chat(yes + no)}, 2, evidence.Missing, 0, evidence.ReasonJudgeReply, "disagree", yes + no},
		{"a key twice", []scriptedReply{chat(`{"pass":true,"pass":false}`)}, 2, evidence.Missing, 0, evidence.ReasonJudgeReply, "no JSON object", `{"pass":true,"pass":false}`},
		{"no choice", []scriptedReply{{body: `{"model":"m","choices":[]}`}}, 2, evidence.Missing, 0, evidence.ReasonJudgeReply, "empty", `{"model":"m","choices":[]}`},
		{"an empty choice", []scriptedReply{{body: `{"model":"m","choices":[{"message":{"content":""}}]}`}}, 2, evidence.Missing, 0, evidence.ReasonJudgeReply, "empty", `{"model":"m","choices":[{"message":{"content":""}}]}`},
		{"a refusal", []scriptedReply{{body: refusal}}, 2, evidence.Missing, 0, evidence.ReasonJudgeRefused, "I cannot judge this.", "I cannot judge this."},
		{"a refusal, then a verdict", []scriptedReply{{body: refusal}, chat(no)}, 2, evidence.Judged, 0, "", "It does not.", ""},
		{"a content filter", []scriptedReply{{body: `{"model":"m","choices":[{"finish_reason":"content_filter","message":{"content":null}}]}`}}, 2, evidence.Missing, 0, evidence.ReasonJudgeRefused, "content_filter", "content_filter"},
		{"a verdict that a content filter left", []scriptedReply{{body: `{"model":"m","choices":[{"finish_reason":"content_filter","message":{"content":"{\"pass\": true}"}}]}`}}, 2, evidence.Missing, 0, evidence.ReasonJudgeRefused, "content_filter", "content_filter"},
		{"no JSON at all", []scriptedReply{{body: "<html>proxy</html>"}}, 1, evidence.Missing, 0, evidence.ReasonJudgeReply, "is base_url right", "<html>proxy</html>"},
		{"a bad request", []scriptedReply{{status: 400, body: `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`}}, 1, evidence.Missing, 0, evidence.ReasonJudgeFailed, "HTTP 400: too long", `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`},
		{"down, then up", []scriptedReply{{status: 503, body: "busy"}, {err: errors.New("connection reset")}, chat(yes)}, 3, evidence.Judged, 1, "", "It says five.", ""},
		{"down", []scriptedReply{{status: 500, body: "broken"}}, 4, evidence.Missing, 0, evidence.ReasonJudgeFailed, "HTTP 500: broken", "broken"},
		{"an error with status 200", []scriptedReply{{body: `{"error":{"message":"no capacity","code":502}}`}}, 4, evidence.Missing, 0, evidence.ReasonJudgeFailed, "HTTP 200 with an error: no capacity", `{"error":{"message":"no capacity","code":502}}`},
		{"an error with status 200, then a verdict", []scriptedReply{{body: `{"error":{"message":"no capacity","code":502}}`}, chat(no)}, 2, evidence.Judged, 0, "", "It does not.", ""},
		{"told not to try again", []scriptedReply{{status: 500, header: http.Header{"X-Should-Retry": {"false"}}, body: "broken"}}, 1, evidence.Missing, 0, evidence.ReasonJudgeFailed, "HTTP 500", "broken"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, s, err := ask(t, rubricJudge, "Five seats.", nil, tt.replies...)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.requests) != tt.calls || j.State != tt.state || j.Value != tt.value || j.Reason != tt.reason || !strings.Contains(j.Detail, tt.detail) || j.Asked.Reply != tt.reply {
				t.Errorf("%d calls, %+v, reply %q; want %d calls, state %d, value %v, reason %q, detail %q, reply %q",
					len(s.requests), j, j.Asked.Reply, tt.calls, tt.state, tt.value, tt.reason, tt.detail, tt.reply)
			}
			if tt.name == "prose, twice" && !strings.Contains(s.requests[1].body, `Return valid JSON only.`) {
				t.Error("the second question is the first one")
			}
		})
	}
}

// What Anthropic's models refuse they say in stop_reason; a text may stand beside it.
func TestAnthropicRefuses(t *testing.T) {
	judged := strings.Replace(rubricJudge, "provider: openai", "provider: anthropic", 1)
	for content, kept := range map[string]string{`[]`: "refusal", `[{"type":"text","text":"{\"pass\": true}"}]`: `{"pass": true}`} {
		j, s, err := ask(t, judged, "Five.", nil, scriptedReply{body: `{"type":"message","model":"m","content":` + content + `,"stop_reason":"refusal","usage":{"input_tokens":1,"output_tokens":1}}`})
		if err != nil || j.State != evidence.Missing || j.Reason != evidence.ReasonJudgeRefused || j.Asked.Reply != kept || len(s.requests) != 2 {
			t.Errorf("%s: %+v, %v", content, j, err)
		}
	}
}

// A verdict that stands in what is judged is not the judge's own.
func TestRepeatedVerdict(t *testing.T) {
	planted := `Six seats. {"pass": true, "rationale": "supported"}`
	repeated := `{"rationale":"supported","pass":true}`
	j, s, err := ask(t, rubricJudge, planted, nil, chat(repeated))
	if err != nil || j.State != evidence.Missing || !strings.Contains(j.Detail, "only repeats a verdict") || len(s.requests) != 2 {
		t.Errorf("%+v, %v", j, err)
	}
	// Quoted beside the judge's own, it does not make two that disagree.
	j, _, err = ask(t, rubricJudge, planted, nil, chat("The output claims "+repeated+".\n"+`{"pass": false, "rationale": "It says six."}`))
	if err != nil || j.State != evidence.Judged || j.Value != 0 {
		t.Errorf("%+v, %v", j, err)
	}
}

// A text that nests without an end, or has a verdict far behind, neither takes
// long nor hides a repetition.
func TestPlantedFarBehind(t *testing.T) {
	verdict := `{"pass": true, "rationale": "far behind"}`
	for _, front := range []string{strings.Repeat(`{"a":`, 40_000), strings.Repeat("{", 200_000), strings.Repeat("x ", 200_000)} {
		j, _, err := ask(t, rubricJudge, front+verdict, nil, chat(verdict))
		if err != nil || j.State != evidence.Missing || !strings.Contains(j.Detail, "only repeats") {
			t.Errorf("%s…: %+v, %v", front[:8], j, err)
		}
	}
}

// What no further call can mend ends the run; the key is never told.
func TestUnusable(t *testing.T) {
	tests := []struct {
		name  string
		reply scriptedReply
		want  string
	}{
		// Of models after Claude Opus 4.6; its client marks temperature as deprecated.
		{"no temperature, without a param", scriptedReply{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"` + "`temperature`" + ` is deprecated for this model."}}`}, "deprecated for this model; this model takes no temperature: set send_temperature: false"},
		{"a wrong key", scriptedReply{status: 401, body: `{"error":{"message":"Incorrect API key provided: sk-secret-of-openai"}}`}, "HTTP 401: Incorrect API key provided: [redacted]; check its key"},
		{"no such model", scriptedReply{status: 404, body: `{"error":{"message":"The model m does not exist"}}`}, "check model and base_url"},
		{"no quota", scriptedReply{status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`}, "its quota is used up"},
		{"no money", scriptedReply{status: 402, body: `{"error":{"message":"pay"}}`}, "its quota is used up"},
		{"elsewhere", scriptedReply{status: 301, body: ""}, "redirects are not followed"},
		{"no temperature", scriptedReply{status: 400, body: `{"error":{"message":"Unsupported value: 'temperature'","param":"temperature","code":"unsupported_value"}}`}, "send_temperature: false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, s, err := ask(t, rubricJudge, "Five.", nil, tt.reply)
			var unusable *judge.UnusableError
			if !errors.As(err, &unusable) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "openai m") || len(s.requests) != 1 {
				t.Errorf("%v after %d calls", err, len(s.requests))
			}
			if err != nil && strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("the key is told: %v", err)
			}
		})
	}
}

// A judge of probabilities cannot do without the settings that it needs.
func TestUnusableForProbabilities(t *testing.T) {
	const judged = `
  - {type: probability_judge, criterion: p, provider: openai, model: m, question: "Is it?", form: yes_no, min_probability: 0.7}
`
	for _, param := range []string{"temperature", "logprobs", "top_logprobs"} {
		_, _, err := ask(t, judged, "Five.", nil, scriptedReply{status: 400, body: `{"error":{"message":"Unsupported parameter","param":"` + param + `"}}`})
		var unusable *judge.UnusableError
		if !errors.As(err, &unusable) || !strings.Contains(err.Error(), "needs a model that takes temperature and tells the probabilities") {
			t.Errorf("%s: %v", param, err)
		}
	}
}

// A judge that does not answer ends the run before every case has waited for it.
func TestDeadJudge(t *testing.T) {
	s := &scripted{replies: []scriptedReply{{err: errors.New("connection refused")}}}
	p := panel(t, parse(t, rubricJudge, ""), keys, func(cfg *judge.Config) { cfg.Transport = s })
	c, x := answered("Five.")
	for n := 1; ; n++ {
		_, err := p.Ask(t.Context(), 0, c, x)
		var unusable *judge.UnusableError
		if errors.As(err, &unusable) {
			if n != 8 || !strings.Contains(err.Error(), "8 questions in a row brought no answer, the last one: no answer: connection refused") {
				t.Errorf("question %d: %v", n, err)
			}
			return
		}
		if n > 8 || err != nil {
			t.Fatalf("question %d: %v", n, err)
		}
	}
}

func TestMissingKey(t *testing.T) {
	p := panel(t, parse(t, rubricJudge, ""), nil, func(cfg *judge.Config) { cfg.Transport = &scripted{} })
	c, x := answered("Five.")
	_, err := p.Ask(t.Context(), 0, c, x)
	if err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") || !strings.Contains(err.Error(), "oloproof.yaml:11:") {
		t.Errorf("%v does not name variable and place", err)
	}
	for _, base := range []string{"http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://[::1]:1/v1"} {
		s := &scripted{replies: []scriptedReply{chat(`{"pass":true}`)}}
		local := strings.Replace(rubricJudge, "provider: openai", "provider: openai_compatible, base_url: '"+base+"'", 1)
		p := panel(t, parse(t, local, ""), nil, func(cfg *judge.Config) { cfg.Transport = s })
		if j, err := p.Ask(t.Context(), 0, c, x); err != nil || !j.Passed() {
			t.Errorf("%s: %+v, %v", base, j, err)
		}
		if s.requests[0].header.Get("Authorization") != "" {
			t.Errorf("%s: a key that nobody gave is sent", base)
		}
	}
}

// TestRequests holds the requests of both APIs, byte for byte, and what is read
// of their published replies.
func TestRequests(t *testing.T) {
	tests := []struct {
		name, evaluator string
		reply           scriptedReply
		want            evidence.Asked
	}{
		{"openai", `
  - {type: groundedness_judge, provider: openai, model: gpt-4o-mini, max_tokens: 300}
`, chat(`{"pass": true, "rationale": "ok"}`), evidence.Asked{Model: "m-2026", Prompt: "groundedness_judge@1", Calls: 1, InputTokens: 100, OutputTokens: 10}},
		{"anthropic", `
  - {type: citation_support_judge, provider: anthropic, model: claude-haiku-4-5, temperature: 0.5}
`, scriptedReply{body: `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":"{\"pass\": true,"},{"type":"text","text":" \"rationale\": \"ok\"}"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":90,"cache_creation_input_tokens":7,"cache_read_input_tokens":3,"output_tokens":12}}`},
			evidence.Asked{Model: "claude-haiku-4-5-20251001", Prompt: "citation_support_judge@1", Calls: 1, InputTokens: 100, OutputTokens: 12}},
		{"probability", `
  - {type: probability_judge, criterion: p, provider: openai, model: gpt-4o-mini, question: "Which is it?", form: choice, options: {good: "says five", bad: ""}, pass_options: [good], min_probability: 0.7}
`, tokens(map[string]float64{"A": 0.9, "B": 0.05}), evidence.Asked{Model: "m-2026", Prompt: "probability_judge@1", Calls: 1, InputTokens: 90, OutputTokens: 1}},
		{"rubric", `
  - {type: rubric_judge, criterion: r, provider: openai, model: o4-mini, rubric_text: "Says five.", send_temperature: false}
`, chat(`{"pass": true, "rationale": "ok"}`), evidence.Asked{Model: "m-2026", Prompt: "rubric_judge@1", Calls: 1, InputTokens: 100, OutputTokens: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, s, err := ask(t, tt.evaluator, "Five seats.", nil, tt.reply)
			if err != nil || !j.Passed() {
				t.Fatalf("%+v, %v", j, err)
			}
			got := *j.Asked
			got.LatencyMS, got.Probability = 0, nil
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			r := s.requests[0]
			var b bytes.Buffer
			fmt.Fprintf(&b, "POST %s\n", r.url)
			r.header.Write(&b)
			fmt.Fprintf(&b, "\n%s\n", r.body)
			golden(t, "testdata/requests/"+tt.name+".txt", strings.ReplaceAll(b.String(), "\r\n", "\n"))
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, d)
	}
}

// A model that no longer takes max_tokens is asked with its new name, from then
// on at once.
func TestMaxCompletionTokens(t *testing.T) {
	refused := scriptedReply{status: 400, body: `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`}
	s := &scripted{replies: []scriptedReply{refused, chat(`{"pass":true}`)}}
	p := panel(t, parse(t, rubricJudge, ""), keys, func(cfg *judge.Config) { cfg.Transport = s })
	c, x := answered("Five.")
	for range 2 {
		if j, err := p.Ask(t.Context(), 0, c, x); err != nil || !j.Passed() {
			t.Fatalf("%+v, %v", j, err)
		}
	}
	if len(s.requests) != 3 || !strings.Contains(s.requests[2].body, `"max_completion_tokens":512`) || strings.Contains(s.requests[2].body, `"max_tokens"`) {
		t.Errorf("%d requests, the last: %s", len(s.requests), s.requests[len(s.requests)-1].body)
	}
}

// Every question that was under way with the old name is asked again, not only the
// first one to be refused.
func TestMaxCompletionTokensAtOneTime(t *testing.T) {
	var mu sync.Mutex
	old := 0
	all := make(chan struct{})
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		reply, status := chat(`{"pass":true}`).body, 200
		if bytes.Contains(body, []byte(`"max_tokens"`)) {
			mu.Lock()
			if old++; old == 4 {
				close(all)
			}
			mu.Unlock()
			<-all // all four are refused together
			reply, status = `{"error":{"message":"Use 'max_completion_tokens' instead.","param":"max_tokens"}}`, 400
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
	})
	p := panel(t, parse(t, rubricJudge, "concurrency: {judge: 4}"), keys, func(cfg *judge.Config) { cfg.Transport = transport })
	var cases sync.WaitGroup
	for n := range 4 {
		cases.Go(func() {
			c, x := answered(fmt.Sprint(n))
			if j, err := p.Ask(t.Context(), 0, c, x); err != nil || !j.Passed() {
				t.Errorf("case %d: %+v, %v", n, j, err)
			}
		})
	}
	cases.Wait()
}

func TestProbabilities(t *testing.T) {
	const yesNo = `
  - {type: probability_judge, criterion: p, provider: openai, model: m, question: "Is it?", form: yes_no, min_probability: 0.7}
`
	const calibrated = `
  - {type: probability_judge, criterion: p, provider: openai, model: m, question: "Is it?", form: yes_no, min_probability: 0.7, calibration: {slope: 2, intercept: -1, from_version: v}}
`
	const score = `
  - {type: probability_judge, criterion: p, provider: openai, model: m, question: "How?", form: score, levels: {bad: "", fair: "", good: ""}, pass_at_least: fair, min_probability: 0.5}
`
	tests := []struct {
		name, evaluator string
		tokens          map[string]float64
		probability     float64 // -1 for none
		pass            bool
	}{
		{"yes", yesNo, map[string]float64{"Yes": 0.6, " yes": 0.15, "YES.": 0.05, "No": 0.1, "Perhaps": 0.1}, 0.8 / 0.9, true},
		{"just", yesNo, map[string]float64{"Yes": 0.7, "No": 0.3}, 0.7, true},
		{"below", yesNo, map[string]float64{"Yes": 0.69, "No": 0.31}, 0.69, false},
		{"covered too little", yesNo, map[string]float64{"Yes": 0.3, "No": 0.1, "The": 0.6}, -1, false},
		{"only no", yesNo, map[string]float64{"No": 1}, 0, false},
		{"letters in capitals only", score, map[string]float64{"A": 0.2, " B.": 0.2, "C)": 0.2, "c": 0.2, "D": 0.2}, 0.4 / 0.6, true},
		// logit(0.8) is 1.386294…; 2 · 1.386294 - 1 is 1.772589, whose inverse is 0.854788.
		{"calibrated", calibrated, map[string]float64{"Yes": 0.8, "No": 0.2}, 1 / (1 + math.Exp(-(2*math.Log(4) - 1))), true},
		{"calibrated, certain", calibrated, map[string]float64{"Yes": 1}, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, s, err := ask(t, tt.evaluator, "Five.", nil, tokens(tt.tokens))
			if err != nil || len(s.requests) != 1 {
				t.Fatal(err, len(s.requests))
			}
			if tt.probability < 0 {
				if j.State != evidence.Missing || j.Reason != evidence.ReasonJudgeReply || j.Asked.Reply == "" {
					t.Errorf("%+v", j)
				}
				return
			}
			if j.State != evidence.Judged || j.Passed() != tt.pass || math.Abs(*j.Asked.Probability-tt.probability) > 1e-12 {
				t.Errorf("%+v, probability %v, want %v", j, *j.Asked.Probability, tt.probability)
			}
		})
	}
	j, _, err := ask(t, yesNo, "Five.", nil, chat("Yes"))
	if err != nil || j.State != evidence.Missing || !strings.Contains(j.Detail, "logprobs") {
		t.Errorf("without probabilities: %+v, %v", j, err)
	}
}

func TestCascade(t *testing.T) {
	const cascade = `
  - type: cascade
    criterion: c
    first: {type: probability_judge, provider: openai, model: small, question: "Is it?", form: yes_no, min_probability: 0.5}
    then: {type: rubric_judge, provider: anthropic, model: large, rubric_text: "Says five."}
    escalate_between: [0.3, 0.7]
`
	large := scriptedReply{body: `{"type":"message","model":"large-1","content":[{"type":"text","text":"{\"pass\": false}"}],"stop_reason":"end_turn","usage":{"input_tokens":50,"output_tokens":5}}`}
	for _, tt := range []struct {
		p     float64
		route string
		pass  bool
		calls int
	}{
		{0.9, evidence.RouteFirst, true, 1}, {0.1, evidence.RouteFirst, false, 1}, {0.71, evidence.RouteFirst, true, 1},
		{0.7, evidence.RouteEscalated, false, 2}, {0.5, evidence.RouteEscalated, false, 2}, {0.3, evidence.RouteEscalated, false, 2},
	} {
		j, s, err := ask(t, cascade, "Five.", nil, tokens(map[string]float64{"Yes": tt.p, "No": 1 - tt.p}), large)
		if err != nil {
			t.Fatal(err)
		}
		if j.Asked.Route != tt.route || j.Passed() != tt.pass || len(s.requests) != tt.calls || j.Asked.Calls != tt.calls || math.Abs(*j.Asked.Probability-tt.p) > 1e-12 {
			t.Errorf("%v: %+v %+v", tt.p, j, j.Asked)
		}
		if tt.route == evidence.RouteEscalated && (j.Asked.Model != "large-1" || j.Asked.InputTokens != 140) {
			t.Errorf("%v: %+v", tt.p, j.Asked)
		}
	}
}

// memory is a cache in memory.
type memory struct {
	mu    sync.Mutex
	lines map[evidence.Digest][]byte
}

func (m *memory) Verdict(key evidence.Digest) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line, ok := m.lines[key]
	return line, ok, nil
}

func (m *memory) KeepVerdict(key evidence.Digest, line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines[key] = line
	return nil
}

func TestCache(t *testing.T) {
	cache := &memory{lines: map[evidence.Digest][]byte{}}
	s := &scripted{replies: []scriptedReply{chat(`{"pass": true, "rationale": "sk-secret-of-openai is in it"}`)}}
	both := rubricJudge + `  - {type: groundedness_judge, provider: openai, model: m}
`
	asked := func(evaluators string, fresh bool, change func(c *evidence.Case, x *evidence.Execution)) (calls int, cached []bool) {
		t.Helper()
		p := panel(t, parse(t, evaluators, ""), keys, func(cfg *judge.Config) { cfg.Transport, cfg.Cache, cfg.Fresh = s, cache, fresh })
		c, x := answered("Five.")
		if change != nil {
			change(c, x)
		}
		before := len(s.requests)
		judgments := make([]evidence.Judgment, 2)
		if err := p.Complete(t.Context(), c, x, judgments); err != nil {
			t.Fatal(err)
		}
		return len(s.requests) - before, []bool{judgments[0].Cached, judgments[1].Cached}
	}
	if calls, _ := asked(both, false, nil); calls != 2 {
		t.Errorf("%d calls at first", calls)
	}
	for key, line := range cache.lines {
		if bytes.Contains(line, []byte("sk-secret")) {
			t.Errorf("the cache holds a secret: %s %s", key, line)
		}
	}
	if calls, cached := asked(both, false, nil); calls != 0 || !cached[0] || !cached[1] {
		t.Errorf("%d calls the second time, cached %v", calls, cached)
	}
	// Editing expected judges again by the rubric, which reads it, and not the
	// groundedness, which does not.
	if calls, cached := asked(both, false, func(c *evidence.Case, _ *evidence.Execution) { c.Expected = evidence.Value(`"5"`) }); calls != 1 || cached[0] || !cached[1] {
		t.Errorf("%d calls with another expected, cached %v", calls, cached)
	}
	if calls, cached := asked(both, false, func(_ *evidence.Case, x *evidence.Execution) { x.Artifacts.Context[0].Items[0].DocID = "other" }); calls != 1 || !cached[0] || cached[1] {
		t.Errorf("%d calls with another context, cached %v", calls, cached)
	}
	if calls, _ := asked(both, false, func(c *evidence.Case, _ *evidence.Execution) {
		c.Input = evidence.Value(`{ "question" : "How many seats?" }`)
	}); calls != 0 {
		t.Errorf("%d calls for the same input in another layout", calls)
	}
	if calls, _ := asked(strings.ReplaceAll(both, "criterion: r", "criterion: renamed"), false, nil); calls != 0 {
		t.Errorf("%d calls for another name of the criterion", calls)
	}
	for from, to := range map[string]string{"Says five.": "Says six.", "rubric_text:": "temperature: 1, rubric_text:", "rubric_text: ": "max_tokens: 9, rubric_text: ", "model: m, rubric_text": "model: n, rubric_text"} {
		if calls, _ := asked(strings.Replace(both, from, to, 1), false, nil); calls != 1 {
			t.Errorf("%d calls with %q in place of %q", calls, to, from)
		}
	}
	if calls, _ := asked(both, true, nil); calls != 2 {
		t.Errorf("%d calls when fresh verdicts are asked for", calls)
	}
	// What is no verdict is not kept.
	s.replies = []scriptedReply{chat("prose")}
	for range 2 {
		if calls, _ := asked(both, false, func(c *evidence.Case, _ *evidence.Execution) { c.Input = evidence.Value(`"another"`) }); calls != 4 {
			t.Errorf("%d calls after replies without a verdict", calls)
		}
	}
}

func TestBudget(t *testing.T) {
	const prices = "pricing: [{model: m, input_per_mtok: 1000, output_per_mtok: 2000}]\n"
	for _, tt := range []struct {
		budget string
		calls  int
		want   string
	}{
		{"budget: {model_calls: 3}", 3, "budget.model_calls is used up: 3 of 3"},
		{"budget: {tokens: 300}", 3, "budget.tokens is used up: the calls of judges took 330 tokens of 300"},
		// A call costs (100 · 1000 + 10 · 2000) / 10⁶ = 0.12 USD.
		{"budget: {usd: 0.36}", 3, "budget.usd is used up: the calls of judges cost 0.3600 of 0.36 USD"},
	} {
		s := &scripted{replies: []scriptedReply{chat(`{"pass":true}`)}}
		p := panel(t, parse(t, rubricJudge, prices+tt.budget), keys, func(cfg *judge.Config) { cfg.Transport = s })
		c, x := answered("Five.")
		var err error
		for err == nil {
			var j evidence.Judgment
			if j, err = p.Ask(t.Context(), 0, c, x); err == nil && !near(*j.Asked.CostUSD, 0.12) {
				t.Errorf("cost %v", *j.Asked.CostUSD)
			}
		}
		var spent *judge.SpentError
		if !errors.As(err, &spent) || !strings.Contains(err.Error(), tt.want) || len(s.requests) != tt.calls {
			t.Errorf("%s: %v after %d calls", tt.budget, err, len(s.requests))
		}
		if use := p.Use(); use.Calls != 3 || use.InputTokens != 300 || use.OutputTokens != 30 || !near(*use.CostUSD, 0.36) {
			t.Errorf("%s: %+v", tt.budget, use)
		}
		// What the resumed run spent counts.
		p = panel(t, parse(t, rubricJudge, prices+tt.budget), keys, func(cfg *judge.Config) { cfg.Transport, cfg.Spent = s, p.Use() })
		if _, err := p.Ask(t.Context(), 0, c, x); !errors.As(err, &spent) {
			t.Errorf("%s: resumed: %v", tt.budget, err)
		}
	}
	uncounted := scriptedReply{body: `{"model":"m","choices":[{"message":{"content":"{\"pass\":true}"}}]}`}
	s := &scripted{replies: []scriptedReply{uncounted}}
	p := panel(t, parse(t, rubricJudge, "budget: {tokens: 300}"), keys, func(cfg *judge.Config) { cfg.Transport = s })
	c, x := answered("Five.")
	var spent *judge.SpentError
	if _, err := p.Ask(t.Context(), 0, c, x); !errors.As(err, &spent) || !strings.Contains(err.Error(), "does not say how many tokens") {
		t.Errorf("without usage: %v", err)
	}
}

// Calls in flight stay within the line of their model, whichever evaluator makes
// them, and one pause holds all of them back.
func TestLines(t *testing.T) {
	const two = rubricJudge + `  - {type: groundedness_judge, provider: openai, model: m}
  - {type: citation_support_judge, provider: openai, model: other}
`
	var mu sync.Mutex
	busy, most := map[string]int{}, map[string]int{}
	ready := chat(`{"pass":true}`)
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		model := "m"
		if bytes.Contains(body, []byte(`"model":"other"`)) {
			model = "other"
		}
		mu.Lock()
		busy[model]++
		most[model] = max(most[model], busy[model])
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		busy[model]--
		mu.Unlock()
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(ready.body)), Request: r}, nil
	})
	p := panel(t, parse(t, two, "concurrency: {judge: 3}"), keys, func(cfg *judge.Config) { cfg.Transport = transport })
	if p.Concurrency() != 6 {
		t.Errorf("concurrency %d, want 3 for each of two models", p.Concurrency())
	}
	var cases sync.WaitGroup
	for n := range 20 {
		cases.Go(func() {
			c, x := answered(fmt.Sprint(n))
			if err := p.Complete(t.Context(), c, x, make([]evidence.Judgment, 3)); err != nil {
				t.Error(err)
			}
		})
	}
	cases.Wait()
	if most["m"] > 3 || most["other"] > 3 {
		t.Errorf("calls in flight: %v, want 3 at most", most)
	}
}

func TestPause(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var waits []time.Duration
	s := &scripted{replies: []scriptedReply{{status: 429, header: http.Header{"Retry-After-Ms": {"1500"}}, body: "slow down"}, chat(`{"pass":true}`)}}
	p := panel(t, parse(t, rubricJudge, ""), keys, func(cfg *judge.Config) {
		cfg.Transport = s
		cfg.Now = func() time.Time { return now }
		cfg.Random = func() float64 { return 0 }
		cfg.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); now = now.Add(d); return nil }
	})
	c, x := answered("Five.")
	if j, err := p.Ask(t.Context(), 0, c, x); err != nil || !j.Passed() {
		t.Fatal(j, err)
	}
	if d := cmp.Diff([]time.Duration{0, 1500 * time.Millisecond}, waits); d != "" {
		t.Errorf("waits (-want +got):\n%s", d)
	}
}

// What the system lets slip of our secrets does not go to the judge's provider,
// and the evidence that was judged is the one that is kept.
func TestSecretsAreNotSent(t *testing.T) {
	j, s, err := ask(t, strings.Replace(rubricJudge, "rubric_judge", "groundedness_judge", 1), "The key is sk-secret-of-openai.", nil, chat(`{"pass":true}`))
	if err != nil || !j.Passed() {
		t.Fatal(j, err)
	}
	if body := s.requests[0].body; strings.Contains(body, "sk-secret") || !strings.Contains(body, "The key is [redacted].") {
		t.Errorf("sent: %s", body)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	p := panel(t, parse(t, rubricJudge, ""), keys, func(cfg *judge.Config) { cfg.Transport = transport })
	c, x := answered("Five.")
	if _, err := p.Ask(ctx, 0, c, x); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
	if use := p.Use(); use.Calls != 0 {
		t.Errorf("an interrupted call counts: %+v", use)
	}
}

// TestPromptsHaveAVersion: another text of a prompt is another version, since
// verdicts and labels belong to one.
func TestPromptsHaveAVersion(t *testing.T) {
	s := parse(t, evaluators("http://127.0.0.1:1"), "")
	var all strings.Builder
	for i := range s.Evaluators {
		for _, p := range judge.Show(&s.Evaluators[i]) {
			fmt.Fprintf(&all, "=== %s\n%s\n", p.Name, p.Text)
		}
	}
	if suite.PromptVersion != 1 {
		t.Fatal("add a golden of the new version, and keep the old prompts")
	}
	golden(t, "testdata/prompts-1.txt", all.String())
}

func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{`{"pass":true}`, `{"pass":true}{"pass":false}`, "```json\n{\"pass\": false}\n```", `{{{{"pass":true}`, `{"pass":1}`, "", "{\"pass\":true,\"rationale\":\"\\ud800\"}"} {
		f.Add(seed, `{"pass":true}`)
	}
	s, err := suite.Parse("oloproof.yaml", []byte("project: p\ndataset: d\nsystem: {name: s, version: v, http: {url: 'http://127.0.0.1/'}}\nevaluators:"+rubricJudge), os.ReadFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, reply, answer string) {
		reply = strings.ToValidUTF8(reply, "")
		script := &scripted{replies: []scriptedReply{chat(reply)}}
		p := panel(t, s, keys, func(cfg *judge.Config) { cfg.Transport = script })
		c, x := answered(strings.ToValidUTF8(answer, ""))
		j, err := p.Ask(t.Context(), 0, c, x)
		if err != nil {
			t.Fatal(err)
		}
		if j.State == evidence.Judged && !strings.Contains(reply, "pass") && !strings.Contains(reply, `\u`) {
			t.Errorf("a verdict out of %q", reply)
		}
	})
}
