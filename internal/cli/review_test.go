package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

// TestReviewIsInterrupted: a person who is asked can leave, without an answer first.
func TestReviewIsInterrupted(t *testing.T) {
	nobody, typing := io.Pipe()
	defer typing.Close()
	e := Env{Stdin: nobody, Stdout: io.Discard}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Interrupted{os.Interrupt})
	_, end, err := e.askVerdict(ctx, e.typed())
	if want := (Interrupted{}); !end || !errors.As(err, &want) {
		t.Errorf("askVerdict ends with %t, %v", end, err)
	}
}
