package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Pairs counts the pairs of a difference of verdicts.
func (d *Difference) Pairs() stats.Pairs {
	return stats.Pairs{Wins: d.Wins, Losses: d.Losses, Observed: d.Cases.Observed, Missing: d.Cases.Missing}
}

// Width is the width of the range of the scores; differences lie in [-Width,
// Width]. ok is false for measured quantities and for scores without a range.
func (d *Difference) Width() (width float64, ok bool) {
	width = d.Spec.Range[1] - d.Spec.Range[0]
	return width, d.Spec.Kind != evidence.Quantile && width > 0 && !math.IsInf(width, 0)
}

// IntervalAt returns the interval of the difference by its own method at
// another level; nil when it has none. Margins are those of the rules that the
// interval decides, which [stats.PairedExact] asks for.
func (d *Difference) IntervalAt(level float64, margins ...float64) *measure.Interval {
	if d.Interval == nil {
		return nil
	}
	return d.interval(d.Interval.Method, level, margins...)
}

// interval returns the interval of the difference at a level, of verdicts by
// the method; nil without a pair to count, or without a range to bound scores.
func (d *Difference) interval(method string, level float64, margins ...float64) *measure.Interval {
	if d.Cases.Eligible() == 0 {
		return nil
	}
	var limits stats.Interval
	width, bounded := d.Width()
	switch {
	case d.Spec.Kind == evidence.Quantile:
		method = stats.MethodPairedQuantile
		limits = stats.PairedQuantile(d.Values, d.Cases.Missing, d.Spec.Quantile, level)
	case !bounded || d.Outside > 0:
		return nil
	case d.Spec.Kind == evidence.Mean:
		method = stats.MethodPaired
		limits = stats.PairedScores(d.Values, d.Cases.Missing, width, level)
	case method == stats.MethodExact:
		limits = stats.PairedExact(d.Pairs(), level, margins...)
	case method == stats.MethodConditionalExact:
		limits = stats.PairedConditionalExact(d.Pairs(), level)
	default:
		limits = stats.PairedVerdicts(d.Pairs(), level)
	}
	return &measure.Interval{Lower: bound(limits.Lower), Upper: bound(limits.Upper), Level: level, Method: method}
}

// bound is nil where there is no bound.
func bound(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// tally counts some pairs of one metric.
type tally struct {
	observed, wins, losses int
	values                 []float64 // as they came; nil for verdicts
	outside                int
	reasons                []markCount // few, in the order in which they came
}

// markCount counts pairs with one reason.
type markCount struct {
	mark  mark
	pairs int
}

// count adds the pair in a row to a tally.
func (c *column) count(t *tally, row int32) {
	m := c.marks[row]
	if m >= markReasons {
		t.reason(m)
		return
	}
	t.observed++
	if m == markOutside {
		t.outside++
	}
	switch {
	case c.values != nil:
		t.values = append(t.values, c.values[row])
	case m == markWin:
		t.wins++
	case m == markLoss:
		t.losses++
	}
}

func (t *tally) reason(m mark) {
	for i := range t.reasons {
		if t.reasons[i].mark == m {
			t.reasons[i].pairs++
			return
		}
	}
	t.reasons = append(t.reasons, markCount{m, 1})
}

// difference returns the difference over the counted pairs, its values as they
// came and without estimate and interval; see work.
func (t *tally) difference(spec evidence.MetricSpec, r *reasons) Difference {
	d := Difference{Spec: spec, Wins: t.wins, Losses: t.losses, Values: t.values, Outside: t.outside}
	d.Cases.Observed = t.observed
	for _, n := range t.reasons {
		why := r.all[n.mark-markReasons]
		count := measure.ReasonCount{Reason: why.code, Cases: n.pairs}
		if why.state == evidence.Missing {
			d.Missing = append(d.Missing, count)
			d.Cases.Missing += n.pairs
		} else {
			d.Exclusions = append(d.Exclusions, count)
			d.Cases.Excluded += n.pairs
		}
	}
	byReason := func(a, b measure.ReasonCount) int { return cmp.Compare(a.Reason, b.Reason) }
	slices.SortFunc(d.Missing, byReason)
	slices.SortFunc(d.Exclusions, byReason)
	return d
}

// estimate returns the estimate of a difference, nil when no pair was observed.
func (d *Difference) estimate() *float64 {
	if d.Cases.Observed == 0 {
		return nil
	}
	var e float64
	switch d.Spec.Kind {
	case evidence.Rate:
		e = d.Pairs().Difference()
	case evidence.Mean:
		e = stats.Estimate(d.Values)
	case evidence.Quantile:
		e = stats.QuantileEstimate(d.Values, d.Spec.Quantile)
	}
	return &e
}

// measure fills in the differences, over all pairs and by slice, and the flips.
func (p *pairing) measure(c *Comparison) error {
	for i := range p.columns {
		column := &p.columns[i]
		var all tally
		for _, at := range p.paired {
			column.count(&all, at.row)
		}
		d := all.difference(column.spec, &p.reasons)
		if pairs := d.Cases.Eligible(); c.Method == stats.MethodExact && column.verdicts() && pairs > stats.MaxExactPairs {
			return &TooManyPairsError{column.spec.ID, c.Method, pairs, stats.MaxExactPairs}
		}
		c.Differences = append(c.Differences, d)
	}
	for i := range p.groups {
		c.Slices = append(c.Slices, p.slices(&p.groups[i])...)
	}
	c.estimate()
	c.Paired, c.Flips = p.observed(), p.flips()
	return nil
}

// estimate fills in estimates and intervals: of all pairs, and of slices with
// enough of them.
func (c *Comparison) estimate() {
	var w work
	for i := range c.Differences {
		w.add(&c.Differences[i], true)
	}
	for i := range c.Slices {
		s := &c.Slices[i]
		w.add(&s.Difference, s.Support >= c.MinSupport)
	}
	w.do(c.Method, c.Level)
}

// observed counts the pairs that any metric observed.
func (p *pairing) observed() int {
	n := 0
	for _, at := range p.paired {
		for i := range p.columns {
			if p.columns[i].marks[at.row] < markReasons {
				n++
				break
			}
		}
	}
	return n
}

// slices returns each metric over the pairs of each value of a slice, values as
// strings, metrics in the candidate's order.
func (p *pairing) slices(g *group) []SliceDifference {
	order := p.values(g)
	all := make([]SliceDifference, len(order)*len(p.columns))
	for i := range p.columns {
		column := &p.columns[i]
		tallies := make([]tally, len(g.values))
		for _, at := range p.paired {
			if id := g.rows[at.row]; id >= 0 {
				column.count(&tallies[id], at.row)
			}
		}
		for k, id := range order {
			d := tallies[id].difference(column.spec, &p.reasons)
			all[k*len(p.columns)+i] = SliceDifference{Name: g.name, Value: g.values[id], Difference: d, Support: d.Cases.Eligible()}
		}
	}
	return all
}

// values returns the places of the values of a slice that a pair has, in the
// order of the values.
func (p *pairing) values(g *group) []int32 {
	has := make([]bool, len(g.values))
	for _, at := range p.paired {
		if id := g.rows[at.row]; id >= 0 {
			has[id] = true
		}
	}
	var order []int32
	for id := range g.values {
		if has[id] {
			order = append(order, int32(id))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(g.values[a], g.values[b]) })
	return order
}

// flips returns the verdicts that differ: first what fails now, then what
// passes now, each in the candidate's order.
func (p *pairing) flips() []Flip {
	var losses, wins []Flip
	for _, at := range p.paired {
		for i := range p.columns {
			column := &p.columns[i]
			if !column.verdicts() || !column.spec.Judged() {
				continue
			}
			switch f := (Flip{CaseID: p.base[at.row].id, Criterion: column.spec.ID}); column.marks[at.row] {
			case markLoss:
				losses = append(losses, f)
			case markWin:
				f.Passing = true
				wins = append(wins, f)
			}
		}
	}
	return append(losses, wins...)
}
