package report

import (
	"fmt"
	"io"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Reach prints for every rule what it can decide before a case has run. total
// is the number of cases of the suite; a rule that counts fewer counts those
// with labels.
func Reach(w io.Writer, rules []decide.Reach, total int) error {
	p := newPrinter(w, 0, false)
	for _, r := range rules {
		p.raw(Clean(r.Rule.ID) + " " + reachWords(r, total))
	}
	return p.flush()
}

// reachWords is what follows the rule's name.
func reachWords(r decide.Reach, total int) string {
	switch {
	case r.Cases == 0:
		return "can decide nothing: no case carries what " + Clean(r.Rule.Metric) + " needs"
	case r.Rule.ManualReview:
		return "is always MANUAL_REVIEW: the policy asks for a person"
	case r.Rule.Correction != "":
		return "is corrected for its judge's error, so that what it can decide depends on people's labels too"
	case r.NeverPass:
		return fmt.Sprintf("can never PASS with %s%s: %s%s", casesWord(r, total), bestWords(r), needWords(r), failWords(r, "; "))
	case r.PassFrom != nil || r.PassTo != nil:
		return "passes " + passWords(r) + failWords(r, " and ")
	}
	return "can PASS with " + casesWord(r, total) + bestWords(r) + failWords(r, " and ")
}

func casesWord(r decide.Reach, total int) string {
	if r.Cases < total {
		return count(r.Cases, "labelled case")
	}
	return count(r.Cases, "case")
}

// bestWords is the limit that a perfect result reaches.
func bestWords(r decide.Reach) string {
	if r.Best == nil {
		return ""
	}
	s := RateScale()
	if r.Kind == evidence.Mean {
		s = ScoreScale([2]float64{0, 1})
	}
	if r.Rule.Max != nil {
		return " (" + s.Upper(*r.Best) + " at best)"
	}
	return " (" + s.Lower(*r.Best) + " at best)"
}

func needWords(r decide.Reach) string {
	if r.Needs == 0 {
		return "no number of cases is enough"
	}
	return fmt.Sprintf("it needs %d", r.Needs)
}

func passWords(r decide.Reach) string {
	if r.PassFrom != nil {
		switch *r.PassFrom {
		case 0:
			return "whatever the " + count(r.Cases, "case") + " give"
		case r.Cases:
			return fmt.Sprintf("only at %d of %d", r.Cases, r.Cases)
		}
		return fmt.Sprintf("at %d or more of %d", *r.PassFrom, r.Cases)
	}
	if *r.PassTo == 0 {
		return fmt.Sprintf("only at 0 of %d", r.Cases)
	}
	return fmt.Sprintf("at %d or fewer of %d", *r.PassTo, r.Cases)
}

// failWords says which results FAIL, behind a joint that suits the sentence.
func failWords(r decide.Reach, joint string) string {
	switch {
	case r.FailTo != nil && *r.FailTo == 0:
		return joint + "fails only at 0"
	case r.FailTo != nil:
		return fmt.Sprintf("%sfails at %d or fewer", joint, *r.FailTo)
	case r.FailFrom != nil && *r.FailFrom == r.Cases:
		return fmt.Sprintf("%sfails only at %d", joint, r.Cases)
	case r.FailFrom != nil:
		return fmt.Sprintf("%sfails at %d or more", joint, *r.FailFrom)
	case r.NeverFail:
		return joint + "can never FAIL"
	}
	return ""
}

// Plan prints for every rule of a document what more cases would do.
func Plan(w io.Writer, d *Document) error {
	p := newPrinter(w, 0, false)
	for _, pol := range d.Policies {
		for _, x := range pol.Decisions {
			p.raw(Clean(x.Rule) + ": " + Clean(x.State) + ", requires " + Clean(x.Requires) + "; " +
				figureOf(x.Display.Estimate, x.Display.Interval) + " · " + Clean(x.Display.Denominator))
			p.raw("  " + planWords(x))
		}
	}
	return p.flush()
}

func planWords(x Decision) string {
	switch {
	case x.Planning != nil && x.Planning.Line != "":
		return Clean(x.Planning.Line)
	case x.State == string(policy.Pass) || x.State == string(policy.Fail):
		return "decided: nothing to plan"
	}
	return "no number of cases is given"
}
