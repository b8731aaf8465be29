package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// Config says what to run. Done and Progress may be nil.
type Config struct {
	// Len is the number of cases, and Case returns the one at a place of the
	// data set, from 0. Case is called for one case at a time, in ascending
	// order, and not for cases that are done.
	Len  int
	Case func(i int) (*evidence.Case, error)
	// Done reports whether a case was finished by an earlier run that this one
	// resumes.
	Done func(i int) bool

	System System
	// Judge returns the judgments of a case, whatever its execution came to. It
	// sees the execution as the system gave it and is called by several workers
	// at once. Its error is the context's when it was interrupted, or says why the
	// run has to stop; the case is then not finished.
	Judge func(context.Context, *evidence.Case, *evidence.Execution) ([]evidence.Judgment, error)
	// Judging is how many answered cases may be in Judge while the system is
	// called for others. 0 is for a Judge that calls nothing: it is then part of
	// the case's own call.
	Judging int
	// Redact takes the secrets out of executions and judgments between Judge and
	// Sink: what is judged is what the system said, what is kept holds no
	// secret. It is required, so that nobody forgets it; redact.New(nil) has no
	// secret.
	Redact *redact.Redactor
	// Sink keeps a finished case. It is called by several workers at once, once
	// for each case, in the order in which they finish; the record is the
	// sink's own. Its error stops the run.
	Sink func(*Record) error

	Concurrency int // cases in flight, at least 1
	// StopAfter is how many cases in a row may fail before the run stops; 0 never
	// stops it. Nil: max(8, Concurrency) of an endpoint that answered none, when
	// each failure says that nobody is there; else five times as many.
	StopAfter *int
	Progress  func(Progress) // called after each finished case, one call at a time; it must be quick
	Now       func() time.Time
}

// Record is a finished case.
type Record struct {
	Case      *evidence.Case
	Execution evidence.Execution
	Judgments []evidence.Judgment // as Judge returned them
}

// Run takes every case that is not done through system, judge and sink, and
// returns when nothing is in flight any more. Cases start in data set order. A
// case is delivered to the sink whole or not at all, and one that the system
// has answered is delivered even when the run has been stopped meanwhile.
//
// The error is nil when every case is finished; else the reason why the run
// stopped:
//   - an [*evidence.ContractError], a [*PanicError] or the error of Case or of
//     the system: always that of the first such case in data set order, because
//     the cases before it are let finish; those after it are cancelled;
//   - a [*DeadError], or the error of the sink or of the judge: all in flight
//     are cancelled;
//   - a [*SpentError]: those in flight finish as far as they can;
//   - the context's error.
//
// The summary holds in every case.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	if err := cfg.check(); err != nil {
		return Summary{}, err
	}
	r := &run{cfg: cfg, ctx: ctx, inFlight: map[int]context.CancelFunc{}, tally: tally{total: cfg.Len}, breaker: newBreaker(cfg.StopAfter, cfg.Concurrency)}
	if cfg.Judging > 0 {
		r.places = make(chan struct{}, cfg.Judging)
	}
	var workers sync.WaitGroup
	for range min(cfg.Concurrency, cfg.Len) {
		workers.Go(r.work)
	}
	workers.Wait()
	r.judging.Wait()
	r.skipRest()
	switch summary := r.tally.summary(); {
	case r.err != nil:
		return summary, r.err
	case summary.Finished+summary.Skipped < summary.Total:
		return summary, ctx.Err()
	default:
		return summary, nil
	}
}

func (cfg *Config) check() error {
	switch {
	case cfg.Case == nil || cfg.System == nil || cfg.Judge == nil || cfg.Sink == nil || cfg.Now == nil:
		return errors.New("a run needs cases, a system, a judge, a sink and a clock")
	case cfg.Redact == nil:
		return errors.New("a run needs a redactor, if only one without secrets")
	case cfg.Concurrency < 1:
		return fmt.Errorf("concurrency: want at least 1, found %d", cfg.Concurrency)
	}
	return nil
}

// run is the state of one call of Run.
type run struct {
	cfg Config
	ctx context.Context

	places  chan struct{} // holds one for each case that is being judged; nil when judging is part of the call
	judging sync.WaitGroup

	claiming sync.Mutex // held while a case is claimed and read
	next     int        // place of the next case

	mu       sync.Mutex // guards what follows; taken after claiming, never before
	inFlight map[int]context.CancelFunc
	err      error // why the run stops; nil while it goes on
	errAt    int   // place of the case that stopped it; -1 when none did
	tally    tally
	breaker  breaker
}

// work takes cases until there are no more, or the run stops.
func (r *run) work() {
	for {
		ctx, i, c := r.claim()
		if c == nil {
			return
		}
		r.finish(ctx, i, c)
	}
}

// claim returns the next case that is not done, its place and a context of its
// own; no case when the run is over.
func (r *run) claim() (context.Context, int, *evidence.Case) {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	for r.next < r.cfg.Len && r.done(r.next) {
		r.next++
	}
	i := r.next
	if i == r.cfg.Len || r.ctx.Err() != nil || r.stopped() {
		return nil, 0, nil
	}
	r.next++
	c, err := r.read(i)
	if err != nil {
		r.stop(i, err)
		return nil, 0, nil
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil { // stopped while the case was read
		cancel()
		return nil, 0, nil
	}
	r.inFlight[i] = cancel
	return ctx, i, c
}

// done reports whether a case was finished earlier, and counts it.
func (r *run) done(i int) bool {
	if r.cfg.Done == nil || !r.cfg.Done(i) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.skipped++
	return true
}

// skipRest counts the cases that were done earlier and lie behind the place
// where the run stopped.
func (r *run) skipRest() {
	for ; r.next < r.cfg.Len; r.next++ {
		r.done(r.next)
	}
}

// read returns a case.
func (r *run) read(i int) (c *evidence.Case, err error) {
	defer recovered(fmt.Sprintf("number %d", i+1), &err)
	c, err = r.cfg.Case(i)
	if err == nil && c == nil {
		err = fmt.Errorf("there is no case number %d", i+1)
	}
	return c, err
}

func (r *run) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// stop ends the run because of the case at place i, or of none when i is -1:
// no case starts any more and those after i are cancelled. Of several errors
// that of the first case in data set order stays.
func (r *run) stop(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked(i, err)
}

func (r *run) stopLocked(i int, err error) {
	if r.err == nil || i < r.errAt {
		r.err, r.errAt = err, i
	}
	for place, cancel := range r.inFlight {
		if place > i {
			cancel()
		}
	}
}

// finish takes a case through system, judge and sink.
func (r *run) finish(ctx context.Context, i int, c *evidence.Case) {
	record := &Record{Case: c}
	if err := r.execute(ctx, record); err != nil {
		r.end(ctx, i, i, record.Case.ID, &record.Execution, err)
		return
	}
	r.mu.Lock()
	r.breaker.add(i, record.Case.ID, &record.Execution)
	r.mu.Unlock()
	if r.places == nil {
		r.decide(ctx, i, record)
		return
	}
	r.places <- struct{}{} // those that hold a place end with their context
	r.judging.Go(func() {
		defer func() { <-r.places }()
		r.decide(ctx, i, record)
	})
}

// decide takes an answered case through judge and sink.
func (r *run) decide(ctx context.Context, i int, record *Record) {
	place, id := -1, record.Case.ID
	err := r.judge(ctx, record)
	execution := record.Execution // the record is the sink's own from here on
	var spent *SpentError
	var panicked *PanicError
	switch {
	case errors.As(err, &spent):
		place = r.cfg.Len // cancels nobody
	case errors.As(err, &panicked):
		place = i
	case err == nil:
		err = r.keep(record)
	}
	r.end(ctx, i, place, id, &execution, err)
}

// end counts a case that was kept, or stops the run at place because of err.
func (r *run) end(ctx context.Context, i, place int, id string, execution *evidence.Execution, err error) {
	interrupted := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight[i]()
	delete(r.inFlight, i)
	switch {
	case interrupted:
	case err != nil:
		r.stopLocked(place, err)
	default:
		r.tally.add(i, id, execution)
		r.endIfDead()
		r.report()
	}
}

// execute calls the system.
func (r *run) execute(ctx context.Context, record *Record) (err error) {
	defer recovered(record.Case.ID, &err)
	record.Execution, err = r.cfg.System.Execute(ctx, record.Case)
	return err
}

// judge fills in the judgments and takes the secrets out of the record.
func (r *run) judge(ctx context.Context, record *Record) (err error) {
	defer recovered(record.Case.ID, &err)
	if record.Judgments, err = r.cfg.Judge(ctx, record.Case, &record.Execution); err != nil {
		return err
	}
	Redact(r.cfg.Redact, &record.Execution, record.Judgments)
	return nil
}

func (r *run) keep(record *Record) (err error) {
	defer recovered(record.Case.ID, &err)
	return r.cfg.Sink(record)
}

// endIfDead stops the run when too many cases in a row were not answered. mu is
// held.
func (r *run) endIfDead() {
	if dead := r.breaker.open(); dead != nil && r.err == nil {
		r.stopLocked(-1, dead)
	}
}

// report calls Progress. mu is held.
func (r *run) report() {
	if r.cfg.Progress == nil {
		return
	}
	t := &r.tally
	r.cfg.Progress(Progress{Total: t.total, Skipped: t.skipped, Finished: t.finished, OK: t.ok})
}

// SpentError says that what a run may use is used up. No case starts any more,
// and those on their way are finished as far as they can be.
type SpentError struct{ Reason error }

// Error says what is used up.
func (e *SpentError) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *SpentError) Unwrap() error { return e.Reason }

// recovered turns a panic into a [*PanicError].
func recovered(caseID string, err *error) {
	if value := recover(); value != nil {
		*err = &PanicError{CaseID: caseID, Value: value, Stack: debug.Stack()}
	}
}

// PanicError is a fault of this program, met while it worked on a case. The run
// stops, because a judgment that is missing for such a reason would look like
// one of the system's.
type PanicError struct {
	CaseID string
	Value  any    // what panic was called with
	Stack  []byte // for a bug report
}

// Error names the case.
func (e *PanicError) Error() string {
	return fmt.Sprintf("internal error at case %q: %v; this is a fault of oloproof, not of the system under test", e.CaseID, e.Value)
}
