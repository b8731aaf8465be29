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
	"syscall"
	"time"

	"github.com/oloproof/oloproof-go/internal/cli"
)

func main() {
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
