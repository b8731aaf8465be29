package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/internal/system/process"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// reranker is the user's own order of candidates, as a program that offers rerank.
type reranker struct {
	*process.Client
	code   evidence.Digest // "" when its files are not known
	close  func()
	redact *redact.Redactor // takes secrets out of what is said of its answers
}

// startReranker starts the reranker that the flags name, in the suite's directory.
func (x *diagnosis) startReranker(ctx context.Context) (*reranker, error) {
	if !x.env.allowExec() {
		return nil, problem.Errorf("a reranker is a program, and OLOPROOF_ALLOW_EXEC=0 forbids starting any here: allow it, or leave the reranker out")
	}
	s := x.active.project.suite
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	cfg := process.Config{
		Dir: dir, Env: x.env.Environ, Processes: 1, Timeout: suite.ProgramTimeout,
		Needs: []string{process.MethodRerank}, Redact: x.active.redact, Now: x.env.Now,
	}
	files := map[string]string{}
	r := &reranker{close: func() {}, redact: x.active.redact}
	flag := "--reranker"
	if x.flags.rerankerCommand != "" {
		flag = "--reranker-command"
		if cfg.Command, err = commandWords(x.flags.rerankerCommand); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", flag, err)}
		}
		for i, word := range cfg.Command {
			cfg.Command[i] = strings.ReplaceAll(word, "${OLOPROOF_BIN}", executable())
		}
		if files, err = commandFiles(cfg.Command, dir); err != nil {
			return nil, problem.Errorf("%s: the program could not be started: %v", flag, err)
		}
	} else {
		named, _ := x.env.Lookup("OLOPROOF_PYTHON")
		python, err := process.FindPython(named)
		if err != nil {
			return nil, problem.Errorf("%s: %v", flag, err)
		}
		r.close, cfg.Called = python.Close, report.Clean(python.Called())
		cfg.Command = python.Command(process.PythonReranker, x.flags.reranker, dir, x.parent.Manifest.Concurrency, true)
	}
	if r.Client, err = process.Start(ctx, cfg); err != nil {
		r.close()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, problem.Errorf("%s %s: %v", flag, x.intervention.Reranker, err)
	}
	ended := r.close
	r.close = func() {
		r.Client.Close()
		ended()
	}
	for name, sum := range evidence.Members(r.Hello().Code) {
		files[name], _ = evidence.Text(sum)
	}
	if len(files) > 0 {
		if r.code, err = evidence.ContentID("reranker/v1", files); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// commandFiles returns the digests of the executable and of the files that a
// command line names.
func commandFiles(command []string, dir string) (map[string]string, error) {
	sum, err := process.Executable(command[0], dir)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"executable": sum}
	for _, word := range command[1:] {
		if filepath.IsAbs(word) || !filepath.IsLocal(word) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, word)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		some, err := process.Code(dir, []string{filepath.ToSlash(word)})
		if err != nil {
			return nil, err
		}
		for name, sum := range some {
			files["file "+name] = sum
		}
	}
	return files, nil
}

// orders asks the reranker about every case before anything is executed, several
// at a time, so that one that cannot be used costs nothing. The error is that of
// the first case.
func (r *reranker) orders(ctx context.Context, cases []diagnose.Case, concurrency int) ([][]evidence.Passage, error) {
	orders, faults := make([][]evidence.Passage, len(cases)), make([]error, len(cases))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(concurrency, len(cases)) {
		workers.Go(func() {
			for i := range next {
				if cases[i].Retrieval != nil {
					orders[i], faults[i] = r.order(ctx, &cases[i])
				}
			}
		})
	}
	for i := range cases {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, stoppedError{context.Cause(ctx)}
	}
	for i, err := range faults {
		var list problem.List
		switch {
		case err == nil:
		case errors.As(err, &list):
			return nil, problem.Errorf("%s", r.redact.String(list[0].Message))
		default:
			return nil, problem.Errorf("case %q: %v", cases[i].ID, strings.TrimPrefix(r.redact.String(err.Error()), fmt.Sprintf("case %q: ", cases[i].ID)))
		}
	}
	return orders, nil
}

// order asks the reranker for the order of a case's recorded candidates.
func (r *reranker) order(ctx context.Context, c *diagnose.Case) ([]evidence.Passage, error) {
	params := append(append(evidence.Value(`{"input":`), c.Input...), `,"candidates":`...)
	params = append(append(params, passagesValue(c.Retrieval.Candidates)...), '}')
	reply, err := r.Call(ctx, c.ID, process.MethodRerank, params)
	var fault *process.Fault
	if errors.As(err, &fault) {
		detail := ""
		if fault.Detail != "" {
			detail = "\n" + fault.Detail
		}
		return nil, problem.Errorf("case %q: the reranker failed: %s%s", c.ID, fault.Message, detail)
	}
	if err != nil {
		return nil, err
	}
	const anyDepth = 1 << 30 // what is too much is told by what it is
	given, err := staged.ReadRetrieval(reply.Result, anyDepth)
	if err != nil {
		return nil, problem.Errorf("case %q: the reranker gave back what is no list of passages: %v; found %s", c.ID, err, evidence.Shorten(reply.Result, 120))
	}
	order, err := c.Reorder(given.Candidates)
	if err != nil {
		return nil, problem.Errorf("%v", err)
	}
	return order, nil
}

// commandWords splits a command line as a shell does: at white space, outside of
// quotes; a backslash takes the next character as it is, but not in single
// quotes. Nothing is expanded.
func commandWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started, quote, escaped := false, rune(0), false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			started, escaped = true, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			started, quote = true, c
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(c)
			started = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	case escaped:
		return nil, errors.New("a backslash stands at the end")
	case started:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("no program is named")
	}
	return words, nil
}
