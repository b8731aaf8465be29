package decide

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Kept is what a policy says of a run with the suite as it was before a change:
// with the cases that the change took away or edited, and the evaluators that it
// changed.
type Kept struct {
	// Metrics of every rule on the run, at the policy's confidence level. A rule
	// whose metric is not among them is decided by the run alone. [CompareRelaxed]
	// does not need them.
	Metrics func(rule policy.Rule) *measure.Metric
	// Gone reports that the changed suite has no metric of this id any more.
	Gone func(metric string) bool
	// Released says that people released the change: a rule whose metric is gone
	// warns where it would block, and every other is decided by the run alone.
	Released bool
}

// RunRelaxed decides p as [Run] does, for a run whose suite was changed by the
// proposal that the gate is to judge. A rule that would be less favourable with
// the suite as it was, or whose metric is gone, is MANUAL_REVIEW: deleting the
// cases that fail opens no gate. It blocks where p blocks on MANUAL_REVIEW or on
// the state that it would have had.
func RunRelaxed(p *policy.Policy, metrics []measure.Metric, completeness evidence.Completeness, kept Kept) Result {
	r := Run(p, metrics, completeness)
	for i := range r.Decisions {
		d := &r.Decisions[i]
		m := kept.Metrics(d.Rule)
		gone := kept.Gone(d.Rule.Metric)
		if m == nil && !gone || kept.Released && !gone {
			continue
		}
		before := decideRule(p, d.Rule, m)
		if gone {
			d.Metric, d.Failures, d.MissingEvidence = before.Metric, before.Failures, before.MissingEvidence
		}
		d.relax(before.State, gone, kept.Released)
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r
}

// CompareRelaxed decides p as [Compare] does, for a run whose suite was changed by
// the proposal that the gate is to judge. Before is the comparison with the suite
// as it was: with the cases that were taken away or edited as the baseline judged
// them, and by the evaluators as they were. Its rules bear on those of c as they
// do in [RunRelaxed].
func CompareRelaxed(p *policy.Policy, c, before *compare.Comparison, kept Kept) Result {
	r, was := Compare(p, c), Compare(p, before)
	for i := range r.Decisions {
		d := &r.Decisions[i]
		gone := kept.Gone(d.Rule.Metric)
		if kept.Released && !gone {
			continue
		}
		if gone {
			d.Difference, d.MissingEvidence = was.Decisions[i].Difference, was.Decisions[i].MissingEvidence
		}
		d.relax(was.Decisions[i].State, gone, kept.Released)
	}
	r.Gate = gateOf(p, r.Decisions, completenessOf(c))
	return r
}

// relax makes a decision one for people to review when its state with the suite
// as it was is less favourable, or when the suite cannot decide it any more.
func (d *Decision) relax(before policy.State, gone, released bool) {
	if !gone && favour(before) >= favour(d.State) {
		return
	}
	d.State, d.Reasons, d.Planning = policy.ManualReview, []string{ReasonSuiteRelaxed}, nil
	d.Otherwise = before
	if released {
		d.Released, d.MissingEvidence = true, false
	}
}

// favour orders the states from the least to the most favourable.
func favour(s policy.State) int {
	return slices.Index([]policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview, policy.Pass}, s)
}

// Worst is the judgment that speaks most against a rule: a failure or the low end
// of a score under a floor or a count, a pass or the high end under a ceiling.
func Worst(rule policy.Rule, spec evidence.MetricSpec) evidence.Judgment {
	value := spec.Range[0]
	if rule.Max != nil {
		value = spec.Range[1]
	}
	return evidence.Judgment{State: evidence.Judged, Value: value}
}

// Release returns r for a change of the suite that people released: its rules
// that are not established because the evaluator changed, or because too few
// cases pair, warn where they would block.
func (r Result) Release(p *policy.Policy, completeness evidence.Completeness) Result {
	r.Decisions = slices.Clone(r.Decisions)
	for i := range r.Decisions {
		d := &r.Decisions[i]
		by := func(reason string) bool { return slices.Contains(d.Reasons, reason) }
		if d.State == policy.InsufficientEvidence && (by(ReasonEvaluatorChanged) || by(ReasonTooFewPairs)) {
			d.Released, d.MissingEvidence = true, false
		}
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r
}

// Advisory returns r as advice: what would block warns. A change that introduces
// a gate has nothing to be compared with, and that is nobody's fault.
func (r Result) Advisory() Result {
	if r.Gate.Action == Block {
		r.Gate.Action, r.Gate.ExitCode = Warn, ExitAllowed
	}
	return r
}

// Moved is the gate of a change that takes the policy away from where the base
// branch had it, so that nothing decides.
func Moved() Gate {
	return Gate{Action: Block, ExitCode: ExitBlocked, Reasons: []string{GatePolicyMoved}}
}
