package decide

// Reason codes of a decision. Their spelling is part of the product: policies,
// documents and scripts quote it. docs/policies.md explains each.
const (
	// MANUAL_REVIEW.
	ReasonPolicyRequiresReview = "policy_requires_review" // the rule sets requires_manual_review
	ReasonUnsupportedMethod    = "unsupported_method"     // no method decides this kind of rule on this kind of metric

	// INSUFFICIENT_EVIDENCE, before any limit is compared.
	ReasonNoObservations           = "no_observations"            // no case was judged
	ReasonMissingnessExceedsPolicy = "missingness_exceeds_policy" // missing / eligible is above max_missing_fraction
	ReasonMissingnessUnbounded     = "missingness_unbounded"      // cases are missing and the metric has no range to bound them
	ReasonIntervalUnavailable      = "interval_unavailable"       // there is no interval, or it has neither end

	// interval_threshold with min.
	ReasonLowerMeetsMinimum = "lower_bound_meets_minimum" // PASS
	ReasonUpperBelowMinimum = "upper_bound_below_minimum" // FAIL

	// interval_threshold with max.
	ReasonUpperMeetsMaximum = "upper_bound_meets_maximum" // PASS
	ReasonLowerAboveMaximum = "lower_bound_above_maximum" // FAIL

	// interval_threshold, INSUFFICIENT_EVIDENCE.
	ReasonIntervalOverlaps  = "interval_overlaps_threshold"
	ReasonIntervalUnbounded = "interval_unbounded" // one end does not exist at this number of cases

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
	// GatePartialRun: not every case ran, and block_on_partial_run holds.
	GatePartialRun = "partial_run"
)
