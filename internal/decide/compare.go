package decide

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Compare decides every rule of p that looks at two runs. The comparison must
// have been made at p's confidence level and by its difference_method: one made
// otherwise decides nothing. Rules of one run are counted in [Result.Skipped].
// When one of the two runs is partial, the gate is that of a partial run.
//
// Nothing passes because it was not compared: a rule on a difference that the
// comparison does not have is INSUFFICIENT_EVIDENCE.
func Compare(p *policy.Policy, c *compare.Comparison) Result {
	r := decideComparisonRules(p, func(rule policy.Rule) Decision { return decideDifference(p, rule, c) })
	for _, f := range p.Families {
		r.Families = append(r.Families, correct(p, f, r.Decisions))
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if d.State == policy.Pass && armsUnlike(p, d.Rule, c, d.Difference) {
			d.State, d.Reasons = policy.ManualReview, []string{ReasonArmBiasNotShown}
		}
		if d.State == policy.InsufficientEvidence && d.Rule.Correction == "" {
			d.Planning = planDifference(p.ConfidenceLevel, d)
		}
	}
	if versionChanged(c) {
		return VersionChanged(p, r, completenessOf(c))
	}
	r.Gate = gateOf(p, r.Decisions, completenessOf(c))
	return r
}

// completenessOf is that of both runs: one that is partial makes the comparison so.
func completenessOf(c *compare.Comparison) evidence.Completeness {
	if c.Candidate.Completeness == evidence.Complete {
		return c.Baseline.Completeness
	}
	return c.Candidate.Completeness
}

// WithoutBaseline decides the comparison rules of p for a run that there is
// nothing to compare with. The reason is [ReasonNoBaseline] or
// [ReasonBaselineIncompatible]. No rule is a PASS; whether that blocks is for
// block_on to say.
func WithoutBaseline(p *policy.Policy, reason string, completeness evidence.Completeness) Result {
	r := decideComparisonRules(p, func(rule policy.Rule) Decision {
		if reasons := reviewOfDifference(rule, nil); len(reasons) > 0 {
			return Decision{State: policy.ManualReview, Reasons: reasons}
		}
		return Decision{State: policy.InsufficientEvidence, Reasons: []string{reason}}
	})
	for _, f := range p.Families {
		r.Families = append(r.Families, familyOf(f))
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r
}

func decideComparisonRules(p *policy.Policy, decide func(policy.Rule) Decision) Result {
	var r Result
	for _, rule := range p.Rules {
		if !rule.Kind.Comparison() {
			r.Skipped++
			continue
		}
		d := decide(rule)
		d.Rule = rule
		for _, f := range p.Families {
			if slices.Contains(f.Rules, rule.ID) {
				d.Family = f.ID
			}
		}
		r.Decisions = append(r.Decisions, d)
	}
	return r
}

// decideDifference decides one comparison rule, without its family.
func decideDifference(p *policy.Policy, rule policy.Rule, c *compare.Comparison) Decision {
	d := Decision{Comparison: c.ID, Difference: find(c, rule)}
	if x := d.Difference; x != nil && x.Interval != nil && x.Interval.Method == stats.MethodExact {
		// The test answers the question of the rule. That of the comparison may
		// have other limits, where the p values of the test contradict each other.
		x.Interval = x.IntervalAt(x.Interval.Level, marginOf(rule))
	}
	d.Difference = correctedDifference(p, rule, c, d.Difference)
	d.MissingEvidence = nothingCompared(rule, c, d.Difference)
	d.State, d.Reasons = stateOfDifference(p, rule, c, d.Difference)
	return d
}

// find returns a copy of the difference that a rule looks at, nil when the
// comparison does not have it.
func find(c *compare.Comparison, rule policy.Rule) *compare.Difference {
	name, value, sliced := rule.Slice()
	if !sliced {
		for _, d := range c.Differences {
			if d.Spec.ID == rule.Metric {
				return &d
			}
		}
		return nil
	}
	for i := range c.Slices {
		if s := &c.Slices[i]; s.Name == name && s.Value == value && s.Difference.Spec.ID == rule.Metric {
			d := s.Difference
			return &d
		}
	}
	return nil
}

// marginOf is what a rule compares a difference with, on one side or on both.
func marginOf(rule policy.Rule) float64 {
	if rule.Kind == policy.Superiority || rule.Margin == nil {
		return 0
	}
	return *rule.Margin
}
