package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/oloproof/oloproof-go/bench/workload"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

const (
	callTime      = 100 * time.Microsecond
	programCalls  = 20_000
	pythonRatio   = 2.0
	pythonThreads = 8 // the default of both tools
)

// programs measures what the protocol of programs adds to a call, and runs of a
// program in Go and of a Python function.
func (p plan) programs(ctx context.Context) (table, error) {
	call, err := p.call(ctx)
	if err != nil {
		return nil, err
	}
	t := table{{
		what:  fmt.Sprintf("one call of a Go program, one after the other, mean of %d, minimum of %d", programCalls, p.repetitions),
		usage: call, targets: []target{atMostTime(call, callTime)},
	}}
	dir := filepath.Join(p.work, "program")
	if err := workload.WriteProgram(dir, p.cases, p.path("program"), slowInFlight); err != nil {
		return nil, err
	}
	log.Print("programs: a run of a Go program")
	u, err := best(p.repetitions, func() (usage, error) { return p.runProgram(ctx, dir) })
	if err != nil {
		return nil, err
	}
	t = append(t, row{what: fmt.Sprintf("`oloproof run`: %d cases of a Go program, minimum of %d", p.cases, p.repetitions), usage: u})
	if exec.CommandContext(ctx, "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run() != nil {
		log.Print("programs: no Python 3.9 or later, so no Python function is run")
		return t, nil
	}
	dir = filepath.Join(p.work, "callable")
	if err := workload.WriteCallable(dir, p.cases, pythonThreads); err != nil {
		return nil, err
	}
	log.Print("programs: a run of a Python function")
	if u, err = best(p.repetitions, func() (usage, error) { return p.runProgram(ctx, dir) }); err != nil {
		return nil, err
	}
	t = append(t, row{what: fmt.Sprintf("`oloproof run`: %d cases of a Python function, minimum of %d", p.cases, p.repetitions), usage: u})
	if p.python == "" {
		return t, nil
	}
	log.Print("programs: the Python tool")
	other, err := runCommand(ctx, dir, p.python, "run", "--throwaway-key")
	if err != nil {
		return nil, err
	}
	mine := &t[len(t)-1]
	mine.targets = []target{atLeastFaster(mine.usage, other, pythonRatio)}
	return append(t, row{what: fmt.Sprintf("the Python tool: %d cases of the same function, once", p.cases), usage: other}), nil
}

// runProgram runs a project that calls a program, with nothing to reuse.
func (p plan) runProgram(ctx context.Context, dir string) (usage, error) {
	if err := os.RemoveAll(filepath.Join(dir, ".oloproof")); err != nil {
		return usage{}, err
	}
	u, err := p.program(ctx, dir, "oloproof", "run")
	if err != nil {
		return u, err
	}
	return u, checkCounts(u.stdout, p.cases)
}

// call measures the mean time of a call.
func (p plan) call(ctx context.Context) (usage, error) {
	log.Print("programs: calls of a Go program")
	client, err := process.Start(ctx, process.Config{
		Command: []string{p.path("program")}, Env: environment(), Processes: 1, Timeout: time.Minute,
		Needs: []string{process.MethodRun}, Now: time.Now,
	})
	if err != nil {
		return usage{}, err
	}
	defer client.Close()
	return best(p.repetitions, func() (usage, error) {
		start := time.Now()
		for i := range programCalls {
			params := append(append([]byte(`{"input":`), workload.Input(i)...), '}')
			reply, err := client.Call(ctx, "x", process.MethodRun, evidence.Value(params))
			if err != nil {
				return usage{}, err
			}
			if len(reply.Artifacts.Retrieval) != 1 {
				return usage{}, errors.New("the program did not record its retrieval")
			}
		}
		return usage{wall: time.Since(start) / programCalls}, nil
	})
}
