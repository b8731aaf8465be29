package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// The roles of a policy in a document.
const (
	RoleOnly     = "only"     // one policy decided
	RoleBase     = "base"     // the policy of the base commit
	RoleProposed = "proposed" // the policy of the commit under decision
)

// Input is what a document is built from.
type Input struct {
	Manifest *evidence.Manifest
	Tool     evidence.Tool // that decides; zero: the one that made the run
	Metrics  []measure.Metric
	Slices   []measure.Slice
	Policies []PolicyResult // none when no policy decided
	// ExitCode is the process's exit code where it is not the gate's: 2 when no
	// case was answered, 130 or 143 when the run was interrupted.
	ExitCode *int
	Problems []CaseProblem      // see ProblemTally
	Notes    []string           // those of the manifest included
	Signoffs []evidence.Signoff // that hold for a decision

	Comparisons []ComparisonInput // of the run, which is their candidate
	Baseline    *Baseline         // nil when none was looked for
	Relaxations []Relaxation
	// LatencyMS is the mean latency of the run's answered cases in milliseconds,
	// of which planning lines say what more cases would take; nil: not known.
	LatencyMS *float64
}

// PolicyResult is a policy with what it says of the run.
type PolicyResult struct {
	Role   string // one of the Role constants
	Policy *policy.Policy
	Result decide.Result
}

// Build makes the document of a run.
func Build(in Input) *Document {
	m := in.Manifest
	d := &Document{
		Schema: DocumentSchema,
		Tool:   cmp.Or(in.Tool, m.Tool),
		Run: Run{
			ID: m.ID, Status: m.Status, Completeness: m.Completeness, Name: m.Name,
			Suite:   Ref{Path: m.SuitePath, Digest: m.SuiteDigest},
			Dataset: m.Dataset, System: m.System, Counts: m.Counts, Commit: m.Commit,
			StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, Stopped: m.Stopped,
			Reused: m.Cache.ExecutionHits > 0, MinSupport: m.MinSupport,
			Concurrency: m.Concurrency, LatencyMS: finite(in.LatencyMS),
		},
		Policies:    make([]Policy, 0, len(in.Policies)),
		Metrics:     make([]Metric, 0, len(in.Metrics)),
		Slices:      make([]Slice, 0, len(in.Slices)),
		Baseline:    in.Baseline,
		Comparisons: make([]Comparison, 0, len(in.Comparisons)),
		Relaxations: nonNil(slices.Clone(in.Relaxations)),
		Cache:       m.Cache,
		Stages:      m.Stages,
		Judges:      called(m.Judges),
		Problems:    nonNil(slices.Clone(in.Problems)),
		Notes:       nonNil(slices.Clone(in.Notes)),
		Signoffs:    signoffsOf(in.Signoffs),
	}
	for _, x := range in.Metrics {
		d.Metrics = append(d.Metrics, metricOf(x))
		if note := outsideNote(x); note != "" {
			d.Notes = append(d.Notes, note)
		}
	}
	for _, s := range in.Slices {
		d.Slices = append(d.Slices, sliceOf(s))
	}
	for _, c := range in.Comparisons {
		d.Comparisons = append(d.Comparisons, comparisonOf(c))
		for i := range c.Comparison.Differences {
			if x := &c.Comparison.Differences[i]; x.Outside > 0 {
				d.Notes = appendNew(d.Notes, fmt.Sprintf("the difference of %s has no interval: %s a value outside of the range that the suite declares, %s",
					x.Spec.ID, haveWord(x.Outside, "pair"), rangeWords(x.Spec)))
			}
		}
	}
	for _, p := range in.Policies {
		out := policyOf(p, in.Metrics)
		for i := range out.Decisions {
			if plan := out.Decisions[i].Planning; plan != nil {
				plan.Cost = costLine(&d.Run, plan.More)
			}
		}
		d.Policies = append(d.Policies, out)
	}
	d.Gate = gateOf(d.Policies)
	if d.Gate != nil && in.ExitCode != nil {
		d.Gate.ExitCode = *in.ExitCode
	}
	return d
}

// gateOf is what the gates of all policies come to: the action and the exit
// code that block most, every reason once, and what each gate of that action
// means. It is nil without a policy.
func gateOf(policies []Policy) *Gate {
	if len(policies) == 0 {
		return nil
	}
	severity := map[string]int{string(decide.Allow): 0, string(decide.Warn): 1, string(decide.Block): 2}
	g := slices.MaxFunc(policies, func(a, b Policy) int {
		return cmp.Or(
			cmp.Compare(severity[a.Gate.Action], severity[b.Gate.Action]),
			cmp.Compare(failFirst(a.Gate.ExitCode), failFirst(b.Gate.ExitCode)))
	}).Gate
	var reasons, meanings []string
	for _, p := range policies {
		reasons = appendNew(reasons, p.Gate.Reasons...)
		if p.Gate.Action == g.Action {
			meanings = appendNew(meanings, p.Gate.Meaning)
		}
	}
	g.Reasons, g.Meaning = nonNil(reasons), strings.Join(meanings, " ")
	return &g
}

// appendNew appends what is not yet in the list.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// failFirst orders exit codes: a FAIL (1) outranks any other block (3).
func failFirst(code int) int {
	if code == decide.ExitFail {
		return decide.ExitBlocked + 1
	}
	return code
}

func metricOf(m measure.Metric) Metric {
	return Metric{
		ID: m.Spec.ID, Kind: m.Spec.Kind, Estimate: finite(m.Estimate), Interval: intervalOf(m.Interval),
		Cases: m.Cases, Range: finiteRange(m.Spec.Range), Unit: m.Spec.Unit, Source: m.Spec.Source,
		Failures: failures(m), Exclusions: nonNil(slices.Clone(m.Exclusions)), Missing: nonNil(slices.Clone(m.Missing)),
		Display: DisplayOf(m), Judge: judgeOf(m.Spec, levelOf(m)),
	}
}

// levelOf is the level of a metric's interval; that of most policies without one.
func levelOf(m measure.Metric) float64 {
	if m.Interval == nil {
		return usualLevel
	}
	return m.Interval.Level
}

const usualLevel = 0.95

// outsideNote says that values of a mean lie outside of its range, and what
// follows; "" when none does.
func outsideNote(m measure.Metric) string {
	below, above := m.Outside()
	var limits []string
	if below > 0 {
		limits = append(limits, "lower")
	}
	if above > 0 {
		limits = append(limits, "upper")
	}
	if len(limits) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has no %s limit: %s a value outside of the range that the suite declares, %s",
		m.Spec.ID, strings.Join(limits, " and no "), haveWord(below+above, "case"), rangeWords(m.Spec))
}

func haveWord(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " has"
	}
	return count(n, noun) + " have"
}

func rangeWords(s evidence.MetricSpec) string {
	return fmt.Sprintf("[%s, %s]%s", number(s.Range[0]), number(s.Range[1]), suffix(" ", s.Unit))
}

// finiteRange returns the range, or zeros when it has an end that JSON cannot hold.
func finiteRange(r [2]float64) [2]float64 {
	if !isFinite(r[0]) || !isFinite(r[1]) {
		return [2]float64{}
	}
	return r
}

// failures counts the observed failures of a rate.
func failures(m measure.Metric) int {
	if m.Spec.Kind != evidence.Rate {
		return 0
	}
	if !m.Spec.Judged() { // 1 is an error
		return m.Passed
	}
	return m.Cases.Observed - m.Passed
}

func sliceOf(s measure.Slice) Slice {
	return Slice{
		Name: s.Name, Value: s.Value, Metric: s.Metric.Spec.ID,
		Estimate: finite(s.Metric.Estimate), Interval: intervalOf(s.Metric.Interval),
		Cases: s.Metric.Cases, Support: s.Support, PValue: finite(s.PValue), Marked: s.Marked,
		Display: DisplayOf(s.Metric),
	}
}

func intervalOf(i *measure.Interval) *Interval {
	if i == nil {
		return nil
	}
	return &Interval{Lower: finite(i.Lower), Upper: finite(i.Upper), Level: i.Level, Method: i.Method}
}

func policyOf(p PolicyResult, metrics []measure.Metric) Policy {
	out := Policy{
		Role: cmp.Or(p.Role, RoleOnly), Path: p.Policy.Path, Digest: p.Policy.Digest,
		Gate: Gate{
			Action: string(p.Result.Gate.Action), ExitCode: p.Result.Gate.ExitCode,
			Reasons: nonNil(slices.Clone(p.Result.Gate.Reasons)), Meaning: meaning(p.Policy, p.Result),
		},
		Decisions: make([]Decision, 0, len(p.Result.Decisions)),
		Families:  make([]Family, 0, len(p.Result.Families)),
	}
	for _, x := range p.Result.Decisions {
		if x.Rule.Kind.Comparison() {
			out.Decisions = append(out.Decisions, comparisonDecision(x, metrics))
		} else {
			out.Decisions = append(out.Decisions, decisionOf(x))
		}
	}
	for _, f := range p.Result.Families {
		out.Families = append(out.Families, Family{f.ID, f.Correction, f.Rules, nonNil(slices.Clone(f.Levels))})
	}
	return out
}

func decisionOf(x decide.Decision) Decision {
	r := x.Rule
	d := Decision{
		Rule: r.ID, Metric: r.Metric, Kind: string(r.Kind), State: string(x.State),
		Reasons: nonNil(slices.Clone(x.Reasons)), MaxFailures: r.MaxFailures, Failures: x.Failures,
		Margin: finite(r.Margin), Requires: requires(r, x.Metric), Planning: planningOf(x), Line: r.Line, Correction: r.Correction,
		Display: Display{Estimate: noEstimate, Interval: noInterval},
	}
	switch {
	case r.Min != nil:
		d.Direction, d.Threshold = "min", finite(r.Min)
	case r.Max != nil:
		d.Direction, d.Threshold = "max", finite(r.Max)
	}
	if m := x.Metric; m != nil {
		d.Estimate, d.Interval, d.Cases, d.Display = finite(m.Estimate), intervalOf(m.Interval), m.Cases, DisplayOf(*m)
	}
	return d
}

func signoffsOf(all []evidence.Signoff) []Signoff {
	var list []Signoff
	for _, s := range all {
		list = append(list, Signoff{By: s.By, Reason: s.Reason, At: s.At, Rules: s.Rules})
	}
	return list
}

// correctionWords names a correction wherever its figures stand.
func correctionWords(correction string) string {
	switch correction {
	case policy.CorrectionPPI:
		return ", corrected for the judge's error (prediction-powered)"
	case policy.CorrectionRoganGladen:
		return ", corrected for the judge's error (Rogan-Gladen)"
	}
	return ""
}

// requires says the condition of a rule on one run in words.
func requires(r policy.Rule, m *measure.Metric) string {
	return limitWords(r, m) + correctionWords(r.Correction)
}

func limitWords(r policy.Rule, m *measure.Metric) string {
	switch {
	case r.MaxFailures != nil:
		return "at most " + count(*r.MaxFailures, "failure")
	case r.Min != nil:
		return "at least " + threshold(*r.Min, m)
	case r.Max != nil:
		return "at most " + threshold(*r.Max, m)
	}
	return ""
}

func threshold(x float64, m *measure.Metric) string {
	if m == nil {
		return Scale{}.Exact(x)
	}
	if measuredQuantity(m.Spec.Kind, m.Spec.Unit) {
		return Scale{unit: QuantileScale(m.Spec.Unit).unit}.Exact(x)
	}
	return scaleOf(*m).Exact(x)
}

// mostNamed is the most rules of one state that a sentence names.
const mostNamed = 5

// meaning says in one sentence what the gate does and which states it comes from.
func meaning(p *policy.Policy, r decide.Result) string {
	switch r.Gate.Action {
	case decide.Block:
		return "Blocked because " + strings.Join(blockers(p, r), "; ") + "."
	case decide.Warn:
		return "Allowed with a warning because " + strings.Join(stateClauses(r, func(d decide.Decision) bool {
			return slices.Contains(p.WarnOn, d.State) || blocks(p, d) || d.Released
		}), "; ") + "."
	}
	if len(r.Decisions) == 0 {
		kind := "on a single run"
		if len(p.RunRules()) > 0 {
			kind = "on a comparison"
		}
		return "Allowed, but nothing was decided: the policy has no rule " + kind + "."
	}
	other := stateClauses(r, func(d decide.Decision) bool { return d.State != policy.Pass })
	switch {
	case len(other) > 0:
		return "Allowed although " + strings.Join(other, "; ") + ": the policy neither blocks nor warns on that."
	case len(r.Decisions) == 1:
		return "Allowed because its one rule, " + Clean(r.Decisions[0].Rule.ID) + ", is PASS (established)."
	}
	return fmt.Sprintf("Allowed because all %d rules are PASS (established).", len(r.Decisions))
}

// blockers names everything that blocks, once.
func blockers(p *policy.Policy, r decide.Result) []string {
	clauses := stateClauses(r, func(d decide.Decision) bool { return blocks(p, d) })
	var unmeasured []string
	for _, d := range r.Decisions {
		if d.MissingEvidence && !slices.Contains(p.BlockOn, d.State) {
			unmeasured = append(unmeasured, d.Rule.ID)
		}
	}
	if len(unmeasured) > 0 {
		clauses = append(clauses, fmt.Sprintf("%s the evidence for a decision, which blocks whatever the policy says",
			named(unmeasured, "lacks", "lack")))
	}
	if slices.Contains(r.Gate.Reasons, decide.GatePartialRun) {
		clauses = append(clauses, "not every case ran")
	}
	if slices.Contains(r.Gate.Reasons, decide.GatePolicyMoved) {
		clauses = append(clauses, "the base branch has a gate of this name and its policy is not where it was: add it at the new place, merge, then remove the old one")
	}
	return clauses
}

// blocks reports whether a decision blocks by its state, or by the one that it
// would have with the suite as it was.
func blocks(p *policy.Policy, d decide.Decision) bool {
	return !d.Released && (slices.Contains(p.BlockOn, d.State) || d.Otherwise != "" && slices.Contains(p.BlockOn, d.Otherwise))
}

// stateClauses names the rules of each state that holds, worst state first.
func stateClauses(r decide.Result, holds func(decide.Decision) bool) []string {
	byState := map[policy.State][]string{}
	for _, d := range r.Decisions {
		if holds(d) {
			byState[d.State] = append(byState[d.State], d.Rule.ID)
		}
	}
	var clauses []string
	for _, s := range byGravity() {
		if rules := byState[s]; len(rules) > 0 {
			clauses = append(clauses, fmt.Sprintf("%s %s (%s)", named(rules, "is", "are"), s, StateWord(string(s))))
		}
	}
	return clauses
}

// named lists rules with the verb that agrees with their number.
func named(rules []string, one, many string) string {
	rules = cleanAll(rules)
	switch {
	case len(rules) == 1:
		return rules[0] + " " + one
	case len(rules) > mostNamed:
		return fmt.Sprintf("%s and %d more %s", strings.Join(rules[:mostNamed], ", "), len(rules)-mostNamed, many)
	}
	last := len(rules) - 1
	return strings.Join(rules[:last], ", ") + " and " + rules[last] + " " + many
}

// roleNote names the role of a policy that is not the only one of its kind.
func roleNote(role string, clean func(string) string) string {
	if role == RoleOnly {
		return ""
	}
	return " (" + clean(role) + ")"
}

// StateWord says a rule's state in plain words.
func StateWord(state string) string {
	switch policy.State(state) {
	case policy.Pass:
		return "established"
	case policy.Fail:
		return "ruled out"
	case policy.InsufficientEvidence:
		return "not established yet"
	case policy.ManualReview:
		return "a person decides"
	}
	return "unknown"
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
