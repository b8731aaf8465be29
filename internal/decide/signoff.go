package decide

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Signed returns r for a run of which people signed off rules: those that are
// MANUAL_REVIEW warn where they would block. Nothing else is released: a FAIL, or
// evidence that does not suffice, is not a matter of a person's word. A signoff
// holds for its run, its policy, its evidence and the reasons that the person saw;
// those that hold are returned.
func (r Result) Signed(p *policy.Policy, run, judgments string, completeness evidence.Completeness, all []evidence.Signoff) (Result, []evidence.Signoff) {
	var hold []evidence.Signoff
	r.Decisions = slices.Clone(r.Decisions)
	for _, s := range all {
		if s.Run != run || s.Judgments != judgments || string(s.Policy) != p.Digest {
			continue
		}
		used := false
		for i := range r.Decisions {
			d := &r.Decisions[i]
			unseen := slices.ContainsFunc(d.Reasons, func(reason string) bool { return !slices.Contains(s.Reasons, reason) })
			if d.State == policy.ManualReview && slices.Contains(s.Rules, d.Rule.ID) && !unseen {
				d.Released, used = true, true
			}
		}
		if used {
			hold = append(hold, s)
		}
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r, hold
}
