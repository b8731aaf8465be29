package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

//go:embed web/report.html
var pageSource string

//go:embed web/report.css
var pageStyle string

//go:embed web/report.js
var pageScript string

// HTMLOptions says what a report holds besides its document.
type HTMLOptions struct {
	Findings *Findings // of the run's cases; nil: the report names no single case but flips
	// Content gives every case with its question and answer, of which the report
	// then shows the failing ones. It is nil where content is not to be shown.
	Content CaseLines
	// Case is as [TextOptions] says.
	Case func(id string) string
	// History are runs for the trend, the newest first; fewer than two draw none.
	History []TrendEntry
	// Limit is the most bytes that lists of cases and content may take; 0: 4.5 MB.
	Limit int
}

// defaultLimit keeps a whole report below 5 MB.
const defaultLimit = 4_500_000

// HTML writes a document as one page that needs nothing else: no network, no
// script to read it, light and dark, for the screen and for paper.
func HTML(w io.Writer, d *Document, opt HTMLOptions) error {
	p, err := newPage(d, opt)
	if err != nil {
		return err
	}
	return writePage(w, pageSource, p)
}

// writePage writes a page by its template.
func writePage(w io.Writer, source string, page any) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, page); err != nil {
		return err
	}
	return b.Flush()
}

// page is all that the template shows. Every string in it is clean.
type page struct {
	Security                 string
	Style                    template.CSS
	Script                   template.JS
	Title, Name, When        string
	Tone, Headline, GateLine string
	Meaning                  string
	Meanings                 []definition // of each policy, where there are several
	Warnings                 []string
	Runs                     []definition
	Parts                    []pagePart
	Policies                 []pagePolicy
	Relaxations              []definition
	Flips                    []pageFlips
	Differences, Slices      []pageFigures
	Metrics                  *pageFigures
	TimeTitle                string
	Latency                  *pageHistogram
	Trends                   []pageTrend
	Cases                    *pageCases
	Unpaired                 []pagePairing
	Notes                    []string
	Facts                    []definition
	Promises                 []string
	Glossary                 []glossaryGroup
	Footer                   string

	doc  *Document
	left int // bytes that lists may still take
}

// pagePart is an entry of the list of contents.
type pagePart struct{ ID, Title string }

func newPage(d *Document, opt HTMLOptions) (*page, error) {
	p := &page{
		Security: security(pageStyle, pageScript), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Name: Clean(cmp.Or(d.Run.Name, d.Run.Suite.Path)), When: moment(d.Run.StartedAt),
		Notes: cleanAll(d.Notes), Glossary: glossary(),
		doc: d, left: cmp.Or(opt.Limit, defaultLimit),
	}
	p.gate()
	p.runs()
	p.policies()
	for _, r := range d.Relaxations {
		p.Relaxations = append(p.Relaxations, definition{relaxationPlace(r), Clean(r.Text)})
	}
	p.flips(opt.Case)
	p.differences()
	p.metrics()
	p.slices()
	p.time(opt)
	if err := p.cases(opt); err != nil {
		return nil, err
	}
	p.pairing()
	for _, f := range d.facts() {
		p.Facts = append(p.Facts, definition{f.name, Clean(f.value)})
	}
	p.promises()
	p.parts()
	p.Footer = "Written by " + Clean(strings.TrimSpace(d.Tool.Name+" "+d.Tool.Version)) + ". This page needs no network and holds no figure that its document does not hold."
	return p, nil
}

// security forbids everything but this page's own style and script.
func security(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; img-src data:; base-uri 'none'; form-action 'none'"
}

func (p *page) gate() {
	p.Tone, p.Headline, p.GateLine, p.Meaning = "none", "Not decided", "Gate: none", p.doc.undecided()
	if g := p.doc.Gate; g != nil {
		p.GateLine = fmt.Sprintf("Gate: %s (exit %d)", Clean(g.Action), g.ExitCode)
		p.Meaning = Clean(g.Meaning)
		switch decide.Action(g.Action) {
		case decide.Allow:
			p.Tone, p.Headline = "pass", "Allowed"
		case decide.Warn:
			p.Tone, p.Headline = "open", "Allowed with a warning"
		case decide.Block:
			p.Tone, p.Headline = "fail", "Blocked"
		}
	}
	p.Title = p.Headline + " · " + p.Name + " · " + Clean(p.doc.Run.ID)
	r := &p.doc.Run
	if r.Reused {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d of %s were reused from the cache: the system was not called for them.", p.doc.Cache.ExecutionHits, count(r.Counts.Cases, "answer")))
	}
	if r.Completeness != evidence.Complete {
		p.Warnings = append(p.Warnings, fmt.Sprintf("The run is partial: %d of %s did not finish%s.", r.Counts.NotRun, count(r.Counts.Cases, "case"), suffix(": ", Clean(r.Stopped))))
	}
	if g := p.doc.Gate; g != nil {
		for _, reason := range g.Reasons {
			if text := define(reason); text != "" && reason != decide.GatePartialRun { // which is said above
				p.Warnings = append(p.Warnings, text)
			}
		}
	}
	if len(p.doc.Policies) > 1 {
		for _, x := range p.doc.Policies {
			p.Meanings = append(p.Meanings, definition{policyTitle(x), Clean(x.Gate.Meaning)})
		}
	}
}

// policyTitle names one of several policies with its gate.
func policyTitle(x Policy) string {
	return fmt.Sprintf("%s%s: %s, exit %d", Clean(x.Path), roleNote(x.Role, Clean), Clean(x.Gate.Action), x.Gate.ExitCode)
}

func (p *page) runs() {
	d := p.doc
	add := func(name, value string) {
		if value != "" {
			p.Runs = append(p.Runs, definition{name, value})
		}
	}
	if len(d.Comparisons) == 0 {
		add("Run", Clean(d.Run.ID))
		add("System", Clean(strings.TrimSpace(d.Run.System.Name+" "+d.Run.System.Version)))
		add("Commit", Clean(d.Run.Commit))
		add("Cases", fmt.Sprint(d.Run.Counts.Cases))
		return
	}
	add("Candidate", runLine(d.Comparisons[0].Candidate))
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		name := "Baseline"
		if c.Role == RolePin {
			name = "Fixed reference"
		}
		add(name, runLine(c.Baseline)+" · "+count(c.Paired, "paired case"))
	}
}

// pagePolicy is a policy with its rules.
type pagePolicy struct {
	Title string
	Rules []pageRule
}

// pageRule is a rule with what it was decided on.
type pageRule struct {
	Tone, Glyph, State, Word           string
	Rule, Of, Slice, Against           string
	What, Estimate, Interval, Requires string
	Cases                              string
	Plot                               *plot
	Reasons                            []definition
	Plan                               []string
}

func (p *page) policies() {
	for _, x := range p.doc.Policies {
		if len(x.Decisions) == 0 {
			continue
		}
		out := pagePolicy{Title: Clean(x.Path)}
		if len(p.doc.Policies) > 1 {
			out.Title = policyTitle(x)
		}
		for _, r := range x.Decisions {
			out.Rules = append(out.Rules, p.rule(r))
		}
		p.Policies = append(p.Policies, out)
	}
}

func stateTone(state string) (tone, glyph string) {
	switch policy.State(state) {
	case policy.Pass:
		return "pass", "●"
	case policy.Fail:
		return "fail", "■"
	case policy.InsufficientEvidence:
		return "open", "◐"
	case policy.ManualReview:
		return "review", "◆"
	}
	return "none", "○"
}

func (p *page) rule(x Decision) pageRule {
	r := pageRule{
		State: Clean(x.State), Word: StateWord(x.State), Rule: Clean(x.Rule), Of: Clean(x.Metric),
		What: "Estimate", Estimate: Clean(x.Display.Estimate), Interval: Clean(x.Display.Interval), Requires: "Requires " + Clean(x.Requires), Cases: Clean(x.Display.Denominator),
	}
	r.Tone, r.Glyph = stateTone(x.State)
	if x.Slice != nil {
		r.Slice = Clean(*x.Slice)
	}
	if x.Comparison != nil {
		r.What = "Difference"
		if c := p.doc.comparison(x.Comparison); c != nil && len(p.doc.Comparisons) > 1 {
			r.Against = Clean(c.Baseline.ID)
		}
		if m := otherMethod(x.Interval); m != "" {
			r.Requires += " · " + m
		}
	}
	if x.Failures != nil {
		r.What, r.Estimate, r.Interval = "Observed", count(*x.Failures, "failure"), ""
		r.Cases = fmt.Sprintf("%d observed · %d missing", x.Cases.Observed, x.Cases.Missing)
	}
	if plot, ok := p.doc.rulePlot(x); ok {
		r.Plot = &plot
	}
	for _, code := range x.Reasons {
		r.Reasons = append(r.Reasons, definition{Clean(code), define(code)})
	}
	if x.Planning != nil {
		for _, s := range []string{x.Planning.Line, x.Planning.Cost} {
			if s != "" {
				r.Plan = append(r.Plan, sentence(Clean(s)))
			}
		}
	}
	if remedy := decisionRemedy(x); remedy != "" {
		r.Plan = append(r.Plan, sentence(remedy))
	}
	return r
}

// sentence writes a line with a capital and a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// pageFlips are the cases of a comparison whose verdict differs.
type pageFlips struct {
	ID, Title, Lead, More string
	Rows                  []pageFlip
}

type pageFlip struct{ Case, Tone, Verdict, Criteria, Command, Option string }

func (p *page) flips(given func(id string) string) {
	for i := range p.doc.Comparisons {
		c := &p.doc.Comparisons[i]
		failing, passing := flippedCases(c.Flips, false), flippedCases(c.Flips, true)
		f := pageFlips{
			ID: numbered("flips", i), Title: "What flipped" + p.against(c),
			Lead: fmt.Sprintf("%s newly failing, %s newly passing.", count(len(failing), "case"), count(len(passing), "case")),
		}
		f.Rows = p.flipRows(showing(given, c.Candidate.ID), failing, "fail", "Newly failing", nil)
		f.Rows = p.flipRows(showing(given, c.Candidate.ID), passing, "pass", "Newly passing", f.Rows)
		if more := len(failing) + len(passing) - len(f.Rows); more > 0 {
			f.More = fmt.Sprintf("%s more are not listed here: oloproof compare --format json has all.", count(more, "case"))
		}
		p.Flips = append(p.Flips, f)
	}
}

func (p *page) flipRows(look func(id string) string, cases []flippedCase, tone, verdict string, rows []pageFlip) []pageFlip {
	for _, x := range cases {
		f := pageFlip{Case: Clean(x.id), Tone: tone, Verdict: verdict, Criteria: strings.Join(cleanAll(x.criteria), ", ")}
		if command, option, ok := strings.Cut(look(x.id), " --"); ok {
			f.Command, f.Option = Clean(command), Clean("--"+option)
		}
		if !p.take(205 + len(f.Case) + len(f.Criteria) + len(f.Command) + len(f.Option)) {
			break
		}
		rows = append(rows, f)
	}
	return rows
}

// take books so many bytes of what lists may take.
func (p *page) take(bytes int) bool {
	if p.left < bytes {
		return false
	}
	p.left -= bytes
	return true
}

func numbered(id string, i int) string {
	if i == 0 {
		return id
	}
	return fmt.Sprintf("%s-%d", id, i+1)
}

// against says of which comparison a part is, where there are several.
func (p *page) against(c *Comparison) string {
	switch {
	case len(p.doc.Comparisons) < 2:
		return ""
	case c.Role == RolePin:
		return " against the fixed reference"
	}
	return " against the baseline"
}

// pageFigures is a table of figures with their plots on one axis.
type pageFigures struct {
	ID, Title, Lead, Caption, First, Second, More string
	Quiet                                         bool // the caption is for screen readers only
	Ticks                                         []plotMark
	Rows                                          []pageFigure
	Notes                                         []definition
	Forests                                       []pageFigures
	Judges                                        []string // what the judges of the metrics are worth
}

type pageFigure struct {
	Name, Estimate, Interval, Cases string
	Left                            []string // what is left out, and why
	Plot                            *plot
}

func leftOut(excluded, missing []measure.ReasonCount) []string {
	var parts []string
	for _, r := range excluded {
		parts = append(parts, fmt.Sprintf("excluded %d: %s", r.Cases, Clean(r.Reason)))
	}
	for _, r := range missing {
		parts = append(parts, fmt.Sprintf("missing %d: %s", r.Cases, Clean(r.Reason)))
	}
	return parts
}

func (p *page) differences() {
	for i := range p.doc.Comparisons {
		c := &p.doc.Comparisons[i]
		f := pageFigures{
			ID: numbered("differences", i), Title: "Differences" + p.against(c), Caption: "Paired differences with their intervals; the dotted line is no difference",
			Lead:  "Candidate minus baseline on the same case. More is better only where more of the metric is.",
			First: "Metric", Second: "Difference",
		}
		for j := range c.Differences {
			x := &c.Differences[j]
			f.Rows = append(f.Rows, differenceFigure(x, Clean(x.Metric), Clean(x.Display.Interval), alike(c.Differences, x), true))
		}
		f.Notes = p.compareNotes(c)
		p.Differences = append(p.Differences, f)
	}
}

// alike are the numbers of all differences in the unit of x, which are drawn on
// one axis.
func alike(list []Difference, x *Difference) []*float64 {
	var all []*float64
	for i := range list {
		if y := &list[i]; y.Kind == x.Kind && y.Unit == x.Unit && y.Range == x.Range {
			all = append(all, bounds(y.Estimate, y.Interval)...)
		}
	}
	return all
}

// differenceFigure is a row; shown are the numbers that its axis must hold, and
// labelled says whether the row itself labels it.
func differenceFigure(x *Difference, name, interval string, shown []*float64, labelled bool) pageFigure {
	r, ticks := differenceRuler(x, shown...)
	f := pageFigure{Name: name, Estimate: Clean(x.Display.Estimate), Interval: interval, Cases: Clean(x.Display.Denominator), Left: leftOut(x.Exclusions, x.Missing)}
	if m := otherMethod(x.Interval); m != "" {
		f.Left = append(f.Left, m)
	}
	if x.Estimate != nil && x.Interval != nil {
		pl := r.draw(x.Estimate, x.Interval)
		pl.Marks = []plotMark{{At: "50%"}}
		pl.Label = f.Estimate + ", interval " + interval
		if labelled {
			pl.Ticks = endTicks(ticks)
		}
		f.Plot = &pl
	}
	return f
}

// threeTicks are the first, the middle and the last of some ticks.
func threeTicks(ticks []plotMark) []plotMark {
	return []plotMark{ticks[0], ticks[len(ticks)/2], ticks[len(ticks)-1]}
}

// endTicks are the first and the last of some ticks.
func endTicks(ticks []plotMark) []plotMark { return []plotMark{ticks[0], ticks[len(ticks)-1]} }

func (p *page) compareNotes(c *Comparison) []definition {
	var notes []definition
	for _, n := range c.NotComparable {
		text := "is not comparable, " + Clean(n.Reason) + suffix(": ", Clean(n.Detail)) + "."
		notes = append(notes, definition{Clean(n.Metric), text + suffix(" ", sentence(compareRemedy(n.Reason)))})
	}
	for _, l := range c.otherMetrics() {
		notes = append(notes, definition{strings.Join(cleanAll(l.ids), ", "), l.what})
	}
	return notes
}

func (p *page) metrics() {
	if len(p.doc.Metrics) == 0 {
		return
	}
	f := pageFigures{
		Caption: "Metrics of the run with their intervals, each on the whole of its range", Lead: "Of the run under decision, over all of its cases.",
		First: "Metric", Second: "Estimate",
	}
	for i := range p.doc.Metrics {
		m := &p.doc.Metrics[i]
		r, ticks := metricRuler(m.Kind, m.Range, m.Unit, bounds(m.Estimate, m.Interval)...)
		row := pageFigure{Name: Clean(m.ID), Estimate: Clean(m.Display.Estimate), Interval: Clean(m.Display.Interval), Cases: Clean(m.Display.Denominator), Left: leftOut(m.Exclusions, m.Missing)}
		if m.Interval != nil {
			pl := r.draw(m.Estimate, m.Interval)
			pl.Label, pl.Ticks = row.Estimate+", interval "+row.Interval, endTicks(ticks)
			row.Plot = &pl
		}
		f.Rows = append(f.Rows, row)
	}
	f.Judges = judgeLines(p.doc.Metrics)
	p.Metrics = &f
}

// mostSlices is the most rows of slices that a report draws.
const mostSlices = 600

func (p *page) slices() {
	for i := range p.doc.Comparisons {
		if f := p.sliceForests(i); f != nil {
			p.Slices = append(p.Slices, *f)
		}
	}
	if len(p.doc.Slices) == 0 {
		return
	}
	f := pageFigures{
		ID: "slices", Title: fmt.Sprintf("Slices (%d)", len(p.doc.Slices)),
		Lead: "Exploratory: they decide nothing. The dotted line is the run's own estimate. Looking at many slices finds some that look odd by chance; those marked stand out even so.",
	}
	shown := p.doc.Slices[:min(len(p.doc.Slices), mostSlices)]
	for _, m := range p.doc.Metrics {
		forest := pageFigures{Title: Clean(m.ID), Caption: "Slices of " + Clean(m.ID), Quiet: true, First: "Slice", Second: "Estimate"}
		all := bounds(m.Estimate, m.Interval)
		for _, s := range shown {
			if s.Metric == m.ID {
				all = append(all, bounds(s.Estimate, s.Interval)...)
			}
		}
		r, ticks := metricRuler(m.Kind, m.Range, m.Unit, all...)
		forest.Ticks = threeTicks(ticks)
		for _, s := range shown {
			if s.Metric == m.ID {
				forest.Rows = append(forest.Rows, p.sliceFigure(&s, &m, r))
			}
		}
		if len(forest.Rows) > 0 {
			f.Forests = append(f.Forests, forest)
		}
	}
	f.More = moreSlices(len(p.doc.Slices))
	p.Slices = append(p.Slices, f)
}

func moreSlices(n int) string {
	if n <= mostSlices {
		return ""
	}
	return fmt.Sprintf("%d more are not drawn here: the document has all.", n-mostSlices)
}

func (p *page) sliceFigure(s *Slice, m *Metric, r ruler) pageFigure {
	row := pageFigure{Name: Clean(s.Name + "=" + s.Value), Estimate: Clean(s.Display.Estimate), Interval: Clean(s.Display.Interval), Cases: Clean(s.Display.Denominator)}
	if s.Marked && s.PValue != nil {
		row.Left = append(row.Left, "marked (p "+PValue(*s.PValue)+")")
	}
	if s.Interval == nil {
		row.Interval = fmt.Sprintf("support %d < %d", s.Support, p.doc.Run.MinSupport)
		return row
	}
	pl := r.draw(s.Estimate, s.Interval)
	if m.Estimate != nil {
		pl.Marks = []plotMark{{At: r.place(*m.Estimate)}}
	}
	pl.Label = row.Estimate + ", interval " + row.Interval
	row.Plot = &pl
	return row
}

// sliceForests draws the slices of a comparison, one plot for each metric.
func (p *page) sliceForests(i int) *pageFigures {
	c := &p.doc.Comparisons[i]
	if len(c.Slices) == 0 {
		return nil
	}
	f := &pageFigures{
		ID: numbered("slice-differences", i), Title: fmt.Sprintf("Slice differences%s (%d)", p.against(c), len(c.Slices)),
		Lead: "Exploratory unless a rule names the slice. The dotted line is no difference. Looking at many slices finds some that look odd by chance.",
		More: moreSlices(len(c.Slices)),
	}
	shown := c.Slices[:min(len(c.Slices), mostSlices)]
	for _, x := range c.Differences {
		forest := pageFigures{Title: Clean(x.Metric), Caption: "Slices of " + Clean(x.Metric), Quiet: true, First: "Slice", Second: "Difference"}
		var all []*float64
		for j := range shown {
			if s := &shown[j].Difference; s.Metric == x.Metric && s.Interval != nil {
				all = append(all, bounds(s.Estimate, s.Interval)...)
			}
		}
		for j := range shown {
			s := &shown[j]
			if s.Difference.Metric != x.Metric {
				continue
			}
			interval := Clean(s.Difference.Display.Interval)
			if s.Difference.Interval == nil {
				interval = fmt.Sprintf("support %d < %d", s.Support, c.MinSupport)
			}
			forest.Rows = append(forest.Rows, differenceFigure(&s.Difference, Clean(s.Name+"="+s.Value), interval, all, false))
		}
		if len(all) > 0 {
			_, ticks := differenceRuler(&x, all...)
			forest.Ticks = threeTicks(ticks)
		}
		if len(forest.Rows) > 0 {
			f.Forests = append(f.Forests, forest)
		}
	}
	return f
}

// pagePairing says what was paired in a comparison.
type pagePairing struct {
	Lead  string
	Lists []definition
}

func (p *page) pairing() {
	for i := range p.doc.Comparisons {
		c := &p.doc.Comparisons[i]
		x := pagePairing{Lead: sentence(pairingLine(c))}
		for _, l := range c.unpaired() {
			x.Lists = append(x.Lists, definition{fmt.Sprintf("%s %d", l.what, len(l.ids)), idList(l.ids, 10*mostListed)})
		}
		p.Unpaired = append(p.Unpaired, x)
	}
}

func (p *page) promises() {
	p.Promises = appendNew(differencePromises(p.doc.Comparisons), intervalPromises(p.doc.Metrics)...)
}

// parts lists the parts that there are.
func (p *page) parts() {
	add := func(id, title string, there bool) {
		if there {
			p.Parts = append(p.Parts, pagePart{id, title})
		}
	}
	add("rules", "Rules", len(p.Policies) > 0)
	add("laxer", "Laxer than before", len(p.Relaxations) > 0)
	for _, f := range p.Flips {
		add(f.ID, f.Title, true)
	}
	for _, f := range p.Differences {
		add(f.ID, f.Title, true)
	}
	add("metrics", "Metrics", p.Metrics != nil)
	for _, f := range p.Slices {
		add(f.ID, f.Title, true)
	}
	add("time", p.TimeTitle, p.Latency != nil || len(p.Trends) > 0)
	if p.Cases != nil {
		add("cases", p.Cases.Title, true)
	}
	add("pairing", "Pairing", len(p.Unpaired) > 0)
	add("notes", "Notes", len(p.Notes) > 0)
	add("facts", "Where this comes from", true)
	add("words", "What the words mean", true)
}

// pageHistogram is a histogram of latencies.
type pageHistogram struct {
	Lead, Label string
	Bars        []pageBar
	Ticks       []plotMark
}

type pageBar struct{ X, Y, W, H, Text string }

// pageTrend is one metric over runs, from the oldest to the newest.
type pageTrend struct {
	Lead, Label string
	Lines       []plotMark
	Ticks       []plotMark
	Runs        []pageTrendRun
}

type pageTrendRun struct {
	X, Low, High, Mid              string
	When, Estimate, Interval, Gate string
	Text                           string
}

func (p *page) time(opt HTMLOptions) {
	if opt.Findings != nil {
		p.latency(&opt.Findings.Latencies)
	}
	if len(opt.History) > 1 {
		for _, m := range p.doc.Metrics {
			if t := trendOf(opt.History, &m); t != nil {
				p.Trends = append(p.Trends, *t)
			}
		}
	}
	switch {
	case p.Latency != nil && len(p.Trends) > 0:
		p.TimeTitle = "Latency and trend"
	case p.Latency != nil:
		p.TimeTitle = "Latency"
	case len(p.Trends) > 0:
		p.TimeTitle = "Trend"
	}
}

const (
	histogramBins   = 30
	histogramHeight = 112.0 // of the tallest bar
	histogramBase   = 120.0
)

func (p *page) latency(l *measure.Latencies) {
	h := l.Histogram(histogramBins)
	if len(h.Counts) == 0 {
		return
	}
	counts := h.Counts
	if h.Over > 0 {
		counts = append(slices.Clone(counts), h.Over)
	}
	most, share := slices.Max(counts), 100/float64(len(counts))
	end := h.Width * float64(len(h.Counts))
	out := &pageHistogram{}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		what := fmt.Sprintf("%s to %s", number(h.Width*float64(i)), milliseconds(h.Width*float64(i+1)))
		if i == len(h.Counts) {
			what = "over " + milliseconds(end)
		}
		height := max(float64(n)/float64(most)*histogramHeight, 1)
		out.Bars = append(out.Bars, pageBar{
			X: percent((float64(i) + 0.06) * share / 100), W: percent(0.88 * share / 100),
			Y: fmt.Sprintf("%.1f", histogramBase-height), H: fmt.Sprintf("%.1f", height), Text: what + ": " + count(n, "case"),
		})
	}
	r := ruler{0, h.Width * float64(len(counts))}
	out.Ticks = []plotMark{{"0%", "0", "start"}, {r.place(end / 2), milliseconds(end / 2), "middle"}, {r.place(end), milliseconds(end), "middle"}}
	if h.Over == 0 {
		out.Ticks[2].Anchor = "end"
	} else {
		out.Ticks[2].Text = "over " + out.Ticks[2].Text
		out.Ticks[2].Anchor = "end"
		out.Ticks[2].At = "100%"
	}
	out.Lead = fmt.Sprintf("Latency of %s with an answer: median %s, p95 %s, bins of %s.", count(l.Count(), "case"),
		milliseconds(*l.Quantile(0.5)), milliseconds(*l.Quantile(0.95)), milliseconds(h.Width))
	out.Label = "Histogram. " + out.Lead
	p.Latency = out
}

// mostTrend is the most runs of a trend that a report draws.
const mostTrend = 60

// trendOf draws one metric over runs, which come with the newest first.
func trendOf(history []TrendEntry, m *Metric) *pageTrend {
	history = history[:min(len(history), mostTrend)]
	t := &pageTrend{}
	var shown []*float64
	measured := 0
	for i := range history {
		if x := history[i].metric(m.ID); x != nil {
			shown = append(shown, bounds(x.Estimate, x.Interval)...)
			measured++
		}
	}
	if measured < 2 {
		return nil
	}
	r, _ := metricRuler(m.Kind, m.Range, m.Unit, shown...)
	const top, height = 14.0, 112.0
	y := func(x float64) string { return fmt.Sprintf("%.1f", top+height*(1-r.share(x))) }
	for i := range 3 {
		v := r.from + (r.to-r.from)*float64(i)/2
		t.Lines = append(t.Lines, plotMark{At: y(v), Text: trendLabel(m, v)})
	}
	n := len(history)
	for i := n - 1; i >= 0; i-- {
		e := &history[i]
		run := pageTrendRun{
			X:    percent(0.12 + 0.86*(float64(n-1-i)+0.5)/float64(n)),
			When: e.At.UTC().Format("2006-01-02 15:04"), Estimate: "not measured", Gate: Clean(cmp.Or(e.Gate, "no policy")),
		}
		if x := e.metric(m.ID); x != nil {
			run.Estimate, run.Interval = Clean(x.Display.Estimate), Clean(x.Display.Interval)
			if x.Estimate != nil {
				run.Mid = y(*x.Estimate)
			}
			if iv := x.Interval; iv != nil && (iv.Lower != nil || iv.Upper != nil) {
				run.Low, run.High = y(r.from), y(r.to)
				if iv.Lower != nil {
					run.Low = y(*iv.Lower)
				}
				if iv.Upper != nil {
					run.High = y(*iv.Upper)
				}
			}
		}
		run.Text = run.When + ": " + run.Estimate + " " + run.Interval + " " + Clean(e.Run)
		t.Runs = append(t.Runs, run)
	}
	t.Ticks = []plotMark{
		{t.Runs[0].X, t.Runs[0].When[:10], "start"},
		{t.Runs[n-1].X, t.Runs[n-1].When[:10], "end"},
	}
	t.Lead = fmt.Sprintf("%s over %s, with intervals.", Clean(m.ID), count(n, "run"))
	t.Label = fmt.Sprintf("%s over %s, from %s to %s; the figures are in the table below", Clean(m.ID), count(n, "run"), t.Runs[0].Estimate, t.Runs[n-1].Estimate)
	return t
}

func trendLabel(m *Metric, x float64) string {
	if m.Kind == evidence.Rate {
		return Scale{shift: 2, unit: "%"}.Exact(x)
	}
	return number(x) + suffix(" ", Clean(m.Unit))
}

// pageCases are the cases that went wrong.
type pageCases struct {
	Title, Lead, More string
	Content           bool
	Problems          []pageProblem
	Rows              []pageCase
}

type pageProblem struct {
	Kind, Which string
	Count       int
}

type pageCase struct {
	ID, Words string
	Parts     []definition
}

func (p *page) cases(opt HTMLOptions) error {
	out := &pageCases{Title: "Failing cases", Content: opt.Content != nil}
	for _, x := range p.doc.Problems {
		which := idList(x.CaseIDs, len(x.CaseIDs))
		if more := x.Count - len(x.CaseIDs); more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
		out.Problems = append(out.Problems, pageProblem{Clean(problemName(x)), which, x.Count})
	}
	if opt.Findings == nil {
		if len(out.Problems) > 0 {
			p.Cases = out
		}
		return nil
	}
	p.Cases = out
	failing := opt.Findings.Failing
	total := p.doc.Run.Counts.Cases
	out.Lead = fmt.Sprintf("%d of %s failed a criterion, have no answer or could not be judged.", len(failing), count(total, "case"))
	at := make(map[string]int, len(failing))
	for i := range failing {
		row := pageCase{ID: Clean(failing[i].ID), Words: Clean(failing[i].words())}
		if !p.take(95 + len(row.ID) + len(row.Words)) {
			break
		}
		at[failing[i].ID] = len(out.Rows)
		out.Rows = append(out.Rows, row)
	}
	if more := len(failing) - len(out.Rows); more > 0 {
		out.More = count(more, "case") + " more are not listed here"
		if command := showing(opt.Case, p.doc.Run.ID)(""); command != "" {
			out.More += ": " + Clean(command) + " lists all"
		}
		out.More += "."
	}
	if opt.Content == nil {
		out.Lead += " Questions and answers are not part of this report."
		return nil
	}
	return p.content(out, at, opt.Content)
}

// mostText is the most bytes of one text of a case that a report shows.
const mostText = 6000

// content adds what was asked, answered and judged to the failing cases, as far
// as there is room.
func (p *page) content(out *pageCases, at map[string]int, lines CaseLines) error {
	without := 0
	err := lines(func(l evidence.CaseLine) error {
		i, ok := at[l.Case.ID]
		if !ok {
			return nil
		}
		parts := contentOf(&l)
		size := 0
		for _, x := range parts {
			size += 60 + len(x.Text) + len(x.Text)/8 // quotes and angles become longer
		}
		if !p.take(size) {
			without++
			return nil
		}
		out.Rows[i].Parts = parts
		return nil
	})
	if without > 0 {
		out.More = strings.TrimSpace(out.More + fmt.Sprintf(" The texts of %s do not fit here: oloproof inspect %s --case ID shows them.", count(without, "case"), Clean(p.doc.Run.ID)))
	}
	return err
}

// contentOf is what a report shows of one case when it may show content.
func contentOf(l *evidence.CaseLine) []definition {
	var parts []definition
	add := func(name string, v evidence.Value) {
		if len(v) > 0 {
			parts = append(parts, definition{name, cutText(indented(v))})
		}
	}
	add("Input", l.Case.Input)
	add("Expected", l.Case.Expected)
	if x := l.Execution.Error; x != nil {
		parts = append(parts, definition{"Error", cutText(errorLine(&l.Execution) + suffix("\n", Clean(x.Snippet)))})
	}
	add("Output", l.Execution.Output)
	for _, j := range l.Judgments {
		if j.Detail != "" && !(j.State == evidence.Judged && j.Value == 1) {
			lines := strings.Split(j.Detail, "\n")
			parts = append(parts, definition{Clean(j.Criterion), cutText(strings.Join(cleanAll(lines), "\n"))})
		}
	}
	return parts
}

// cutText cuts a long text and says so.
func cutText(s string) string {
	if len(s) <= mostText {
		return s
	}
	return strings.ToValidUTF8(s[:mostText], "") + "\n… cut here"
}
