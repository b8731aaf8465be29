package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// MarkdownOptions says how a document is written in GitHub's Markdown.
type MarkdownOptions struct {
	// Budget is the most bytes to write; 0 sets no bound. Details give way first,
	// one after the other from the least telling; the gate, the rules and the
	// planning lines stand whole.
	Budget int
	// Failing are the cases that failed, which the document does not hold.
	Failing []FailingCase
	// Content gives every case with its question and answer, of which the report
	// then quotes the failing ones. It is nil where content is not to be shown:
	// a public comment quotes none.
	Content CaseLines
	Next    []string // commands to try next; nil: the document's own
	// Case is as [TextOptions] says.
	Case func(id string) string
}

// Markdown writes the block of the job's summary and of the comment: the gate
// and what it means, the rules, what would decide them, and folded below what
// flipped, the metrics, the slices, and where the figures come from. Headings
// are of the third level. Every foreign string goes through [Code].
func Markdown(w io.Writer, d *Document, opt MarkdownOptions) error {
	m := &markdown{doc: d, opt: opt}
	head := m.head()
	sections, err := m.sections()
	if err != nil {
		return err
	}
	tail := m.tail()
	if opt.Budget > 0 && len(head)+len(tail) > opt.Budget {
		head, tail = m.shortest(head, tail)
	}
	left := -1 // no bound
	if opt.Budget > 0 {
		left = max(opt.Budget-len(head)-len(tail), 0)
	}
	_, err = io.WriteString(w, head+fold(sections, left)+tail)
	return err
}

// markdown is one rendering of a document.
type markdown struct {
	doc *Document
	opt MarkdownOptions
}

// head is what always stands whole.
func (m *markdown) head() string {
	var b strings.Builder
	b.WriteString(m.gate())
	for _, p := range m.doc.Policies {
		b.WriteString(m.rules(p))
	}
	return b.String()
}

// gate is the first line, in words, and what it means. The heading holds none
// but our own words, since it becomes an anchor.
func (m *markdown) gate() string {
	g := m.doc.Gate
	if g == nil {
		return "### ⚪ Gate: none\n\n" + m.doc.undecided() + "\n\n" + m.about()
	}
	return fmt.Sprintf("### %s (exit %d)\n\n", actionMark(g.Action), g.ExitCode) + Prose(g.Meaning) + "\n\n" + m.about()
}

// about names the runs in one line.
func (m *markdown) about() string {
	r := &m.doc.Run
	var b strings.Builder
	if r.Reused {
		fmt.Fprintf(&b, "**%d of %s were reused from the cache: the system was not called for them.**\n\n", m.doc.Cache.ExecutionHits, count(r.Counts.Cases, "answer"))
	}
	fmt.Fprintf(&b, "%s · run %s of %s", Code(r.Name), Code(r.ID), count(r.Counts.Cases, "case"))
	for i := range m.doc.Comparisons {
		c := &m.doc.Comparisons[i]
		fmt.Fprintf(&b, " · against %s%s, %s", Code(c.Baseline.ID), pinned(c), count(c.Paired, "paired case"))
	}
	b.WriteString("\n\n")
	if base := m.doc.Baseline; base != nil && base.State != BaselineFound {
		fmt.Fprintf(&b, "Baseline: %s\n\n", Prose(base.State)+since(base, Prose))
	}
	return b.String()
}

func pinned(c *Comparison) string {
	if c.Role == RolePin {
		return " (the fixed reference)"
	}
	return ""
}

func actionMark(action string) string {
	switch decide.Action(action) {
	case decide.Allow:
		return "🟢 Gate: ALLOW"
	case decide.Warn:
		return "🟡 Gate: WARN"
	case decide.Block:
		return "🔴 Gate: BLOCK"
	}
	return "⚪ Gate: unknown"
}

func stateMark(state string) string {
	switch policy.State(state) {
	case policy.Pass:
		return "🟢 PASS"
	case policy.Fail:
		return "🔴 FAIL"
	case policy.InsufficientEvidence:
		return "🟡 INSUFFICIENT_EVIDENCE"
	case policy.ManualReview:
		return "🟣 MANUAL_REVIEW"
	}
	return codeCell(state)
}

// rules is the table of a policy's rules and, below, what would decide them.
func (m *markdown) rules(p Policy) string {
	if len(p.Decisions) == 0 {
		return ""
	}
	var b strings.Builder
	if len(m.doc.Policies) > 1 {
		fmt.Fprintf(&b, "**Rules of %s**%s: %s (exit %d)\n\n", Code(p.Path), roleNote(p.Role, Prose), Prose(p.Gate.Action), p.Gate.ExitCode)
	}
	b.WriteString("| Rule | State | Estimate | Interval | Requires | Cases |\n|---|---|---:|---|---|---|\n")
	for _, d := range p.Decisions {
		b.WriteString(m.ruleRow(d))
	}
	b.WriteString("\n")
	lines := 0
	for _, d := range p.Decisions {
		if s := m.planning(d); s != "" {
			b.WriteString(s)
			lines++
		}
	}
	if lines > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (m *markdown) ruleRow(d Decision) string {
	state := stateMark(d.State)
	for _, r := range d.Reasons {
		state += "<br>" + proseCell(r)
	}
	estimate, cases := proseCell(d.Display.Estimate), proseCell(d.Display.Denominator)
	if d.Failures != nil {
		estimate = count(*d.Failures, "failure")
		cases = fmt.Sprintf("%d observed · %d missing", d.Cases.Observed, d.Cases.Missing)
	}
	rule := codeCell(d.Rule) + "<br>" + codeCell(d.Metric)
	if d.Slice != nil {
		rule += "<br>" + codeCell(*d.Slice)
	}
	interval := proseCell(d.Display.Interval)
	if d.Interval != nil && !usualMethod(d.Interval.Method) && d.Comparison != nil {
		interval += "<br>" + codeCell(d.Interval.Method)
	}
	if c := m.doc.comparison(d.Comparison); c != nil && len(m.doc.Comparisons) > 1 {
		rule += "<br>against " + codeCell(c.Baseline.ID)
	}
	return "| " + strings.Join([]string{rule, state, estimate, interval, proseCell(d.Requires), cases}, " | ") + " |\n"
}

// planning is the item that says what would decide a rule.
func (m *markdown) planning(d Decision) string {
	var parts []string
	if p := d.Planning; p != nil {
		for _, s := range []string{p.Line, p.Cost} {
			if s != "" {
				parts = append(parts, Prose(s))
			}
		}
	}
	if remedy := decisionRemedy(d); remedy != "" {
		parts = append(parts, remedy)
	}
	if len(parts) == 0 {
		return ""
	}
	return "- " + Code(d.Rule) + ": " + strings.Join(parts, "; ") + "\n"
}

// tail is the last line, with the next command.
func (m *markdown) tail() string {
	next := m.opt.Next
	if next == nil {
		next = CompareNext(m.doc)
	}
	if len(next) == 1 {
		return "Next: " + codeSpan(next[0], mostCommand) + "\n"
	}
	var b strings.Builder
	for i, n := range next {
		if i == 0 {
			b.WriteString("Next:\n\n")
		}
		b.WriteString("- " + codeSpan(n, mostCommand) + "\n")
	}
	return b.String()
}

// mostCommand is the most characters of a command, which is of no use when cut.
const mostCommand = 600

// shortest is the head of a document with so many rules that they do not fit:
// the gate, how many rules are in which state, and as many of the gravest as
// there is room for.
func (m *markdown) shortest(head, tail string) (string, string) {
	states := map[string]int{}
	for _, p := range m.doc.Policies {
		for _, d := range p.Decisions {
			states[d.State]++
		}
	}
	var parts []string
	for _, s := range byGravity() {
		if n := states[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	g := m.gate()
	with := func(rules int) string {
		text := g + "The rules do not fit here: " + strings.Join(parts, ", ") + ". The report has them all.\n\n"
		if rules > 0 {
			text = g + fmt.Sprintf("The rules do not all fit here: %s. The gravest are shown, the report has them all.\n\n", strings.Join(parts, ", "))
			for _, p := range m.gravest(rules) {
				text += m.rules(p)
			}
		}
		return text
	}
	room := m.opt.Budget - len(tail) - m.opt.Budget/10 // for the titles of what folds
	all := 0
	for _, n := range states {
		all += n
	}
	more := sort.Search(all, func(n int) bool { return len(with(n+1)) > room })
	short := with(more)
	switch {
	case len(short)+len(tail) <= m.opt.Budget:
		return short, tail
	case len(short) <= m.opt.Budget:
		return short, ""
	}
	first, _, _ := strings.Cut(g, "\n")
	return first + "\n", ""
}

// byGravity are the states of rules, the gravest first.
func byGravity() []policy.State {
	return []policy.State{policy.Fail, policy.ManualReview, policy.InsufficientEvidence, policy.Pass}
}

// gravest are the policies with so many of their rules, the gravest of all.
func (m *markdown) gravest(most int) []Policy {
	kept := slices.Clone(m.doc.Policies)
	chosen := make([]map[int]bool, len(kept))
	for i := range chosen {
		chosen[i] = map[int]bool{}
	}
	for _, state := range byGravity() {
		for i, p := range m.doc.Policies {
			for j, d := range p.Decisions {
				if most > 0 && d.State == string(state) {
					chosen[i][j] = true
					most--
				}
			}
		}
	}
	for i := range kept {
		kept[i].Decisions = nil
		for j, d := range m.doc.Policies[i].Decisions {
			if chosen[i][j] {
				kept[i].Decisions = append(kept[i].Decisions, d)
			}
		}
	}
	return kept
}

// section is a folded part of the block. Its title holds only our own words and
// numbers, since Markdown is not read within a summary.
type section struct {
	rank  int // when room is short, the lowest is served first
	open  bool
	title string
	notes []string // lines above the table
	table string   // header and delimiter row
	rows  []string // each with its line end
}

// The ranks of the sections.
const (
	rankRelaxed = iota
	rankMetrics
	rankFlips
	rankProblems
	rankProvenance
	rankUnpaired
	rankSlices
	rankContent
)

// fold writes the sections into so many bytes. One that does not fit keeps its
// title and as many rows as there is room for; left below zero sets no bound.
func fold(sections []section, left int) string {
	texts := make([]string, len(sections))
	used := 0
	byRank := make([]int, len(sections))
	for i := range byRank {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return cmp.Compare(sections[a].rank, sections[b].rank) })
	for _, i := range byRank {
		if bare := sections[i].bare(); left < 0 || used+len(bare) <= left {
			texts[i] = bare
			used += len(bare)
		}
	}
	for _, most := range []int{firstServed, math.MaxInt} {
		for _, i := range byRank {
			if left < 0 {
				texts[i] = sections[i].text(len(sections[i].rows))
				continue
			}
			if fits := sections[i].fit(left-used+len(texts[i]), most); fits != "" && texts[i] != "" {
				used += len(fits) - len(texts[i])
				texts[i] = fits
			}
		}
	}
	return strings.Join(texts, "")
}

// firstServed are the rows that each section gets before one gets more.
const firstServed = 12

// bare is a section of which only the title fits.
func (s section) bare() string { return "**" + s.title + "** (not shown here for want of room)\n\n" }

// text is a section with so many of its rows.
func (s section) text(rows int) string {
	var b strings.Builder
	if s.open {
		b.WriteString("<details open>")
	} else {
		b.WriteString("<details>")
	}
	b.WriteString("<summary>" + s.title + "</summary>\n\n")
	for _, n := range s.notes {
		b.WriteString(n + "\n\n")
	}
	if rows > 0 {
		b.WriteString(s.table)
		for _, r := range s.rows[:rows] {
			b.WriteString(r)
		}
		b.WriteString("\n")
	}
	if more := len(s.rows) - rows; more > 0 {
		fmt.Fprintf(&b, "and %d more, which the report lists\n\n", more)
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// fit is a section in so many bytes and with at most so many rows; "" when no
// row of it fits.
func (s section) fit(room, most int) string {
	most = min(most, len(s.rows))
	dropped := sort.Search(most+1, func(n int) bool { return len(s.text(most-n)) <= room })
	if dropped > most || dropped == most && most > 0 {
		return ""
	}
	return s.text(most - dropped)
}

// sections are the parts that fold, in the order of every rendering.
func (m *markdown) sections() ([]section, error) {
	var all []section
	add := func(s section) {
		if len(s.rows) > 0 || len(s.notes) > 0 {
			all = append(all, s)
		}
	}
	add(m.relaxations())
	for i := range m.doc.Comparisons {
		c := &m.doc.Comparisons[i]
		add(m.flips(c, false))
		add(m.flips(c, true))
	}
	for i := range m.doc.Comparisons {
		add(m.differences(&m.doc.Comparisons[i]))
	}
	add(m.metrics())
	add(m.problems())
	add(m.failing())
	content, err := m.content()
	if err != nil {
		return nil, err
	}
	add(content)
	for i := range m.doc.Comparisons {
		add(m.unpaired(&m.doc.Comparisons[i]))
	}
	for i := range m.doc.Comparisons {
		add(m.sliceDifferences(&m.doc.Comparisons[i]))
	}
	add(m.slices())
	add(m.provenance())
	return all, nil
}

// against says of which comparison a section is, where there are several.
func (m *markdown) against(c *Comparison) string {
	if len(m.doc.Comparisons) < 2 {
		return ""
	}
	return " against the " + map[bool]string{true: "fixed reference", false: "baseline"}[c.Role == RolePin]
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func (m *markdown) relaxations() section {
	s := section{rank: rankRelaxed, title: "Laxer than before: " + count(len(m.doc.Relaxations), "change"), table: "| Where | What |\n|---|---|\n"}
	for _, r := range m.doc.Relaxations {
		place := r.File
		if r.Line > 0 {
			place = fmt.Sprintf("%s:%d", r.File, r.Line)
		}
		s.rows = append(s.rows, row(codeCell(place), proseCell(r.Text)))
	}
	return s
}

func (m *markdown) flips(c *Comparison, passing bool) section {
	cases := flippedCases(c.Flips, passing)
	s := section{
		rank:  rankFlips,
		open:  !passing,
		title: flipTitle(passing) + m.against(c) + ": " + count(len(cases), "case"),
		table: "| Case | Criteria |\n|---|---|\n",
	}
	command := showing(m.opt.Case, c.Candidate.ID)
	if command("") != "" {
		s.table = "| Case | Criteria | Look at it |\n|---|---|---|\n"
	}
	for _, x := range cases {
		cells := []string{codeCell(x.id), codeList(x.criteria)}
		if look := command(x.id); look != "" {
			cells = append(cells, longCell(look))
		}
		s.rows = append(s.rows, row(cells...))
	}
	return s
}

// longCell is a command or a note in a cell, where it may be longer than other
// strings.
func longCell(s string) string { return strings.ReplaceAll(codeSpan(s, mostCommand), "|", `\|`) }

// codeList is a list of foreign strings in a cell.
func codeList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = codeCell(s)
	}
	return strings.Join(out, ", ")
}

func (m *markdown) differences(c *Comparison) section {
	s := section{
		rank:  rankMetrics,
		title: "Differences" + m.against(c) + ": " + count(len(c.Differences), "metric"),
		table: "| Metric | Difference | Interval | Pairs | Left out |\n|---|---:|---|---|---|\n",
	}
	for i := range c.Differences {
		s.rows = append(s.rows, differenceRow("", &c.Differences[i], noInterval))
	}
	for _, n := range c.NotComparable {
		s.notes = append(s.notes, Code(n.Metric)+" is not comparable, "+Prose(n.Reason)+suffix(": ", Prose(n.Detail))+suffix("; ", compareRemedy(n.Reason)))
	}
	for _, l := range c.otherMetrics() {
		s.notes = append(s.notes, l.what+": "+codeNames(l.ids, mostListed))
	}
	return s
}

// differenceRow is a difference in a table; first is the cell before, with its
// bar, none what stands for an interval that there is not.
func differenceRow(first string, x *Difference, none string) string {
	interval := none
	if m := x.Interval; m != nil {
		interval = proseCell(x.Display.Interval)
		if !usualMethod(m.Method) {
			interval += "<br>" + codeCell(m.Method)
		}
	}
	return "| " + first + strings.Join([]string{
		codeCell(x.Metric), proseCell(x.Display.Estimate), interval, proseCell(x.Display.Denominator), leftOutCell(x.Exclusions, x.Missing),
	}, " | ") + " |\n"
}

// leftOutCell gives the reasons of excluded and missing cases.
func leftOutCell(excluded, missing []measure.ReasonCount) string {
	var parts []string
	for _, r := range excluded {
		parts = append(parts, fmt.Sprintf("excluded %d: %s", r.Cases, proseCell(r.Reason)))
	}
	for _, r := range missing {
		parts = append(parts, fmt.Sprintf("missing %d: %s", r.Cases, proseCell(r.Reason)))
	}
	return strings.Join(parts, "<br>")
}

func (m *markdown) metrics() section {
	s := section{
		rank:  rankMetrics,
		title: "Metrics of the run: " + fmt.Sprint(len(m.doc.Metrics)),
		table: "| Metric | Estimate | Interval | Cases | Left out |\n|---|---:|---|---|---|\n",
	}
	for _, x := range m.doc.Metrics {
		s.rows = append(s.rows, row(codeCell(x.ID), proseCell(x.Display.Estimate), proseCell(x.Display.Interval),
			proseCell(x.Display.Denominator), leftOutCell(x.Exclusions, x.Missing)))
	}
	for _, words := range judgeLines(m.doc.Metrics) {
		s.notes = append(s.notes, Prose(words))
	}
	return s
}

func (m *markdown) problems() section {
	cases := 0
	s := section{rank: rankProblems, table: "| What | Cases | Which |\n|---|---:|---|\n"}
	for _, p := range m.doc.Problems {
		cases += p.Count
		which := codeList(p.CaseIDs)
		if more := p.Count - len(p.CaseIDs); more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
		s.rows = append(s.rows, row(codeCell(problemName(p)), fmt.Sprint(p.Count), which))
	}
	s.title = "Cases without an answer: " + fmt.Sprint(cases)
	return s
}

func (m *markdown) failing() section {
	s := section{
		rank:  rankProblems,
		title: "Failing cases: " + fmt.Sprint(len(m.opt.Failing)),
		table: "| Case | What is wrong |\n|---|---|\n",
	}
	for i := range m.opt.Failing {
		c := &m.opt.Failing[i]
		s.rows = append(s.rows, row(codeCell(c.ID), codeCell(c.words())))
	}
	return s
}

// content quotes question and answer of the failing cases.
func (m *markdown) content() (section, error) {
	s := section{rank: rankContent, title: "Questions and answers of failing cases", table: "| Case | Input | Output |\n|---|---|---|\n"}
	if m.opt.Content == nil || len(m.opt.Failing) == 0 {
		return s, nil
	}
	wanted := make(map[string]bool, len(m.opt.Failing))
	for _, c := range m.opt.Failing {
		wanted[c.ID] = true
	}
	size := 0
	err := m.opt.Content(func(l evidence.CaseLine) error {
		if !wanted[l.Case.ID] || m.opt.Budget > 0 && size > m.opt.Budget {
			return nil
		}
		output := compact(l.Execution.Output)
		if l.Execution.Status != evidence.StatusOK {
			output = errorLine(&l.Execution)
		}
		r := row(codeCell(l.Case.ID), codeCell(compact(l.Case.Input)), codeCell(output))
		size += len(r)
		s.rows = append(s.rows, r)
		return nil
	})
	return s, err
}

func (m *markdown) unpaired(c *Comparison) section {
	s := section{rank: rankUnpaired, title: fmt.Sprintf("Cases%s: %d of %d paired", m.against(c), c.Shared, c.BaselineCases), table: "| Case | Since the baseline |\n|---|---|\n"}
	for _, l := range c.unpaired() {
		s.title += fmt.Sprintf(", %d %s", len(l.ids), l.what)
		for _, id := range l.ids {
			s.rows = append(s.rows, row(codeCell(id), l.what))
		}
	}
	return s
}

func (m *markdown) sliceDifferences(c *Comparison) section {
	s := section{
		rank:  rankSlices,
		title: "Slices" + m.against(c) + ": " + count(len(c.Slices), "exploratory difference") + ", which decide nothing unless a rule names them",
		table: "| Slice | Metric | Difference | Interval | Pairs | Left out |\n|---|---|---:|---|---|---|\n",
	}
	for i := range c.Slices {
		x := &c.Slices[i]
		s.rows = append(s.rows, differenceRow(codeCell(x.Name+"="+x.Value)+" | ", &x.Difference, fmt.Sprintf("support %d < %d", x.Support, c.MinSupport)))
	}
	return s
}

func (m *markdown) slices() section {
	s := section{
		rank:  rankSlices,
		title: "Slices of the run: " + fmt.Sprint(len(m.doc.Slices)) + ", exploratory, which decide nothing",
		table: "| Slice | Metric | Estimate | Interval | Cases | Mark |\n|---|---|---:|---|---|---|\n",
	}
	for _, x := range m.doc.Slices {
		mark := ""
		if x.Marked && x.PValue != nil {
			mark = "marked (p " + PValue(*x.PValue) + ")"
		}
		interval := proseCell(x.Display.Interval)
		if x.Interval == nil {
			interval = fmt.Sprintf("support %d < %d", x.Support, m.doc.Run.MinSupport)
		}
		s.rows = append(s.rows, row(codeCell(x.Name+"="+x.Value), codeCell(x.Metric), proseCell(x.Display.Estimate), interval,
			proseCell(x.Display.Denominator), mark))
	}
	return s
}

// provenance says where the figures come from.
func (m *markdown) provenance() section {
	s := section{rank: rankProvenance, title: "Where this comes from", table: "| | |\n|---|---|\n"}
	for _, f := range m.doc.facts() {
		s.rows = append(s.rows, row(f.name, proseCell(f.value)))
	}
	for _, n := range m.doc.Notes {
		s.rows = append(s.rows, row("Note", longCell(n)))
	}
	return s
}

// codeNames lists foreign strings in a line.
func codeNames(list []string, most int) string {
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, Code(s))
	}
	s := strings.Join(out, ", ")
	if more := len(list) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
