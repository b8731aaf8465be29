package cli

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/report"
)

// defaultLevel is the confidence level of a run without a policy.
const defaultLevel = 0.95

func tool() evidence.Tool { return evidence.Tool{Name: "oloproof", Version: Version()} }

// decideDocument measures and decides a run and builds its document. It is the
// one way from counted cases to a gate; p is nil when nothing is decided.
func decideDocument(m *evidence.Manifest, t *tally, p *policy.Policy) *report.Document {
	in := report.Input{Manifest: m, Tool: tool(), Problems: t.problems.Problems(), Notes: m.Notes}
	level := defaultLevel
	if p != nil {
		level = p.ConfidenceLevel
	}
	in.Metrics = t.table.Metrics(level)
	in.Slices = t.table.Slices(level, m.MinSupport)
	if p != nil {
		result := decide.Run(p, in.Metrics, m.Completeness)
		if result.Skipped > 0 {
			in.Notes = append(in.Notes[:len(in.Notes):len(in.Notes)],
				fmt.Sprintf("%s has comparison rules (%d), which only compare decides", p.Path, result.Skipped))
		}
		in.Policies = []report.PolicyResult{{Role: report.RoleOnly, Policy: p, Result: result}}
	}
	return report.Build(in)
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
	if err != nil {
		return err
	}
	if doc.Gate != nil && doc.Gate.ExitCode != ExitOK {
		return exitError(doc.Gate.ExitCode)
	}
	return nil
}

func (e *Env) showText(doc *report.Document, g given) error {
	return report.Text(e.Stdout, doc, report.TextOptions{Width: e.width(), Color: e.color(), Next: g.next(doc)})
}
