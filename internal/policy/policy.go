// Package policy reads release.yaml and compare.yaml into a [Policy] and checks
// it against the metrics of a suite. It decides nothing.
package policy

// State is the state of a rule.
type State string

// The states of a rule.
const (
	Pass                 State = "PASS"
	Fail                 State = "FAIL"
	InsufficientEvidence State = "INSUFFICIENT_EVIDENCE"
	ManualReview         State = "MANUAL_REVIEW"
)

// Kind is the kind of a rule.
type Kind string

// The kinds of rule. The first two look at one run, the others at a
// comparison of two.
const (
	IntervalThreshold Kind = "interval_threshold"
	ObservedCount     Kind = "observed_count"
	Superiority       Kind = "superiority"
	NonInferiority    Kind = "non_inferiority"
	Equivalence       Kind = "equivalence"
)

// Comparison reports whether rules of the kind look at two runs.
func (k Kind) Comparison() bool {
	return k == Superiority || k == NonInferiority || k == Equivalence
}

// Policy is what a policy file says, with defaults.
type Policy struct {
	Path              string // as named by the user
	Lines             []string
	Digest            string  // content id of the policy's meaning
	ConfidenceLevel   float64 // in (0,1); 0.95
	BlockOn           []State
	WarnOn            []State
	BlockOnPartialRun bool
	DifferenceMethod  string  // "" is bounded_paired_difference@1
	MinPairedShare    float64 // in [0,1]; 0.9
	RequireSuiteRole  string  // "" or release
	Rules             []Rule
	Families          []Family

	// Kept for rules on judged metrics and clustered suites; no rule reads them yet.
	AllowApproximateMethods    bool
	MinClusters                int
	RequireValidatedEvaluators bool
	MinimumEvaluatorAgreement  *float64
	MaximumEvaluatorBias       *float64
	JudgeFloor                 string
}

// Rule is one condition on one metric.
type Rule struct {
	ID           string
	Metric       string
	Kind         Kind
	Min, Max     *float64 // interval_threshold: one of them
	MaxFailures  *int     // observed_count
	Margin       *float64 // non_inferiority and equivalence, in the metric's unit
	HigherBetter bool     // comparison rules: direction min (true, the default) or max
	MaxMissing   *float64 // max_missing_fraction, in [0,1]
	ManualReview bool     // requires_manual_review
	Scope        string   // global, or slice/metadata.KEY=VALUE for comparison rules
	MinSupport   *int
	JudgeBiasBar *float64
	Line, Column int // of the rule
	// KeyPos holds the position {line, column} of each key's value, by key.
	KeyPos map[string][2]int
}

// Family is a set of comparison rules whose error rate is controlled together.
type Family struct {
	ID         string
	Correction string // holm
	Rules      []string
}
