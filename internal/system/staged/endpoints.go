package staged

import (
	"context"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// Endpoint is a service that is asked about a case, with documents beside it.
type Endpoint interface {
	ExecuteWith(ctx context.Context, c *evidence.Case, given map[string]evidence.Value) (evidence.Execution, error)
}

// Endpoints are stages that are services of their own: each answer is an execution.
type Endpoints struct {
	Retrieval  Endpoint
	Generation Endpoint
	// Plain says that the retrieval answers with its candidates, not with an
	// artifact.
	Plain bool
	// Passages is the name of the document with the passages.
	Passages string
	Redact   *redact.Redactor // takes secrets out of what is said of answers
}

var _ Stages = Endpoints{}

// Retrieve implements [Stages].
func (e Endpoints) Retrieve(ctx context.Context, c *evidence.Case, depth int) (Retrieved, error) {
	x, err := e.Retrieval.ExecuteWith(ctx, c, nil)
	if err == nil {
		err = failureOf(retrieval, &x)
	}
	if err != nil {
		return Retrieved{}, err
	}
	call := callOf(&x)
	if e.Plain {
		r, err := ReadRetrieval(x.Output, depth)
		if err != nil {
			return Retrieved{}, &evidence.ContractError{CaseID: c.ID, Artifact: evidence.RetrievalKind, Problem: e.Redact.String(err.Error()), Found: e.Redact.String(evidence.Shorten(x.Output, 200))}
		}
		return Retrieved{r, call}, nil
	}
	if n := len(x.Artifacts.Retrieval); n != 1 {
		return Retrieved{}, &Failure{Attempts: x.Attempts, Err: evidence.ExecutionError{
			Kind: evidence.ErrMissingOutput, Message: fmt.Sprintf("%s: the answer holds no retrieval/v1", retrieval),
		}}
	}
	return Retrieved{x.Artifacts.Retrieval[0], call}, nil
}

// Generate implements [Stages].
func (e Endpoints) Generate(ctx context.Context, c *evidence.Case, passages []evidence.Passage) (Generated, error) {
	x, err := e.Generation.ExecuteWith(ctx, c, map[string]evidence.Value{e.Passages: appendPassages(nil, passages)})
	if err == nil {
		err = failureOf(generation, &x)
	}
	if err != nil {
		return Generated{}, err
	}
	return Generated{x.Output, callOf(&x)}, nil
}

// CountTokens implements [Stages]. Services count none: the system is made with
// a count of its own, or without a budget.
func (e Endpoints) CountTokens(_ context.Context, c *evidence.Case, _ evidence.Passage) (int, error) {
	return 0, fmt.Errorf("case %s: an endpoint counts no tokens", c.ID)
}

func callOf(x *evidence.Execution) Call {
	return Call{Retried: slices.Clone(x.Attempts[:max(0, len(x.Attempts)-1)]), Usage: x.Usage}
}

// failureOf is the failure of a stage whose service gave no answer, else nil.
func failureOf(stage stageName, x *evidence.Execution) error {
	if x.Error == nil {
		return nil
	}
	e := *x.Error
	e.Message = string(stage) + ": " + e.Message
	return &Failure{Timeout: x.Status == evidence.StatusTimeout, Err: e, Attempts: x.Attempts}
}
