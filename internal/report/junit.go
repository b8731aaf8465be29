package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/oloproof/oloproof-go/internal/policy"
)

// JUnit writes the rules of a document as test cases in the JUnit XML that CI
// systems read: a rule that is FAIL is a failure, one that is
// INSUFFICIENT_EVIDENCE or MANUAL_REVIEW an error with its reason. Every policy
// is a test suite; the run's own metrics, slices and cases are properties of the
// first. failing are the cases that failed, which the document does not hold.
func JUnit(w io.Writer, d *Document, failing []FailingCase) error {
	all := junitSuites{}
	for i, p := range d.Policies {
		all.Suites = append(all.Suites, junitSuiteOf(d, p, i))
	}
	if len(all.Suites) == 0 {
		all.Suites = append(all.Suites, junitSuiteOf(d, Policy{Path: "no policy"}, 0))
	}
	all.Suites[0].Properties.List = junitProperties(d, failing)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// The attributes and their order are those that both the schema of Ant's JUnit
// task and that of Jenkins accept.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string `xml:"name,attr"`
	Package    string `xml:"package,attr"`
	ID         int    `xml:"id,attr"`
	Timestamp  string `xml:"timestamp,attr"`
	Hostname   string `xml:"hostname,attr"`
	Tests      int    `xml:"tests,attr"`
	Failures   int    `xml:"failures,attr"`
	Errors     int    `xml:"errors,attr"`
	Time       string `xml:"time,attr"`
	Properties struct {
		List []junitProperty `xml:"property"`
	} `xml:"properties"`
	Cases []junitCase `xml:"testcase"`
	Out   string      `xml:"system-out"`
	Err   string      `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitProblem `xml:"failure"`
	Error     *junitProblem `xml:"error"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func junitSuiteOf(d *Document, p Policy, id int) junitSuite {
	s := junitSuite{
		Name: xmlToken(p.Path), Package: "oloproof", ID: id, Hostname: "localhost",
		Timestamp: d.Run.StartedAt.UTC().Format("2006-01-02T15:04:05"), Time: "0", Tests: len(p.Decisions),
	}
	if seconds := d.Run.FinishedAt.Sub(d.Run.StartedAt).Seconds(); seconds > 0 {
		s.Time = fmt.Sprintf("%.3f", seconds)
	}
	for _, x := range p.Decisions {
		c := junitCaseOf(d, x)
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
	}
	if d.Gate != nil {
		s.Out = xmlText(fmt.Sprintf("Gate: %s (exit %d)\n%s\n", d.Gate.Action, d.Gate.ExitCode, d.Gate.Meaning))
	}
	return s
}

func junitCaseOf(d *Document, x Decision) junitCase {
	c := junitCase{Name: xmlToken(x.Rule), ClassName: xmlToken(junitClass(d, x)), Time: "0"}
	problem := &junitProblem{
		Message: xmlText(strings.Join(append([]string{x.State}, x.Reasons...), ", ")),
		Type:    xmlText(x.State),
		Text:    xmlText(ruleWords(x)),
	}
	switch policy.State(x.State) {
	case policy.Pass:
	case policy.Fail:
		c.Failure = problem
	default:
		c.Error = problem
	}
	return c
}

// junitClass is the metric of a rule, with its slice and the comparison's baseline.
func junitClass(d *Document, x Decision) string {
	name := x.Metric
	if x.Slice != nil {
		name += "." + *x.Slice
	}
	if c := d.comparison(x.Comparison); c != nil && len(d.Comparisons) > 1 {
		name += "." + c.Baseline.ID
	}
	return name
}

// ruleWords says over a few lines what a rule was decided on.
func ruleWords(x Decision) string {
	lines := []string{"requires " + x.Requires}
	if x.Failures != nil {
		lines = append(lines, fmt.Sprintf("%s of %d observed, %d missing", count(*x.Failures, "failure"), x.Cases.Observed, x.Cases.Missing))
	} else {
		lines = append(lines, figureOf(x.Display.Estimate, x.Display.Interval)+" · "+x.Display.Denominator)
	}
	if x.Planning != nil && x.Planning.Line != "" {
		lines = append(lines, x.Planning.Line)
	}
	if remedy := decisionRemedy(x); remedy != "" {
		lines = append(lines, remedy)
	}
	return strings.Join(lines, "\n")
}

// junitProperties are the figures of the run, its slices and its cases.
func junitProperties(d *Document, failing []FailingCase) []junitProperty {
	var list []junitProperty
	add := func(name, value string) {
		list = append(list, junitProperty{xmlToken(name), xmlText(value)})
	}
	for _, f := range d.facts() {
		add(strings.ToLower(f.name), f.value)
	}
	for _, m := range d.Metrics {
		add("metric."+m.ID, figures(m.Display))
	}
	for _, s := range d.Slices {
		add("slice."+s.Name+"="+s.Value+"."+s.Metric, figures(s.Display))
	}
	for i := range d.Comparisons {
		c := &d.Comparisons[i]
		for _, x := range c.Differences {
			add("difference."+x.Metric, figures(x.Display))
		}
		for _, s := range c.Slices {
			add("difference.slice."+s.Name+"="+s.Value+"."+s.Difference.Metric, figures(s.Difference.Display))
		}
		for _, f := range c.Flips {
			add("case."+f.CaseID+"."+f.Criterion, strings.ToLower(flipTitle(f.Passing)))
		}
	}
	for i := range failing {
		add("case."+failing[i].ID, failing[i].words())
	}
	return list
}

func figures(d Display) string { return d.Estimate + " " + d.Interval + " · " + d.Denominator }

// xmlText drops what XML cannot hold or what hides: controls, lone surrogates,
// invisible characters. Line ends and tabs stay.
func xmlText(s string) string {
	lines := strings.Split(strings.ToValidUTF8(s, "\uFFFD"), "\n")
	for i, l := range lines {
		lines[i] = strings.Map(func(r rune) rune {
			if r == '\t' {
				return r
			}
			if r == 0xFFFE || r == 0xFFFF || unprintable(r) {
				return '\uFFFD'
			}
			return r
		}, l)
	}
	return strings.Join(lines, "\n")
}

// xmlToken is text for an attribute that the schema wants on one line and not empty.
func xmlToken(s string) string {
	s = strings.Join(strings.Fields(xmlText(s)), " ")
	if s == "" {
		return "-"
	}
	return s
}
