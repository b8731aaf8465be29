package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// stages is the application behind support_rag: the help centre with its search
// and its answering apart, so that another one assembles the context.
type stages struct{ library library }

// openStages reads the passages that the stages search, of the project that the
// program runs in.
func openStages(opt Options) (*stages, error) {
	if opt.Dir == nil {
		return nil, errors.New("no directory to read data/corpus.jsonl from")
	}
	lib, err := readLibrary(opt.Dir, "data/corpus.jsonl")
	if err != nil {
		return nil, fmt.Errorf("the passages to search, in the directory of the project: %w", err)
	}
	return &stages{lib}, nil
}

// request is a line that is asked. Which parameters are set depends on the method.
type request struct {
	ID     uint64 `json:"id"`
	Method string `json:"method"`
	Params struct {
		Input struct {
			Question string `json:"question"`
		} `json:"input"`
		Depth      int     `json:"depth"`
		Passages   []given `json:"passages"`
		Passage    given   `json:"passage"`
		Candidates []given `json:"candidates"`
	} `json:"params"`
}

// given is a passage as it is sent to and fro.
type given struct {
	DocID string  `json:"doc_id"`
	Score float64 `json:"score,omitempty"`
	Text  string  `json:"text"`
}

func (g given) words() int { return len(strings.Fields(g.Text)) }

// response is a line that answers.
type response struct {
	ID     uint64  `json:"id"`
	Result any     `json:"result,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// answer answers a request.
func (s *stages) answer(r *request) response {
	question := r.Params.Input.Question
	switch r.Method {
	case "retrieve":
		return response{ID: r.ID, Result: s.retrieve(question, r.Params.Depth)}
	case "generate":
		return response{ID: r.ID, Result: generate(question, r.Params.Passages)}
	case "count_tokens":
		return response{ID: r.ID, Result: r.Params.Passage.words()}
	case "rerank":
		return response{ID: r.ID, Result: shortestFirst(r.Params.Candidates)}
	}
	message := fmt.Sprintf("no method %q", r.Method)
	return response{ID: r.ID, Error: &message}
}

// retrieve searches: the retrieval of the program.
func (s *stages) retrieve(question string, depth int) retrieval {
	r := retrieval{Query: question, Depth: depth, Candidates: []retrieved{}}
	for _, c := range s.library.search(question, depth) {
		r.Candidates = append(r.Candidates, retrieved{DocID: c.ID, Score: float64(c.score), Text: c.Text})
	}
	return r
}

// generate answers with a sentence of the passages: the generation of the program.
func generate(question string, passages []given) result {
	if len(passages) == 0 {
		return result{Answer: noAnswer, Citations: []string{}}
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Text
	}
	sentence, i := bestSentence(question, texts)
	return result{Answer: sentence, Citations: []string{passages[i].DocID}}
}

// shortestFirst is a reranker: short passages first, so that more of them fit the
// budget.
func shortestFirst(candidates []given) []given {
	reranked := slices.Clone(candidates)
	slices.SortStableFunc(reranked, func(a, b given) int { return a.words() - b.words() })
	return reranked
}

// Speak runs the example program of that name: it answers a JSON line on opt.Out
// for each one on opt.In, until the input or ctx ends.
func Speak(ctx context.Context, name string, opt Options) error {
	if !IsProgram(name) {
		return fmt.Errorf("%w: %q is no program", ErrUnknown, name)
	}
	s, err := openStages(opt)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.speak(opt.In, opt.Out) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *stages) speak(in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	hello := map[string]any{"hello": map[string]any{"protocol": 1, "methods": []string{"retrieve", "generate", "count_tokens", "rerank"}}}
	if err := enc.Encode(hello); err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var r request
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("a request that is no JSON object of the protocol: %w", err)
			}
			if err := enc.Encode(s.answer(&r)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
