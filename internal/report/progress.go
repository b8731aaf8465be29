package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/measure"
)

const (
	redrawEvery    = 200 * time.Millisecond // on a terminal
	lineEvery      = 10 * time.Second       // elsewhere
	intervalsEvery = 2 * time.Second        // metrics are measured anew at most that often
	defaultWidth   = 80                     // cells of a terminal that does not say
)

// ProgressOptions says what is counted and how it is shown.
type ProgressOptions struct {
	Total    int        // cases of the run
	Terminal bool       // one line that is redrawn; else a plain line every 10 s
	Width    func() int // cells of the terminal now; nil: 80
	Now      func() time.Time
	// Tick asks for the next line; nil: the wall clock does.
	Tick <-chan time.Time
	// Intervals says in a few words what the metrics come to so far; may be nil.
	// It is called at most every two seconds, without a lock of Progress.
	Intervals func() string
}

// Progress reports how far a run came. It is safe for concurrent use and writes
// only when it is asked to by a tick, so that a run shorter than the first
// tick shows nothing. Other output to the same place goes through Write.
type Progress struct {
	w      io.Writer
	opt    ProgressOptions
	ticker *time.Ticker // nil when ticks come from outside
	stop   sync.Once
	quit   chan struct{}
	ended  chan struct{}

	mu        sync.Mutex
	started   time.Time
	skipped   int
	finished  int
	failed    int
	shown     bool // a line stands on the terminal
	last      string
	open      bool // other output has not ended its line
	intervals string
	measured  time.Time
}

// NewProgress begins to report to w. Stop must be called at the end.
func NewProgress(w io.Writer, opt ProgressOptions) *Progress {
	p := &Progress{w: w, opt: opt, started: opt.Now(), quit: make(chan struct{}), ended: make(chan struct{})}
	tick := opt.Tick
	if tick == nil {
		every := lineEvery
		if opt.Terminal {
			every = redrawEvery
		}
		p.ticker = time.NewTicker(every)
		tick = p.ticker.C
	}
	go p.run(tick)
	return p
}

func (p *Progress) run(tick <-chan time.Time) {
	defer close(p.ended)
	for {
		select {
		case <-p.quit:
			return
		case <-tick:
			p.show()
		}
	}
}

// Update says how far the run is: cases that an earlier session finished, those
// that this one finished, and how many of the latter have no answer. Only the
// latter count for the rate.
func (p *Progress) Update(skipped, finished, failed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skipped, p.finished, p.failed = skipped, finished, failed
}

// Write writes other output, such as a warning, above the progress line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	n, err := p.w.Write(b)
	if len(b) > 0 {
		p.open = b[len(b)-1] != '\n'
	}
	if p.last != "" && !p.open && err == nil {
		p.draw(p.last)
	}
	return n, err
}

// Stop ends the reporting, waits for it and takes the line off the terminal.
func (p *Progress) Stop() {
	p.stop.Do(func() {
		close(p.quit)
		<-p.ended
		if p.ticker != nil {
			p.ticker.Stop()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
		p.last = ""
	})
}

// show prints how far the run is now.
func (p *Progress) show() {
	p.measure()
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(p.opt.Now())
	if p.open {
		return // not into the middle of a line
	}
	if !p.opt.Terminal {
		_, _ = io.WriteString(p.w, line+"\n") // trouble with standard error is no reason to end a run
		return
	}
	p.draw(line)
}

// measure asks for the intervals when they are old. The lock is not held
// meanwhile: the one who measures may be waiting to update.
func (p *Progress) measure() {
	if p.opt.Intervals == nil {
		return
	}
	now := p.opt.Now()
	p.mu.Lock()
	due := p.measured.IsZero() || now.Sub(p.measured) >= intervalsEvery
	p.mu.Unlock()
	if !due {
		return
	}
	words := p.opt.Intervals()
	p.mu.Lock()
	p.intervals, p.measured = words, p.opt.Now()
	p.mu.Unlock()
}

func (p *Progress) draw(line string) {
	width := defaultWidth
	if p.opt.Width != nil {
		if w := p.opt.Width(); w > 0 {
			width = w
		}
	}
	p.last, p.shown = line, true
	_, _ = io.WriteString(p.w, "\r"+cutTo(line, width-1)+"\x1b[K")
}

func (p *Progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// line is done/total, failures, rate, time left and what is known so far.
func (p *Progress) line(now time.Time) string {
	done := p.skipped + p.finished
	parts := []string{fmt.Sprintf("%d/%d cases", done, p.opt.Total), fmt.Sprintf("%d failed", p.failed)}
	elapsed := now.Sub(p.started).Seconds()
	if p.finished > 0 && elapsed > 0 {
		rate := float64(p.finished) / elapsed
		parts = append(parts, fmt.Sprintf("%.3g/s", rate))
		if left := p.opt.Total - done; left > 0 {
			parts = append(parts, timeLeft(float64(left)/rate))
		}
	}
	if p.intervals != "" {
		parts = append(parts, Clean(p.intervals))
	}
	return strings.Join(parts, " · ")
}

// timeLeft rounds seconds to what a person would say.
func timeLeft(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("about %d s left", int(seconds+0.5))
	case seconds < 90*60:
		return fmt.Sprintf("about %d min left", int(seconds/60+0.5))
	case seconds < 1000*3600:
		minutes := int(seconds/60 + 0.5)
		return fmt.Sprintf("about %d h %d min left", minutes/60, minutes%60)
	}
	return "more than 1000 h left"
}

// Brief says in a few words what the metrics come to so far.
func Brief(metrics []measure.Metric) string {
	var parts []string
	for _, m := range metrics {
		if m.Estimate == nil {
			continue
		}
		d := DisplayOf(m)
		parts = append(parts, Clean(m.Spec.ID)+" "+d.Estimate+" "+d.Interval)
	}
	return strings.Join(parts, " · ")
}
