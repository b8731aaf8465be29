package decide

// Reason codes of a decision. Their spelling is part of the product: policies,
// documents and scripts quote it. docs/policies.md explains each.
const (
	// MANUAL_REVIEW.
	ReasonPolicyRequiresReview = "policy_requires_review"   // the rule sets requires_manual_review
	ReasonSuiteRelaxed         = "suite_relaxed"            // the rule would be less favourable with the suite as it was before the change
	ReasonUnsupportedMethod    = "unsupported_method"       // no method decides this kind of rule on this kind of metric
	ReasonEvaluatorRetired     = "evaluator_retired"        // people have taken the judge out of use
	ReasonArmBiasNotShown      = "judge_arm_bias_not_shown" // in place of PASS: labels do not show that the judge's bias is alike on both sides

	// INSUFFICIENT_EVIDENCE of a comparison rule: nothing to compare with.
	ReasonNoBaseline           = "no_baseline"           // there is no baseline
	ReasonBaselineIncompatible = "baseline_incompatible" // there is one, but it cannot be used, or lacks the metric
	ReasonEvaluatorChanged     = "evaluator_changed"     // the runs judged different things under the metric's name
	ReasonTooFewPairs          = "too_few_pairs"         // fewer of the baseline's cases are paired than min_paired_share

	// INSUFFICIENT_EVIDENCE of a rule on a judge's metric: what the judge is worth.
	ReasonNotValidated  = "evaluator_not_validated"          // nobody labelled an answer that it judged
	ReasonRecalibration = "evaluator_recalibration_required" // labels are there, but for another instrument
	ReasonBelowBar      = "evaluator_below_policy_bar"       // its labels do not show the agreement or the bias that the policy asks for

	// INSUFFICIENT_EVIDENCE in place of PASS, and beside its other reasons.
	ReasonVersionChanged = "version_changed_during_run" // the version of the service changed between the first and the last case

	// INSUFFICIENT_EVIDENCE, before any limit is compared.
	ReasonNoObservations           = "no_observations"            // no case was judged
	ReasonMissingnessExceedsPolicy = "missingness_exceeds_policy" // missing / eligible is above max_missing_fraction
	ReasonMissingnessUnbounded     = "missingness_unbounded"      // cases are missing and the metric has no range to bound them
	ReasonIntervalUnavailable      = "interval_unavailable"       // there is no interval, or it has neither end
	ReasonInsufficientSupport      = "insufficient_support"       // a slice has fewer pairs than min_support

	// interval_threshold with min.
	ReasonLowerMeetsMinimum = "lower_bound_meets_minimum" // PASS
	ReasonUpperBelowMinimum = "upper_bound_below_minimum" // FAIL

	// interval_threshold with max.
	ReasonUpperMeetsMaximum = "upper_bound_meets_maximum" // PASS
	ReasonLowerAboveMaximum = "lower_bound_above_maximum" // FAIL

	// interval_threshold, INSUFFICIENT_EVIDENCE; the second one of every rule on an interval.
	ReasonIntervalOverlaps  = "interval_overlaps_threshold"
	ReasonIntervalUnbounded = "interval_unbounded" // one end does not exist at this number of cases

	// superiority.
	ReasonAboveZero    = "difference_above_zero"  // PASS
	ReasonBelowZero    = "difference_below_zero"  // FAIL
	ReasonOverlapsZero = "interval_overlaps_zero" // INSUFFICIENT_EVIDENCE

	// non_inferiority.
	ReasonLowerAboveMargin = "lower_bound_above_margin" // PASS
	ReasonUpperBelowMargin = "upper_bound_below_margin" // FAIL
	ReasonOverlapsMargin   = "interval_overlaps_margin" // INSUFFICIENT_EVIDENCE

	// equivalence.
	ReasonWithinMargins   = "interval_within_margins"   // PASS
	ReasonOutsideMargins  = "interval_outside_margins"  // FAIL
	ReasonOverlapsMargins = "interval_overlaps_margins" // INSUFFICIENT_EVIDENCE

	// A family of comparison rules, INSUFFICIENT_EVIDENCE: a FAIL that does not
	// stand once it is corrected for the others.
	ReasonFamilyWithheld = "family_correction_withheld"

	// observed_count.
	ReasonFailuresWithinLimit = "observed_failures_within_limit" // PASS
	ReasonFailuresExceedLimit = "observed_failures_exceed_limit" // FAIL
	ReasonMissingCouldChange  = "missing_could_change_outcome"   // INSUFFICIENT_EVIDENCE
)

// Gate reasons: why a gate blocks whatever block_on and warn_on say.
const (
	// GateMissingEvidence: a rule's metric observed no case, or more cases are
	// missing than the rule allows.
	GateMissingEvidence = "missing_evidence"
	// GatePolicyMoved: the base branch has a gate of this name, and its policy lies
	// neither where it is looked for now nor where it lay before.
	GatePolicyMoved = "policy_moved"
	// GateNotLookedUp: policies and suite of the base commit, or the baseline, could
	// not be looked up, so that what was decided is not all.
	GateNotLookedUp = "not_looked_up"
	// GatePartialRun: not every case ran, and block_on_partial_run holds.
	GatePartialRun = "partial_run"
)
