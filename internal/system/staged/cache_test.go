package staged_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// memory is a cache in memory.
type memory map[evidence.Digest][]byte

func (m memory) Stage(key evidence.Digest) ([]byte, bool, error) {
	row, ok := m[key]
	return row, ok, nil
}

func (m memory) KeepStage(key evidence.Digest, row []byte) error {
	if _, ok := m[key]; !ok {
		m[key] = slices.Clone(row)
	}
	return nil
}

// cached is a system over p with everything that belongs to the keys.
func cached(t *testing.T, p *program, cache staged.Cache, edit func(*staged.Config)) *staged.System {
	t.Helper()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	budget := 3
	cfg := staged.Config{
		Stages: p, Depth: 4, TopK: 3, TokenBudget: &budget, CitationsPath: "citations", Cache: cache,
		Retrieval: "sha256:r", Generation: "sha256:g", Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock },
	}
	if edit != nil {
		edit(&cfg)
	}
	s, err := staged.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCacheKeys: retrieval is called again when its identity, the input or the
// depth changes, and for nothing else; generation when its identity, the input or
// its passages do.
func TestCacheKeys(t *testing.T) {
	budget := func(n int) func(*staged.Config) { return func(c *staged.Config) { c.TokenBudget = &n } }
	other := &evidence.Case{ID: "two", Input: evidence.Value(`{"question":"!"}`)}
	spaced := &evidence.Case{ID: "three", Input: evidence.Value(` {"question" : "?"} `)}
	tests := []struct {
		name               string
		edit               func(*staged.Config)
		c                  *evidence.Case
		retrieve, generate string
	}{
		{"nothing", nil, oneCase, "hit", "hit"},
		{"another case of equal input", nil, spaced, "hit", "hit"},
		{"input", nil, other, "miss", "miss"},
		{"top_k and the same context", func(c *staged.Config) { c.TopK = 2 }, oneCase, "hit", "hit"},
		{"top_k and another context", func(c *staged.Config) { c.TopK = 1 }, oneCase, "hit", "miss"},
		{"budget and the same context", budget(4), oneCase, "hit", "hit"},
		{"budget and another context", budget(40), oneCase, "hit", "miss"},
		{"depth and the same context", func(c *staged.Config) { c.Depth = 3 }, oneCase, "miss", "hit"},
		{"what retrieves", func(c *staged.Config) { c.Retrieval = "sha256:r2" }, oneCase, "miss", "hit"},
		{"what generates", func(c *staged.Config) { c.Generation = "sha256:g2" }, oneCase, "hit", "miss"},
		{"how tokens are counted", func(c *staged.Config) { c.Count = staged.Quarters }, oneCase, "hit", "hit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cache := memory{}
			p := words("one", "two two", "three three three", "four")
			first, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase)
			if err != nil || first.Stages != (evidence.StageUse{Retrieve: "miss", Generate: "miss"}) || len(first.Attempts) != 1 {
				t.Fatalf("%v %+v", err, first)
			}
			p.calls = nil
			second, err := cached(t, p, cache, tt.edit).Execute(t.Context(), tt.c)
			if err != nil || second.Stages != (evidence.StageUse{Retrieve: tt.retrieve, Generate: tt.generate}) {
				t.Errorf("%v %+v", err, second.Stages)
			}
			if called := slices.Contains(p.calls, "retrieve"); called != (tt.retrieve == "miss") {
				t.Errorf("calls %v", p.calls)
			}
			if called := slices.Contains(p.calls, "generate"); called != (tt.generate == "miss") {
				t.Errorf("calls %v", p.calls)
			}
			if tt.retrieve == "hit" && tt.generate == "hit" {
				same := cmp.Equal(first.Artifacts.Retrieval, second.Artifacts.Retrieval) && string(first.Output) == string(second.Output)
				if !same || first.LatencyMS != second.LatencyMS || len(second.Attempts) != 0 {
					t.Errorf("a reused answer differs: called %+v, reused %+v", first, second)
				}
			}
		})
	}
}

// What a stage took is told of a reused answer as it was measured.
func TestCacheKeepsUsage(t *testing.T) {
	two, five := int64(2), int64(5)
	cache := memory{}
	p := words("one")
	find, say := p.retrieve, p.generate
	p.retrieve = func(depth int) (staged.Retrieved, error) {
		r, err := find(depth)
		r.Usage = &evidence.Usage{InputTokens: &two}
		return r, err
	}
	p.generate = func(passages []evidence.Passage) (staged.Generated, error) {
		g, err := say(passages)
		g.Usage = &evidence.Usage{InputTokens: &five, OutputTokens: &five}
		return g, err
	}
	for range 2 {
		e, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase)
		if err != nil || *e.Usage.InputTokens != 7 || *e.Usage.OutputTokens != 5 || e.Usage.CostUSD != nil {
			t.Errorf("%v %+v", err, e.Usage)
		}
	}
	if len(cache) != 2 {
		t.Errorf("%d rows", len(cache))
	}
}

// An answer with a secret is used and not kept; nor is one that broke a contract
// or a failure.
func TestCacheKeepsNoSecret(t *testing.T) {
	cache := memory{}
	withRedactor := func(c *staged.Config) { c.Redact = redact.New([]string{"hunter2secret"}) }
	p := words("one hunter2secret")
	for range 2 {
		e, err := cached(t, p, cache, withRedactor).Execute(t.Context(), oneCase)
		if err != nil || e.Stages.Retrieve != "miss" {
			t.Errorf("%v %+v", err, e.Stages)
		}
	}
	for _, row := range cache {
		if strings.Contains(string(row), "hunter2") {
			t.Errorf("kept %s", row)
		}
	}
	clear(cache)
	p.generate = func([]evidence.Passage) (staged.Generated, error) {
		return staged.Generated{Output: evidence.Value(`{"citations":7}`)}, nil
	}
	if _, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase); err == nil || len(cache) != 1 {
		t.Errorf("%v, %d rows", err, len(cache))
	}
	p.retrieve = func(int) (staged.Retrieved, error) { return staged.Retrieved{}, &staged.Failure{} }
	clear(cache)
	if e, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase); err != nil || len(cache) != 0 || e.Stages != (evidence.StageUse{Retrieve: "miss"}) {
		t.Errorf("%v, %d rows, %+v", err, len(cache), e.Stages)
	}
}

// A damaged row stops the run: a cache is never guessed at.
func TestDamagedCache(t *testing.T) {
	cache := memory{}
	p := words("one")
	if _, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase); err != nil {
		t.Fatal(err)
	}
	for key := range cache {
		cache[key] = cache[key][:len(cache[key])/2]
	}
	if _, err := cached(t, p, cache, nil).Execute(t.Context(), oneCase); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v", err)
	}
	if _, err := cached(t, p, broken{}, nil).Execute(t.Context(), oneCase); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("disk full")

type broken struct{}

func (broken) Stage(evidence.Digest) ([]byte, bool, error) { return nil, false, nil }
func (broken) KeepStage(evidence.Digest, []byte) error     { return errBroken }

// A fresh replay is called, whatever was kept, and another sample is another call.
func TestReplayAndCache(t *testing.T) {
	cache := memory{}
	p := words("one")
	s := cached(t, p, cache, nil)
	replay := staged.Replay{Context: evidence.Context{Items: []evidence.ContextItem{}}}
	for _, step := range []struct {
		sample int
		fresh  bool
		want   string
		rows   int
	}{{0, false, "miss", 1}, {0, false, "hit", 1}, {1, false, "miss", 2}, {1, false, "hit", 2}, {1, true, "miss", 2}} {
		replay.Sample, replay.Fresh = step.sample, step.fresh
		e, err := s.Replay(t.Context(), oneCase, replay)
		if err != nil || e.Stages != (evidence.StageUse{Generate: step.want}) || len(cache) != step.rows {
			t.Errorf("%+v: %v %+v, %d rows", step, err, e.Stages, len(cache))
		}
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string][2]int{
		"": {0, 0}, "a": {1, 1}, "abcd": {1, 1}, "abcde": {1, 2}, "two words": {2, 3}, " \t\n ": {0, 1}, "äöü€": {1, 1}, "日本 語": {2, 1},
	} {
		if got := [2]int{staged.Words(text), staged.Quarters(text)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	p := words()
	p.retrieve = func(int) (staged.Retrieved, error) { // a passage without text has no tokens
		return staged.Retrieved{Retrieval: evidence.Retrieval{Candidates: []evidence.Passage{{DocID: "a"}}}}, nil
	}
	p.count = nil
	e, err := cached(t, p, nil, func(c *staged.Config) { c.Count = staged.Words }).Execute(t.Context(), oneCase)
	if err != nil || *e.Artifacts.Context[0].Items[0].Tokens != 0 {
		t.Errorf("%v %+v", err, e.Artifacts.Context)
	}
}
