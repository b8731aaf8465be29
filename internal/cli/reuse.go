package cli

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/store"
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
