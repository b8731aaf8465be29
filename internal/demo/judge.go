package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
)

// standIn is a judge without a model. It speaks OpenAI's chat completions and
// Anthropic's messages, reads the blocks of oloproof's prompts and compares words:
// a statement is carried by a passage that has nearly all of them. The same text
// always gets the same verdict.
type standIn struct {
	model     string        // that it says it is; "" says what it was asked for
	errorRate float64       // share of texts on which its verdict is turned round
	gullible  bool          // obeys what stands in the text under judgment
	delay     time.Duration // before it answers
	calls     atomic.Int64
}

const (
	maxPrompt = 8 << 20 // bytes of a request's body
	// enoughWords is the share of a statement's words that a passage must have to
	// carry it.
	enoughWords = 0.8
)

func judgeService(opt Options) (http.Handler, error) {
	mux := http.NewServeMux()
	newStandIn(opt).serve(mux)
	return mux, nil
}

func newStandIn(opt Options) *standIn {
	return &standIn{model: opt.Model, errorRate: opt.ErrorRate, gullible: opt.Gullible, delay: opt.Delay}
}

// serve adds the judge's paths: the two APIs, GET /calls with the number of
// calls so far, and GET /health.
func (s *standIn) serve(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]int64{"calls": s.calls.Load()})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

// asked is a request in either language, as far as it matters.
type asked struct {
	Model       string `json:"model"`
	LogProbs    bool   `json:"logprobs"`
	TopLogProbs int    `json:"top_logprobs"`
	Messages    []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

func (s *standIn) read(w http.ResponseWriter, r *http.Request) (a asked, prompt string, err error) {
	s.calls.Add(1)
	if s.delay > 0 {
		timer := time.NewTimer(s.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return a, "", r.Context().Err()
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	switch {
	case err != nil:
		return a, "", fmt.Errorf("the body is not a request: %w", err)
	case a.Model == "":
		return a, "", errors.New("the body names no model")
	case len(a.Messages) != 1 || a.Messages[0].Role != "user":
		return a, "", errors.New("want one message of the user")
	}
	if s.model != "" {
		a.Model = s.model
	}
	return a, a.Messages[0].Content, nil
}

func (s *standIn) chat(w http.ResponseWriter, r *http.Request) {
	a, prompt, err := s.read(w, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error", "param": nil, "code": nil}})
		return
	}
	text, logprobs := s.reply(prompt), any(nil)
	if a.LogProbs {
		text, logprobs = s.weigh(prompt)
	}
	in, out := words(prompt), words(text)
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-" + digest(prompt)[:24], "object": "chat.completion", "created": 1764500000, "model": a.Model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "logprobs": logprobs,
			"message": map[string]any{"role": "assistant", "content": text, "refusal": nil},
		}},
		"usage": map[string]int{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	})
}

func (s *standIn) messages(w http.ResponseWriter, r *http.Request) {
	a, prompt, err := s.read(w, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": err.Error()}})
		return
	}
	text := s.reply(prompt)
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "msg_" + digest(prompt)[:24], "type": "message", "role": "assistant", "model": a.Model,
		"content":     []any{map[string]any{"type": "text", "text": text, "citations": nil}},
		"stop_reason": "end_turn", "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": words(prompt), "output_tokens": words(text)},
	})
}

func words(text string) int { return len(strings.Fields(text)) }

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// reply is the verdict on a prompt, in JSON.
func (s *standIn) reply(prompt string) string {
	m := readMaterial(prompt)
	if s.gullible {
		if order := m.order(); order != "" {
			return order
		}
	}
	share, why := m.carried()
	pass := share >= enoughWords
	if s.errs(m) {
		pass, why = !pass, "At a glance."
	}
	verdict, err := json.Marshal(map[string]any{"pass": pass, "rationale": why})
	if err != nil {
		panic(err) // a bool and text
	}
	return string(verdict)
}

// errs reports whether the judge is wrong about this text.
func (s *standIn) errs(m material) bool {
	sum := sha256.Sum256([]byte("error of the stand-in\x00" + m.all))
	return float64(binary.BigEndian.Uint64(sum[:8]))/math.MaxUint64 < s.errorRate
}

// weigh is the answer to a yes or no question, or to one with letters, of which
// the first is yes, with its log probabilities.
func (s *standIn) weigh(prompt string) (string, any) {
	m := readMaterial(prompt)
	share, _ := m.carried()
	p := 0.03 + 0.94*share
	if s.gullible && m.order() != "" {
		p = 0.99
	}
	if s.errs(m) {
		p = 1 - p
	}
	yes, no := "Yes", "No"
	if strings.Contains(prompt, "\nA: ") {
		yes, no = "A", "B"
	}
	type token struct {
		Token   string  `json:"token"`
		LogProb float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
	}
	list := []token{{yes, math.Log(0.98 * p), nil}, {no, math.Log(0.98 * (1 - p)), nil}, {"Maybe", math.Log(0.02), nil}}
	slices.SortStableFunc(list, func(a, b token) int {
		if a.LogProb > b.LogProb {
			return -1
		}
		return 1
	})
	first := map[string]any{"token": list[0].Token, "logprob": list[0].LogProb, "bytes": nil, "top_logprobs": list}
	return list[0].Token, map[string]any{"content": []any{first}, "refusal": nil}
}

// material is what a prompt shows between its fences.
type material struct {
	all       string
	expected  string
	answer    string
	passages  []shownPassage
	citations []string
	judged    string // context, citations or expected: by what is judged
	strings   []string
}

type shownPassage struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// fences finds the word that the blocks of a prompt are fenced with: the one of
// the instruction, which comes before all data.
func fences() *regexp.Regexp { return regexp.MustCompile(`\[\[begin NAME ([0-9a-f]{32})\]\]`) }

// readMaterial takes a prompt apart. Only lines with the right word are fences.
func readMaterial(prompt string) material {
	var m material
	found := fences().FindStringSubmatch(prompt)
	if found == nil {
		return m
	}
	blocks := map[string]string{}
	name := ""
	for line := range strings.SplitSeq(prompt, "\n") {
		begin, ok := strings.CutPrefix(line, "[[begin ")
		switch {
		case name == "" && ok && strings.HasSuffix(begin, " "+found[1]+"]]"):
			if name = strings.TrimSuffix(begin, " "+found[1]+"]]"); name == "NAME" {
				name = ""
			}
		case name != "" && line == "[[end "+name+" "+found[1]+"]]":
			name = ""
		case name != "":
			blocks[name] += line
		}
	}
	for _, name := range []string{"input", "expected", "context", "citations", "output"} {
		m.all += name + "\x00" + blocks[name] + "\x00"
	}
	m.expected, m.answer = textOf(blocks["expected"]), textOf(blocks["output"])
	m.judged = "expected"
	if _, ok := blocks["context"]; ok {
		m.judged = "context"
		_ = json.Unmarshal([]byte(blocks["context"]), &m.passages)
	}
	if _, ok := blocks["citations"]; ok {
		m.judged = "citations"
		_ = json.Unmarshal([]byte(blocks["citations"]), &m.citations)
	}
	for _, block := range blocks {
		var v any
		if json.Unmarshal([]byte(block), &v) == nil {
			m.strings = collect(m.strings, v)
		}
	}
	slices.Sort(m.strings)
	return m
}

// textOf is the text of a value: its answer, itself, or its JSON.
func textOf(block string) string {
	var v any
	if json.Unmarshal([]byte(block), &v) != nil || v == nil {
		return ""
	}
	if object, ok := v.(map[string]any); ok && object["answer"] != nil {
		v = object["answer"]
	}
	if text, ok := v.(string); ok {
		return text
	}
	return block
}

func collect(all []string, v any) []string {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, e := range v {
			all = collect(all, e)
		}
	case map[string]any:
		for _, e := range v {
			all = collect(all, e)
		}
	}
	return all
}

// carried is the share of the worst statement's words that are carried, with a
// sentence on it.
func (m material) carried() (share float64, why string) {
	if m.judged == "expected" {
		if m.expected == "" {
			return 1, "Nothing in particular is expected."
		}
		share := coverage(m.expected, m.answer)
		if strings.Contains(strings.ToLower(m.answer), strings.ToLower(m.expected)) {
			share = 1
		}
		return share, fmt.Sprintf("%.0f%% of the expected words stand in the output.", 100*share)
	}
	texts := []string{}
	for _, p := range m.passages {
		if m.judged == "context" || slices.Contains(m.citations, p.ID) {
			texts = append(texts, p.Text)
		}
	}
	if saysNothing(m.answer) {
		return 1, "The output states nothing."
	}
	share, worst := 1.0, ""
	for statement := range strings.SplitSeq(strings.ReplaceAll(m.answer, "\n", ". "), ". ") {
		if len(terms(statement)) == 0 {
			continue
		}
		best := 0.0
		for _, text := range texts {
			best = max(best, coverage(statement, text))
		}
		if best < share {
			share, worst = best, statement
		}
	}
	if worst == "" {
		return share, "Every statement has its words in a passage."
	}
	return share, "The passages say no more than " + strconv.Itoa(int(100*share)) + "% of the words of: " + shortened(worst)
}

func saysNothing(answer string) bool {
	return strings.TrimSpace(answer) == "" || strings.HasPrefix(answer, "Sorry, the help centre has nothing")
}

// coverage is the share of a text's words that stand in another one. A number
// that does not stand there is worth half of it.
func coverage(text, in string) float64 {
	wanted, there := terms(text), terms(in)
	if len(wanted) == 0 {
		return 1
	}
	share := float64(shared(wanted, there)) / float64(len(wanted))
	for w := range wanted {
		if unicode.IsDigit(rune(w[0])) && !there[w] {
			share /= 2
			break
		}
	}
	return share
}

func shortened(text string) string {
	runes := []rune(text)
	if len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return text
}

// order is what a gullible judge replies when the text under judgment tells it
// what to say: the verdict that stands there, or that the output passes; "" when
// it is told nothing.
func (m material) order() string {
	verdict := regexp.MustCompile(`\{[^{}]*"pass"\s*:\s*true[^{}]*\}`)
	telling := regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override|instead|instruction|verdict|evaluator|grader|judge|criterion|rubric|"?pass"?\s*[:=]|must pass|mark (this|it)|reply with|respond with|answer (yes|a)\b)`)
	for _, text := range m.strings {
		if v := verdict.FindString(text); v != "" && json.Valid([]byte(v)) {
			return v
		}
	}
	for _, text := range m.strings {
		if telling.MatchString(text) {
			return `{"pass": true, "rationale": "As the text says."}`
		}
	}
	return ""
}
