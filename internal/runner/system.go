// Package runner takes the cases of a suite through the system and the
// evaluators: bounded, resumable, with a progress report, and ends when the
// endpoint is dead.
package runner

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// System is what is under test.
type System interface {
	// Execute calls the system for one case. What goes wrong with the call is
	// part of the Execution. The error is an [*evidence.ContractError], or the
	// context's error when the run was interrupted; both stop the run.
	Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error)
}
