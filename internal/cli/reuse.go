package cli

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// reusing answers from the cache where it can. What it is given fresh is cached
// when it is kept, after secrets were taken out.
type reusing struct {
	runner.System
	cache    *store.Cache
	identity evidence.Digest
}

// Execute implements runner.System.
func (r reusing) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	cached, ok, err := r.cache.Get(r.identity, c)
	if err != nil {
		return evidence.Execution{}, err
	}
	if ok {
		cached.FromCache = true
		return cached, nil
	}
	return r.System.Execute(ctx, c)
}

// cachedIn is the system itself, a staged one with its stages in the cache too.
func (s *system) cachedIn(cache *store.Cache) runner.System {
	if stages, ok := s.System.(*staged.System); ok {
		return stages.CachedIn(stageCache{cache, s})
	}
	return s
}

// stageCache keeps what stages answer as long as their code is known.
type stageCache struct {
	*store.Cache
	system *system
}

// KeepStage implements staged.Cache.
func (c stageCache) KeepStage(key evidence.Digest, row []byte) error {
	if !c.system.keepsAnswers() {
		return nil
	}
	return c.Cache.KeepStage(key, row)
}
