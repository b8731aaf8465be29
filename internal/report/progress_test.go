package report

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/measure"
)

// screen is a writer that shows what a terminal would: the lines above, and
// the one the cursor stands on.
type screen struct {
	mu     sync.Mutex
	writes chan struct{} // one for each write
	raw    strings.Builder
}

func newScreen() *screen { return &screen{writes: make(chan struct{}, 10_000)} }

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	s.writes <- struct{}{}
	return len(b), nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// lines plays carriage returns and erasures.
func (s *screen) lines() []string {
	var out []string
	for line := range strings.SplitSeq(s.text(), "\n") {
		shown := ""
		for part := range strings.SplitSeq(line, "\r") {
			if erased, ok := strings.CutSuffix(part, "\x1b[K"); ok {
				shown = erased
			} else if part != "" {
				shown = part
			}
			if i := strings.Index(shown, "\x1b[K"); i >= 0 {
				shown = shown[i+len("\x1b[K"):]
			}
		}
		out = append(out, shown)
	}
	return out
}

// clock is a time that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestProgressPlain(t *testing.T) {
	s, c, tick := newScreen(), &clock{now: time.Unix(0, 0)}, make(chan time.Time)
	p := NewProgress(s, ProgressOptions{Total: 1000, Now: c.Now, Tick: tick, Intervals: func() string { return "answer_correct 73.1% [70.2%, 75.9%]" }})
	step := func(d time.Duration, done, failed int) {
		c.advance(d)
		p.Update(0, done, failed)
		tick <- c.Now()
		<-s.writes
	}
	step(10*time.Second, 0, 0)
	step(10*time.Second, 200, 3)
	step(10*time.Second, 600, 3)
	step(10*time.Second, 1000, 4)
	p.Stop()
	want := `0/1000 cases · 0 failed · answer_correct 73.1% [70.2%, 75.9%]
200/1000 cases · 3 failed · 10/s · about 80 s left · answer_correct 73.1% [70.2%, 75.9%]
600/1000 cases · 3 failed · 20/s · about 20 s left · answer_correct 73.1% [70.2%, 75.9%]
1000/1000 cases · 4 failed · 25/s · answer_correct 73.1% [70.2%, 75.9%]
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgressSaysNothingOfAShortRun(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		s := newScreen()
		p := NewProgress(s, ProgressOptions{Total: 3, Terminal: terminal, Now: time.Now, Tick: make(chan time.Time)})
		p.Update(0, 3, 0)
		p.Stop()
		p.Stop()
		if got := s.text(); got != "" {
			t.Errorf("terminal %v: %q", terminal, got)
		}
	}
}

func TestProgressTerminal(t *testing.T) {
	s, c, tick := newScreen(), &clock{now: time.Unix(0, 0)}, make(chan time.Time)
	p := NewProgress(s, ProgressOptions{Total: 100, Terminal: true, Now: c.Now, Tick: tick, Width: func() int { return 20 }})
	c.advance(time.Second)
	p.Update(0, 7, 0)
	tick <- c.Now()
	<-s.writes
	if diff := cmp.Diff([]string{"7/100 cases · 0 fa…"}, s.lines()); diff != "" {
		t.Errorf("cut (-want +got):\n%s", diff)
	}
	fmt.Fprintln(p, "warning: something")
	if diff := cmp.Diff([]string{"warning: something", "7/100 cases · 0 fa…"}, s.lines()); diff != "" {
		t.Errorf("other output (-want +got):\n%s", diff)
	}
	fmt.Fprint(p, "half a ")
	tick <- c.Now() // waits for nobody: nothing may be written into the line
	fmt.Fprintln(p, "line")
	if diff := cmp.Diff([]string{"warning: something", "half a line", "7/100 cases · 0 fa…"}, s.lines()); diff != "" {
		t.Errorf("a line in two writes (-want +got):\n%s", diff)
	}
	p.Stop()
	if diff := cmp.Diff([]string{"warning: something", "half a line", ""}, s.lines()); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	fmt.Fprintln(p, "later")
	if diff := cmp.Diff([]string{"warning: something", "half a line", "later", ""}, s.lines()); diff != "" {
		t.Errorf("after the end (-want +got):\n%s", diff)
	}
}

// Cases of an earlier session are done, but say nothing of the rate.
func TestProgressOfAResumedRun(t *testing.T) {
	s, c, tick := newScreen(), &clock{now: time.Unix(0, 0)}, make(chan time.Time)
	p := NewProgress(s, ProgressOptions{Total: 1000, Now: c.Now, Tick: tick})
	c.advance(10 * time.Second)
	p.Update(900, 50, 2)
	tick <- c.Now()
	<-s.writes
	p.Stop()
	if got, want := s.text(), "950/1000 cases · 2 failed · 5/s · about 10 s left\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgressIsSafeForConcurrentUse(t *testing.T) {
	s, c, tick := newScreen(), &clock{now: time.Unix(0, 0)}, make(chan time.Time)
	var measuring sync.Mutex // as of one who counts, updates under the same lock, and measures
	p := NewProgress(s, ProgressOptions{Total: 400, Terminal: true, Now: c.Now, Tick: tick, Intervals: func() string {
		measuring.Lock()
		defer measuring.Unlock()
		return "x"
	}})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				measuring.Lock()
				p.Update(0, w*100+i, 0)
				measuring.Unlock()
				if i%10 == 0 {
					c.advance(time.Second)
					tick <- c.Now()
					fmt.Fprintf(p, "line %d.%d\n", w, i)
				}
			}
		})
	}
	wg.Wait()
	p.Stop()
	lines := s.lines()
	whole := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "line ") {
			whole++
		} else if line != "" {
			t.Errorf("garbled line %q", line)
		}
	}
	if whole != 40 {
		t.Errorf("%d lines of other output, want 40", whole)
	}
}

func TestTimeLeft(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.2: "about 0 s left", 89: "about 89 s left", 100: "about 2 min left", 3600: "about 60 min left",
		7800: "about 2 h 10 min left", 1e12: "more than 1000 h left",
	} {
		if got := timeLeft(seconds); got != want {
			t.Errorf("timeLeft(%v) = %q, want %q", seconds, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	in := exampleInput()
	want := "answer_correct 73.3% [44.8%, 92.3%] · hit_rate_at_2 92.3% [63.9%, 99.9%]"
	if got := Brief(append([]measure.Metric{{}}, in.Metrics[:2]...)); got != want {
		t.Errorf("Brief = %q, want %q", got, want)
	}
}
