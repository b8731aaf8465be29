package decide

import (
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// TestSigned: a signoff releases what it names, for what it was given, and nothing
// that the person did not see.
func TestSigned(t *testing.T) {
	p := &policy.Policy{Digest: "sha256:p", BlockOn: []policy.State{policy.Fail, policy.InsufficientEvidence, policy.ManualReview}}
	waits := func(id string, state policy.State, reasons ...string) Decision {
		return Decision{Rule: policy.Rule{ID: id}, State: state, Reasons: reasons}
	}
	review := []Decision{waits("a", policy.ManualReview, ReasonPolicyRequiresReview)}
	given := evidence.Signoff{
		Run: "run_1", By: "somebody", Reason: "read them", Judgments: "j", Policy: "sha256:p",
		Rules: []string{"a"}, Reasons: []string{ReasonPolicyRequiresReview},
	}
	for _, x := range []struct {
		name      string
		change    func(*evidence.Signoff)
		decisions []Decision
		action    Action
		hold      int
	}{
		{"as it was given", func(*evidence.Signoff) {}, review, Warn, 1},
		{"of another run", func(s *evidence.Signoff) { s.Run = "run_2" }, review, Block, 0},
		{"of other judgments", func(s *evidence.Signoff) { s.Judgments = "k" }, review, Block, 0},
		{"without judgments", func(s *evidence.Signoff) { s.Judgments = "" }, review, Block, 0},
		{"of another policy", func(s *evidence.Signoff) { s.Policy = "sha256:q" }, review, Block, 0},
		{"of another rule", func(s *evidence.Signoff) { s.Rules = []string{"b"} }, review, Block, 0},
		{"for another reason", func(s *evidence.Signoff) { s.Reasons = []string{ReasonEvaluatorRetired} }, review, Block, 0},
		{"with a reason that came after it", func(*evidence.Signoff) {}, []Decision{waits("a", policy.ManualReview, ReasonPolicyRequiresReview, ReasonEvaluatorRetired)}, Block, 0},
		{"a FAIL", func(*evidence.Signoff) {}, []Decision{waits("a", policy.Fail, ReasonPolicyRequiresReview)}, Block, 0},
		{"evidence that does not suffice", func(*evidence.Signoff) {}, []Decision{waits("a", policy.InsufficientEvidence, ReasonPolicyRequiresReview)}, Block, 0},
		{"one of two", func(*evidence.Signoff) {}, append(review[:1:1], waits("b", policy.ManualReview, ReasonPolicyRequiresReview)), Block, 1},
	} {
		s := given
		x.change(&s)
		got, hold := Result{Decisions: x.decisions}.Signed(p, "run_1", "j", evidence.Complete, []evidence.Signoff{s})
		if got.Gate.Action != x.action || len(hold) != x.hold {
			t.Errorf("%s: %s with %d that hold, want %s with %d", x.name, got.Gate.Action, len(hold), x.action, x.hold)
		}
	}
}
