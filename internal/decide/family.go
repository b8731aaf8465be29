package decide

import (
	"cmp"
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/policy"
)

// familyOf is a family that has corrected nothing.
func familyOf(f policy.Family) Family {
	return Family{ID: f.ID, Correction: f.Correction, Rules: len(f.Rules)}
}

// correct holds back each FAIL among the rules of a family that does not stand
// when it is corrected for the others, by the method of Holm: with m rules in
// the family, that which lies farthest past its margin must FAIL with an error
// of alpha/m, the next one of alpha/(m-1), and so on; the first that does not is
// INSUFFICIENT_EVIDENCE, and so are those after it. Then the probability that
// any rule FAILs wrongly is at most alpha. A PASS needs no correction: a gate
// that passes only when every rule passes is wrong only if a rule is.
//
// The errors are those of both sides together, alpha = 1 - level, as for a rule
// by itself.
//
// Source: Holm, "A simple sequentially rejective multiple test procedure",
// Scandinavian Journal of Statistics 6 (1979). The bound holds for every order
// in which the rules are tested, since the first of those that hold is tested
// with at most alpha over their number.
func correct(p *policy.Policy, f policy.Family, decisions []Decision) Family {
	result := familyOf(f)
	stands := true
	for k, d := range failed(f, decisions) {
		if stands {
			alpha := (1 - p.ConfidenceLevel) / float64(len(f.Rules)-k)
			result.Levels = append(result.Levels, alpha)
			d.AdjustedAlpha = &alpha
			state, _ := limitsState(d.Rule, d.Difference.IntervalAt(1-alpha, marginOf(d.Rule)))
			stands = state == policy.Fail
		}
		if !stands {
			d.State, d.Reasons = policy.InsufficientEvidence, []string{ReasonFamilyWithheld}
		}
	}
	return result
}

// failed returns the decisions of a family that are FAIL, from the farthest past
// its margin on; of equal ones the one with the lesser id goes first.
func failed(f policy.Family, decisions []Decision) []*Decision {
	var all []*Decision
	for i := range decisions {
		if d := &decisions[i]; d.State == policy.Fail && slices.Contains(f.Rules, d.Rule.ID) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *Decision) int {
		return cmp.Or(cmp.Compare(pastMargin(b), pastMargin(a)), cmp.Compare(a.Rule.ID, b.Rule.ID))
	})
	return all
}

// pastMargin is how far the nearest limit of a FAIL lies beyond the margin, in
// the unit of the metric.
func pastMargin(d *Decision) float64 {
	past := math.Inf(-1)
	i, margin := d.Difference.Interval, marginOf(d.Rule)
	losing, winning := i.Upper, i.Lower
	if !d.Rule.HigherBetter {
		losing, winning = minus(i.Lower), minus(i.Upper)
	}
	if losing != nil {
		past = -margin - *losing
	}
	if d.Rule.Kind == policy.Equivalence && winning != nil {
		past = max(past, *winning-margin)
	}
	return past
}
