package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Most entries that a list of a comparison names in text.
const (
	mostFlips  = 20 // cases in each direction
	mostListed = 10 // ids of added, removed and changed cases
)

// CompareText prints the comparisons of a document for people: the gate and
// what it means, the rules with what they were decided on and what would decide
// them, the cases whose verdict flipped, the differences, slices, where the two
// runs come from, and the gate again with the next command.
func CompareText(w io.Writer, d *Document, opt TextOptions) error {
	t := &text{printer: newPrinter(w, opt.Width, opt.Color), doc: d, opt: opt, headed: true}
	for i := range d.Comparisons {
		t.line(0, d.Comparisons[i].header(), bold)
	}
	t.gateLine()
	t.meaning()
	for _, p := range d.Policies {
		t.decisions(p)
	}
	t.relaxations()
	for i := range d.Comparisons {
		t.flips(&d.Comparisons[i])
	}
	t.compared()
	t.judges()
	t.notes()
	t.blank()
	t.gateLine()
	t.next(CompareNext(d))
	return t.flush()
}

// judges says what the judges of the metrics are worth.
func (t *text) judges() {
	lines := judgeLines(t.doc.Metrics)
	if len(lines) > 0 {
		t.blank()
	}
	for _, s := range lines {
		t.line(0, s, dim)
	}
}

// compared prints the differences and where the runs come from.
func (t *text) compared() {
	for i := range t.doc.Comparisons {
		t.differences(&t.doc.Comparisons[i])
	}
	t.differenceMethods()
	for i := range t.doc.Comparisons {
		t.pairing(&t.doc.Comparisons[i])
	}
	t.baseline()
}

// decisions prints the comparison rules of a policy.
func (t *text) decisions(p Policy) {
	decisions := comparisonDecisions(p)
	if len(decisions) == 0 {
		return
	}
	title := "Decisions"
	if len(t.doc.Policies) > 1 {
		title += " of " + Clean(p.Path)
	}
	t.title(title)
	for _, d := range decisions {
		t.decision(d)
		t.planning(d)
		if remedy := decisionRemedy(d); remedy != "" {
			t.line(4, remedy, plain)
		}
	}
	for _, f := range p.Families {
		t.line(2, familyLine(f), plain)
	}
	t.pictures(decisions)
}

// familyLine says what the correction of a family of rules did.
func familyLine(f Family) string {
	levels := make([]string, len(f.Levels))
	for i, x := range f.Levels {
		levels[i] = fmt.Sprintf("%.4g", x)
	}
	tested := "none recorded"
	if len(levels) > 0 {
		tested = strings.Join(levels, ", ")
	}
	return fmt.Sprintf("Family %s: %s over %s; adjusted levels %s", Clean(f.ID), correctionName(f.Correction), count(f.Rules, "rule"), tested)
}

func correctionName(correction string) string {
	if correction == "holm" {
		return "Holm"
	}
	return Clean(correction)
}

// decision prints the row of a comparison rule.
func (t *text) decision(d Decision) {
	before := "  " + Clean(d.Rule) + "  " + Clean(d.Metric) + t.against(d) + suffix("  ", Clean(d.Requires)) + "  "
	after := suffix("  ", strings.Join(cleanAll(d.Reasons), ", ")) + suffix("  ", otherMethod(d.Interval))
	row := before + Clean(d.State) + after
	if t.width > 0 && displayWidth(row) > t.width {
		t.line(2, strings.TrimPrefix(row, "  "), plain)
		return
	}
	t.raw(before + t.paint(Clean(d.State), stateStyle(d.State)) + after)
}

// against says of which slice and, where there are several, of which comparison
// a decision is.
func (t *text) against(d Decision) string {
	s := ""
	if d.Slice != nil {
		s += " in " + Clean(*d.Slice)
	}
	if c := t.doc.comparison(d.Comparison); c != nil && len(t.doc.Comparisons) > 1 {
		s += " against " + Clean(c.Baseline.ID)
	}
	return s
}

// planning prints what would decide a rule, and what that would take.
func (t *text) planning(d Decision) {
	p := d.Planning
	if p == nil {
		return
	}
	for _, line := range []string{p.Line, p.Cost} {
		if line != "" {
			t.line(4, Clean(line), plain)
		}
	}
}

// decisionRemedy says how a comparison rule gets the evidence that it lacks.
func decisionRemedy(d Decision) string {
	for _, r := range d.Reasons {
		if s := compareRemedy(r); s != "" {
			return s
		}
	}
	return ""
}

// pictures draws the difference of each decision beside its margin.
func (t *text) pictures(decisions []Decision) {
	names := 0
	for _, d := range decisions {
		names = max(names, displayWidth(Clean(d.Rule)))
	}
	drawn := false
	for _, d := range decisions {
		b, ok := t.doc.differenceBar(d)
		if !ok {
			continue
		}
		if !drawn {
			t.blank()
			drawn = true
		}
		t.barLine(Clean(d.Rule), names, b, figureOf(d.Display.Estimate, d.Display.Interval)+suffix(" · ", otherMethod(d.Interval)), stateStyle(d.State))
	}
	if drawn {
		t.line(2, barLegend("margin"), dim)
	}
}

// figureOf joins an estimate and its interval.
func figureOf(estimate, interval string) string {
	if interval == noInterval {
		return Clean(estimate) + ", " + interval
	}
	return Clean(estimate) + " " + Clean(interval)
}

// differenceBar makes the bar of a comparison rule; false when its metric was
// not compared or has no bound.
func (d *Document) differenceBar(x Decision) (labelledBar, bool) {
	c := d.comparison(x.Comparison)
	if c == nil || x.Interval == nil || x.Interval.Lower == nil && x.Interval.Upper == nil {
		return labelledBar{}, false
	}
	diff := c.difference(x.Metric, x.Slice)
	if diff == nil {
		return labelledBar{}, false
	}
	b := bar{lower: x.Interval.Lower, upper: x.Interval.Upper, estimate: x.Estimate, thresholds: margins(x)}
	end := differenceEnd(diff, b)
	b.from, b.to = -end, end
	return differenceAxis(diff, b), true
}

// margins returns where the margins of a comparison rule stand, ascending.
func margins(x Decision) []float64 {
	m := 0.0
	if x.Margin != nil {
		m = *x.Margin
	}
	switch policy.Kind(x.Kind) {
	case policy.Equivalence:
		return []float64{-m, m}
	case policy.NonInferiority:
		if x.Direction == "max" {
			return []float64{m}
		}
		return []float64{-m}
	}
	return []float64{0}
}

// differenceEnd returns the end of an axis around zero that shows all of a bar:
// a round number, at most the largest difference there can be.
func differenceEnd(x *Difference, b bar) float64 {
	largest := 0.0
	for _, v := range []*float64{b.lower, b.upper, b.estimate} {
		if v != nil {
			largest = max(largest, math.Abs(*v))
		}
	}
	for _, v := range b.thresholds {
		largest = max(largest, math.Abs(v))
	}
	end := axisEnd(&largest)
	if most := x.Range[1]; most > 0 {
		end = min(end, most)
	}
	return end
}

// differenceAxis labels the ends of a bar on the axis of a difference.
func differenceAxis(x *Difference, b bar) labelledBar {
	switch {
	case x.Kind == evidence.Rate:
		end := Scale{shift: 2}.Exact(b.to)
		return labelledBar{b, "-" + end, "+" + end + " points"}
	case measuredQuantity(x.Kind, x.Unit):
		unit := ""
		if x.Unit != "" {
			unit = " " + Clean(x.Unit)
		}
		return labelledBar{b, "-" + number(b.to), "+" + number(b.to) + unit}
	}
	return labelledBar{b, "-" + number(b.to), "+" + number(b.to)}
}

// flips lists the cases whose verdict differs, newly failing first.
func (t *text) flips(c *Comparison) {
	for _, passing := range []bool{false, true} {
		cases := flippedCases(c.Flips, passing)
		if len(cases) == 0 {
			continue
		}
		t.title(flipTitle(passing) + t.ofComparison(c) + ": " + count(len(cases), "case"))
		for _, x := range cases[:min(len(cases), mostFlips)] {
			t.line(2, Clean(x.id)+": "+strings.Join(cleanAll(x.criteria), ", "), flipStyle(passing))
			if command := showing(t.opt.Case, c.Candidate.ID)(x.id); command != "" {
				t.line(4, Clean(command), plain)
			}
		}
		if more := len(cases) - mostFlips; more > 0 {
			t.line(2, fmt.Sprintf("and %d more: --format json lists all", more), plain)
		}
	}
}

// showing is how a command shows a case of a run: as it was given, else by the
// run's id.
func showing(given func(id string) string, run string) func(id string) string {
	if given != nil {
		return given
	}
	return func(id string) string { return InspectCase(run, id) }
}

// ofComparison says against which run, where there are several comparisons.
func (t *text) ofComparison(c *Comparison) string {
	if len(t.doc.Comparisons) < 2 {
		return ""
	}
	return " against " + Clean(c.Baseline.ID)
}

func flipTitle(passing bool) string {
	if passing {
		return "Newly passing"
	}
	return "Newly failing"
}

func flipStyle(passing bool) style {
	if passing {
		return green
	}
	return red
}

// flippedCase is a case with the criteria whose verdict flipped in one direction.
type flippedCase struct {
	id       string
	criteria []string
}

// flippedCases gathers the flips of one direction by case, in their order.
func flippedCases(flips []compare.Flip, passing bool) []flippedCase {
	var cases []flippedCase
	at := map[string]int{}
	for _, f := range flips {
		if f.Passing != passing {
			continue
		}
		i, ok := at[f.CaseID]
		if !ok {
			i = len(cases)
			at[f.CaseID] = i
			cases = append(cases, flippedCase{id: f.CaseID})
		}
		cases[i].criteria = append(cases[i].criteria, f.Criterion)
	}
	return cases
}

// InspectCase is the command that shows one case of a run in full, and of "" its
// failing cases.
func InspectCase(run, id string) string {
	if id == "" {
		return "oloproof inspect " + shellWord(run) + " --failures"
	}
	return "oloproof inspect " + shellWord(run) + " --case " + shellWord(id)
}

// shellWord quotes a word for a POSIX shell where it needs it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,:/@+%~", r)
	}
	if s != "" && s[0] != '~' && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// differences prints one line for each metric, and the slices when asked.
func (t *text) differences(c *Comparison) {
	t.blank()
	switch {
	case !t.headed:
		t.line(0, c.header(), bold)
	case len(t.doc.Comparisons) > 1:
		t.line(0, "Differences"+t.ofComparison(c), bold)
	}
	for i := range c.Differences {
		t.difference("", &c.Differences[i])
	}
	for _, n := range c.NotComparable {
		t.line(0, Clean(n.Metric)+": not comparable, "+Clean(n.Reason)+suffix(": ", Clean(n.Detail)), yellow)
		if n.Remedy != "" {
			t.line(2, Clean(n.Remedy), plain)
		}
	}
	for _, x := range c.otherMetrics() {
		t.line(0, x.what+": "+strings.Join(cleanAll(x.ids), ", "), plain)
	}
	t.sliceDifferences(c)
}

// difference prints a difference and what it leaves out.
func (t *text) difference(slice string, x *Difference) {
	t.line(0, slice+Clean(x.Metric)+": "+figureOf(x.Display.Estimate, x.Display.Interval)+" · "+Clean(x.Display.Denominator)+
		suffix(" · ", otherMethod(x.Interval)), plain)
	for _, r := range x.Exclusions {
		t.line(2, fmt.Sprintf("excluded %d: %s", r.Cases, Clean(r.Reason)), plain)
	}
	for _, r := range x.Missing {
		t.line(2, fmt.Sprintf("missing %d: %s", r.Cases, Clean(r.Reason)), plain)
	}
}

// usualMethods are the methods of a difference when a policy names none.
func usualMethod(method string) bool {
	return method == "bounded_paired_difference@1" || method == "order_statistic_paired_difference@1"
}

// otherMethod names a method that the policy asked for; "" for the usual ones.
func otherMethod(i *Interval) string {
	if i == nil || usualMethod(i.Method) {
		return ""
	}
	return Clean(i.Method)
}

// sliceDifferences lists the slices that a rule decides, and all when asked.
func (t *text) sliceDifferences(c *Comparison) {
	decided := t.doc.decidedSlices(c)
	hidden := 0
	for i := range c.Slices {
		s := &c.Slices[i]
		name := s.Name + "=" + s.Value
		switch {
		case t.opt.Slices:
		case slices.Contains(decided, name+"\x00"+s.Difference.Metric):
		default:
			hidden++
			continue
		}
		label := "slice " + Clean(name) + ": "
		if s.Difference.Interval == nil {
			t.line(0, fmt.Sprintf("%s%s: %s, support %d is too small for an interval · %s", label, Clean(s.Difference.Metric),
				Clean(s.Difference.Display.Estimate), s.Support, Clean(s.Difference.Display.Denominator)), plain)
			continue
		}
		t.difference(label, &s.Difference)
	}
	if hidden > 0 {
		t.line(0, count(hidden, "exploratory slice difference")+" not shown; add --slices to list them", plain)
	}
}

// decidedSlices names the slices, each with its metric, that a rule decides.
func (d *Document) decidedSlices(c *Comparison) []string {
	var names []string
	for _, p := range d.Policies {
		for _, x := range p.Decisions {
			if x.Slice != nil && x.Comparison != nil && *x.Comparison == string(c.ID) {
				names = append(names, *x.Slice+"\x00"+x.Metric)
			}
		}
	}
	return names
}

// differenceMethods says once what each kind of interval promises.
func (t *text) differenceMethods() {
	lines := differencePromises(t.doc.Comparisons)
	if len(lines) > 0 {
		t.blank()
	}
	for _, s := range lines {
		t.line(0, s, dim)
	}
}

// differencePromises says what the intervals of comparisons promise, each
// method once, and to whom they apply.
func differencePromises(comparisons []Comparison) []string {
	var lines []string
	for i := range comparisons {
		for _, x := range comparisons[i].Differences {
			if x.Interval != nil {
				lines = appendNew(lines, differencePromise(x.Interval.Method, Level(x.Interval.Level)))
			}
		}
	}
	if len(lines) > 0 {
		lines = append(lines, fairSample)
	}
	return lines
}

func differencePromise(method, level string) string {
	switch method {
	case "conditional_exact_paired_difference@1":
		return "Differences (" + method + "): Clopper-Pearson limits on the share of pairs that differ and on the wins among them, combined; at least " + level + " coverage for independent pairs."
	case "exact_unconditional@1":
		return "Differences (" + method + "): limits of an unconditional exact test of paired verdicts; at least " + level + " coverage for independent pairs."
	case "order_statistic_paired_difference@1":
		return "Differences of measurements: intervals between order statistics of the per-case differences; at least " + level + " coverage for independent pairs."
	case "bounded_paired_difference@1":
		return "Differences: finite-sample betting intervals over the paired cases; at least " + level + " coverage for independent pairs, no normal approximation. They are wide for small suites."
	}
	return "Differences: intervals of " + Clean(method) + " at level " + level + "."
}

// pairing says which cases were paired, which were not, and which two runs were.
func (t *text) pairing(c *Comparison) {
	t.title("Pairing" + t.ofComparison(c))
	t.line(2, pairingLine(c), plain)
	for _, x := range c.unpaired() {
		t.line(2, fmt.Sprintf("%s %d: ", x.what, len(x.ids))+idList(x.ids, mostListed), plain)
	}
	t.line(2, "candidate "+runLine(c.Candidate), plain)
	t.line(2, "baseline "+runLine(c.Baseline), plain)
}

func pairingLine(c *Comparison) string {
	return fmt.Sprintf("%d of the baseline's %s are the same in both runs; nothing else is compared", c.Shared, count(c.BaselineCases, "case"))
}

// otherMetrics returns the metrics of which there is something to say.
func (c *Comparison) otherMetrics() []namedList {
	return present([]namedList{
		{"judged again in both runs with the candidate's evaluators", c.Rejudged},
		{"only in the candidate, so not compared", c.OnlyCandidate},
		{"only in the baseline, so not compared", c.OnlyBaseline},
	})
}

// unpaired returns the cases that are not in both runs with the same content.
func (c *Comparison) unpaired() []namedList {
	return present([]namedList{{"added", c.Added}, {"removed", c.Removed}, {"changed", c.Changed}})
}

// namedList is what some ids have in common.
type namedList struct {
	what string
	ids  []string
}

func present(lists []namedList) []namedList {
	return slices.DeleteFunc(lists, func(l namedList) bool { return len(l.ids) == 0 })
}

// idList names the first ids of a list and counts the rest.
func idList(ids []string, most int) string {
	s := strings.Join(cleanAll(ids[:min(len(ids), most)]), ", ")
	if more := len(ids) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// runLine says which system ran on which data.
func runLine(r compare.RunRef) string {
	parts := []string{Clean(r.ID), Clean(strings.TrimSpace(r.System.Name + " " + r.System.Version))}
	if r.Commit != "" {
		parts = append(parts, "commit "+Clean(r.Commit))
	}
	if r.Dataset.Path != "" {
		parts = append(parts, fmt.Sprintf("%s (%s)", Clean(r.Dataset.Path), count(r.Dataset.Cases, "case")))
	}
	if r.Completeness == evidence.Partial {
		parts = append(parts, "partial: not every case ran")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// baseline says how the baseline was found, or why there is none.
func (t *text) baseline() {
	b := t.doc.Baseline
	if b == nil {
		return
	}
	t.title("Baseline: " + Clean(b.State) + since(b, Clean))
	if line := baselineLine(b); line != "" {
		t.line(2, line, plain)
	}
	for _, r := range b.Trail {
		t.line(2, "not "+Clean(r.Candidate)+": "+Clean(r.RejectedBecause), plain)
	}
}

// since says why there is no baseline, behind its state.
func since(b *Baseline, clean func(string) string) string {
	if b.Reason == "" {
		return ""
	}
	return ", since " + clean(b.Reason)
}

// baselineLine says which run the baseline is and how old.
func baselineLine(b *Baseline) string {
	var parts []string
	for _, x := range []struct{ name, value string }{{"", b.Run}, {"commit ", b.Commit}, {"branch ", b.Branch}, {"age ", b.Age}} {
		if x.value != "" {
			parts = append(parts, x.name+Clean(x.value))
		}
	}
	return strings.Join(parts, " · ")
}

// relaxations lists in what the policy or the suite is laxer than the base's.
func (t *text) relaxations() {
	if len(t.doc.Relaxations) == 0 {
		return
	}
	t.title("Laxer than before")
	for _, r := range t.doc.Relaxations {
		t.line(2, relaxationPlace(r)+": "+Clean(r.Text), yellow)
	}
}

func relaxationPlace(r Relaxation) string {
	if r.Line > 0 {
		return fmt.Sprintf("%s:%d", Clean(r.File), r.Line)
	}
	return Clean(r.File)
}

// comparisonDecisions returns the decisions of a policy that look at two runs.
func comparisonDecisions(p Policy) []Decision { return decisionsOf(p, true) }

// runDecisions returns the decisions of a policy that look at one run.
func runDecisions(p Policy) []Decision { return decisionsOf(p, false) }

func decisionsOf(p Policy, comparison bool) []Decision {
	var some []Decision
	for _, d := range p.Decisions {
		if policy.Kind(d.Kind).Comparison() == comparison {
			some = append(some, d)
		}
	}
	return some
}

// CompareNext returns the command that is the most useful after a comparison.
func CompareNext(d *Document) []string {
	for i := range d.Comparisons {
		if failing := flippedCases(d.Comparisons[i].Flips, false); len(failing) > 0 {
			return []string{InspectCase(d.Comparisons[i].Candidate.ID, failing[0].id)}
		}
	}
	if len(d.Comparisons) > 0 {
		return []string{ReportComparison(d)}
	}
	return NextSteps(d)
}

// ReportComparison is the command that writes a page of the first comparison of
// a document.
func ReportComparison(d *Document) string {
	return "oloproof report " + shellWord(string(d.Comparisons[0].ID)) + " --html comparison.html"
}
