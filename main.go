// Command oloproof runs a suite of cases against a deployed RAG endpoint and
// decides whether its quality gate opens. See README.md.
package main

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/oloproof/oloproof-go/internal/cli"
)

func main() {
	tuneMemory()
	log.SetOutput(io.Discard) // net/http logs bytes of unsolicited responses through it
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that leaves must not change the exit code
	go func() {
		s := <-signals
		signal.Stop(signals) // a second signal ends the process at once
		cancel(cli.Interrupted{Signal: s})
	}()
	os.Exit(cli.Main(ctx, cli.Env{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Lookup:  os.LookupEnv,
		Environ: os.Environ(),
		Now:     time.Now,
		Rand:    rand.Reader,
	}))
}

// tuneMemory trades memory for speed: a run makes much garbage beside little that
// lives, so fewer collections save a seventh of its time. The soft limit keeps
// large answers from multiplying. Both give way to the user's own settings.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(1 << 30)
	}
}
