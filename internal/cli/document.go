package cli

import (
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/report"
)

// defaultLevel is the confidence level of a run without a policy.
const defaultLevel = 0.95

func tool() evidence.Tool { return evidence.Tool{Name: "oloproof", Version: Version()} }

// verdict gathers what policies say of one run. It is the one way from counted
// cases to a gate.
type verdict struct {
	tally *tally
	level float64 // of the metrics in the input; 0: not measured yet
	in    report.Input
}

func newVerdict(m *evidence.Manifest, t *tally) *verdict {
	v := &verdict{tally: t, in: report.Input{
		Manifest: m, Tool: tool(), Problems: t.problems.Problems(), Notes: slices.Clone(m.Notes), LatencyMS: t.latencies.Mean(),
	}}
	if s := m.Shard; s != nil && s.Of > 1 {
		v.note("this is shard %d of %d, with %d of %s: merge puts the shards together and decides", s.Index, s.Of, m.Dataset.Cases, countCases(s.Total))
	}
	return v
}

// decideRun decides the rules of p that look at one run. Metrics are measured at
// p's confidence level; the document shows them at that of the first policy.
func (v *verdict) decideRun(role string, p *policy.Policy) {
	v.measure(p.ConfidenceLevel)
	metrics := v.in.Metrics
	if p.ConfidenceLevel != v.level {
		metrics = v.tally.table.Metrics(p.ConfidenceLevel)
	}
	v.addRun(role, p, decide.Run(p, metrics, v.in.Manifest.Coverage()))
}

// decideRelaxed decides the rules of p that look at one run, beside the suite as
// it was before the change that is proposed.
func (v *verdict) decideRelaxed(role string, p *policy.Policy, kept decide.Kept) {
	v.measure(p.ConfidenceLevel)
	v.addRun(role, p, decide.RunRelaxed(p, v.tally.table.Metrics(p.ConfidenceLevel), v.in.Manifest.Coverage(), kept))
}

// addRun adds the decisions on the run itself.
func (v *verdict) addRun(role string, p *policy.Policy, result decide.Result) {
	if v.in.Manifest.System.VersionChanged() {
		result = decide.VersionChanged(p, result, v.in.Manifest.Coverage())
	}
	v.add(role, p, result)
}

func (v *verdict) add(role string, p *policy.Policy, result decide.Result) {
	v.in.Policies = append(v.in.Policies, report.PolicyResult{Role: role, Policy: p, Result: result})
}

// compared adds a comparison to the document, once.
func (v *verdict) compared(role string, c *compare.Comparison) {
	for _, there := range v.in.Comparisons {
		if there.Comparison.ID == c.ID && there.Role == role {
			return
		}
	}
	v.in.Comparisons = append(v.in.Comparisons, report.ComparisonInput{Role: role, Comparison: c})
}

// decideComparison decides the rules of p that look at two runs.
func (v *verdict) decideComparison(role string, p *policy.Policy, c *compare.Comparison) {
	v.add(role, p, decide.Compare(p, c))
}

// noteSkipped says which policies have rules that nothing here decided: those on
// one run, or those on two.
func (v *verdict) noteSkipped() {
	type half struct {
		path       string
		comparison bool
	}
	decided, skipped := map[half]bool{}, map[half]int{}
	var paths []string
	for _, p := range v.in.Policies {
		comparison := len(p.Result.Decisions) > 0 && p.Result.Decisions[0].Rule.Kind.Comparison()
		decided[half{p.Policy.Path, comparison}] = true
		skipped[half{p.Policy.Path, !comparison}] = p.Result.Skipped
		paths = append(paths, p.Policy.Path)
	}
	for _, path := range paths {
		if n := skipped[half{path, true}]; n > 0 && !decided[half{path, true}] {
			v.note("%s has comparison rules (%d), which only compare decides", path, n)
		}
		if n := skipped[half{path, false}]; n > 0 && !decided[half{path, false}] {
			v.note("%s has rules on one run (%d), which a comparison does not decide", path, n)
		}
	}
}

func (v *verdict) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(v.in.Notes, note) {
		v.in.Notes = append(v.in.Notes, note)
	}
}

func (v *verdict) measure(level float64) {
	if v.level == 0 {
		v.level = level
		v.in.Metrics = v.tally.table.Metrics(level)
		v.in.Slices = v.tally.table.Slices(level, v.in.Manifest.MinSupport)
	}
}

func (v *verdict) document() *report.Document {
	v.measure(defaultLevel)
	v.noteSkipped()
	return report.Build(v.in)
}

// decideDocument decides a run by one policy; p is nil when nothing is decided.
func decideDocument(m *evidence.Manifest, t *tally, p *policy.Policy) *report.Document {
	v := newVerdict(m, t)
	if p != nil {
		v.decideRun(report.RoleOnly, p)
	}
	return v.document()
}

// show prints a document and ends with the code of its gate.
func (e *Env) show(doc *report.Document, f formatFlags, g given) error {
	return e.showWith(doc, f, func() error { return e.showText(doc, g) })
}

// showWith prints a document in the format asked for, text as text prints it,
// and ends with the code of its gate.
func (e *Env) showWith(doc *report.Document, f formatFlags, text func() error) error {
	var err error
	switch f.format {
	case "json":
		err = report.JSON(e.Stdout, doc)
	case "markdown":
		err = report.Markdown(e.Stdout, doc, report.MarkdownOptions{})
	default:
		err = text()
	}
	if doc.Gate == nil || doc.Gate.ExitCode == ExitOK {
		return err
	}
	if err != nil && !readerLeft(err) {
		fmt.Fprintf(e.Stderr, "Error: %v\n", err)
	}
	return exitError(doc.Gate.ExitCode) // what was decided holds, printed or not
}

func (e *Env) showText(doc *report.Document, g given) error {
	return report.Text(e.Stdout, doc, report.TextOptions{Width: e.width(), Color: e.color(), Next: g.next(doc), Case: g.showCase(doc)})
}
