package staged

import (
	"context"
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Stages is a staged system: what runs between retrieval and answer is ours.
// Its methods may be called by several workers at once.
//
// The error of a stage is a [*Failure] when the stage did not answer, which
// makes the case an error; an [*evidence.ContractError] when its answer cannot
// be taken for what it should be, or the context's error when the run was
// interrupted. Those two, and any other error, stop the run.
type Stages interface {
	// Retrieve returns what a search found for a case's input, best first, at
	// most depth candidates. A depth of 0 in the retrieval stands for that asked.
	Retrieve(ctx context.Context, c *evidence.Case, depth int) (Retrieved, error)
	// Generate returns the answer to a case's input, given these passages.
	Generate(ctx context.Context, c *evidence.Case, passages []evidence.Passage) (Generated, error)
	// CountTokens returns the size of a passage in the unit of the token budget.
	// It is not called without a budget.
	CountTokens(ctx context.Context, c *evidence.Case, p evidence.Passage) (int, error)
}

// Call is what is known of a call of a stage besides its answer.
type Call struct {
	Retried []evidence.Attempt // the calls that failed before the one that answered
	Usage   *evidence.Usage    // nil when the stage does not say what it took
	Log     string             // what a program wrote meanwhile, line by line
}

// Retrieved is the answer of a retrieval.
type Retrieved struct {
	evidence.Retrieval
	Call
}

// Generated is the answer of a generation.
type Generated struct {
	Output evidence.Value
	Call
}

// Failure says why a stage did not answer.
type Failure struct {
	Timeout  bool // the deadline passed
	Err      evidence.ExecutionError
	Attempts []evidence.Attempt // every call made; empty stands for one
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Message }

// stageName is the name of a stage in messages and in the files of a run.
type stageName string

const (
	retrieval  stageName = "retrieve"
	generation stageName = "generate"
	counting   stageName = "count_tokens"
)

// badCount is the contract error of a token count that is none.
func badCount(c *evidence.Case, p evidence.Passage, found string) error {
	return &evidence.ContractError{
		CaseID: c.ID, Artifact: evidence.ContextKind,
		Problem: fmt.Sprintf("%s of passage %q: want a whole number of at least 0, found %s", counting, p.DocID, found),
	}
}
