package judge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// provider speaks the language of one API.
type provider interface {
	// ready says what keeps the provider from being called, before it is.
	ready() error
	// request returns the URL, the headers and the body of a question.
	request(prompt string) (url string, header http.Header, body []byte, err error)
	// read takes the reply out of a body that came with a status of 2xx.
	read(body []byte) (reply, *Fault)
	// mend looks at a refused request, and reports whether the next one will be
	// another that may be taken.
	mend(e apiError) bool
	// unmendable says what to do about a setting that the model never takes; "" when
	// the request was refused for another reason.
	unmendable(e apiError) string
	timeout() time.Duration // of one attempt
	// name names provider and model for messages.
	name() string
}

// reply is what came back of a question.
type reply struct {
	text      string
	raw       string // the body, when there is no text
	refusal   string // why there is no text, in the words of the model or its provider
	cut       bool   // at the most tokens allowed
	model     string // that was served
	in, out   int64  // tokens
	counted   bool   // the provider said how many
	tokens    []token
	latencyMS float64
}

// Fault is why a judge's call brought no judgment of a case.
type Fault struct {
	Reason  string // code
	Message string
	Reply   string // what was said instead
}

// MissingKeyError says that a call cannot be made without a key.
type MissingKeyError struct {
	Variable string
	Provider string
	URL      string
}

// Error names the variable.
func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("the judge has to be called, and the environment variable %s, which holds its key for %s, is not set: set it, name another with api_key_env, and in the action list it in env-allow", e.Variable, e.URL)
}

// apiError is what an API says of a request that it refused.
type apiError struct {
	status            int
	told              bool // the body has an error
	kind, code, param string
	message           string
}

// base is what both languages have in common.
type base struct {
	judge      *suite.Judge
	connection suite.Connection
	userAgent  string
	tokensOnly bool // probability judges
}

func newProvider(cfg *Config, e *suite.Evaluator, c suite.Connection) provider {
	b := base{judge: e.Judge, connection: c, userAgent: cfg.UserAgent, tokensOnly: e.Type == suite.TypeProbabilityJudge}
	if e.Judge.Provider == suite.ProviderAnthropic {
		return &anthropic{base: b}
	}
	return &openAI{base: b}
}

func (b *base) name() string { return b.judge.Provider + " " + b.judge.Model }

func (b *base) timeout() time.Duration { return b.judge.Timeout }

func (b *base) ready() error {
	if b.connection.Key == "" && b.connection.NeedsKey() {
		return &MissingKeyError{Variable: b.judge.APIKeyEnv, Provider: b.judge.Provider, URL: b.connection.URL}
	}
	return nil
}

func (b *base) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if b.userAgent != "" {
		h.Set("User-Agent", b.userAgent)
	}
	return h
}

// unmendable knows settings by param, which Anthropic's API does not tell, and by
// the words of the message.
func (b *base) unmendable(e apiError) string {
	says := func(setting string) bool { return e.param == setting || strings.Contains(e.message, "`"+setting+"`") }
	switch {
	case b.tokensOnly && (says("logprobs") || says("top_logprobs") || says("temperature")):
		return "a probability_judge needs a model that takes temperature and tells the probabilities of tokens (logprobs)"
	case !b.tokensOnly && b.judge.SendTemperature && says("temperature"):
		return "this model takes no temperature: set send_temperature: false"
	}
	return ""
}

// message is one message of a conversation, in both languages.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// openAI speaks OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat/create).
type openAI struct {
	base
	newTokensKey atomic.Bool // max_tokens was refused
}

// openAIRequest is the body of POST /chat/completions.
type openAIRequest struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	Temperature         *float64  `json:"temperature,omitempty"`
	MaxTokens           int       `json:"max_tokens,omitempty"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitempty"`
	LogProbs            bool      `json:"logprobs,omitempty"`
	TopLogProbs         int       `json:"top_logprobs,omitempty"`
}

// topLogProbs is how many tokens are asked for: the most that the API gives.
const topLogProbs = 20

func (p *openAI) request(prompt string) (string, http.Header, []byte, error) {
	r := openAIRequest{Model: p.judge.Model, Messages: []message{{"user", prompt}}}
	temperature, most := p.judge.Temperature, p.judge.MaxTokens
	send := p.judge.SendTemperature
	if p.tokensOnly {
		temperature, most, send = 0, 1, true
		r.LogProbs, r.TopLogProbs = true, topLogProbs
	}
	if send {
		r.Temperature = &temperature
	}
	if p.newTokensKey.Load() {
		r.MaxCompletionTokens = most
	} else {
		r.MaxTokens = most
	}
	h := p.header()
	if p.connection.Key != "" {
		h.Set("Authorization", "Bearer "+p.connection.Key)
	}
	body, err := marshal(r)
	return p.connection.URL + "/chat/completions", h, body, err
}

// openAIReply is what is read of the answer.
type openAIReply struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content *string `json:"content"`
			Refusal *string `json:"refusal"`
		} `json:"message"`
		LogProbs *struct {
			Content []struct {
				TopLogProbs []struct {
					Token   string  `json:"token"`
					LogProb float64 `json:"logprob"`
				} `json:"top_logprobs"`
			} `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"usage"`
}

func (p *openAI) read(body []byte) (reply, *Fault) {
	var a openAIReply
	if err := json.Unmarshal(body, &a); err != nil {
		return reply{}, notTheAPI(body, "chat completions")
	}
	r := reply{model: a.Model}
	if a.Usage != nil {
		r.in, r.out, r.counted = max(0, a.Usage.PromptTokens), max(0, a.Usage.CompletionTokens), true
	}
	if len(a.Choices) == 0 {
		return r, nil // empty: the body is kept by the caller
	}
	choice := a.Choices[0]
	if choice.Message.Content != nil {
		r.text = *choice.Message.Content
	}
	r.cut = choice.FinishReason == "length" && !p.tokensOnly
	switch {
	case choice.Message.Refusal != nil && *choice.Message.Refusal != "":
		r.refusal = *choice.Message.Refusal
	case choice.FinishReason == "content_filter":
		r.refusal = "content_filter"
	}
	if l := choice.LogProbs; l != nil && len(l.Content) > 0 {
		for _, t := range l.Content[0].TopLogProbs {
			r.tokens = append(r.tokens, token{t.Token, t.LogProb})
		}
	}
	return r, nil
}

func (p *openAI) mend(e apiError) bool {
	if e.status != http.StatusBadRequest || e.param != "max_tokens" || !strings.Contains(e.message, "max_completion_tokens") {
		return false
	}
	p.newTokensKey.Store(true) // also when it was set while this request was under way
	return true
}

// anthropic speaks Anthropic's messages
// (https://docs.anthropic.com/en/api/messages).
type anthropic struct{ base }

const anthropicVersion = "2023-06-01"

// anthropicRequest is the body of POST /messages.
type anthropicRequest struct {
	Model       string    `json:"model"`
	Messages    []message `json:"messages"`
	Temperature *float64  `json:"temperature,omitempty"`
	MaxTokens   int       `json:"max_tokens"`
}

func (p *anthropic) request(prompt string) (string, http.Header, []byte, error) {
	r := anthropicRequest{Model: p.judge.Model, Messages: []message{{"user", prompt}}, MaxTokens: p.judge.MaxTokens}
	if p.judge.SendTemperature {
		r.Temperature = &p.judge.Temperature
	}
	h := p.header()
	h.Set("Anthropic-Version", anthropicVersion)
	if p.connection.Key != "" {
		h.Set("X-Api-Key", p.connection.Key)
	}
	body, err := marshal(r)
	return p.connection.URL + "/messages", h, body, err
}

// anthropicReply is what is read of the answer.
type anthropicReply struct {
	Type    string `json:"type"`
	Model   string `json:"model"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      *struct {
		InputTokens   int64 `json:"input_tokens"`
		OutputTokens  int64 `json:"output_tokens"`
		CacheCreation int64 `json:"cache_creation_input_tokens"`
		CacheRead     int64 `json:"cache_read_input_tokens"`
	} `json:"usage"`
}

func (p *anthropic) read(body []byte) (reply, *Fault) {
	var a anthropicReply
	if err := json.Unmarshal(body, &a); err != nil {
		return reply{}, notTheAPI(body, "messages")
	}
	r := reply{model: a.Model}
	if a.Usage != nil {
		r.in = max(0, a.Usage.InputTokens+a.Usage.CacheCreation+a.Usage.CacheRead)
		r.out, r.counted = max(0, a.Usage.OutputTokens), true
	}
	for _, b := range a.Content {
		if b.Type == "text" {
			r.text += b.Text
		}
	}
	r.cut = a.StopReason == "max_tokens"
	if a.StopReason == "refusal" {
		r.refusal = "refusal"
		if r.text != "" {
			r.refusal = r.text
		}
	}
	return r, nil
}

func (p *anthropic) mend(apiError) bool { return false }

func notTheAPI(body []byte, what string) *Fault {
	return &Fault{Reason: evidence.ReasonJudgeReply, Message: "the answer is no " + what + " reply: is base_url right?", Reply: string(body)}
}

// marshal writes a body without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return []byte(strings.TrimSuffix(b.String(), "\n")), err
}

// readAPIError reads the error that both APIs put into a body.
func readAPIError(status int, body []byte) apiError {
	var a struct {
		Error json.RawMessage `json:"error"`
	}
	e := apiError{status: status}
	if json.Unmarshal(body, &a) == nil {
		e.told = len(a.Error) > 0 && string(a.Error) != "null"
		var detail struct {
			Message string `json:"message"`
			Type    string `json:"type"`
			Code    any    `json:"code"`
			Param   string `json:"param"`
		}
		if json.Unmarshal(a.Error, &detail) == nil {
			e.message, e.kind, e.param = detail.Message, detail.Type, detail.Param
			if detail.Code != nil {
				e.code = fmt.Sprint(detail.Code)
			}
		} else {
			var text string
			if json.Unmarshal(a.Error, &text) == nil { // as Ollama does
				e.message = text
			}
		}
	}
	if e.message == "" {
		e.message = strings.TrimSpace(string(body[:min(len(body), 200)]))
	}
	return e
}
