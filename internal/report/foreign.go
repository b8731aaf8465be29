package report

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// What a foreign document may hold at most.
const (
	mostForeignPolicies = 20
	mostForeignRules    = 500   // of a policy
	mostForeignItems    = 5_000 // of any other list
	mostForeignName     = 200   // bytes of a name
)

// ReadForeign reads a document that a stranger may have written, such as that of
// a fork's run. Its numbers, states and names are checked; every sentence is made
// from them anew, and what only words say is left out: notes, the trail of the
// baseline, details. Nobody has checked that the numbers are true.
func ReadForeign(data []byte) (*Document, error) {
	d, err := ReadJSON(data)
	if err != nil {
		return nil, err
	}
	f := foreign{Document: d}
	f.run()
	f.metrics()
	f.comparisons()
	f.policies()
	f.gate()
	f.words()
	if f.fault != "" {
		return nil, errors.New("read document: " + f.fault)
	}
	return d, nil
}

// foreign is a foreign document that is being checked.
type foreign struct {
	*Document
	fault string // the first
}

func (f *foreign) refuse(format string, args ...any) {
	if f.fault == "" {
		f.fault = fmt.Sprintf(format, args...)
	}
}

// name shortens what is shown as a name.
func name(s *string) {
	if len(*s) > mostForeignName {
		*s = strings.ToValidUTF8((*s)[:mostForeignName], "") + "…"
	}
}

func names(all ...*string) {
	for _, s := range all {
		name(s)
	}
}

func digest(d *evidence.Digest) {
	s := string(*d)
	name(&s)
	*d = evidence.Digest(s)
}

// short cuts a list.
func short[T any](f *foreign, what string, list []T, most int) []T {
	if len(list) > most {
		f.refuse("%s has %d entries, at most %d are read", what, len(list), most)
		return nil
	}
	return list
}

// code reports whether a text is a reason code.
func code(s string) bool { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`).MatchString(s) }

func onlyCodes(list []string) []string {
	kept := []string{}
	for _, s := range list[:min(len(list), mostNamed*4)] {
		if code(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func codesOf(list []measure.ReasonCount) []measure.ReasonCount {
	kept := []measure.ReasonCount{}
	for _, r := range list[:min(len(list), mostNamed*4)] {
		if code(r.Reason) {
			kept = append(kept, r)
		}
	}
	return kept
}

func (f *foreign) one(what, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		f.refuse("%s is %q", what, Clean(value))
	}
}

func (f *foreign) run() {
	r := &f.Run
	if !regexp.MustCompile(`^run_[0-9A-Z]{26}$`).MatchString(r.ID) {
		f.refuse("run.id is no run id")
	}
	f.one("run.status", string(r.Status), string(evidence.RunDecided), string(evidence.RunExplored), string(evidence.RunError), string(evidence.RunCanceled))
	f.one("run.completeness", string(r.Completeness), string(evidence.Complete), string(evidence.Partial))
	names(&r.Name, &r.Suite.Path, &r.Dataset.Path, &r.System.Name, &r.System.Version, &r.System.Kind, &r.Commit, &f.Tool.Name, &f.Tool.Version)
	digest(&r.Suite.Digest)
	digest(&r.Dataset.Digest)
	digest(&r.System.Digest)
	r.System.URL, r.Stopped = "", ""
}

func (f *foreign) metrics() {
	f.Signoffs = nil // who signed is said where it was signed
	f.Metrics = short(f, "metrics", f.Metrics, mostForeignItems)
	for i := range f.Metrics {
		m := &f.Metrics[i]
		f.one("the kind of a metric", string(m.Kind), string(evidence.Rate), string(evidence.Mean), string(evidence.Quantile))
		names(&m.ID, &m.Unit, &m.Source)
		m.Exclusions, m.Missing = codesOf(m.Exclusions), codesOf(m.Missing)
		m.Display = m.shown(m.Estimate, m.Interval, m.Cases, m.Failures)
		if j := m.Judge; j != nil {
			for _, x := range []*JudgeFigure{&j.Agreement, &j.Sensitivity, &j.Specificity, &j.Bias, &j.Kappa} {
				name(&x.Interval.Method)
			}
		}
	}
	f.Slices = short(f, "slices", f.Slices, mostForeignItems)
	for i := range f.Slices {
		s := &f.Slices[i]
		names(&s.Name, &s.Value, &s.Metric)
		m := f.metric(s.Metric)
		s.Display = m.shown(s.Estimate, s.Interval, s.Cases, -1)
	}
	f.Problems = short(f, "problems", f.Problems, mostForeignItems)
	f.Problems = slices.DeleteFunc(f.Problems, func(p CaseProblem) bool { return !code(p.Kind) })
	for i := range f.Problems {
		p := &f.Problems[i]
		p.CaseIDs = p.CaseIDs[:min(len(p.CaseIDs), 10)]
		for j := range p.CaseIDs {
			name(&p.CaseIDs[j])
		}
	}
}

// metric is the metric of an id; one that shows plain numbers when there is none.
func (f *foreign) metric(id string) *Metric {
	if i := slices.IndexFunc(f.Metrics, func(m Metric) bool { return m.ID == id }); i >= 0 {
		return &f.Metrics[i]
	}
	return &Metric{ID: id, Kind: evidence.Mean, Range: [2]float64{0, 1}}
}

// compared is a metric as the comparisons have it, if they do.
func (f *foreign) compared(m *Metric) *Metric {
	for i := range f.Comparisons {
		for _, x := range f.Comparisons[i].Differences {
			if x.Metric == m.ID {
				return &Metric{ID: m.ID, Kind: x.Kind, Unit: x.Unit, Range: [2]float64{0, x.Range[1]}}
			}
		}
	}
	return m
}

// measured copies an interval with its method's name shortened.
func measured(i *Interval) *measure.Interval {
	if i == nil {
		return nil
	}
	name(&i.Method)
	return &measure.Interval{Lower: i.Lower, Upper: i.Upper, Level: i.Level, Method: i.Method}
}

// shown makes the strings of a figure in the metric's scale; failures below zero
// are not known.
func (m *Metric) shown(estimate *float64, i *Interval, c measure.Cases, failures int) Display {
	spec := evidence.MetricSpec{ID: m.ID, Kind: m.Kind, Range: m.Range, Unit: m.Unit, Source: m.Source}
	passed := c.Observed - failures
	if !spec.Judged() {
		passed = failures
	}
	d := DisplayOf(measure.Metric{Spec: spec, Estimate: estimate, Interval: measured(i), Cases: c, Passed: passed})
	if m.Kind == evidence.Quantile || failures < 0 {
		d.Denominator = fmt.Sprintf("%d observed · %d missing · %d excluded", c.Observed, c.Missing, c.Excluded)
	}
	return d
}

// shownDifference makes the strings of a difference in the metric's scale.
func (m *Metric) shownDifference(estimate *float64, i *Interval, c measure.Cases) Display {
	s := m.differenceScale(estimate, i)
	d := Display{Estimate: noEstimate, Interval: noInterval, Denominator: PairedDenominator(c)}
	if estimate != nil {
		d.Estimate = s.Estimate(*estimate)
	}
	if i != nil {
		name(&i.Method)
		d.Interval = s.Interval(i.Lower, i.Upper)
	}
	return d
}

func (m *Metric) differenceScale(estimate *float64, i *Interval) Scale {
	switch {
	case m.Kind == evidence.Rate:
		return RateDifferenceScale()
	case measuredQuantity(m.Kind, m.Unit):
		s := quantityScale(m.Kind, m.Unit, estimate, measured(i))
		s.signed = true
		return s
	}
	width := m.Range[1] - m.Range[0]
	return ScoreDifferenceScale([2]float64{-width, width})
}

func (f *foreign) comparisons() {
	f.Comparisons = short(f, "comparisons", f.Comparisons, mostForeignPolicies)
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		f.one("the role of a comparison", c.Role, RoleBaseline, RolePin)
		for _, ref := range []*string{&c.Candidate.ID, &c.Baseline.ID, &c.Candidate.Commit, &c.Baseline.Commit,
			&c.Candidate.System.Name, &c.Candidate.System.Version, &c.Baseline.System.Name, &c.Baseline.System.Version, &c.Method} {
			name(ref)
		}
		digest(&c.ID)
		c.Differences = short(f, "differences", c.Differences, mostForeignItems)
		for j := range c.Differences {
			f.difference(&c.Differences[j])
		}
		c.Slices = short(f, "slices of a comparison", c.Slices, mostForeignItems)
		for j := range c.Slices {
			names(&c.Slices[j].Name, &c.Slices[j].Value)
			f.difference(&c.Slices[j].Difference)
		}
		c.Flips = short(f, "flips", c.Flips, mostForeignItems)
		for j := range c.Flips {
			names(&c.Flips[j].CaseID, &c.Flips[j].Criterion)
		}
		for _, list := range []*[]string{&c.Added, &c.Removed, &c.Changed, &c.Rejudged, &c.OnlyCandidate, &c.OnlyBaseline} {
			*list = short(f, "a list of cases", *list, mostForeignItems)
			for j := range *list {
				name(&(*list)[j])
			}
		}
		c.NotComparable = short(f, "not_comparable", c.NotComparable, mostForeignItems)
		for j := range c.NotComparable {
			n := &c.NotComparable[j]
			if name(&n.Metric); !code(n.Reason) {
				n.Reason = "unknown"
			}
			n.Detail, n.Remedy = "", compareRemedy(n.Reason)
		}
	}
}

func (f *foreign) difference(x *Difference) {
	f.one("the kind of a difference", string(x.Kind), string(evidence.Rate), string(evidence.Mean), string(evidence.Quantile))
	names(&x.Metric, &x.Unit)
	x.Exclusions, x.Missing = codesOf(x.Exclusions), codesOf(x.Missing)
	m := &Metric{ID: x.Metric, Kind: x.Kind, Unit: x.Unit, Range: [2]float64{0, x.Range[1]}}
	x.Display = m.shownDifference(x.Estimate, x.Interval, x.Cases)
}

func (f *foreign) policies() {
	f.Policies = short(f, "policies", f.Policies, mostForeignPolicies)
	for i := range f.Policies {
		p := &f.Policies[i]
		f.one("the role of a policy", p.Role, RoleOnly, RoleBase, RoleProposed)
		names(&p.Path, &p.Digest)
		p.Families = []Family{}
		p.Decisions = short(f, "decisions", p.Decisions, mostForeignRules)
		for j := range p.Decisions {
			f.decision(&p.Decisions[j])
		}
		f.action(&p.Gate)
		p.Gate.Meaning = f.meaning(p)
	}
}

func (f *foreign) decision(d *Decision) {
	f.one("the state of a rule", d.State, string(policy.Pass), string(policy.Fail), string(policy.InsufficientEvidence), string(policy.ManualReview))
	rule := policy.Rule{Kind: policy.Kind(d.Kind), MaxFailures: d.MaxFailures, Margin: d.Margin, HigherBetter: d.Direction != "max", Correction: d.Correction}
	names(&d.Rule, &d.Metric, &d.Family)
	if d.Correction != "" {
		f.one("the correction of a rule", d.Correction, policy.CorrectionPPI, policy.CorrectionRoganGladen)
	}
	if d.Slice != nil {
		name(d.Slice)
	}
	if d.Comparison != nil {
		name(d.Comparison)
	}
	d.Reasons = onlyCodes(d.Reasons)
	m := f.metric(d.Metric)
	if !rule.Kind.Comparison() {
		switch {
		case d.Threshold != nil && d.Direction == "max":
			rule.Max = d.Threshold
		case d.Threshold != nil:
			rule.Min = d.Threshold
		}
		spec := evidence.MetricSpec{ID: m.ID, Kind: m.Kind, Range: m.Range, Unit: m.Unit}
		d.Requires = requires(rule, &measure.Metric{Spec: spec})
		d.Display = m.shown(d.Estimate, d.Interval, d.Cases, m.Failures)
	} else {
		m = f.compared(m)
		s := m.differenceScale(d.Estimate, d.Interval)
		if measuredQuantity(m.Kind, m.Unit) {
			s = Scale{unit: s.unit}
		}
		s.signed = false
		d.Requires = compareRequires(rule, &s)
		d.Display = m.shownDifference(d.Estimate, d.Interval, d.Cases)
	}
	f.planning(d, rule, m)
}

// planning makes the line of a size again; why there is none is left out.
func (f *foreign) planning(d *Decision, rule policy.Rule, m *Metric) {
	p := d.Planning
	if p == nil || p.Total == nil || p.More == nil || *p.Total < 1 || *p.More < 0 {
		d.Planning = nil
		return
	}
	spec := evidence.MetricSpec{ID: m.ID, Kind: m.Kind}
	p.Reason, p.Cost = "", ""
	p.Line = sizeLine(decide.Decision{Rule: rule, Metric: &measure.Metric{Spec: spec}, Planning: &decide.Planning{Total: *p.Total, More: *p.More, Discordance: p.Discordance}})
}

// action checks that action and exit code agree.
func (f *foreign) action(g *Gate) {
	f.one("the action of a gate", g.Action, string(decide.Allow), string(decide.Warn), string(decide.Block))
	g.Reasons = onlyCodes(g.Reasons)
	blocks := g.Action == string(decide.Block)
	if blocks != slices.Contains([]int{decide.ExitFail, decide.ExitTrouble, decide.ExitBlocked}, g.ExitCode) || !blocks && g.ExitCode != decide.ExitAllowed {
		f.refuse("a gate of the action %s ends with %d", g.Action, g.ExitCode)
	}
}

// meaning says what a gate does and which rules are not PASS.
func (f *foreign) meaning(p *Policy) string {
	var r decide.Result
	for _, d := range p.Decisions {
		r.Decisions = append(r.Decisions, decide.Decision{Rule: policy.Rule{ID: d.Rule}, State: policy.State(d.State)})
	}
	clauses := stateClauses(r, func(d decide.Decision) bool { return d.State != policy.Pass })
	word := map[string]string{string(decide.Block): "Blocked", string(decide.Warn): "Allowed with a warning"}[p.Gate.Action]
	if word == "" {
		word = "Allowed"
	}
	if len(clauses) == 0 {
		return word + "."
	}
	return word + ": " + strings.Join(clauses, "; ") + "."
}

// gate makes the gate of all policies again; one that could not look everything
// up ends with 2.
func (f *foreign) gate() {
	if f.Gate == nil {
		return
	}
	f.action(f.Gate)
	again := gateOf(f.Policies)
	if again == nil {
		f.refuse("it has a gate and no policy")
		return
	}
	if f.Gate.ExitCode == decide.ExitTrouble {
		again.Action, again.ExitCode = string(decide.Block), decide.ExitTrouble
		again.Reasons = appendNew(again.Reasons, decide.GateNotLookedUp)
	}
	f.Document.Gate = again
}

// words leaves out what only words say.
func (f *foreign) words() {
	f.Relaxations = short(f, "relaxations", f.Relaxations, mostForeignItems)
	for i := range f.Relaxations {
		r := &f.Relaxations[i]
		name(&r.File)
		r.Text = "see the summary of the run"
	}
	f.Notes = []string{"these are the figures of the pull request's own run, which whoever wrote it controls"}
	if b := f.Baseline; b != nil {
		f.one("baseline.state", b.State, BaselineFound, BaselineNone, BaselineExpired, BaselineIncompatible, BaselineUnavailable, BaselineOff)
		b.Age, b.How, b.Reason, b.Trail = "", "", "", []Rejects{}
		names(&b.Run, &b.Commit, &b.Branch)
	}
}
