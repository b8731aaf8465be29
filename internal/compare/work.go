package compare

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// work is a list of differences to estimate. Verdicts with equal counts have
// equal limits, which are computed once: slices are often alike.
type work struct {
	jobs  []job
	known map[stats.Pairs]*limits
}

type job struct {
	difference *Difference
	limits     *limits // of verdicts that need an interval; shared
	interval   bool
}

// limits is an interval that is computed when it is first asked for.
type limits struct {
	once     sync.Once
	interval *measure.Interval
}

// add takes a difference that tally.difference returned, and whether it is to
// have an interval.
func (w *work) add(d *Difference, interval bool) {
	j := job{difference: d, interval: interval}
	if interval && d.Spec.Kind == evidence.Rate {
		if w.known == nil {
			w.known = map[stats.Pairs]*limits{}
		}
		if j.limits = w.known[d.Pairs()]; j.limits == nil {
			j.limits = new(limits)
			w.known[d.Pairs()] = j.limits
		}
	}
	w.jobs = append(w.jobs, j)
}

// do fills in estimates and intervals, on as many processors as there are. What
// it fills in does not depend on their number.
func (w *work) do(method string, level float64) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(w.jobs), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(w.jobs); i = int(next.Add(1)) - 1 {
				w.jobs[i].do(method, level)
			}
		})
	}
	all.Wait()
}

func (j job) do(method string, level float64) {
	d := j.difference
	slices.Sort(d.Values)
	d.Estimate = d.estimate()
	switch {
	case j.limits != nil:
		j.limits.once.Do(func() { j.limits.interval = d.interval(method, level) })
		d.Interval = j.limits.interval
	case j.interval:
		d.Interval = d.interval(method, level)
	}
}
