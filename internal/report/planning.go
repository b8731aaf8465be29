package report

import (
	"fmt"
	"math"
	"time"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
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
// is given. A method that the policy asked for is named.
func planningLine(d decide.Decision) string {
	line := planningWords(d)
	if x := d.Difference; line != "" && x != nil && x.Interval != nil && !usualMethod(x.Interval.Method) {
		line += " · " + x.Interval.Method
	}
	return line
}

func planningWords(d decide.Decision) string {
	p := d.Planning
	if p.Total > 0 {
		return sizeLine(d)
	}
	what, cases, threshold := quantity(d), "cases", "threshold"
	if d.Rule.Kind.Comparison() {
		cases, threshold = "paired cases", "margin"
		if d.Rule.Kind == policy.Superiority {
			threshold = "zero"
		}
	}
	switch p.Reason {
	case decide.PlanPastThreshold:
		return fmt.Sprintf("no number of %s would make it PASS, if the %s holds: more cases move it toward FAIL", cases, what)
	case decide.PlanAtThreshold:
		meets := "the " + threshold
		if threshold == "zero" {
			meets = threshold
		}
		return fmt.Sprintf("no number of %s would decide it, if the %s holds: it only meets %s, and a bound never clears what the estimate only meets", cases, what, meets)
	case decide.PlanResolveMissing:
		return resolveLine(d)
	case decide.PlanMissingShare:
		return fmt.Sprintf("no number of %s would decide it while %s of them are missing: that share must fall first", cases, missingShare(d))
	case decide.PlanNotUpTo:
		if p.UpTo > 0 {
			return fmt.Sprintf("not even %d %s would decide it, if the %s holds", p.UpTo, cases, what)
		}
		return fmt.Sprintf("no number of %s that could be run would decide it, if the %s holds", cases, what)
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
	switch {
	case d.Rule.Kind.Comparison():
		return "difference"
	case d.Metric == nil:
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

// costLine says what so many more cases would take: cases times the latency
// observed, over the calls made at the same time. It is empty when the run does
// not know its latency, and for what takes less than a second.
func costLine(r *Run, more *int) string {
	if r.LatencyMS == nil || more == nil {
		return ""
	}
	lanes := max(min(r.Concurrency, *more), 1)
	total := time.Duration(float64(*more) * *r.LatencyMS / float64(lanes) * float64(time.Millisecond))
	if total < time.Second {
		return ""
	}
	at := "one at a time"
	if lanes > 1 {
		at = fmt.Sprintf("%d at a time", lanes)
	}
	return fmt.Sprintf("calling the system for them takes about %s at the latency observed (%s on average, %s)",
		roughly(total), milliseconds(*r.LatencyMS), at)
}

// roughly prints a duration of a second or more in its largest unit, and the
// one below where that says more.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(math.Round(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(math.Round(d.Minutes())))
	case d < 48*time.Hour:
		minutes := int(math.Round(d.Minutes()))
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d days", int(math.Round(d.Hours()/24)))
}
