package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const policyDomain = "policy/v1"

// meaning is a JSON object.
type meaning = map[string]any

// digest returns the content id of what the policy means. Comments, layout and
// the order of keys, rules and states are not part of it.
func (p *Policy) digest() string {
	id, err := evidence.ContentID(policyDomain, meaning{
		"confidence_level": p.ConfidenceLevel, "block_on": sorted(p.BlockOn), "warn_on": sorted(p.WarnOn),
		"block_on_partial_run": p.BlockOnPartialRun, "difference_method": cmp.Or(p.DifferenceMethod, defaultDifferenceMethod),
		"min_paired_share": p.MinPairedShare, "require_suite_role": p.RequireSuiteRole,
		"suite_changes": p.SuiteChanges, "review_label": p.ReviewLabel,
		"rules": ruleMeaning(p.Rules), "families": familyMeaning(p.Families),
		"allow_approximate_methods": p.AllowApproximateMethods, "min_clusters": p.MinClusters,
		"require_validated_evaluators": p.RequireValidatedEvaluators, "minimum_evaluator_agreement": p.MinimumEvaluatorAgreement,
		"maximum_evaluator_bias": p.MaximumEvaluatorBias, "judge_floor": p.JudgeFloor,
	})
	if err != nil { // every value is text or a finite number
		panic(fmt.Sprintf("content id of a policy: %v", err))
	}
	return string(id)
}

func sorted[T cmp.Ordered](all []T) []T { return append([]T{}, slices.Sorted(slices.Values(all))...) }

func ruleMeaning(rules []Rule) meaning {
	m := meaning{}
	for _, r := range rules {
		rule := meaning{
			"metric": r.Metric, "kind": r.Kind, "min": r.Min, "max": r.Max, "max_failures": r.MaxFailures,
			"margin": r.Margin, "higher_better": r.HigherBetter, "max_missing_fraction": r.MaxMissing,
			"requires_manual_review": r.ManualReview, "scope": r.Scope, "min_support": r.MinSupport, "judge_bias_bar": r.JudgeBiasBar,
		}
		if r.Correction != "" {
			rule["correction"] = r.Correction
		}
		m[r.ID] = rule
	}
	return m
}

func familyMeaning(families []Family) meaning {
	m := meaning{}
	for _, f := range families {
		m[f.ID] = meaning{"correction": f.Correction, "rules": sorted(f.Rules)}
	}
	return m
}
