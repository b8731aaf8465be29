package decide

import (
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Run decides every rule of p that looks at one run. The metrics must have been
// measured at p's confidence level. Comparison rules are counted in
// [Result.Skipped]; a policy that has no other rule decides nothing and allows
// the run, unless the run is partial.
//
// Nothing passes because it was not measured: a rule on a metric that is not
// among metrics is INSUFFICIENT_EVIDENCE and blocks.
func Run(p *policy.Policy, metrics []measure.Metric, completeness evidence.Completeness) Result {
	byID := make(map[string]measure.Metric, len(metrics))
	for _, m := range metrics {
		byID[m.Spec.ID] = m
	}
	var r Result
	for _, rule := range p.Rules {
		if rule.Kind.Comparison() {
			r.Skipped++
			continue
		}
		var metric *measure.Metric
		if m, ok := byID[rule.Metric]; ok {
			metric = &m
		}
		r.Decisions = append(r.Decisions, decideRule(p, rule, metric))
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r
}

// decideRule decides one rule of one run; m is nil when the run has no such metric.
func decideRule(p *policy.Policy, rule policy.Rule, m *measure.Metric) Decision {
	m = corrected(p, rule, m)
	d := Decision{Rule: rule, Metric: m, MissingEvidence: missingEvidence(rule, m)}
	d.State, d.Reasons = ruleState(p, rule, m)
	if m == nil {
		return d
	}
	if rule.Kind == policy.ObservedCount && m.Spec.Kind == evidence.Rate {
		failures := m.Cases.Observed - m.Passed
		d.Failures = &failures
	}
	if d.State == policy.InsufficientEvidence && rule.Kind == policy.IntervalThreshold && rule.Correction == "" {
		d.Planning = planRule(p.ConfidenceLevel, d)
	}
	return d
}

// ruleState goes through three tiers. The first that has a reason decides, with
// all of its reasons: what needs a person, what the evidence does not allow,
// and what the evidence says.
func ruleState(p *policy.Policy, rule policy.Rule, m *measure.Metric) (policy.State, []string) {
	if reasons := reviewReasons(rule, m); len(reasons) > 0 {
		return policy.ManualReview, reasons
	}
	if reasons := insufficientReasons(p, rule, m); len(reasons) > 0 {
		return policy.InsufficientEvidence, reasons
	}
	state, reason := policy.State(""), ""
	switch {
	case rule.Kind == policy.ObservedCount:
		state, reason = countState(*rule.MaxFailures, m.Cases.Observed-m.Passed, m.Cases.Missing)
	case rule.Min != nil:
		state, reason = floorState(*rule.Min, m.Interval)
	default:
		state, reason = ceilingState(*rule.Max, m.Interval)
	}
	return state, []string{reason}
}

func reviewReasons(rule policy.Rule, m *measure.Metric) []string {
	var reasons []string
	if rule.ManualReview {
		reasons = append(reasons, ReasonPolicyRequiresReview)
	}
	if !supported(rule, m) {
		reasons = append(reasons, ReasonUnsupportedMethod)
	}
	if m != nil && retired(m.Spec) {
		reasons = append(reasons, ReasonEvaluatorRetired)
	}
	return reasons
}

// supported reports whether there is a way to decide the rule on the metric.
// The reader of policies refuses what is not; a stored policy from elsewhere
// must not slip through as a PASS.
func supported(rule policy.Rule, m *measure.Metric) bool {
	switch rule.Kind {
	case policy.IntervalThreshold:
		return (rule.Min == nil) != (rule.Max == nil)
	case policy.ObservedCount:
		return rule.MaxFailures != nil && (m == nil || m.Spec.Kind == evidence.Rate && m.Spec.Judged())
	}
	return false
}

func insufficientReasons(p *policy.Policy, rule policy.Rule, m *measure.Metric) []string {
	var reasons []string
	if m == nil || m.Cases.Observed == 0 {
		reasons = append(reasons, ReasonNoObservations)
	}
	if m != nil {
		reasons = append(reasons, untrusted(p, m.Spec)...)
	}
	if rule.Kind == policy.ObservedCount {
		// It claims nothing beyond the cases that ran, so no interval is asked for.
		return reasons
	}
	if m != nil && missingnessExceeds(rule, m.Cases) {
		reasons = append(reasons, ReasonMissingnessExceedsPolicy)
	}
	if m != nil && missingnessUnbounded(m) {
		reasons = append(reasons, ReasonMissingnessUnbounded)
	}
	if m == nil || !intervalAt(p.ConfidenceLevel, m.Interval) {
		reasons = append(reasons, ReasonIntervalUnavailable)
	}
	return reasons
}

// missingEvidence reports whether the rule blocks whatever block_on says: its
// metric observed nothing, or misses more cases than the rule allows.
func missingEvidence(rule policy.Rule, m *measure.Metric) bool {
	return m == nil || m.Cases.Observed == 0 || missingnessExceeds(rule, m.Cases)
}

func missingnessExceeds(rule policy.Rule, c measure.Cases) bool {
	return rule.MaxMissing != nil && c.Eligible() > 0 &&
		float64(c.Missing)/float64(c.Eligible()) > *rule.MaxMissing
}

// missingnessUnbounded reports whether missing cases have no worst value to
// count with. Rates have one by definition, what is measured loses a limit instead.
func missingnessUnbounded(m *measure.Metric) bool {
	return m.Spec.Kind == evidence.Mean && m.Cases.Missing > 0 && m.Spec.Judged() && !hasRange(m.Spec)
}

// hasRange reports whether the values of a metric have a least and a largest.
func hasRange(s evidence.MetricSpec) bool { return s.Bounded() }

// intervalAt reports whether there is an interval at the policy's level. One at
// another level must not decide.
func intervalAt(level float64, i *measure.Interval) bool {
	return i != nil && i.Level == level && (i.Lower != nil || i.Upper != nil)
}

// floorState compares an interval with a minimum. Meeting it is a PASS: the
// limit itself is a rejected value. The doubles are compared as they are, never
// as they are shown.
func floorState(minimum float64, i *measure.Interval) (policy.State, string) {
	switch {
	case i.Lower != nil && *i.Lower >= minimum:
		return policy.Pass, ReasonLowerMeetsMinimum
	case i.Upper != nil && *i.Upper < minimum:
		return policy.Fail, ReasonUpperBelowMinimum
	}
	return policy.InsufficientEvidence, undecidedReason(i)
}

// ceilingState compares an interval with a maximum.
func ceilingState(maximum float64, i *measure.Interval) (policy.State, string) {
	switch {
	case i.Upper != nil && *i.Upper <= maximum:
		return policy.Pass, ReasonUpperMeetsMaximum
	case i.Lower != nil && *i.Lower > maximum:
		return policy.Fail, ReasonLowerAboveMaximum
	}
	return policy.InsufficientEvidence, undecidedReason(i)
}

func undecidedReason(i *measure.Interval) string {
	if i.Lower == nil || i.Upper == nil {
		return ReasonIntervalUnbounded
	}
	return ReasonIntervalOverlaps
}

// countState compares observed failures with a limit; a missing case may be
// either.
func countState(limit, failures, missing int) (policy.State, string) {
	switch {
	case failures > limit:
		return policy.Fail, ReasonFailuresExceedLimit
	case failures+missing <= limit:
		return policy.Pass, ReasonFailuresWithinLimit
	}
	return policy.InsufficientEvidence, ReasonMissingCouldChange
}
