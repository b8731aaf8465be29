package process

import (
	"context"
	"errors"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/runner"
)

// System is a program under test that answers whole cases. It is safe for
// concurrent use.
type System struct{ *Client }

var _ runner.System = System{}

// Execute asks the program for the answer to one case. See [runner.System].
func (s System) Execute(ctx context.Context, c *evidence.Case) (evidence.Execution, error) {
	started := s.cfg.Now()
	params := append(append(evidence.Value(`{"input":`), c.Input...), '}')
	reply, err := s.Call(ctx, c.ID, MethodRun, params)
	var fault *Fault
	if errors.As(err, &fault) {
		return fault.Execution(started), nil
	}
	if err != nil {
		return evidence.Execution{}, err
	}
	return evidence.Execution{
		Status: evidence.StatusOK, Output: reply.Result, Artifacts: reply.Artifacts, Usage: reply.Usage,
		Attempts:  append(reply.Retried, evidence.Attempt{LatencyMS: reply.LatencyMS}),
		StartedAt: started, LatencyMS: reply.LatencyMS, Log: reply.Stderr,
	}, nil
}
