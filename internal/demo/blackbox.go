package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/oloproof/oloproof-go/examples"
)

// How the help centre of blackbox_rag answers.
const (
	searchDepth = 6  // places asked of the search
	topK        = 2  // places that may go into the prompt
	tokenBudget = 40 // words of passages in the prompt
	noAnswer    = "Sorry, the help centre has nothing about that."
	maxQuestion = 1 << 20 // bytes of a request's body
)

// helpCentre is the application behind blackbox_rag: it searches, takes the
// best sources that fit the prompt, answers with a sentence of theirs, and
// cites where the sentence stands.
type helpCentre struct {
	library     library
	expandQuery bool
	// garnish adds what the sources do not say to an answer; nil adds nothing.
	garnish func(question, answer string) string
}

// reply is the body of an answer.
type reply struct {
	Result   result   `json:"result"`
	Evidence evidence `json:"evidence"`
}

type result struct {
	Answer    string   `json:"answer"`
	Citations []string `json:"citations"`
}

// evidence has the three artifacts in the shapes that oloproof reads.
type evidence struct {
	Retrieval retrieval     `json:"retrieval"`
	Context   promptContext `json:"context"`
	Citations citations     `json:"citations"`
}

type retrieval struct {
	Query      string      `json:"query"`
	Depth      int         `json:"depth"`
	Candidates []retrieved `json:"candidates"`
}

type retrieved struct {
	DocID string  `json:"doc_id"`
	Score float64 `json:"score"`
	Text  string  `json:"text"`
}

type promptContext struct {
	Items       []promptItem  `json:"items"`
	Dropped     []droppedItem `json:"dropped"`
	TokenBudget int           `json:"token_budget"`
	Source      string        `json:"source"`
}

type promptItem struct {
	DocID    string `json:"doc_id"`
	Position int    `json:"position"` // rank in the retrieval, from 1
	Tokens   int    `json:"tokens"`
	Text     string `json:"text"`
}

type droppedItem struct {
	DocID    string `json:"doc_id"`
	Position int    `json:"position"`
	Tokens   int    `json:"tokens,omitempty"` // counted only for what was dropped for the budget
	Reason   string `json:"reason"`           // token_budget or top_k
}

type citations struct {
	IDs []string `json:"ids"`
}

// answer runs the application for one question.
func (h *helpCentre) answer(question string) reply {
	query := question
	if h.expandQuery {
		query = expand(question)
	}
	found := h.library.search(query, searchDepth)
	prompt := assemble(found)

	res := result{Answer: noAnswer, Citations: []string{}}
	if len(prompt.Items) > 0 {
		texts := make([]string, len(prompt.Items))
		for i, item := range prompt.Items {
			texts[i] = item.Text
		}
		sentence, i := bestSentence(query, texts)
		res = result{Answer: sentence, Citations: []string{prompt.Items[i].DocID}}
		if h.garnish != nil {
			res.Answer = h.garnish(question, sentence)
		}
	}
	candidates := make([]retrieved, len(found))
	for i, c := range found {
		candidates[i] = retrieved{DocID: c.ID, Score: float64(c.score), Text: c.Text}
	}
	return reply{
		Result: res,
		Evidence: evidence{
			Retrieval: retrieval{Query: query, Depth: searchDepth, Candidates: candidates},
			Context:   prompt,
			Citations: citations{IDs: res.Citations},
		},
	}
}

// assemble puts the first topK candidates into the prompt and, while they are
// over the budget, drops the last of them.
func assemble(found []candidate) promptContext {
	c := promptContext{Items: []promptItem{}, Dropped: []droppedItem{}, TokenBudget: tokenBudget, Source: "retrieval"}
	used := 0
	for i, f := range found[:min(len(found), topK)] {
		c.Items = append(c.Items, promptItem{DocID: f.ID, Position: i + 1, Tokens: f.tokens(), Text: f.Text})
		used += f.tokens()
	}
	kept := len(c.Items)
	for ; used > tokenBudget; kept-- {
		used -= c.Items[kept-1].Tokens
	}
	for _, item := range c.Items[kept:] {
		c.Dropped = append(c.Dropped, droppedItem{item.DocID, item.Position, item.Tokens, "token_budget"})
	}
	for i := topK; i < len(found); i++ {
		c.Dropped = append(c.Dropped, droppedItem{DocID: found[i].ID, Position: i + 1, Reason: "top_k"})
	}
	c.Items = c.Items[:kept]
	return c
}

// corpus is what the help centre searches.
func corpus() (library, error) {
	project, ok := examples.Open("blackbox_rag")
	if !ok {
		return nil, errors.New("the example project blackbox_rag is not embedded")
	}
	lib, err := readLibrary(project, "data/corpus.jsonl")
	if err != nil {
		return nil, fmt.Errorf("example corpus: %w", err)
	}
	return lib, nil
}

// blackBox serves the help centre: POST /answer takes {"question": "…"}, GET
// /health says that it is up.
func blackBox(opt Options) (http.Handler, error) {
	lib, err := corpus()
	if err != nil {
		return nil, err
	}
	h := &helpCentre{library: lib, expandQuery: opt.ExpandQuery}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /answer", h.serveAnswer)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	return mux, nil
}

func (h *helpCentre) serveAnswer(w http.ResponseWriter, r *http.Request) {
	question, err := readQuestion(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		writeJSON(w, status, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, h.answer(question))
}

// readQuestion takes the question from a request's JSON body.
func readQuestion(w http.ResponseWriter, r *http.Request) (string, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && t != "application/json" {
		return "", fmt.Errorf("the body must be application/json, found %s", t)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		return "", fmt.Errorf("cannot read the body: %w", err)
	}
	var input struct {
		Question *string `json:"question"`
	}
	if err := json.Unmarshal(body, &input); err != nil {
		return "", fmt.Errorf("the body is not a JSON object with a question: %w", err)
	}
	if input.Question == nil {
		return "", errors.New(`the body has no "question"`)
	}
	return *input.Question, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone; nobody is left to tell
}
