package cli

import (
	"context"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/system/staged"
)

// system is what is under test, ready to be called, with what only the system
// itself knows. Each kind has a file with the function that makes it.
type system struct {
	runner.System
	close func()
	// called is what is called, for people.
	called string
	// code identifies the bytes that a program is made of, as far as they can be
	// seen; "" when they cannot, or when there is no program.
	code evidence.Digest
	// places are where the endpoints of stages are; nil when that says nothing.
	places []string
	// cached says that answers are reused without being asked for, because code
	// is all that they depend on.
	cached bool
	// opaque says that it is a program of which nothing is known: no answer of it
	// is reused, whoever asks.
	opaque bool
	// late reports whether the bytes turned out to be more than code knows, so
	// that no answer may be kept for later runs; nil is never.
	late    func() bool
	version string // that the system says of itself; "" when it does not
	// declared is what else the system says of itself and no setting of a suite
	// takes the place of, such as the model that it asks.
	declared map[string]evidence.Value
	notes    []string
	// atOnce is how many cases it takes at one time; 0 is as many as there are.
	atOnce int
	// after says what it did wrong that no case is to blame for; nil is nothing.
	after func() []string
	// stages executes the generation alone again, and staged says how it is run;
	// nil when the system is not staged.
	stages replayer
	staged *evidence.StagedSettings
}

// bounded returns how many cases may be in flight, of n that are asked for.
func (s *system) bounded(n int) int {
	if s.atOnce > 0 {
		return min(n, s.atOnce)
	}
	return n
}

// replayer is a system whose generation can be executed with another context.
type replayer interface {
	Replay(ctx context.Context, c *evidence.Case, r staged.Replay) (evidence.Execution, error)
	Assemble(ctx context.Context, c *evidence.Case, candidates []evidence.Passage, topK int) (evidence.Context, []evidence.Passage, error)
}

// openSystem makes the system of the suite ready for calls, concurrency of them
// at one time. Close it.
func (x *activeRun) openSystem(ctx context.Context, concurrency int) (*system, error) {
	if err := x.askDeployed(ctx); err != nil {
		return nil, err
	}
	switch kind := x.project.suite.System.Kind(); kind {
	case "http":
		return x.openHTTP(concurrency)
	case "command":
		return x.openProgram(ctx)
	case "callable":
		return x.openCallable(ctx, concurrency)
	case "rag":
		return x.openStaged(ctx, concurrency)
	default:
		return nil, problem.Errorf("a system of kind %q cannot be called", kind)
	}
}

// identify adds to the identity of the system what only a run knows: where an
// endpoint is, the bytes of a program, or how a staged system is run.
func (x *activeRun) identify(s *system) error {
	m := x.manifest
	if m.System.Version == "" {
		m.System.Version = s.version
	}
	m.System.Staged = s.staged
	var details []detail
	switch {
	case s.code != "":
		details = append(details, detail{"system-code/v1", string(s.code)})
	case m.System.URL != "" && x.resolved.Start == nil: // else the port is another one each time
		details = append(details, detail{"system-at/v1", x.place(x.resolved.URL)})
	}
	if s.places != nil {
		details = append(details, detail{"system-at/v1", s.places})
	}
	if declares := s.declares(); declares != nil {
		details = append(details, detail{"system-declared/v1", declares})
	}
	if s.staged != nil {
		details = append(details, detail{"system-staged/v1", s.staged})
	}
	for _, d := range details {
		digest, err := evidence.ContentID(d.domain, []any{string(m.System.Digest), d.value})
		if err != nil {
			return err
		}
		m.System.Digest = digest
	}
	x.noteDeployed()
	return x.identifyDeployed()
}

// declares is what the system says of itself that tells it from another one; nil
// when it says nothing.
func (s *system) declares() any {
	if s.version == "" && len(s.declared) == 0 {
		return nil
	}
	return []any{s.version, s.declared}
}

// detail is a part of a system's identity that only a run knows.
type detail struct {
	domain string
	value  any
}

// troubles are the notes of what the system did wrong until now.
func (s *system) troubles() []string {
	if s.after == nil {
		return nil
	}
	return s.after()
}

// keepsAnswers reports whether what the system answers may be kept for later runs.
func (s *system) keepsAnswers() bool { return s.late == nil || !s.late() }

// reuses reports whether answers of earlier runs may be judged: when asked for,
// and without being asked when the system is all that they depend on. An
// explicit no holds, and so does that nothing is known of a program.
func (x *activeRun) reuses(s *system) bool {
	if s.opaque {
		return false
	}
	if x.flags.reuseSet {
		return x.flags.reuse
	}
	if _, written := x.project.suite.KeyPos["cache"]; written {
		return x.project.suite.Cache
	}
	return s.cached
}
