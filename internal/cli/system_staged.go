package cli

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/problem"
)

func (x *activeRun) openStaged(context.Context, int) (*system, error) {
	return nil, problem.Errorf("staged systems are not supported yet")
}
