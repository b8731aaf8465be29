// Package service launches the service under test, waits until it answers, and
// ends it with all that it started when the run is over.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/child"
)

const (
	defaultGrace = 5 * time.Second
	// drain bounds the wait for the last output once the processes are gone: one
	// that left the group on purpose may still hold it.
	drain = time.Second
	// Pauses between two looks at whether the service is ready: short at first,
	// since small services are there at once.
	firstPoll = 5 * time.Millisecond
	lastPoll  = 200 * time.Millisecond
)

// Config says what to launch.
type Config struct {
	Command []string      // program and arguments
	Dir     string        // where it runs; "" is the current directory
	Env     []string      // its whole environment, NAME=VALUE; the last one of a name counts
	Ready   string        // URL (http or https) or HOST:PORT that answers when the service is ready
	Timeout time.Duration // until Ready answers
	Grace   time.Duration // between the request to end and the end by force; 0 is 5 s
	Redact  *redact.Redactor
}

// Service is a launched service.
type Service struct {
	cfg    Config
	cmd    *exec.Cmd
	output *child.Tail

	stop    sync.Once
	leaving chan struct{} // closed when Stop begins
	ended   chan struct{} // closed when the first process has ended
	exit    error         // of the first process; set before ended is closed
	died    chan struct{} // closed when the service has ended without being asked
	gone    chan struct{} // closed when nothing is left of it
}

// Start launches the service and waits until it answers. What answers before
// the launch is an error: a server from an earlier run must not be judged. The
// service does not end with ctx, which only bounds the wait: call Stop.
func Start(ctx context.Context, cfg Config) (*Service, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("the command of the service is empty")
	}
	target, err := parseReady(cfg.Ready)
	if err != nil {
		return nil, err
	}
	if target.isTaken(ctx) {
		return nil, fmt.Errorf("something answers at %s before the service is launched, so another server would be judged: stop it, or let the service listen at a free port (${PORT})", target)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s, err := launch(cfg)
	if err != nil {
		return nil, fmt.Errorf("the service could not be launched: %s; its program is that of system.start.command, run in the suite's directory", cfg.Redact.String(err.Error()))
	}
	if err := s.awaitReady(ctx, target); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func launch(cfg Config) (*Service, error) {
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	s := &Service{
		cfg:     cfg,
		cmd:     exec.Command(cfg.Command[0], cfg.Command[1:]...),
		output:  &child.Tail{},
		leaving: make(chan struct{}),
		ended:   make(chan struct{}),
		died:    make(chan struct{}),
		gone:    make(chan struct{}),
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Dir, s.cmd.Env = cfg.Dir, append([]string{}, cfg.Env...) // nil would be our own environment
	s.cmd.Stdout, s.cmd.Stderr = write, write
	s.cmd.SysProcAttr = child.Attributes()
	err = child.Launch(s.cmd.Start, s.cmd.Wait, func(exit error) {
		s.exit = exit
		close(s.ended)
	})
	write.Close() // the service holds its own
	if err != nil {
		read.Close()
		return nil, err
	}
	go s.supervise(read)
	return s, nil
}

// supervise collects the output, and sees to the end of everything in the
// service's process group: when Stop asks for it, or when the first process
// has ended by itself.
func (s *Service) supervise(output *os.File) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(s.output, output) // ends with an error when the output is closed below
	}()
	asked := false
	select {
	case <-s.ended:
	case <-s.leaving:
		asked = true
		child.Terminate(s.cmd.Process)
		s.awaitEnd(drained)
	}
	child.Kill(s.cmd.Process)
	<-s.ended
	within(drain, drained)
	output.Close()
	within(drain, drained) // at once, but on systems where closing does not end a read
	if !asked {
		close(s.died)
	}
	close(s.gone)
}

// awaitEnd waits, at most for the grace, until the first process has ended and
// nothing writes any more, which is when the others have ended too.
func (s *Service) awaitEnd(drained <-chan struct{}) {
	timer := time.NewTimer(s.cfg.Grace)
	defer timer.Stop()
	for _, done := range []<-chan struct{}{s.ended, drained} {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

func within(d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// Stop ends the service's whole process group: with a request first, by force
// after the grace. It returns when nothing of it is left, and may be called
// more than once.
func (s *Service) Stop() {
	s.stop.Do(func() { close(s.leaving) })
	<-s.gone
}

// Died returns a channel that is closed when the service ends without having
// been asked to.
func (s *Service) Died() <-chan struct{} { return s.died }

// Err says how the service ended, with the end of its output, once Died is
// closed; before that it is nil.
func (s *Service) Err() error {
	select {
	case <-s.died:
		return s.failure("the service ended while it was needed (%s)", s.how())
	default:
		return nil
	}
}

// how says how the first process ended.
func (s *Service) how() string {
	if s.exit == nil {
		return "exit status 0: it has to stay in the foreground"
	}
	return s.exit.Error()
}

// awaitReady waits until the target answers.
func (s *Service) awaitReady(ctx context.Context, target target) error {
	bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	var last error
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		err := target.probe(bounded)
		if err == nil {
			return nil
		}
		if bounded.Err() == nil {
			last = err
		}
		timer := time.NewTimer(pause)
		select {
		case <-s.died:
			timer.Stop()
			return s.failure("the service ended before it answered at %s (%s)", target, s.how())
		case <-bounded.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.failure("the service did not answer at %s within %s (%s)", target, s.cfg.Timeout, because(last))
		case <-timer.C:
		}
	}
}

func because(err error) string {
	if err == nil {
		return "no answer"
	}
	return err.Error()
}

// failure returns an error with the end of the service's output.
func (s *Service) failure(format string, args ...any) error {
	var b strings.Builder
	b.WriteString(s.cfg.Redact.String(fmt.Sprintf(format, args...)))
	lines := s.output.Last(s.cfg.Redact)
	if len(lines) == 0 {
		b.WriteString("; it has printed nothing")
		return errors.New(b.String())
	}
	b.WriteString("; the end of its output:")
	for _, line := range lines {
		b.WriteString("\n  | " + line)
	}
	return errors.New(b.String())
}
