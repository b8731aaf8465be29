package staged_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// endpoint answers every call with one execution, and keeps what it was given.
type endpoint struct {
	answer evidence.Execution
	err    error
	given  map[string]evidence.Value
}

func (e *endpoint) ExecuteWith(_ context.Context, _ *evidence.Case, given map[string]evidence.Value) (evidence.Execution, error) {
	e.given = given
	return e.answer, e.err
}

func TestEndpoints(t *testing.T) {
	tokens := int64(7)
	text := "t"
	retrieval := &endpoint{answer: evidence.Execution{Output: evidence.Value(`[{"doc_id":"d1","text":"t"}]`), Attempts: []evidence.Attempt{{HTTPStatus: 503}, {HTTPStatus: 200}}}}
	generation := &endpoint{answer: evidence.Execution{Output: evidence.Value(`"yes"`), Usage: &evidence.Usage{InputTokens: &tokens}}}
	stages := staged.Endpoints{Retrieval: retrieval, Generation: generation, Plain: true, Passages: "passages"}
	r, err := stages.Retrieve(t.Context(), oneCase, 6)
	if err != nil || r.Depth != 6 || r.Candidates[0].DocID != "d1" || len(r.Retried) != 1 || r.Retried[0].HTTPStatus != 503 {
		t.Errorf("%v %+v", err, r)
	}
	g, err := stages.Generate(t.Context(), oneCase, []evidence.Passage{{DocID: "d1", Text: &text}})
	if err != nil || string(g.Output) != `"yes"` || *g.Usage.InputTokens != 7 || string(generation.given["passages"]) != `[{"chunk_id":null,"doc_id":"d1","score":null,"text":"t"}]` {
		t.Errorf("%v %+v %s", err, g, generation.given)
	}
	if _, err := stages.Generate(t.Context(), oneCase, nil); err != nil || string(generation.given["passages"]) != `[]` {
		t.Errorf("%v %s", err, generation.given)
	}
	if _, err := stages.CountTokens(t.Context(), oneCase, evidence.Passage{}); err == nil {
		t.Error("an endpoint counted")
	}

	var contract *evidence.ContractError
	retrieval.answer.Output = evidence.Value(`{"hits":[]}`)
	if _, err := stages.Retrieve(t.Context(), oneCase, 6); !errors.As(err, &contract) || !strings.Contains(err.Error(), "hits: unknown key") {
		t.Errorf("error %v", err)
	}
	stages.Plain = false
	var failure *staged.Failure
	if _, err := stages.Retrieve(t.Context(), oneCase, 6); !errors.As(err, &failure) || !strings.Contains(err.Error(), "retrieve: the answer holds no retrieval/v1") {
		t.Errorf("error %v", err)
	}
	retrieval.answer.Artifacts.Retrieval = []evidence.Retrieval{{Depth: 6}}
	if r, err := stages.Retrieve(t.Context(), oneCase, 6); err != nil || r.Depth != 6 {
		t.Errorf("%v %+v", err, r)
	}
	generation.answer = evidence.Execution{Status: evidence.StatusTimeout, Error: &evidence.ExecutionError{Kind: evidence.ErrTimeout, Message: "no answer"}, Attempts: make([]evidence.Attempt, 4)}
	if _, err := stages.Generate(t.Context(), oneCase, nil); !errors.As(err, &failure) || !failure.Timeout || len(failure.Attempts) != 4 || err.Error() != "generate: no answer" {
		t.Errorf("error %v", err)
	}
	generation.err = context.Canceled
	if _, err := stages.Generate(t.Context(), oneCase, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzReadRetrieval: whatever a retrieval answers is read or refused, and what is
// read has a depth and at most that many candidates.
func FuzzReadRetrieval(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `{}`, `[{"doc_id":"a"}]`, `{"candidates":[],"depth":null}`, `{"candidates":[{"doc_id":"a"},{"doc_id":"b"}],"depth":1,"query":{"x":1}}`, `{"depth":3,"depth":null,"candidates":[]}`, `[[]]`, `"x"`, ` {"candidates" : [ ] } `} {
		f.Add(seed, 6)
	}
	f.Fuzz(func(t *testing.T, text string, depth int) {
		v, err := evidence.ParseJSON([]byte(text))
		if err != nil || depth < 1 {
			return
		}
		r, err := staged.ReadRetrieval(v, depth)
		if err != nil {
			return
		}
		if r.Depth < 1 || len(r.Candidates) > r.Depth || r.Candidates == nil {
			t.Errorf("%s: %+v", text, r)
		}
	})
}
