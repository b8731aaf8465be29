package decide

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// VersionChanged is what r, the decisions of p on a run, come to when the version
// of the service changed while the run went on: what was measured is of no
// version, so no rule is a PASS, and no number of cases would make it one. What
// fails does so whichever version failed.
func VersionChanged(p *policy.Policy, r Result, completeness evidence.Completeness) Result {
	r.Decisions = slices.Clone(r.Decisions)
	for i := range r.Decisions {
		r.Decisions[i].mix()
	}
	r.Gate = gateOf(p, r.Decisions, completeness)
	return r
}

func (d *Decision) mix() {
	switch d.State {
	case policy.Pass:
		d.State, d.Reasons = policy.InsufficientEvidence, []string{ReasonVersionChanged}
	case policy.InsufficientEvidence:
		d.Reasons = append(slices.Clone(d.Reasons), ReasonVersionChanged)
	}
	d.Planning = nil
}

// versionChanged reports whether one of the runs is of several versions.
func versionChanged(c *compare.Comparison) bool {
	return c.Candidate.System.VersionChanged() || c.Baseline.System.VersionChanged()
}
