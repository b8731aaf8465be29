// Package process runs a program that is under test, or a part of one, and
// speaks with it over its standard streams: one JSON object a line. The protocol
// is described in docs/systems.md.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/child"
)

// The methods that a program may offer.
const (
	MethodRun         = "run"
	MethodRetrieve    = "retrieve"
	MethodGenerate    = "generate"
	MethodCountTokens = "count_tokens"
	MethodRerank      = "rerank"
)

const (
	// maxLine is the longest line that is read, in bytes.
	maxLine = 32 << 20
	// deadAfter is how often a program may end, without an answer in between,
	// until it is called dead.
	deadAfter = 8
	// A call that the program asks to repeat is made so many more times, the first
	// of them after at most this pause.
	mostRepeats = 3
	firstPause  = 500 * time.Millisecond
	// defaultGrace is how long a program may take to end by itself.
	defaultGrace = 2 * time.Second
	// drain bounds the wait for the last output once the processes are gone: one
	// that left the group on purpose may still hold it.
	drain = time.Second
)

// Config says what to run.
type Config struct {
	Command    []string      // program and arguments
	Called     string        // by its user, when it does not start; "" is "the program"
	Dir        string        // where it runs; "" is the current directory
	Env        []string      // its whole environment, NAME=VALUE; the last one of a name counts
	Processes  int           // how many of it run, at least 1
	Timeout    time.Duration // for each answer
	Start      time.Duration // for the hello; 0 is as long as for an answer
	OwnTimeout bool          // timeout_s of the program's settings, if there is one, takes the place of Timeout for its answers
	Grace      time.Duration // between the end of its input and its end by force; 0 is 2 s
	Needs      []string      // methods that it has to offer
	Redact     *redact.Redactor
	Now        func() time.Time
	// Sleep waits before a call is made again for which the program asks that; it
	// ends early with the context's error. Without it no call is.
	Sleep  func(ctx context.Context, d time.Duration) error
	Random func() float64 // uniform in [0,1), for the pauses
}

// Client speaks with a program. It is safe for concurrent use.
type Client struct {
	cfg     Config
	hello   Hello
	workers []*worker

	deaths atomic.Int32 // since the last answer
	late   atomic.Bool  // an answer named code that the hello did not

	mu     sync.Mutex
	dead   error // why no call is made any more
	closed bool
	twice  []string // cases that were answered a second time
	idle   int      // how often it ended while no case was in flight
}

// Start starts the program and reads its hello. It does not end with ctx, which
// only bounds the start: call Close. The further processes are started when
// they are needed.
func Start(ctx context.Context, cfg Config) (*Client, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("the command of the program is empty")
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.Start == 0 {
		cfg.Start = cfg.Timeout
	}
	c := &Client{cfg: cfg}
	for range max(1, cfg.Processes) {
		c.workers = append(c.workers, &worker{client: c, starting: make(chan struct{}, 1)})
	}
	p, err := c.workers[0].current(ctx)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.hello = p.said
	if own, ok := evidence.Member(c.hello.Settings, "timeout_s"); ok && cfg.OwnTimeout && !evidence.IsNull(own) {
		seconds, err := strconv.ParseFloat(string(own), 64)
		if err != nil || !(seconds > 0) || seconds > 24*60*60 {
			c.Close()
			return nil, fmt.Errorf("the program declares timeout_s wrongly: want seconds above 0, found %s", cfg.Redact.String(evidence.Shorten(own, 60)))
		}
		c.cfg.Timeout = time.Duration(seconds * float64(time.Second))
	}
	return c, nil
}

// Hello is what the program said when it started.
func (c *Client) Hello() Hello { return c.hello }

// AtOnce is how many cases the program takes at one time, all its processes
// together. More would wait inside of it, and their clocks would run.
func (c *Client) AtOnce() int { return len(c.workers) * c.hello.AtOnce }

// same asks that a process which was started later says of itself what the first
// one said: else the answers of two programs would be those of one run.
func (c *Client) same(said Hello) error {
	first := c.hello
	if first.Protocol == 0 { // this is the first one
		return nil
	}
	var what string
	switch {
	case said.Version != first.Version:
		what = fmt.Sprintf("its version was %q and is %q now", c.cfg.Redact.String(first.Version), c.cfg.Redact.String(said.Version))
	case !sameJSON(said.Code, first.Code):
		what = "its code was edited meanwhile"
	case !sameJSON(said.Settings, first.Settings):
		what = "the settings in its hello are not those of the first one"
	default:
		return nil
	}
	return fmt.Errorf("the program is another one since it was started again: %s. The rest was not tried, since one run has one system; make a new run", what)
}

// sameJSON reports whether two objects say the same, in whatever order.
func sameJSON(a, b evidence.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := evidence.Canonical(a)
	other, again := evidence.Canonical(b)
	return err == nil && again == nil && bytes.Equal(one, other)
}

// Late reports whether an answer said that code was loaded which the hello does
// not name, so that the program's identity is not known any more.
func (c *Client) Late() bool { return c.late.Load() }

// Notes say what the program did that no case is to blame for. They quote nothing.
func (c *Client) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var notes []string
	if n := len(c.twice); n > 0 {
		which := "a case"
		switch first := c.twice[0]; {
		case n > 1:
			which = fmt.Sprintf("%d cases", n)
		case first != "":
			which = fmt.Sprintf("case %q", first)
		}
		notes = append(notes, fmt.Sprintf("the program answered %s a second time, and was started again: the first answer was taken, but one answer too many may be that of another case, so mend the program", which))
	}
	if c.idle > 0 {
		times := "once"
		if c.idle > 1 {
			times = fmt.Sprintf("%d times", c.idle)
		}
		notes = append(notes, fmt.Sprintf("the program ended, or wrote what is no answer, %s while no case was in flight, and was started again: it is to run until its input ends", times))
	}
	return notes
}

// again notes that a case was answered a second time; "" is one that is not known
// any more.
func (c *Client) again(caseID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.twice, caseID) {
		c.twice = append(c.twice, caseID)
	}
}

// Reply is an answer.
type Reply struct {
	Result    evidence.Value
	Artifacts evidence.Artifacts
	Usage     *evidence.Usage
	LatencyMS float64
	Stderr    string             // what the program wrote on standard error meanwhile
	Retried   []evidence.Attempt // calls before this one that gave no answer
}

// Fault is why there is no answer to a call. Anything else that [Client.Call]
// returns stops the run.
type Fault struct {
	Kind      evidence.ErrorKind // program_failed or timeout
	Message   string             // one line, without secrets
	Detail    string             // last words or frames, line by line, without secrets
	LatencyMS float64
	Retried   []evidence.Attempt // calls before this one
	again     bool               // the program asks that the call be made again
	others    int                // other cases that the fault may be one of: those in flight besides, or one that was answered before
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// Execution returns the fault as what happened for a case.
func (f *Fault) Execution(started time.Time) evidence.Execution {
	e := evidence.Execution{
		Status: evidence.StatusError, StartedAt: started, LatencyMS: f.LatencyMS,
		Attempts: append(f.Retried, evidence.Attempt{Error: f.Kind, LatencyMS: f.LatencyMS}),
		Error:    &evidence.ExecutionError{Kind: f.Kind, Message: f.Message, Snippet: f.Detail},
	}
	if f.Kind == evidence.ErrTimeout {
		e.Status = evidence.StatusTimeout
	}
	return e
}

// Call asks the program and waits for the answer. The error is a [*Fault], which
// is part of what is observed; or one that stops the run: an
// [*evidence.ContractError], that the program refuses to go on, that it is dead,
// or the context's error.
//
// A program that ends while several cases are in flight takes them all with it.
// Each of them is asked again, alone, so that the one to blame is found. So is a
// case that was in flight when another one was answered a second time.
//
// A call that the program asks to repeat is made four times at most, with pauses
// as those of an endpoint.
func (c *Client) Call(ctx context.Context, caseID, method string, params evidence.Value) (Reply, error) {
	var before []evidence.Attempt
	for pause := firstPause; ; pause *= 2 {
		reply, err := c.attempt(ctx, caseID, method, params)
		reply.Retried = append(before, reply.Retried...)
		var fault *Fault
		if !errors.As(err, &fault) {
			return reply, err
		}
		fault.Retried = append(before, fault.Retried...)
		if !fault.again || len(before) == mostRepeats || c.cfg.Sleep == nil {
			return reply, err
		}
		before = append(fault.Retried, evidence.Attempt{Error: fault.Kind, LatencyMS: fault.LatencyMS})
		if err := c.cfg.Sleep(ctx, time.Duration(c.cfg.Random()*float64(pause))); err != nil {
			return Reply{}, err
		}
	}
}

// attempt is one call, and a second one alone when others may be to blame.
func (c *Client) attempt(ctx context.Context, caseID, method string, params evidence.Value) (Reply, error) {
	w := c.pick()
	defer w.load.Add(-1)
	w.alone.RLock()
	reply, err := c.once(ctx, w, caseID, method, params)
	w.alone.RUnlock()
	var fault *Fault
	if !errors.As(err, &fault) || fault.others == 0 {
		return reply, err
	}
	first := evidence.Attempt{Error: fault.Kind, LatencyMS: fault.LatencyMS}
	w.alone.Lock()
	defer w.alone.Unlock()
	reply, err = c.once(ctx, w, caseID, method, params)
	if errors.As(err, &fault) {
		fault.Retried = append(fault.Retried, first)
	}
	reply.Retried = append(reply.Retried, first)
	return reply, err
}

// pick returns the process with the fewest calls in flight.
func (c *Client) pick() *worker {
	c.mu.Lock() // of two calls at one time the second sees the first
	defer c.mu.Unlock()
	best, least := c.workers[0], int32(math.MaxInt32)
	for _, w := range c.workers {
		if n := w.load.Load(); n < least {
			best, least = w, n
		}
	}
	best.load.Add(1)
	return best
}

// once makes one call of a process.
func (c *Client) once(ctx context.Context, w *worker, caseID, method string, params evidence.Value) (Reply, error) {
	call := &call{caseID: caseID, done: make(chan outcome, 1)}
	p, err := w.begin(ctx, call)
	if err != nil {
		return Reply{}, err
	}
	start := c.cfg.Now()
	elapsed := func() float64 { return float64(c.cfg.Now().Sub(start)) / float64(time.Millisecond) }
	deadline := time.NewTimer(c.cfg.Timeout)
	defer deadline.Stop()
	var out outcome
	select {
	case p.requests <- request(call.id, method, caseID, params):
		select {
		case out = <-call.done:
		case <-deadline.C:
			out.fault = p.timeOut(call)
		case <-ctx.Done():
			p.giveUp(call)
			return Reply{}, ctx.Err()
		}
	case out = <-call.done:
	case <-deadline.C:
		out.fault = p.timeOut(call)
	case <-ctx.Done():
		p.giveUp(call)
		return Reply{}, ctx.Err()
	}
	if out.fault != nil {
		out.fault.LatencyMS = elapsed()
		return Reply{}, out.fault
	}
	latency := elapsed()
	// Alone, all that the program wrote is the case's; beside others only what its
	// answer says is for certain.
	if call.shared == 0 || !p.ownLog {
		p.errors.settle()
		out.answer.log = p.log.Since(call.mark, c.cfg.Redact)
	}
	if call.shared > 0 && len(out.answer.log) > 0 {
		out.answer.log = append([]string{fmt.Sprintf("(written while %s in flight besides)", casesWere(call.shared))}, out.answer.log...)
	}
	return c.read(caseID, out.answer, latency)
}

func casesWere(n int) string {
	if n == 1 {
		return "1 other case was"
	}
	return fmt.Sprintf("%d other cases were", n)
}

// die makes err the answer to every further call.
func (c *Client) die(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil {
		c.dead = err
	}
	return c.dead
}

// gone returns why no call can be made any more; nil while one can.
func (c *Client) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("the program was ended")
	}
	return c.dead
}

// ended counts that the program ended without having been asked to, with so many
// cases in flight.
func (c *Client) ended(why *Fault, inFlight int) {
	if inFlight == 0 && why.others == 0 {
		c.mu.Lock()
		c.idle++
		c.mu.Unlock()
	}
	if c.deaths.Add(1) >= deadAfter {
		_ = c.die(&GoneError{why})
	}
}

// GoneError says that a program ended too often.
type GoneError struct{ last *Fault }

// Error quotes what the program said at last.
func (e *GoneError) Error() string {
	return fmt.Sprintf("%v; the last time: %s%s", e.Bare(), e.last.Message, quoted(e.last.Detail))
}

// Bare is the error without what the program said.
func (e *GoneError) Bare() error {
	return fmt.Errorf("the program ended %d times without an answer in between, so the rest was not tried", deadAfter)
}

// quoted indents the lines of a detail below a message.
func quoted(detail string) string {
	if detail == "" {
		return ""
	}
	text := ""
	for _, line := range child.Lines(detail, nil) {
		text += "\n  | " + line
	}
	return text
}

// Close ends the program and all that it started, and returns when nothing is
// left of it.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, w := range c.workers {
		all.Go(w.close)
	}
	all.Wait()
}
