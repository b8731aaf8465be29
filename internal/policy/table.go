package policy

import (
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
)

// Why a key of a policy is not taken.
const (
	notByThisTool = "not supported by this tool"
	notYet        = "not supported yet"
	ofSuites      = "a key of suites: a policy is another file, such as release.yaml"
)

// DefaultReviewLabel is the label by which people release a change of the suite.
const DefaultReviewLabel = "oloproof-reviewed"

// What a change of the suite does to the rules that it touches.
const (
	SuiteChangesReview = "review" // they need a review when the change makes them less strict
	SuiteChangesAllow  = "allow"  // they are decided as usual
)

// Key returns the table of a policy's keys, for its JSON Schema and reference.
func Key() y.Type {
	p := new(Policy)
	return p.table()
}

// table binds every key of a policy.
func (p *Policy) table() y.Type {
	return y.Mapping(y.Table{
		{Key: "version", Type: y.Const(1, "this is the only version of the format that there is"),
			Doc: "Version of the format."},
		{Key: "confidence_level", Type: y.Number(y.Into(&p.ConfidenceLevel)).Above(0).Below(1).Default(0.95).Hint(y.AsShare),
			Doc: "Level of every interval, such as 0.95."},
		{Key: "block_on", Type: states(&p.BlockOn).Shown([]string{string(Fail), string(InsufficientEvidence), string(ManualReview)}),
			Doc: "States of a rule that block the gate. Whatever it says, a rule without any observation blocks."},
		{Key: "warn_on", Type: states(&p.WarnOn).Shown([]string{}),
			Doc: "States of a rule that only warn. A state in neither list is let through."},
		{Key: "block_on_partial_run", Type: y.Bool(y.Into(&p.BlockOnPartialRun)).Default(true),
			Doc: "Block when not every case ran."},
		{Key: "rules", Type: y.List(y.Into(&p.Rules), (*Rule).table).Min(1), Required: true,
			Doc: "The conditions, each on one metric."},
		{Key: "families", Type: y.List(y.Into(&p.Families), (*Family).table).Shown([]string{}),
			Doc: "Comparison rules whose error rate is controlled together."},
		{Key: "difference_method", Type: y.Enum(y.Into(&p.DifferenceMethod), "bounded_paired_difference@1", "conditional_exact_paired_difference@1", "exact_unconditional@1"), Null: true,
			Doc: "How paired differences of pass/fail metrics get their interval; bounded_paired_difference@1 when absent."},
		{Key: "min_paired_share", Type: y.Number(y.Into(&p.MinPairedShare)).Min(0).Max(1).Default(0.9).Hint(y.AsShare),
			Doc: "Share of the baseline's cases that must be paired for a comparison rule to be decided."},
		{Key: "require_suite_role", Type: y.Enum(y.Into(&p.RequireSuiteRole), "release"), Null: true,
			Doc: "Decide only suites with this suite_role."},
		{Key: "suite_changes", Type: y.Enum(y.Into(&p.SuiteChanges), SuiteChangesReview, SuiteChangesAllow).Default(SuiteChangesReview),
			Doc: "Whether a change that drops or edits cases or evaluators, and makes a rule less strict, needs a review."},
		{Key: "review_label", Type: y.Name(y.Into(&p.ReviewLabel)).Default(DefaultReviewLabel),
			Doc: "Label of a pull request that releases such a change."},
		{Key: "require_validated_evaluators", Type: y.Bool(y.Into(&p.RequireValidatedEvaluators)).Default(true),
			Doc: "Whether people's labels must show what a judge is worth before a rule on its metric is decided."},
		{Key: "minimum_evaluator_agreement", Type: y.Number(y.Opt(&p.MinimumEvaluatorAgreement)).Above(0).Max(1).Hint(y.AsShare), Null: true,
			Doc: "Agreement with people that a judge must show: the lower limit of the interval must reach it. That of judge_floor when absent."},
		{Key: "maximum_evaluator_bias", Type: y.Number(y.Opt(&p.MaximumEvaluatorBias)).Above(0).Max(1).Hint(y.AsShare), Null: true,
			Doc: "Bias that a judge may have to either side: its whole interval must lie within. That of judge_floor when absent."},
		{Key: "judge_floor", Type: y.Enum(y.Into(&p.JudgeFloor), "judge_floor@1", "none").Default("judge_floor@1"),
			Doc: "Bars for a judge where none is set: judge_floor@1 is an agreement of 0.70 and a bias within 0.35."},
		{Key: "allow_approximate_methods", Type: y.Bool(y.Into(&p.AllowApproximateMethods)).Default(false),
			Doc: "Whether intervals that hold only approximately may decide. Kept; no rule here reads it yet."},
		{Key: "min_clusters", Type: y.Int(y.Into(&p.MinClusters)).Min(10).Default(20),
			Doc: "Groups of cases that clustered data must have. Kept; no rule here reads it yet."},
		{Key: "early_stopping", Type: y.Const(false, "early stopping is "+notYet),
			Doc: "Whether a run ends once every rule is decided."},
		{Key: "early_stopping_seed", Type: y.Number(func(float64) {}), Null: true,
			Doc: "Accepted; read only by early stopping."},
		{Key: "early_stopping_batch_size", Type: y.Int(func(int) {}).Min(1).Default(25),
			Doc: "Accepted; read only by early stopping."},
		{Key: "require_approval", Type: y.Const(false, "approval by people is "+notByThisTool),
			Doc: "Whether people must sign off a run."},
		y.Refused("dataset", ofSuites),
		y.Refused("system", ofSuites),
		y.Refused("evaluators", ofSuites),
		y.Refused("review_rule", notByThisTool),
		y.Refused("proofs", notByThisTool),
		y.Refused("minimum_simulated_user_realism", notByThisTool),
	}).Keys(func(at map[string]y.Position) { p.KeyPos = pairs(at) })
}

// pairs writes positions as {line, column}.
func pairs(at map[string]y.Position) map[string][2]int {
	m := make(map[string][2]int, len(at))
	for key, p := range at {
		m[key] = [2]int{p.Line, p.Column}
	}
	return m
}

func states(into *[]State) *y.ListType {
	return y.List(y.Into(into), func(s *State) y.Type {
		return y.Enum(func(word string) { *s = State(word) }, string(Fail), string(InsufficientEvidence), string(ManualReview), string(Pass))
	}).Unique()
}

func (f *Family) table() y.Type {
	return y.Mapping(y.Table{
		{Key: "id", Type: y.Name(y.Into(&f.ID)), Required: true, Doc: "Name of the family."},
		{Key: "correction", Type: y.Enum(y.Into(&f.Correction), "holm").Default("holm"), Doc: "How the error rate is controlled."},
		{Key: "rules", Type: y.List(y.Into(&f.Rules), func(s *string) y.Type { return y.Name(y.Into(s)) }).Min(1).Unique(), Required: true,
			Doc: "Ids of comparison rules."},
	}).Keys(func(at map[string]y.Position) { f.KeyPos = pairs(at) })
}

// ruleKey is one key of a rule and the kinds of rule that take it.
type ruleKey struct {
	y.Field
	kinds []Kind
}

// ruleKeys binds the keys of a rule, apart from kind.
func (r *Rule) ruleKeys() []ruleKey {
	comparison := []Kind{Superiority, NonInferiority, Equivalence}
	all := append([]Kind{IntervalThreshold, ObservedCount}, comparison...)
	return []ruleKey{
		{y.Field{Key: "id", Type: y.Name(y.Into(&r.ID)), Required: true, Doc: "Name of the rule."}, all},
		{y.Field{Key: "metric", Type: y.Name(y.Into(&r.Metric)), Required: true, Doc: "Metric that the rule looks at."}, all},
		{y.Field{Key: "min", Type: y.Number(y.Opt(&r.Min)), Null: true, Doc: "Floor: PASS when the whole interval is at or above it, FAIL when the whole interval is below."}, []Kind{IntervalThreshold}},
		{y.Field{Key: "max", Type: y.Number(y.Opt(&r.Max)), Null: true, Doc: "Ceiling: PASS when the whole interval is at or below it, FAIL when the whole interval is above."}, []Kind{IntervalThreshold}},
		{y.Field{Key: "max_failures", Type: y.Int(y.Opt(&r.MaxFailures)).Min(0), Null: true, Doc: "Failed cases allowed in this suite, without an interval."}, []Kind{ObservedCount}},
		{y.Field{Key: "margin", Type: y.Number(y.Opt(&r.Margin)).Above(0), Null: true, Doc: "Largest loss accepted, in the metric's unit: 0.05 is five points of a rate."}, []Kind{NonInferiority, Equivalence}},
		{y.Field{Key: "direction", Type: y.Enum(func(s string) { r.HigherBetter = s == "min" }, "min", "max").Default("min"), Doc: "Whether higher is better (min) or lower is (max)."}, []Kind{Superiority, NonInferiority}},
		{y.Field{Key: "max_missing_fraction", Type: y.Number(y.Opt(&r.MaxMissing)).Min(0).Max(1).Hint(y.AsShare), Null: true, Doc: "Share of missing cases above which the rule is INSUFFICIENT_EVIDENCE and blocks."}, append([]Kind{IntervalThreshold}, comparison...)},
		{y.Field{Key: "requires_manual_review", Type: y.Bool(y.Into(&r.ManualReview)).Default(false), Doc: "Makes the rule MANUAL_REVIEW whatever the figures say."}, all},
		{y.Field{Key: "scope", Type: y.Name(y.Into(&r.Scope)).Default(globalScope).SchemaPattern(scopePattern).Check(checkScope), Doc: "global, or slice/metadata.KEY=VALUE for a comparison rule."}, all},
		{y.Field{Key: "min_support", Type: y.Int(y.Opt(&r.MinSupport)).Min(1), Null: true, Doc: "Pairs that a slice must have for its rule to be decided."}, comparison},
		{y.Field{Key: "judge_bias_bar", Type: y.Number(y.Opt(&r.JudgeBiasBar)).Above(0).Below(2), Null: true, Doc: "Difference in a judge's bias between the two runs' answers that is accepted; people's labels of both have to show that it is smaller."}, comparison},
		{y.Field{Key: "correction", Type: y.Enum(y.Into(&r.Correction), CorrectionPPI, CorrectionRoganGladen), Null: true, Doc: "Decides on the rate of right answers instead of that of the judge's passes: its error, as labels show it, is taken out, and the interval carries it."}, append([]Kind{IntervalThreshold}, comparison...)},
	}
}

// kinds lists the kinds of rule in the order of the reference.
func kinds() []string {
	return []string{string(IntervalThreshold), string(ObservedCount), string(Superiority), string(NonInferiority), string(Equivalence)}
}

// table binds the keys of one rule.
func (r *Rule) table() y.Type {
	table := y.Table{{Key: "kind", Type: y.Enum(func(s string) { r.Kind = Kind(s) }, kinds()...), Null: true,
		Doc: "Kind of the rule; interval_threshold when absent, observed_count with max_failures."}}
	for _, k := range r.ruleKeys() {
		table = append(table, k.Field)
	}
	return y.Mapping(table).
		At(func(at y.Position) { r.Line, r.Column = at.Line, at.Column }).
		Keys(func(at map[string]y.Position) { r.KeyPos = pairs(at) }).
		Schema(y.Schema{"oneOf": ruleSchemas()})
}

// ruleSchemas says in JSON Schema which keys go together, as checkKind does.
func ruleSchemas() []any {
	var all []any
	for _, kind := range []Kind{IntervalThreshold, ObservedCount, Superiority, NonInferiority, Equivalence} {
		all = append(all, kindSchema(kind))
	}
	return all
}

func kindSchema(kind Kind) y.Schema {
	word := y.Schema{"const": string(kind)}
	required := []string{}
	if kind.Comparison() {
		required = append(required, "kind")
	} else { // the limit tells the kind
		word = y.Schema{"enum": []any{string(kind), nil}}
	}
	properties := y.Schema{"kind": word}
	for _, k := range new(Rule).ruleKeys() {
		if !slices.Contains(k.kinds, kind) {
			properties[k.Key] = y.Schema{"type": "null"}
			if !k.Null {
				properties[k.Key] = false
			}
		}
	}
	if !kind.Comparison() {
		properties["scope"] = y.Schema{"const": globalScope}
	}
	s := y.Schema{"properties": properties}
	limit := func(key string) y.Schema {
		return y.Schema{"required": []string{key}, "properties": y.Schema{key: y.Schema{"type": "number"}}}
	}
	switch kind {
	case IntervalThreshold:
		s["oneOf"] = []any{limit("min"), limit("max")}
	case ObservedCount:
		s["allOf"] = []any{limit("max_failures")}
	case NonInferiority, Equivalence:
		s["allOf"] = []any{limit("margin")}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// specIDs lists the names of metrics.
func specIDs(specs []evidence.MetricSpec) []string {
	ids := make([]string, len(specs))
	for i, s := range specs {
		ids[i] = s.ID
	}
	return ids
}
