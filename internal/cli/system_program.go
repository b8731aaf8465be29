package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

// openProgram starts a program that answers whole cases.
func (x *activeRun) openProgram(ctx context.Context) (*system, error) {
	p, err := x.startProgram(ctx, x.project.suite.System.Command, process.MethodRun)
	if err != nil {
		return nil, err
	}
	return x.answering(p)
}

// openCallable starts Python with a function that answers whole cases.
func (x *activeRun) openCallable(ctx context.Context, concurrency int) (*system, error) {
	c := x.project.suite.System.Callable
	p, err := x.startPython(ctx, process.PythonCallable, c.Target, c.Pos, concurrency, process.MethodRun)
	if err != nil {
		return nil, err
	}
	return x.answering(p)
}

// answering makes a system of a program that answers whole cases.
func (x *activeRun) answering(p *program) (*system, error) {
	if records := p.Hello().Records; records != nil {
		if err := x.project.suite.CheckRecords(records); err != nil {
			p.close()
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
	close  func()
	called string
	code   evidence.Digest // "" when its files are not known
}

// system is what every kind of system says that is a program.
func (p *program) system() *system {
	s := &system{close: p.close, called: p.called, code: p.code, cached: p.code != "", opaque: p.code == "", late: p.Late, atOnce: p.AtOnce(), after: p.Notes, version: p.Hello().Version, declared: declaredApart(p.Hello())}
	if p.code == "" {
		s.notes = append(s.notes, "system.code_paths does not say which files the program is made of, so it is called on every run, with --reuse too: name them, and unchanged answers are reused")
	}
	return s
}

// declaredApart returns the settings that a program declares for itself, without
// those that are the suite's to override.
func declaredApart(hello process.Hello) map[string]evidence.Value {
	apart := map[string]evidence.Value{}
	for key, v := range evidence.Members(hello.Settings) {
		switch key {
		case "depth", "top_k", "token_budget", "index_version", "citations_path", "timeout_s":
		default:
			if text := string(v); text != "null" && text != "{}" {
				apart[key] = v
			}
		}
	}
	return apart
}

// startProgram starts the program of a suite, which has to offer methods.
func (x *activeRun) startProgram(ctx context.Context, c *suite.Command, needs ...string) (*program, error) {
	s := x.project.suite
	run, dir := x.resolved.Command.Run, filepath.Join(s.Dir, filepath.FromSlash(c.Dir))
	files, err := codeFiles(s)
	if err != nil {
		return nil, err
	}
	p := &program{called: "the program " + report.Clean(x.redact.String(strings.Join(run, " ")))}
	if len(files) > 0 {
		sum, err := process.Executable(run[0], dir)
		if err != nil {
			return nil, s.Problem(c.Pos, "the program could not be started: %v", err)
		}
		files["executable"] = sum
		if p.code, err = evidence.ContentID(codeDomain, files); err != nil {
			return nil, err
		}
	}
	p.Client, err = process.Start(ctx, process.Config{
		Command: run, Dir: dir,
		Env:       append(x.env.Environ[:len(x.env.Environ):len(x.env.Environ)], x.resolved.Command.Env...),
		Processes: c.Processes, Timeout: c.Timeout, Start: max(c.Timeout, suite.ProgramTimeout), Needs: needs, Redact: x.redact, Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64,
	})
	if err != nil {
		return nil, x.startProblem(ctx, c.Pos, err)
	}
	p.close = p.Client.Close
	return p, nil
}

// codeDomain is that of the content id of a program's files.
const codeDomain = "code/v1"

// startPython starts Python with what target names in the suite's directory. The
// code is what it is made of: the files of the project that were imported, or are
// named by an import statement, and those of code_paths.
func (x *activeRun) startPython(ctx context.Context, kind, target string, at suite.Position, concurrency int, needs ...string) (*program, error) {
	s := x.project.suite
	files, err := codeFiles(s)
	if err != nil {
		return nil, err
	}
	named, _ := x.env.Lookup("OLOPROOF_PYTHON")
	python, err := process.FindPython(named)
	if err != nil {
		return nil, s.Problem(at, "%v", err)
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	p := &program{called: fmt.Sprintf("%s with %s", report.Clean(target), report.Clean(python.Interpreter))}
	p.Client, err = process.Start(ctx, process.Config{
		Command: python.Command(kind, target, dir, concurrency, s.System.Version != ""), Called: report.Clean(python.Called()), Dir: dir, Env: x.env.Environ,
		Processes: 1, Timeout: s.System.Timeout, Start: max(s.System.Timeout, suite.ProgramTimeout), OwnTimeout: s.System.DefaultTimeout, Needs: needs, Redact: x.redact, Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64,
	})
	if err != nil {
		python.Close()
		return nil, x.startProblem(ctx, at, err)
	}
	p.close = func() {
		p.Client.Close()
		python.Close()
	}
	for name, sum := range evidence.Members(p.Hello().Code) {
		files["imported "+name], _ = evidence.Text(sum)
	}
	if p.code, err = evidence.ContentID(codeDomain, files); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// startProblem places the reason why a program does not start.
func (x *activeRun) startProblem(ctx context.Context, at suite.Position, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return x.project.suite.Problem(at, "%v", err)
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
