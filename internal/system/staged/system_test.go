package staged_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

var _ runner.System = (*staged.System)(nil)

// program is a staged system made of functions; calls lists what was called.
type program struct {
	retrieve func(depth int) (staged.Retrieved, error)
	generate func(passages []evidence.Passage) (staged.Generated, error)
	count    func(p evidence.Passage) (int, error)
	calls    []string
}

func (p *program) Retrieve(_ context.Context, _ *evidence.Case, depth int) (staged.Retrieved, error) {
	p.calls = append(p.calls, "retrieve")
	return p.retrieve(depth)
}

func (p *program) Generate(_ context.Context, _ *evidence.Case, passages []evidence.Passage) (staged.Generated, error) {
	p.calls = append(p.calls, "generate")
	return p.generate(passages)
}

func (p *program) CountTokens(_ context.Context, _ *evidence.Case, passage evidence.Passage) (int, error) {
	p.calls = append(p.calls, "count_tokens")
	return p.count(passage)
}

// words is a program that finds the given texts, counts words, and answers with
// the passages it got and the ids it cites of them.
func words(texts ...string) *program {
	return &program{
		retrieve: func(depth int) (staged.Retrieved, error) {
			var r staged.Retrieved
			for i, text := range texts {
				r.Candidates = append(r.Candidates, evidence.Passage{DocID: string(rune('a' + i)), Text: &text})
			}
			r.Candidates = r.Candidates[:min(depth, len(texts))]
			return r, nil
		},
		generate: func(passages []evidence.Passage) (staged.Generated, error) {
			ids := []string{}
			for _, p := range passages {
				ids = append(ids, p.DocID)
			}
			out, err := json.Marshal(map[string]any{"citations": ids})
			return staged.Generated{Output: out}, err
		},
		count: func(p evidence.Passage) (int, error) { return len(strings.Fields(*p.Text)), nil },
	}
}

func newSystem(t *testing.T, p *program, depth, topK, budget int) *staged.System {
	t.Helper()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := staged.Config{Stages: p, Depth: depth, TopK: topK, CitationsPath: "citations", Now: func() time.Time {
		clock = clock.Add(time.Millisecond)
		return clock
	}}
	if budget > 0 {
		cfg.TokenBudget = &budget
	}
	s, err := staged.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var oneCase = &evidence.Case{ID: "one", Input: evidence.Value(`{"question":"?"}`)}

func TestExecute(t *testing.T) {
	p := words("one", "two two", "three three three", "four")
	e, err := newSystem(t, p, 4, 3, 3).Execute(t.Context(), oneCase)
	if err != nil {
		t.Fatal(err)
	}
	got := string(evidence.AppendArtifacts(nil, &e.Artifacts))
	const want = `{"citations/v1":[{"ids":["a","b"]}],` +
		`"context/v1":[{"dropped":[{"chunk_id":null,"doc_id":"c","position":3,"reason":"token_budget","text":null,"tokens":3},{"chunk_id":null,"doc_id":"d","position":4,"reason":"top_k","text":null,"tokens":null}],` +
		`"items":[{"chunk_id":null,"doc_id":"a","position":1,"text":"one","tokens":1},{"chunk_id":null,"doc_id":"b","position":2,"text":"two two","tokens":2}],"source":"retrieval","token_budget":3}],` +
		`"retrieval/v1":[{"candidates":[{"chunk_id":null,"doc_id":"a","score":null,"text":"one"},{"chunk_id":null,"doc_id":"b","score":null,"text":"two two"},{"chunk_id":null,"doc_id":"c","score":null,"text":"three three three"},{"chunk_id":null,"doc_id":"d","score":null,"text":"four"}],"depth":4,"query":null}],` +
		`"stage_timings/v1":[{"assembly_ms":1,"generation_ms":1,"retrieval_ms":1}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	if e.Status != evidence.StatusOK || string(e.Output) != `{"citations":["a","b"]}` || e.LatencyMS != 3 || len(e.Attempts) != 1 {
		t.Errorf("execution %+v", e)
	}
	if want := []string{"retrieve", "count_tokens", "count_tokens", "count_tokens", "generate"}; !slices.Equal(p.calls, want) {
		t.Errorf("calls %v, want %v", p.calls, want)
	}
}

// Nothing found is something recorded: empty lists, and generation is called.
func TestExecuteWithoutCandidates(t *testing.T) {
	p := words()
	e, err := newSystem(t, p, 6, 2, 40).Execute(t.Context(), oneCase)
	if err != nil || e.Artifacts.Retrieval[0].Candidates == nil || len(e.Artifacts.Context[0].Items) != 0 || len(e.Artifacts.Citations) != 1 {
		t.Errorf("%v %+v", err, e.Artifacts)
	}
	if want := []string{"retrieve", "generate"}; !slices.Equal(p.calls, want) {
		t.Errorf("calls %v", p.calls)
	}
}

// Without a budget nobody counts.
func TestExecuteWithoutBudget(t *testing.T) {
	p := words("one", "two")
	p.count = nil
	e, err := newSystem(t, p, 2, 2, 0).Execute(t.Context(), oneCase)
	if err != nil || len(e.Artifacts.Context[0].Items) != 2 || e.Artifacts.Context[0].Items[0].Tokens != nil || e.Artifacts.Context[0].TokenBudget != nil {
		t.Errorf("%v %+v", err, e.Artifacts)
	}
}

// A stage that breaks its contract stops the run and names the case.
func TestContract(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*program)
		want  string
	}{
		{"more than depth", func(p *program) {
			p.retrieve = func(int) (staged.Retrieved, error) {
				return staged.Retrieved{Retrieval: evidence.Retrieval{Candidates: make([]evidence.Passage, 4)}}, nil
			}
		}, `case "one": malformed retrieval/v1 artifact: candidates: 4 of them exceed the depth 3`},
		{"negative count", func(p *program) { p.count = func(evidence.Passage) (int, error) { return -1, nil } },
			`case "one": malformed context/v1 artifact: count_tokens of passage "a": want a whole number of at least 0, found -1`},
		{"citations of another shape", func(p *program) {
			p.generate = func([]evidence.Passage) (staged.Generated, error) {
				return staged.Generated{Output: evidence.Value(`{"citations":[1]}`)}, nil
			}
		}, `case "one": malformed citations/v1 artifact at "citations": ids[0]: want a string, found 1; found [1]`},
		{"citations null", func(p *program) {
			p.generate = func([]evidence.Passage) (staged.Generated, error) {
				return staged.Generated{Output: evidence.Value(`{"citations":null}`)}, nil
			}
		}, `case "one": malformed citations/v1 artifact at "citations": want a list of cited ids, each DOC or DOC#CHUNK, or nothing there; found null; it is made by system.rag.citations_path`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := words("one", "two")
			tt.spoil(p)
			_, err := newSystem(t, p, 3, 2, 40).Execute(t.Context(), oneCase)
			var contract *evidence.ContractError
			if !errors.As(err, &contract) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A stage that does not answer makes the case an error, with what was recorded
// until then.
func TestFailure(t *testing.T) {
	p := words("one")
	p.generate = func([]evidence.Passage) (staged.Generated, error) {
		return staged.Generated{}, &staged.Failure{Timeout: true, Err: evidence.ExecutionError{Kind: evidence.ErrTimeout, Message: "no answer of generate"},
			Attempts: []evidence.Attempt{{Error: evidence.ErrStatus, HTTPStatus: 503}, {Error: evidence.ErrTimeout}}}
	}
	e, err := newSystem(t, p, 3, 2, 40).Execute(t.Context(), oneCase)
	if err != nil || e.Status != evidence.StatusTimeout || e.Output != nil || e.Error.Message != "no answer of generate" || len(e.Attempts) != 2 || e.Attempts[1].Error != evidence.ErrTimeout {
		t.Errorf("%v %+v", err, e)
	}
	if len(e.Artifacts.Retrieval) != 1 || len(e.Artifacts.Context) != 1 || string(e.Artifacts.Other[staged.TimingsKind][0]) != `{"assembly_ms":1,"generation_ms":1,"retrieval_ms":1}` {
		t.Errorf("artifacts %+v", e.Artifacts)
	}
	p.retrieve = func(int) (staged.Retrieved, error) { return staged.Retrieved{}, &staged.Failure{} }
	e, err = newSystem(t, p, 3, 2, 40).Execute(t.Context(), oneCase)
	if err != nil || e.Status != evidence.StatusError || string(e.Artifacts.Other[staged.TimingsKind][0]) != `{"assembly_ms":null,"generation_ms":null,"retrieval_ms":1}` {
		t.Errorf("%v %+v", err, e)
	}
}

// An interruption is no failure of the system.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := words("one")
	p.retrieve = func(int) (staged.Retrieved, error) {
		cancel()
		return staged.Retrieved{}, &staged.Failure{Err: evidence.ExecutionError{Message: "killed"}}
	}
	if _, err := newSystem(t, p, 3, 2, 40).Execute(ctx, oneCase); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// An output without citations records none; that is a missing observation, no fault.
func TestNoCitations(t *testing.T) {
	for _, output := range []string{`"text"`, `{}`, `[]`, `7`, `null`} {
		p := words("one")
		p.generate = func([]evidence.Passage) (staged.Generated, error) {
			return staged.Generated{Output: evidence.Value(output)}, nil
		}
		e, err := newSystem(t, p, 3, 2, 40).Execute(t.Context(), oneCase)
		if err != nil || len(e.Artifacts.Citations) != 0 {
			t.Errorf("%s: %v %+v", output, err, e.Artifacts.Citations)
		}
	}
}

// Whatever a stage says of its depth, it is not recorded as deeper than asked.
func TestDepth(t *testing.T) {
	for said, want := range map[int]int{0: 3, 2: 2, 3: 3, 9: 3, -1: 3} {
		p := words("one")
		plain := p.retrieve
		p.retrieve = func(depth int) (staged.Retrieved, error) {
			r, err := plain(depth)
			r.Depth = said
			return r, err
		}
		e, err := newSystem(t, p, 3, 2, 40).Execute(t.Context(), oneCase)
		if err != nil || e.Artifacts.Retrieval[0].Depth != want {
			t.Errorf("said %d: %v, recorded %d, want %d", said, err, e.Artifacts.Retrieval[0].Depth, want)
		}
	}
}

// A replay calls generation and nothing else.
func TestReplay(t *testing.T) {
	p := words("one", "two")
	s := newSystem(t, p, 3, 2, 40)
	gold := "gold"
	e, err := s.Replay(t.Context(), oneCase, staged.Replay{
		Retrieval: evidence.Retrieval{Depth: 3, Candidates: []evidence.Passage{}},
		Context:   evidence.Context{Items: []evidence.ContextItem{{DocID: "g", Text: &gold}}, Source: staged.SourceGold},
		Passages:  []evidence.Passage{{DocID: "g", Text: &gold}},
	})
	if err != nil || string(e.Output) != `{"citations":["g"]}` || e.Artifacts.Context[0].Source != "gold_context" || len(e.Artifacts.Retrieval) != 1 {
		t.Errorf("%v %+v", err, e)
	}
	if !slices.Equal(p.calls, []string{"generate"}) {
		t.Errorf("calls %v", p.calls)
	}
}

func TestNew(t *testing.T) {
	good := staged.Config{Stages: words(), Depth: 3, TopK: 2, CitationsPath: "citations", Now: time.Now}
	for want, spoil := range map[string]func(*staged.Config){
		"stages":         func(c *staged.Config) { c.Stages = nil },
		"depth":          func(c *staged.Config) { c.Depth = 0 },
		"top_k":          func(c *staged.Config) { c.TopK = 4 },
		"token_budget":   func(c *staged.Config) { c.TokenBudget = new(int) },
		"citations_path": func(c *staged.Config) { c.CitationsPath = "" },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := staged.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}
