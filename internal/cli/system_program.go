package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

// openProgram starts a program that answers whole cases.
func (x *activeRun) openProgram(ctx context.Context, concurrency int) (*system, error) {
	p, err := x.startProgram(ctx, x.project.suite.System.Command, process.MethodRun)
	if err != nil {
		return nil, err
	}
	if records := p.Hello().Records; records != nil {
		if err := x.project.suite.CheckRecords(records); err != nil {
			p.Close()
			return nil, err
		}
	}
	s := p.system()
	s.System = process.System{Client: p.Client}
	return s, nil
}

// program is a program that runs, with what is known of its code.
type program struct {
	*process.Client
	called string
	code   evidence.Digest // "" when its files are not known
}

// system is what every kind of system says that is a program.
func (p *program) system() *system {
	s := &system{close: p.Close, called: p.called, code: p.code, cached: p.code != ""}
	if p.code == "" {
		s.notes = append(s.notes, "system.code_paths does not say which files the program is made of, so it was called for every case: name them, and unchanged answers are reused")
	}
	return s
}

// startProgram starts the program of a suite, which has to offer methods.
func (x *activeRun) startProgram(ctx context.Context, c *suite.Command, needs ...string) (*program, error) {
	s := x.project.suite
	code, err := x.code(x.resolved.Command.Run[0])
	if err != nil {
		return nil, err
	}
	client, err := process.Start(ctx, process.Config{
		Command: x.resolved.Command.Run, Dir: filepath.Join(s.Dir, filepath.FromSlash(c.Dir)),
		Env:       append(x.env.Environ[:len(x.env.Environ):len(x.env.Environ)], x.resolved.Command.Env...),
		Processes: c.Processes, Timeout: c.Timeout, Needs: needs, Redact: x.redact, Now: x.env.Now,
	})
	if err != nil {
		return nil, x.startProblem(ctx, c.Pos, err)
	}
	return &program{Client: client, code: code, called: "the program " + report.Clean(x.redact.String(strings.Join(x.resolved.Command.Run, " ")))}, nil
}

// startProblem places the reason why a program does not start.
func (x *activeRun) startProblem(ctx context.Context, at suite.Position, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return x.project.suite.Problem(at, "%v", err)
}

// code identifies the files that code_paths names and the executable of a
// command; "" without code_paths.
func (x *activeRun) code(executable string) (evidence.Digest, error) {
	s := x.project.suite
	if len(s.System.CodePaths) == 0 {
		return "", nil
	}
	files, err := codeFiles(s)
	if err != nil {
		return "", err
	}
	if executable != "" {
		sum, err := process.Executable(executable, filepath.Join(s.Dir, filepath.FromSlash(s.System.Command.Dir)))
		if err != nil {
			return "", s.Problem(s.System.Command.Pos, "the program could not be read: %v", err)
		}
		files["executable"] = sum
	}
	return evidence.ContentID("code/v1", files)
}

// codeFiles returns the digest of each file that code_paths names.
func codeFiles(s *suite.Suite) (map[string]string, error) {
	files := map[string]string{}
	var problems problem.List
	for _, p := range s.System.CodePaths {
		some, err := process.Code(s.Dir, []string{p.Path})
		if err != nil {
			var list problem.List
			errors.As(s.Problem(p.Pos, "%v", err), &list)
			problems = append(problems, list...)
		}
		for name, sum := range some {
			files[fmt.Sprintf("file %s", name)] = sum
		}
	}
	return files, problems.Err()
}

// openCallable starts Python with a function that answers whole cases.
func (x *activeRun) openCallable(context.Context, int) (*system, error) {
	return nil, problem.Errorf("Python functions are not supported yet")
}
