package report

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

// planningOf turns the planning of a rule into the document's, with its line.
func planningOf(d decide.Decision) *Planning {
	p := d.Planning
	if p == nil {
		return nil
	}
	out := &Planning{Discordance: finite(p.Discordance), Reason: p.Reason, Line: planningLine(d)}
	if p.Total > 0 {
		total, more := p.Total, p.More
		out.Total, out.More = &total, &more
	}
	return out
}

// planningLine says how many more cases would decide a rule, or why no number
// is given.
func planningLine(d decide.Decision) string {
	p := d.Planning
	if p.Total > 0 {
		return sizeLine(d)
	}
	what := quantity(d)
	switch p.Reason {
	case decide.PlanPastThreshold:
		return fmt.Sprintf("no number of cases would make it PASS, if the %s holds: more cases move it toward FAIL", what)
	case decide.PlanAtThreshold:
		return fmt.Sprintf("no number of cases would decide it, if the %s holds: it only meets the threshold, and a bound never clears what the estimate only meets", what)
	case decide.PlanResolveMissing:
		return resolveLine(d)
	case decide.PlanMissingShare:
		return "no number of cases would decide it while " + missingShare(d) + " of them are missing: that share must fall first"
	case decide.PlanNotUpTo:
		return fmt.Sprintf("no number of cases that could be run would decide it, if the %s holds", what)
	}
	return ""
}

// sizeLine names a size: about 753 more cases would decide it, if the rate
// holds (768 in total).
func sizeLine(d decide.Decision) string {
	p := d.Planning
	if !d.Rule.Kind.Comparison() {
		return fmt.Sprintf("about %s would decide it, if the %s holds (%d in total)", count(p.More, "more case"), quantity(d), p.Total)
	}
	in := ""
	if p.Discordance != nil {
		in = " at " + wholePercent(*p.Discordance) + " discordance"
	}
	return fmt.Sprintf("about %s would decide it, if the difference holds (%d in total%s)", count(p.More, "more paired case"), p.Total, in)
}

func resolveLine(d decide.Decision) string {
	missing := "the missing cases"
	if m := d.Metric; m != nil {
		missing = "the " + count(m.Cases.Missing, "missing case")
		if m.Cases.Missing == 1 {
			missing = "the missing case"
		}
	}
	line := "resolving " + missing + " first could decide it"
	if p := d.Planning; p.Reach != nil && d.Metric != nil {
		s := scaleOf(*d.Metric)
		if d.Rule.Max != nil {
			return line + ": if all turn out well, the upper bound falls to " + s.Upper(*p.Reach)
		}
		return line + ": if all turn out well, the lower bound reaches " + s.Lower(*p.Reach)
	}
	return line
}

func missingShare(d decide.Decision) string {
	if d.Metric == nil || d.Metric.Cases.Eligible() == 0 {
		return "some"
	}
	c := d.Metric.Cases
	return wholePercent(float64(c.Missing) / float64(c.Eligible()))
}

// quantity is the word for what a planning line takes to hold.
func quantity(d decide.Decision) string {
	if d.Metric == nil {
		return "metric"
	}
	switch d.Metric.Spec.Kind {
	case evidence.Rate:
		return "rate"
	case evidence.Quantile:
		return "quantile"
	}
	return "mean"
}
