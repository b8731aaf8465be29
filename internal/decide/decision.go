// Package decide applies a policy to the metrics of a run or to a comparison of
// two: rules to states, states to the gate. It is pure and sees no file.
package decide

import (
	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Decision is what came of one rule.
type Decision struct {
	Rule     policy.Rule
	State    policy.State
	Reasons  []string        // reason codes of the tier that decided, in the order of reasons.go
	Metric   *measure.Metric // nil for a comparison rule, and when the run has no such metric
	Failures *int            // observed_count: observed failures
	Planning *Planning       // nil unless a line says more than the state
	// MissingEvidence holds when the metric observed no case, or more cases are
	// missing than the rule allows: the rule blocks whatever block_on says.
	MissingEvidence bool

	// Otherwise is the state that a rule which is suite_relaxed would have with the
	// suite as it was; "" for any other rule. It blocks where the policy blocks on it.
	Otherwise policy.State
	// Released holds for a rule that warns where it would block, because people
	// released the change of the suite that it is undecided by.
	Released bool

	// Of a comparison rule:

	// Comparison is the id of the comparison that the rule looked at; "" when there was none.
	Comparison evidence.Digest
	// Difference is what the rule compared, of its slice if it has one, with the
	// limits that decided; nil when the comparison does not have it.
	Difference *compare.Difference
	Family     string // the family that corrects the rule; "" without one
	// AdjustedAlpha is the error, of both sides together, at which the family
	// tested the rule again; nil when it did not.
	AdjustedAlpha *float64
}

// Planning says how many cases would decide a rule. Exactly one reading holds:
// Total is set when a size decides it, else Reason says why none is given.
type Planning struct {
	Total int // cases in all, observed and missing included; 0 when no size is given
	More  int // Total less those there are
	// Discordance is the share of pairs that differ, in [0,1]; nil for a run rule
	// and when no pair differs.
	Discordance *float64
	// Reason is one of the Plan constants when Total is 0.
	Reason string
	// Reach is the bound that resolving the missing cases would reach; with PlanResolveMissing.
	Reach *float64
	// UpTo is the largest size looked at; with PlanNotUpTo.
	UpTo int
}

// Why a planning line gives no size.
const (
	PlanPastThreshold  = "estimate_past_threshold" // no size would make it PASS; more cases move it toward FAIL
	PlanAtThreshold    = "estimate_at_threshold"   // a bound never clears what the estimate only meets
	PlanResolveMissing = "missing_could_decide"    // resolving the missing cases alone could decide it
	PlanMissingShare   = "missing_share_holds_it"  // the share of missing cases must fall
	PlanNotUpTo        = "not_up_to_largest_size"  // nothing clears up to Planning.UpTo cases
)

// Action is what the states of all rules come to.
type Action string

// The actions of a gate.
const (
	Allow Action = "ALLOW"
	Warn  Action = "WARN"
	Block Action = "BLOCK"
)

// Gate is the outcome of a policy.
type Gate struct {
	Action   Action
	ExitCode int      // ExitAllowed, ExitFail or ExitBlocked
	Reasons  []string // gate reasons: GateMissingEvidence, GatePartialRun
}

// Result is all that a policy says of a run or of a comparison.
type Result struct {
	Decisions []Decision // in the policy's order
	Families  []Family   // of comparison rules, in the policy's order
	Gate      Gate
	Skipped   int // rules of the other kind, which this command does not decide
}

// Family says what the correction of a family of comparison rules did.
type Family struct {
	ID         string
	Correction string // holm
	Rules      int    // in the family
	// Levels are the errors at which its rules that FAIL were tested again, from
	// the farthest past its margin on, up to the first that no longer does; empty
	// when no rule FAILs.
	Levels []float64
}
