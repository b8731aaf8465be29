package decide

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Whatever a run shows, no rule passes when the version changed meanwhile; every
// other state stays, a FAIL with its reasons, and no case more would decide it.
func TestVersionChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.IntRange(0, 60).Draw(t, "observed")
		passed := rapid.IntRange(0, observed).Draw(t, "passed")
		m := rate(passed, observed, rapid.IntRange(0, 3).Draw(t, "missing"))
		p := blockAll(floor(0.7), ceiling(0.9))
		before := Run(p, []measure.Metric{m}, evidence.Complete)
		kept := slices.Clone(before.Decisions)
		after := VersionChanged(p, before, evidence.Complete)
		for i, d := range after.Decisions {
			was := before.Decisions[i]
			switch {
			case was.State != kept[i].State || !slices.Equal(was.Reasons, kept[i].Reasons):
				t.Fatalf("the decisions given were changed: %+v", was)
			case was.State == policy.Pass:
				if d.State != policy.InsufficientEvidence || !slices.Equal(d.Reasons, []string{ReasonVersionChanged}) {
					t.Fatalf("a PASS came to %s %v", d.State, d.Reasons)
				}
			case was.State == policy.InsufficientEvidence:
				if d.State != was.State || !slices.Equal(d.Reasons, append(slices.Clone(was.Reasons), ReasonVersionChanged)) {
					t.Fatalf("%s %v came to %s %v", was.State, was.Reasons, d.State, d.Reasons)
				}
			case d.State != was.State || !slices.Equal(d.Reasons, was.Reasons):
				t.Fatalf("%s %v came to %s %v", was.State, was.Reasons, d.State, d.Reasons)
			}
			if d.Planning != nil {
				t.Fatalf("a plan: %+v", d.Planning)
			}
		}
		if after.Gate.Action == Allow {
			t.Fatalf("the gate is %+v", after.Gate)
		}
	})
}
