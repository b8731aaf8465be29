package process

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/system/child"
)

// call is a request that waits for its answer.
type call struct {
	id     uint64
	caseID string
	mark   int64 // of the log, when it began
	shared int   // most calls that were in flight besides
	done   chan outcome
}

// outcome is what a call comes to: an answer or a fault.
type outcome struct {
	answer answer
	fault  *Fault
}

// proc is one process of the program.
type proc struct {
	client   *Client
	cmd      *exec.Cmd
	stdin    *os.File
	stdout   *os.File
	log      *child.Tail // standard error
	errors   *errorStream
	said     Hello
	ownLog   bool // its answers carry what it wrote for the case
	requests chan []byte
	greeting chan outcome // its hello; a fault when it ended before

	leave   sync.Once
	leaving chan struct{} // closed when it shall end by itself
	ended   chan struct{} // closed when the first process has ended
	exit    error         // of the first process; set before ended is closed
	gone    chan struct{} // closed when nothing is left of it

	mu       sync.Mutex
	greeted  bool
	closed   bool // it takes no call any more
	overdue  bool // a call was not answered in time: it ends with its last call
	pending  map[uint64]*call
	given    map[uint64]bool // calls that are not waited for any more
	next     uint64
	fault    *Fault     // what it did wrong
	answered [256]*call // the last ones, by id, to name a case that is answered again
}

// launch starts a process.
func launch(c *Client) (*proc, error) {
	p := &proc{
		client: c, cmd: exec.Command(c.cfg.Command[0], c.cfg.Command[1:]...), log: &child.Tail{},
		requests: make(chan []byte), greeting: make(chan outcome, 1), leaving: make(chan struct{}),
		ended: make(chan struct{}), gone: make(chan struct{}),
		pending: map[uint64]*call{}, given: map[uint64]bool{},
	}
	var theirs []*os.File
	var stderr *os.File
	failed := func(err error) error {
		for _, f := range append(theirs, p.stdin, p.stdout, stderr) {
			if f != nil {
				f.Close()
			}
		}
		return fmt.Errorf("%s could not be started: %s", c.cfg.called(), c.cfg.Redact.String(err.Error()))
	}
	pipe := func() (*os.File, *os.File, error) { return os.Pipe() }
	in, stdin, err := pipe()
	if err != nil {
		return nil, failed(err)
	}
	theirs, p.stdin = append(theirs, in), stdin
	stdout, out, err := pipe()
	if err != nil {
		return nil, failed(err)
	}
	theirs, p.stdout = append(theirs, out), stdout
	stderr, log, err := pipe()
	if err != nil {
		return nil, failed(err)
	}
	theirs = append(theirs, log)
	if p.errors, err = newErrorStream(stderr, p.log); err != nil {
		return nil, failed(err)
	}
	p.cmd.Dir, p.cmd.Env = c.cfg.Dir, append([]string{}, c.cfg.Env...) // nil would be our own environment
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, log
	p.cmd.SysProcAttr = child.Attributes()
	err = child.Launch(p.cmd.Start, p.cmd.Wait, func(exit error) {
		p.exit = exit
		close(p.ended)
	})
	if err != nil {
		return nil, failed(err)
	}
	for _, f := range theirs {
		f.Close() // the program holds its own
	}
	go p.write()
	go p.supervise()
	return p, nil
}

func (cfg *Config) called() string { return cmp.Or(cfg.Called, "the program") }

// greet waits for the hello.
func (p *proc) greet(ctx context.Context) error {
	c := p.client
	deadline := time.NewTimer(c.cfg.Start)
	defer deadline.Stop()
	select {
	case out := <-p.greeting:
		if out.fault != nil {
			return errors.New(c.cfg.called() + " did not start: " + out.fault.Message + quoted(out.fault.Detail))
		}
	case <-deadline.C:
		text := fmt.Sprintf("%s did not say hello within %s; it has to write one line such as %s when it is ready", c.cfg.called(), c.cfg.Start, helloExample)
		return errors.New(text + quoted(strings.Join(p.log.Last(c.cfg.Redact), "\n")))
	case <-ctx.Done():
		return ctx.Err()
	}
	err := p.said.Fault
	if err == nil {
		err = p.said.check(c.cfg.Needs)
	}
	if err != nil {
		return errors.New(p.redacted("%v", err))
	}
	return nil
}

// begin registers a call; false when the process takes none any more.
func (p *proc) begin(call *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.overdue {
		return false
	}
	p.next++
	call.id, call.mark, call.shared = p.next, p.log.Mark(), len(p.pending)
	for _, other := range p.pending {
		other.shared = max(other.shared, len(p.pending))
	}
	p.pending[call.id] = call
	return true
}

// isShut reports whether the process gets no further call because it is ending.
func (p *proc) isShut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *proc) takesCalls() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed && !p.overdue
}

// timeOut takes back a call that was not answered in time. The process gets no
// other call and is ended by force once its last one is over.
func (p *proc) timeOut(call *call) *Fault {
	p.mu.Lock()
	p.overdue = true
	p.mu.Unlock()
	words := p.log.Since(call.mark, p.client.cfg.Redact)
	p.giveUp(call)
	f := &Fault{
		Kind:    evidence.ErrTimeout,
		Message: fmt.Sprintf("no answer within %s: the program was ended, and is started again for the next case", p.client.cfg.Timeout),
	}
	f.say(words, true)
	return f
}

// say adds what the program wrote before: its last line to the message, where
// there is one line, and all of it as detail.
func (f *Fault) say(words []string, inMessage bool) {
	f.Detail = strings.Join(words, "\n")
	if inMessage && len(words) > 0 {
		f.Message += "; its last words: " + strings.TrimSpace(words[len(words)-1])
	}
}

// giveUp takes back a call. What answers it later is passed over.
func (p *proc) giveUp(call *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.pending[call.id]; ok {
		delete(p.pending, call.id)
		p.given[call.id] = true
	}
	p.endIfOverdue()
}

// endIfOverdue ends the process when it holds no call any more. mu is held.
func (p *proc) endIfOverdue() {
	if p.overdue && len(p.pending) == 0 {
		p.closed = true
		child.Kill(p.cmd.Process)
	}
}

// isBusy reports whether the process owes an answer that is not waited for.
func (p *proc) isBusy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.given) > 0
}

// write sends the requests, one after the other.
func (p *proc) write() {
	for {
		select {
		case line := <-p.requests:
			if _, err := p.stdin.Write(line); err != nil {
				return // it is ending: whoever waits is told by supervise
			}
		case <-p.leaving:
			p.stdin.Close()
			return
		case <-p.gone:
			return
		}
	}
}

// stop has the process end, and returns when nothing is left of it.
func (p *proc) stop() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.leave.Do(func() { close(p.leaving) })
	<-p.gone
}

// supervise reads what the process writes and sees to its end.
func (p *proc) supervise() {
	answered, logged := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(answered)
		p.read()
	}()
	go func() {
		defer close(logged)
		p.errors.pump() // ends when the file is closed below
	}()
	silent := false
	select {
	case <-p.ended:
	case <-answered: // it closed its standard output, or wrote what it may not
		silent = !within(drain, p.ended)
	case <-p.leaving:
		// One that is at work on what nobody waits for does not read the end of its
		// input: it is asked in another way.
		if p.isBusy() || !within(p.client.cfg.Grace, p.ended) {
			child.Terminate(p.cmd.Process)
			within(drain, p.ended)
		}
	}
	child.Kill(p.cmd.Process)
	<-p.ended
	within(drain, answered)
	within(drain, logged)
	p.errors.settle()
	p.stdout.Close()
	p.errors.close()
	p.stdin.Close()
	p.release(silent)
	close(p.gone)
}

func within(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// release tells every call that is still waited for why it has no answer.
func (p *proc) release(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.overdue
	select {
	case <-p.leaving:
		asked = true
	default:
	}
	p.closed = true
	fault := p.fault
	if fault == nil {
		how := "exit status 0"
		if p.exit != nil {
			how = p.exit.Error()
		}
		text := fmt.Sprintf("the program ended before it answered (%s)", how)
		if !p.greeted {
			text = fmt.Sprintf("it ended before it said hello (%s)", how)
		}
		if silent {
			text = "the program closed its standard output, so it was ended"
		}
		fault = &Fault{Kind: evidence.ErrProgram, Message: text}
	}
	cfg := &p.client.cfg
	ended := *fault
	ended.say(p.log.Last(cfg.Redact), false)
	if !p.greeted {
		p.greeting <- outcome{fault: &ended}
		return
	}
	inFlight := len(p.pending)
	for id, call := range p.pending {
		f := *fault
		f.others += inFlight - 1
		f.say(p.log.Since(call.mark, cfg.Redact), true)
		call.done <- outcome{fault: &f}
		delete(p.pending, id)
	}
	if !asked {
		p.client.ended(&ended, inFlight)
	}
}

// read takes the answers off standard output until that ends or holds something
// else. From then on the process can answer nothing.
func (p *proc) read() {
	defer p.shut()
	lines := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, err := readLine(lines, maxLine)
		if errors.Is(err, errLong) {
			p.accuse(0, "a line of more than %d bytes on standard output", maxLine)
			return
		}
		if err != nil {
			p.shut() // before the last answer has the next case asked
			if len(line) > 0 {
				p.take(line)
			}
			return
		}
		if !p.take(line) {
			return
		}
	}
}

// shut lets the process get no further call.
func (p *proc) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

var errLong = errors.New("the line is too long")

// readLine returns the next line, without its end. The last one may lack it.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// take takes one line of standard output; false when it is nothing that may
// stand there.
func (p *proc) take(line []byte) bool {
	p.mu.Lock()
	greeted := p.greeted
	p.mu.Unlock()
	if !greeted {
		hello, err := readHello(line)
		if err != nil {
			p.accuse(0, "the first line on standard output is no hello such as %s: %v: %s", helloExample, err, p.show(line))
			return false
		}
		hello.Name, hello.Version = p.redacted("%s", hello.Name), p.redacted("%s", hello.Version)
		p.mu.Lock()
		p.said, p.ownLog, p.greeted = hello, hello.OwnLog, true
		p.mu.Unlock()
		p.greeting <- outcome{}
		return true
	}
	a, err := readAnswer(line)
	out := outcome{answer: a}
	if err != nil {
		out = outcome{fault: &Fault{Kind: evidence.ErrProgram, Message: p.redacted("an answer that cannot be read, %v: ", err) + p.show(line)}}
	}
	switch p.deliver(a.id, out) {
	case delivered:
		return true
	case unexpected:
		if err == nil {
			what, others := p.unexpected(a.id)
			p.accuse(others, "%s: %s", what, p.show(line))
			return false
		}
	}
	p.accuse(0, "a line on standard output that is no answer: %s", p.show(line))
	return false
}

const (
	delivered = iota
	unexpected
)

// deliver gives a call what it came to.
func (p *proc) deliver(id uint64, out outcome) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if call, ok := p.pending[id]; ok {
		delete(p.pending, id)
		p.answered[id%uint64(len(p.answered))] = call
		p.client.deaths.Store(0)
		call.done <- out
		p.endIfOverdue()
		return delivered
	}
	if p.given[id] {
		delete(p.given, id)
		return delivered
	}
	return unexpected
}

// unexpected says what is wrong with an answer to a request, and how many cases
// are to blame that are answered.
func (p *proc) unexpected(id uint64) (what string, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch call := p.answered[id%uint64(len(p.answered))]; {
	case call != nil && call.id == id:
		p.client.again(call.caseID)
		return fmt.Sprintf("a second answer to the request %d, of case %q", id, call.caseID), 1
	case id <= p.next:
		p.client.again("")
		return fmt.Sprintf("an answer to the request %d, which is answered already", id), 1
	}
	return fmt.Sprintf("an answer to the request %d, which was not asked", id), 0
}

// accuse records what the process did wrong, for whoever waits for it. others is
// how many cases may be to blame that are answered.
func (p *proc) accuse(others int, format string, args ...any) {
	p.mu.Lock()
	p.fault = &Fault{Kind: evidence.ErrProgram, Message: p.redacted(format, args...), others: others}
	p.closed = true
	p.mu.Unlock()
	child.Kill(p.cmd.Process)
}

func (p *proc) redacted(format string, args ...any) string {
	return p.client.cfg.Redact.String(fmt.Sprintf(format, args...))
}

// show returns the start of a line as it may be shown.
func (p *proc) show(line []byte) string {
	const most = 4 << 10 // more than is shown, and no half secret at its end is
	text := child.Printable(p.client.cfg.Redact.String(string(line[:min(len(line), most)])))
	if text == "" {
		return "(an empty line)"
	}
	return text
}
