package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// TrendEntry is one run of a trend.
type TrendEntry struct {
	Run     string // id
	At      time.Time
	Commit  string
	Gate    string // ALLOW, WARN, BLOCK, or "" when no policy decided
	Dataset evidence.Digest
	Partial bool
	Metrics []Metric // of the run; see [TrendEntryOf]
}

// TrendEntryOf makes the entry of a run from its document.
func TrendEntryOf(d *Document) TrendEntry {
	e := TrendEntry{
		Run: d.Run.ID, At: d.Run.StartedAt, Commit: d.Run.Commit, Dataset: d.Run.Dataset.Digest,
		Partial: d.Run.Completeness != evidence.Complete, Metrics: d.Metrics,
	}
	if d.Gate != nil {
		e.Gate = d.Gate.Action
	}
	return e
}

// metric returns the entry's metric of that id; nil when the run has none.
func (e *TrendEntry) metric(id string) *Metric {
	if i := slices.IndexFunc(e.Metrics, func(m Metric) bool { return m.ID == id }); i >= 0 {
		return &e.Metrics[i]
	}
	return nil
}

// Trend prints one metric over runs, the newest first as they are given: the
// name by which commands take the run, when it started, the estimate with its
// interval and a bar, all on one axis. Where a run had another data set than the
// one after it, or no such metric, its line says so. Width is as in
// [TextOptions].
func Trend(w io.Writer, entries []TrendEntry, metric string, width int) error {
	p := newPrinter(w, width, false)
	if len(entries) == 0 {
		p.raw("no runs yet: oloproof run makes one")
		return p.flush()
	}
	p.line(0, fmt.Sprintf("%s over %s, the newest first", Clean(metric), count(len(entries), "run")), plain)
	p.blank()
	rows := trendRows(entries, metric)
	var names, figures int
	for _, r := range rows {
		names, figures = max(names, displayWidth(r.name)), max(figures, displayWidth(r.figure))
	}
	drawn := false
	for _, r := range rows {
		drawn = drawn || r.bar != nil
		p.trendLines(r, names, figures)
	}
	if drawn {
		p.blank()
		p.line(0, barInterval+" interval   "+barEstimate+" estimate", plain)
	}
	p.line(0, "Runs of different data sets or systems are not paired: oloproof compare says what changed on the cases that two runs share.", plain)
	return p.flush()
}

// trendLines prints a run on one line, or the bar and the remark below it where
// the terminal is too narrow.
func (p *printer) trendLines(r trendRow, names, figures int) {
	line := "  " + padRight(r.name, names) + "  " + padRight(r.figure, figures)
	if r.bar != nil {
		around := displayWidth(r.bar.left) + displayWidth(r.bar.right) + 2
		left := p.width - displayWidth(line) - 2
		if p.width > 0 && left < around+leastCells/2 {
			p.raw(strings.TrimRight(line, " "))
			line, left = "   ", p.width-5
		}
		cells := mostCells
		if p.width > 0 {
			cells = min(cells, max(left-around, 2))
		}
		line += suffix("  ", r.bar.left+" "+r.bar.draw(cells)+" "+r.bar.right)
	}
	line = strings.TrimRight(line, " ")
	if p.width > 0 && displayWidth(line)+2+displayWidth(r.remark) > p.width {
		p.raw(line)
		p.line(4, r.remark, plain)
		return
	}
	p.raw(line + suffix("  ", r.remark))
}

// trendRow is one line of a trend.
type trendRow struct {
	name, figure, remark string
	bar                  *labelledBar
}

func trendRows(entries []TrendEntry, metric string) []trendRow {
	end := trendEnd(entries, metric)
	rows := make([]trendRow, len(entries))
	for i := range entries {
		e := &entries[i]
		name := "latest"
		if i > 0 {
			name = fmt.Sprintf("latest~%d", i)
		}
		r := trendRow{name: fmt.Sprintf("%-9s  %s", name, e.At.Format("2006-01-02 15:04"))}
		m := e.metric(metric)
		switch {
		case m == nil:
			r.figure = "not measured"
		default:
			r.figure = figureOf(m.Display.Estimate, m.Display.Interval)
			if m.Interval != nil && (m.Interval.Lower != nil || m.Interval.Upper != nil) {
				b := axis(*m, bar{lower: m.Interval.Lower, upper: m.Interval.Upper, estimate: m.Estimate})
				if measuredQuantity(m.Kind, m.Unit) { // one axis for all
					b.to = end
					b.right = number(end) + suffix(" ", Clean(m.Unit))
				}
				r.bar = &b
			}
		}
		r.remark = trendRemark(entries, i)
		rows[i] = r
	}
	return rows
}

// trendEnd is the end of the axis of a quantile over all runs.
func trendEnd(entries []TrendEntry, metric string) float64 {
	var shown []*float64
	for i := range entries {
		if m := entries[i].metric(metric); m != nil {
			shown = append(shown, m.Estimate)
			if m.Interval != nil {
				shown = append(shown, m.Interval.Lower, m.Interval.Upper)
			}
		}
	}
	return axisEnd(shown...)
}

// trendRemark says of a run what a reader of the trend must know.
func trendRemark(entries []TrendEntry, i int) string {
	e := &entries[i]
	s := Clean(cmp.Or(e.Gate, "no policy"))
	if e.Partial {
		s += " · partial run"
	}
	if i+1 < len(entries) && entries[i+1].Dataset != e.Dataset {
		s += " · another data set than the run before"
	}
	return s + " · " + Clean(e.Run)
}
