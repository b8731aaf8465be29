package cli

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/problem"
)

func (x *activeRun) openProgram(ctx context.Context, concurrency int) (*system, error) {
	return nil, problem.Errorf("programs are not supported yet")
}
