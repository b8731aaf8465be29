package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// plot is an interval on an axis, for a picture. Places are in percent of the
// width, so that a picture fits every screen without a script.
type plot struct {
	Label                  string // what a screen reader says
	Lower, Upper, Estimate string // places; "" where there is none
	Left, Right            string // ends of the line: the bounds, or the ends of the axis
	OpenLeft, OpenRight    bool   // no bound on that side
	Width                  string // from Left to Right
	Marks                  []plotMark
	Zones                  []plotZone
	Ticks                  []plotMark
}

// plotMark is an upright line or a tick with its label.
type plotMark struct{ At, Text, Anchor string }

// plotZone is where the interval must not lie wholly.
type plotZone struct{ At, Width string }

// ruler turns numbers into places.
type ruler struct{ from, to float64 }

// share is where x lies between the ends, in [0,1].
func (r ruler) share(x float64) float64 {
	width := r.to - r.from
	if !(width > 0) || math.IsInf(width, 0) || math.IsNaN(x) {
		return 0
	}
	return min(max((x-r.from)/width, 0), 1)
}

func (r ruler) place(x float64) string { return percent(r.share(x)) }

func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e4)/1e2, 'f', -1, 64) + "%"
}

// draw makes the plot of an interval.
func (r ruler) draw(estimate *float64, i *Interval) plot {
	p := plot{}
	if estimate != nil {
		p.Estimate = r.place(*estimate)
	}
	if i == nil || i.Lower == nil && i.Upper == nil {
		return p
	}
	left, right := 0.0, 1.0
	if i.Lower != nil {
		left = r.share(*i.Lower)
		p.Lower = percent(left)
	}
	if i.Upper != nil {
		right = r.share(*i.Upper)
		p.Upper = percent(right)
	}
	p.OpenLeft, p.OpenRight = i.Lower == nil, i.Upper == nil
	p.Left, p.Right, p.Width = percent(left), percent(right), percent(max(right-left, 0))
	return p
}

// ticks labels the axis at so many equal steps.
func (r ruler) ticks(steps int, label func(float64) string) []plotMark {
	ticks := make([]plotMark, steps+1)
	for i := range ticks {
		share := float64(i) / float64(steps)
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case steps:
			anchor = "end"
		}
		ticks[i] = plotMark{percent(share), label(r.from + share*(r.to-r.from)), anchor}
	}
	return ticks
}

// metricRuler is the axis of a metric that shows all these numbers.
func metricRuler(kind evidence.Kind, bounds [2]float64, unit string, shown ...*float64) (ruler, []plotMark) {
	switch {
	case kind == evidence.Rate:
		r := ruler{0, 1}
		return r, r.ticks(4, func(x float64) string { return Scale{shift: 2, unit: "%"}.Exact(x) })
	case measuredQuantity(kind, unit):
		r := ruler{0, axisEnd(shown...)}
		return r, r.ticks(2, func(x float64) string { return number(x) + suffix(" ", Clean(unit)) })
	}
	r := ruler{bounds[0], bounds[1]}
	return r, r.ticks(2, number)
}

// differenceRuler is the axis of a difference, the same on both sides of zero.
func differenceRuler(x *Difference, shown ...*float64) (ruler, []plotMark) {
	b := bar{}
	for _, v := range shown {
		if v != nil {
			b.thresholds = append(b.thresholds, *v)
		}
	}
	end := differenceEnd(x, b)
	r := ruler{-end, end}
	unit := ""
	if measuredQuantity(x.Kind, x.Unit) {
		unit = suffix(" ", Clean(x.Unit))
	}
	ticks := r.ticks(4, func(v float64) string {
		if x.Kind == evidence.Rate {
			return signedTick(v*100, 2)
		}
		return signedTick(v, 4) + unit
	})
	if x.Kind == evidence.Rate {
		ticks[len(ticks)-1].Text += " points"
	}
	return r, ticks
}

// signedTick prints a number of an axis, rounded, with its sign.
func signedTick(x float64, places int) string {
	power := math.Pow(10, float64(places))
	x = math.Round(x*power) / power
	if x == 0 {
		return "0"
	}
	return fmt.Sprintf("%+g", x)
}

// bounds are all numbers that a plot of an interval shows.
func bounds(estimate *float64, i *Interval) []*float64 {
	if i == nil {
		return []*float64{estimate}
	}
	return []*float64{estimate, i.Lower, i.Upper}
}

// rulePlot draws what a rule was decided on beside what it requires; false when
// there is nothing to draw.
func (d *Document) rulePlot(x Decision) (plot, bool) {
	if x.Interval == nil || x.Interval.Lower == nil && x.Interval.Upper == nil {
		return plot{}, false
	}
	if policy.Kind(x.Kind).Comparison() {
		c := d.comparison(x.Comparison)
		if c == nil {
			return plot{}, false
		}
		diff := c.difference(x.Metric, x.Slice)
		if diff == nil {
			return plot{}, false
		}
		marks := margins(x)
		shown := bounds(x.Estimate, x.Interval)
		for i := range marks {
			shown = append(shown, &marks[i])
		}
		r, ticks := differenceRuler(diff, shown...)
		p := r.draw(x.Estimate, x.Interval)
		p.Ticks = ticks
		p.require(r, marks, x)
		return p, true
	}
	m := d.metric(x.Metric)
	if m == nil || x.Threshold == nil {
		return plot{}, false
	}
	r, ticks := metricRuler(m.Kind, m.Range, m.Unit, append(bounds(x.Estimate, x.Interval), x.Threshold)...)
	p := r.draw(x.Estimate, x.Interval)
	p.Ticks = ticks
	p.require(r, []float64{*x.Threshold}, x)
	return p, true
}

// require marks the thresholds of a rule and shades what lies beyond.
func (p *plot) require(r ruler, thresholds []float64, x Decision) {
	for _, t := range thresholds {
		p.Marks = append(p.Marks, plotMark{At: r.place(t)})
	}
	first, last := r.share(thresholds[0]), r.share(thresholds[len(thresholds)-1])
	if x.Direction != "max" || len(thresholds) == 2 {
		p.Zones = append(p.Zones, plotZone{"0%", percent(first)})
	}
	if x.Direction == "max" || len(thresholds) == 2 {
		p.Zones = append(p.Zones, plotZone{percent(last), percent(1 - last)})
	}
	p.Label = fmt.Sprintf("%s, interval %s; %s", Clean(x.Display.Estimate), Clean(x.Display.Interval), Clean(x.Requires))
}

// metric returns the document's metric of that id; nil when there is none.
func (d *Document) metric(id string) *Metric {
	for i := range d.Metrics {
		if d.Metrics[i].ID == id {
			return &d.Metrics[i]
		}
	}
	return nil
}
