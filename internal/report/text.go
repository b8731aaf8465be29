package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// TextOptions says how a document is printed for people.
type TextOptions struct {
	Width int // terminal cells; 0: not a terminal, so nothing is wrapped or left out
	Color bool
	// Next holds the commands to try next, the best first; nil: [NextSteps].
	Next []string
	// ExitCode is the process's exit code when no policy decided.
	ExitCode int
	Slices   bool // list the slice differences of comparisons too
	// Case returns the command that shows a case of the run, the candidate of a
	// comparison, and of "" its failing cases; "" when none can. Nil names the run by
	// its id.
	Case func(id string) string
}

// Text prints a document for people: the gate first, then the rules and why,
// the metrics, what they leave out, slices, trouble, and the gate again with
// its meaning and the next command.
func Text(w io.Writer, d *Document, opt TextOptions) error {
	t := &text{printer: newPrinter(w, opt.Width, opt.Color), doc: d, opt: opt}
	t.head()
	for _, p := range d.Policies {
		t.rules(p)
		t.decisions(p)
	}
	t.relaxations()
	for i := range d.Comparisons {
		t.flips(&d.Comparisons[i])
	}
	t.metrics()
	t.leftOut()
	t.sliceTable()
	t.compared()
	t.problems()
	t.notes()
	t.cache()
	t.tail()
	return t.flush()
}

// text is one rendering of a document.
type text struct {
	*printer
	doc    *Document
	opt    TextOptions
	headed bool // the comparisons are named at the top
}

func (t *text) head() {
	r := t.doc.Run
	t.line(0, fmt.Sprintf("Run %s [%s/%s]", Clean(r.ID), r.Status, r.Completeness), bold)
	t.gateLine()
}

// gateLine prints the gate with its exit code, and says when answers were
// reused, because then the run says nothing of the system as it is now.
func (t *text) gateLine() {
	action, code := "none", t.opt.ExitCode
	if g := t.doc.Gate; g != nil {
		action, code = Clean(g.Action), g.ExitCode
	}
	line := fmt.Sprintf("Gate: %s (exit %d)", action, code)
	if t.doc.Run.Reused {
		line += fmt.Sprintf(" · %d of %s reused from the cache: the system was not called for them",
			t.doc.Cache.ExecutionHits, count(t.doc.Run.Counts.Cases, "answer"))
	}
	t.line(0, line, actionStyle(action))
}

func actionStyle(action string) style {
	switch decide.Action(action) {
	case decide.Allow:
		return green
	case decide.Warn:
		return yellow
	case decide.Block:
		return red
	}
	return bold
}

func stateStyle(state string) style {
	switch policy.State(state) {
	case policy.Pass:
		return green
	case policy.Fail:
		return red
	case policy.InsufficientEvidence:
		return yellow
	}
	return violet
}

func (t *text) title(s string) {
	t.blank()
	t.line(0, s, bold)
}

func header(names ...string) []cell {
	row := make([]cell, len(names))
	for i, n := range names {
		row[i] = cell{n, dim}
	}
	return row
}

func (t *text) rules(p Policy) {
	decisions := runDecisions(p)
	if len(decisions) == 0 {
		return
	}
	title := "Rules"
	if p.Path != "" {
		title += " of " + Clean(p.Path)
	}
	title += roleNote(p.Role, Clean)
	if len(t.doc.Policies) > 1 {
		title += fmt.Sprintf(": %s (exit %d)", Clean(p.Gate.Action), p.Gate.ExitCode)
	}
	t.title(title)
	rows := [][]cell{header("Rule", "Metric", "State", "Reason")}
	for _, d := range decisions {
		rows = append(rows, []cell{
			{text: Clean(d.Rule)}, {text: Clean(d.Metric)},
			{Clean(d.State), stateStyle(d.State)}, {text: strings.Join(cleanAll(d.Reasons), ", ")},
		})
	}
	t.table([]column{{keep: true}, {rank: 0}, {keep: true}, {rank: 1}}, rows)
	t.blank()
	t.evidence(decisions)
}

// evidence shows under the rules why each has its state: its interval beside
// the threshold, or its count, and what would decide it.
func (t *text) evidence(decisions []Decision) {
	names := 0
	for _, d := range decisions {
		names = max(names, displayWidth(Clean(d.Rule)))
	}
	drawn := false
	for _, d := range decisions {
		if b, ok := t.barOf(d); ok {
			says := Clean(d.Requires)
			if d.Correction != "" {
				says += ": " + Clean(d.Figure()) // no metric's row has it
			}
			t.barLine(Clean(d.Rule), names, b, says, stateStyle(d.State))
			drawn = true
		} else {
			t.line(2, padRight(Clean(d.Rule), names)+"  "+factOf(d), plain)
		}
		t.planning(d)
	}
	if drawn {
		t.line(2, barLegend("threshold"), dim)
	}
}

// Figure says in a few words what a rule was decided on.
func (d *Decision) Figure() string {
	if d.Failures == nil {
		return figureOf(d.Display.Estimate, d.Display.Interval)
	}
	figure := fmt.Sprintf("%s of %d observed", count(*d.Failures, "failure"), d.Cases.Observed)
	if d.Cases.Missing > 0 {
		figure += fmt.Sprintf(", %d missing", d.Cases.Missing)
	}
	return figure
}

// factOf says what a rule without a drawn interval was decided on.
func factOf(d Decision) string {
	if d.Failures != nil {
		return d.Figure() + "; requires " + Clean(d.Requires)
	}
	return Clean(d.Display.Estimate) + ", " + Clean(d.Display.Interval) + "; requires " + Clean(d.Requires)
}

// labelledBar is a bar with what stands at the ends of its axis.
type labelledBar struct {
	bar
	left, right string
}

// barOf makes the bar of a rule; false when it has no interval or threshold.
func (t *text) barOf(d Decision) (labelledBar, bool) {
	if d.Threshold == nil || d.Interval == nil || d.Interval.Lower == nil && d.Interval.Upper == nil {
		return labelledBar{}, false
	}
	i := slices.IndexFunc(t.doc.Metrics, func(m Metric) bool { return m.ID == d.Metric })
	if i < 0 {
		return labelledBar{}, false
	}
	return axis(t.doc.Metrics[i], bar{
		lower: d.Interval.Lower, upper: d.Interval.Upper, estimate: d.Estimate, thresholds: []float64{*d.Threshold},
	}), true
}

// axis gives a bar the ends of its metric's range.
func axis(m Metric, b bar) labelledBar {
	switch {
	case m.Kind == evidence.Rate:
		b.from, b.to = 0, 1
		return labelledBar{b, "0%", "100%"}
	case measuredQuantity(m.Kind, m.Unit):
		shown := []*float64{b.lower, b.upper, b.estimate}
		for i := range b.thresholds {
			shown = append(shown, &b.thresholds[i])
		}
		b.from, b.to = 0, axisEnd(shown...)
		unit := ""
		if m.Unit != "" {
			unit = " " + Clean(m.Unit)
		}
		return labelledBar{b, "0" + unit, number(b.to) + unit}
	}
	b.from, b.to = m.Range[0], m.Range[1]
	return labelledBar{b, number(b.from), number(b.to)}
}

// axisEnd returns a round number above all that are drawn.
func axisEnd(values ...*float64) float64 {
	largest := 0.0
	for _, v := range values {
		if v != nil {
			largest = max(largest, *v)
		}
	}
	if largest == 0 {
		return 1
	}
	exponent := math.Floor(math.Log10(largest))
	digits := math.Ceil(1.1 * largest / math.Pow(10, exponent))
	// Read as a decimal, so that three tenths are 0.3 and not a hair more.
	end, err := strconv.ParseFloat(fmt.Sprintf("%.0fe%.0f", digits, exponent), 64)
	if err == nil && isFinite(end) && end > largest {
		return end
	}
	return largest
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

const (
	mostCells  = 40 // of a bar
	leastCells = 20 // below which the bar gets a line of its own
)

// barLine prints a name, its bar and the requirement on one line, or on two
// where one would be too narrow.
func (t *text) barLine(name string, names int, b labelledBar, requires string, st style) {
	around := displayWidth(b.left) + displayWidth(b.right) + 3 // two spaces and the threshold's cell
	cells := mostCells
	if t.width > 0 {
		cells = t.width - 2 - names - 2 - around - 2 - displayWidth(requires)
	}
	if cells >= leastCells {
		t.raw("  " + padRight(name, names) + "  " + t.axisLine(b, min(cells, mostCells), st) + suffix("  ", requires))
		return
	}
	t.line(2, name+suffix(": ", requires), plain)
	cells = min(max(t.width-4-around, 2), mostCells)
	t.raw("    " + t.axisLine(b, cells, st))
}

func (t *text) axisLine(b labelledBar, cells int, st style) string {
	return b.left + " " + t.paint(b.draw(cells), st) + " " + b.right
}

func suffix(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-displayWidth(s)))
}

func (t *text) metrics() {
	if len(t.doc.Metrics) == 0 {
		return
	}
	t.title("Metrics")
	rows := [][]cell{header("Metric", "Estimate", "Interval", "Cases")}
	for _, m := range t.doc.Metrics {
		rows = append(rows, []cell{
			{text: Clean(m.ID)}, {text: Clean(m.Display.Estimate)}, {text: Clean(m.Display.Interval)}, {text: casesCell(m.Display.Denominator)},
		})
	}
	t.table([]column{{keep: true}, {keep: true, solid: true}, {keep: true, solid: true}, {rank: 0}}, rows)
	if len(t.doc.Policies) == 0 {
		t.ranges()
	}
	t.methods()
}

// casesCell keeps each count of a denominator in one piece.
func casesCell(denominator string) string {
	return strings.NewReplacer(" / ", noBreak+"/"+noBreak, " missing", noBreak+"missing", " excluded", noBreak+"excluded").
		Replace(Clean(denominator))
}

// ranges draws every metric's interval where no rule has drawn it.
func (t *text) ranges() {
	names := 0
	for _, m := range t.doc.Metrics {
		names = max(names, displayWidth(Clean(m.ID)))
	}
	t.blank()
	for _, m := range t.doc.Metrics {
		if m.Interval == nil || m.Interval.Lower == nil && m.Interval.Upper == nil {
			continue
		}
		t.barLine(Clean(m.ID), names, axis(m, bar{lower: m.Interval.Lower, upper: m.Interval.Upper, estimate: m.Estimate}), "", plain)
	}
}

// methods says what each kind of interval promises, and to whom it applies.
func (t *text) methods() {
	promises := append(intervalPromises(t.doc.Metrics), judgeLines(t.doc.Metrics)...)
	if len(promises) > 0 {
		t.blank()
	}
	for _, s := range promises {
		t.line(0, s, dim)
	}
}

// intervalPromises says what the intervals of metrics promise, each kind once.
func intervalPromises(metrics []Metric) []string {
	var lines []string
	for _, m := range metrics {
		if m.Interval != nil {
			lines = appendNew(lines, methodWords(m, Level(m.Interval.Level)))
		}
	}
	if len(lines) > 0 {
		lines = append(lines, fairSample)
	}
	return lines
}

// fairSample says to whom every interval applies.
const fairSample = "They describe inputs like these, as far as the suite is a fair sample of them, and say nothing of an evaluator's own errors."

// methodWords is the promise of the interval of a metric.
func methodWords(m Metric, level string) string {
	switch m.Kind {
	case evidence.Mean:
		if m.Interval.Method == "nonnegative_mean_betting_mixture@1" {
			return "Means without a range: a lower limit by betting, for independent cases; no sample bounds such a mean from above."
		}
	case evidence.Rate:
		return "Rates: Clopper-Pearson intervals; over repeated samples of independent cases they cover the true rate at least " + level + " of the time, for every number of cases."
	case evidence.Quantile:
		return "Quantiles: intervals between order statistics; at least " + level + " coverage for independent cases of any distribution."
	}
	return "Means: finite-sample betting intervals; at least " + level + " coverage for independent cases, no normal approximation. They are wide for small suites."
}

// leftOut lists the cases outside the denominators and those that should have
// been judged but were not, with what to do about each.
func (t *text) leftOut() {
	t.reasonLines("excluded", func(m Metric) []measure.ReasonCount { return m.Exclusions })
	t.reasonLines("missing", func(m Metric) []measure.ReasonCount { return m.Missing })
}

// reasonLines prints one line for each metric and reason, and the remedy once
// under the metrics that share a reason.
func (t *text) reasonLines(verb string, of func(Metric) []measure.ReasonCount) {
	var reasons []string
	lines := map[string][]string{}
	for _, m := range t.doc.Metrics {
		for _, r := range of(m) {
			if lines[r.Reason] == nil {
				reasons = append(reasons, r.Reason)
			}
			lines[r.Reason] = append(lines[r.Reason], fmt.Sprintf("%s %s %s: %s", Clean(m.ID), verb, count(r.Cases, "case"), Clean(r.Reason)))
		}
	}
	for _, r := range reasons {
		t.blank()
		for _, line := range lines[r] {
			t.line(0, line, plain)
		}
		if remedy := Remedy(r, showing(t.opt.Case, t.doc.Run.ID)); remedy != "" {
			t.line(2, remedy, plain)
		}
	}
}

func (t *text) sliceTable() {
	if len(t.doc.Slices) == 0 {
		return
	}
	t.title("Slices (exploratory: they decide nothing)")
	rows := [][]cell{header("Slice", "Metric", "Estimate", "Interval", "Cases", "Mark")}
	for _, s := range t.doc.Slices {
		interval := Clean(s.Display.Interval)
		if s.Interval == nil {
			interval = fmt.Sprintf("support %d < %d", s.Support, t.doc.Run.MinSupport)
		}
		mark := cell{text: "not tested"}
		if s.PValue != nil {
			mark.text = "not marked (p " + PValue(*s.PValue) + ")"
			if s.Marked {
				mark = cell{"marked (p " + PValue(*s.PValue) + ")", yellow}
			}
		}
		rows = append(rows, []cell{
			{text: Clean(s.Name + "=" + s.Value)}, {text: Clean(s.Metric)}, {text: Clean(s.Display.Estimate)},
			{text: interval}, {text: casesCell(s.Display.Denominator)}, mark,
		})
	}
	t.table([]column{{keep: true}, {keep: true}, {keep: true, solid: true}, {keep: true, solid: true}, {rank: 0}, {rank: 1}}, rows)
}

func (t *text) problems() {
	if len(t.doc.Problems) == 0 {
		return
	}
	t.title("Cases without an answer")
	for _, p := range t.doc.Problems {
		line := problemName(p) + ": " + count(p.Count, "case")
		if len(p.CaseIDs) > 0 {
			line += " (" + strings.Join(cleanAll(p.CaseIDs), ", ")
			if more := p.Count - len(p.CaseIDs); more > 0 {
				line += fmt.Sprintf(" and %d more", more)
			}
			line += ")"
		}
		t.line(2, line, red)
	}
}

func problemName(p CaseProblem) string {
	if p.Status == 0 {
		return Clean(p.Kind)
	}
	return fmt.Sprintf("%s %d", Clean(p.Kind), p.Status)
}

func (t *text) notes() {
	if len(t.doc.Notes) == 0 {
		return
	}
	t.title("Notes")
	for _, n := range t.doc.Notes {
		t.line(2, Clean(n), plain)
	}
}

func (t *text) cache() {
	c := t.doc.Cache
	t.blank()
	t.line(0, fmt.Sprintf("Cache: execution %d hit/%d miss; judgment %d hit/%d miss",
		c.ExecutionHits, c.ExecutionMisses, c.JudgmentHits, c.JudgmentMisses), plain)
	if words := stagesWords(t.doc.Stages); words != "" {
		t.line(0, "Stages: "+words, plain)
	}
	if words := judgesWords(t.doc.Judges); words != "" {
		t.line(0, "Judges: "+words, plain)
	}
}

func (t *text) tail() {
	t.blank()
	t.gateLine()
	t.meaning()
	if r := t.doc.Run; r.Completeness != evidence.Complete {
		line := fmt.Sprintf("The run is partial: %d of %s did not finish", r.Counts.NotRun, count(r.Counts.Cases, "case"))
		t.line(0, line+suffix(": ", Clean(r.Stopped))+".", plain)
	}
	t.next(NextSteps(t.doc))
}

// meaning says what the gate means.
func (t *text) meaning() {
	if g := t.doc.Gate; g != nil {
		t.line(0, Clean(g.Meaning), plain)
	} else {
		t.line(0, t.doc.undecided(), plain)
	}
}

// undecided says why there is no gate.
func (d *Document) undecided() string {
	if len(d.Comparisons) > 0 {
		return "There is no comparison rule, so nothing was decided."
	}
	return "There is no policy, so nothing was decided."
}

// next prints the commands to try next; usual are those when none were given.
func (t *text) next(usual []string) {
	next := t.opt.Next
	if next == nil {
		next = usual
	}
	for _, n := range next {
		t.line(0, "Next: "+Clean(n), bold)
	}
}

// NextSteps returns the command that is the most useful after a run, judged by
// what its document says.
func NextSteps(d *Document) []string {
	id := d.Run.ID
	failed := len(d.Problems) > 0 || slices.ContainsFunc(d.Metrics, func(m Metric) bool {
		return m.Cases.Missing > 0 || m.Failures > 0
	})
	switch {
	case d.Run.Completeness != evidence.Complete:
		return []string{"oloproof run --resume"}
	case failed:
		return []string{InspectCase(id, "")}
	case d.Gate == nil:
		return []string{"oloproof gate " + id + " --policy release.yaml"}
	case d.Gate.Action == string(decide.Block):
		return []string{"oloproof plan " + id}
	}
	return []string{"oloproof export " + id}
}
