// Package staged runs a system whose retrieval and generation can be called
// apart: it retrieves, assembles the context itself, and generates. So each
// stage is cached and timed alone, and generation can be executed again with
// another context.
package staged

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// The sources of a context: the retrieval itself, or what took its place.
const (
	SourceRetrieval = "retrieval"
	SourceGold      = "gold_context"
	SourceTopK      = "top_k_replay"
	SourceReranker  = "reranker"
)

// TimingsKind is the kind of the artifact with the time that each stage took.
const TimingsKind = "stage_timings/v1"

// Config says how a staged system is run.
type Config struct {
	Stages        Stages
	Depth         int              // candidates asked of the retrieval, at least 1
	TopK          int              // of them that may go into the context, from 1 to Depth
	TokenBudget   *int             // tokens that the context may have; nil is no limit
	CitationsPath string           // dotted path of the cited ids in the output
	Now           func() time.Time // the clock

	// Count counts the tokens of a passage's text in place of the stages; nil
	// leaves it to them.
	Count func(text string) int

	// Cache keeps what the stages answer; nil keeps nothing. Retrieval and
	// Generation identify what answers: its code, settings and index.
	Cache                 Cache
	Retrieval, Generation evidence.Digest
	// Redact tells which answers hold a secret, to keep none of them.
	Redact *redact.Redactor
}

// System is a staged system under test. It is safe for concurrent use.
type System struct{ cfg Config }

// New checks the configuration and returns the system. It calls nothing.
func New(cfg Config) (*System, error) {
	switch {
	case cfg.Stages == nil || cfg.Now == nil:
		return nil, errors.New("a staged system needs its stages and a clock")
	case cfg.Depth < 1:
		return nil, fmt.Errorf("depth of the staged system: want at least 1, found %d", cfg.Depth)
	case cfg.TopK < 1 || cfg.TopK > cfg.Depth:
		return nil, fmt.Errorf("top_k of the staged system: want 1 to the depth %d, found %d", cfg.Depth, cfg.TopK)
	case cfg.TokenBudget != nil && *cfg.TokenBudget < 1:
		return nil, fmt.Errorf("token_budget of the staged system: want at least 1, found %d", *cfg.TokenBudget)
	case cfg.CitationsPath == "":
		return nil, errors.New("citations_path of the staged system: it is empty")
	}
	return &System{cfg}, nil
}

// CachedIn returns the system with its stages' answers in a cache.
func (s *System) CachedIn(cache Cache) *System {
	cfg := s.cfg
	cfg.Cache = cache
	return &System{cfg}
}

// Execute runs the stages for one case. See [runner.System].
func (s *System) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	x := s.begin(ctx, c)
	if err := x.retrieve(); err != nil {
		return x.end(err)
	}
	return x.end(x.answer())
}

// A Replay executes generation again, with what an earlier execution of the case
// retrieved and a context of the caller's.
type Replay struct {
	Retrieval evidence.Retrieval // as it was recorded
	Context   evidence.Context   // what takes the place of the assembled one
	Passages  []evidence.Passage // what generation gets: the items of Context
	// Sample tells repeated executions of one generation apart in the cache. 0 is
	// that of an ordinary run.
	Sample int
	Fresh  bool // call the generation, whatever the cache holds, and keep nothing
}

// Replay calls the generation only: no retriever, and no count of tokens.
func (s *System) Replay(ctx context.Context, c *evidence.Case, r Replay) (evidence.Execution, error) {
	x := s.begin(ctx, c)
	x.recorded.Retrieval = []evidence.Retrieval{r.Retrieval}
	x.recorded.Context = []evidence.Context{r.Context}
	x.fresh = r.Fresh
	return x.end(x.generate(r.Passages, r.Sample))
}

// Assemble makes the context that the system would make of these candidates,
// and returns it with the passages to generate with. It counts tokens and calls
// no other stage.
func (s *System) Assemble(ctx context.Context, c *evidence.Case, candidates []evidence.Passage, topK int) (evidence.Context, []evidence.Passage, error) {
	var tokens []int
	if s.cfg.TokenBudget != nil {
		for _, p := range candidates[:min(topK, len(candidates))] {
			n, err := s.count(ctx, c, p)
			if err != nil {
				return evidence.Context{}, nil, err
			}
			if n < 0 {
				return evidence.Context{}, nil, badCount(c, p, strconv.Itoa(n))
			}
			tokens = append(tokens, n)
		}
	}
	assembled, passages := Assemble(candidates, topK, s.cfg.TokenBudget, tokens)
	return assembled, passages, nil
}

// count returns the size of a passage in tokens.
func (s *System) count(ctx context.Context, c *evidence.Case, p evidence.Passage) (int, error) {
	if s.cfg.Count == nil {
		return s.cfg.Stages.CountTokens(ctx, c, p)
	}
	if p.Text == nil {
		return 0, nil
	}
	return s.cfg.Count(*p.Text), nil
}

// Words counts the words of a text, which white space separates.
func Words(text string) int { return len(strings.Fields(text)) }

// Quarters counts a token for every four characters of a text, and one for what
// is left of them.
func Quarters(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
