// Package policy reads release.yaml and compare.yaml into a [Policy] and checks
// it against the metrics of a suite. It decides nothing.
package policy

import (
	"strings"

	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/policies"
)

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
	SuiteChanges      string  // SuiteChangesReview, the default, or SuiteChangesAllow
	ReviewLabel       string  // label that releases a change of the suite
	Rules             []Rule
	Families          []Family
	// KeyPos holds the position {line, column} of each key's value, by key.
	KeyPos map[string][2]int

	// Of rules on metrics that a judge, which is a model, gives. See [Policy.Bars].
	RequireValidatedEvaluators bool     // labels must have shown what the judge is worth; true
	MinimumEvaluatorAgreement  *float64 // in (0,1]; nil leaves it to JudgeFloor
	MaximumEvaluatorBias       *float64 // in (0,1]; nil leaves it to JudgeFloor
	JudgeFloor                 string   // judge_floor@1, the default, or none

	// Kept for clustered suites; no rule reads them yet.
	AllowApproximateMethods bool
	MinClusters             int
}

// Bars returns what a judge must show before its metrics may gate: the least
// agreement with people, and the bias to either side that it must stay within; 0
// asks nothing. What the policy does not set is that of its judge_floor.
func (p *Policy) Bars() (agreement, bias float64) {
	return p.bar(p.MinimumEvaluatorAgreement, floorAgreement, 0), p.bar(p.MaximumEvaluatorBias, floorBias, 0)
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
	Correction   string // of a judge's error: "" for none, CorrectionPPI or CorrectionRoganGladen
	Line, Column int    // of the rule
	// KeyPos holds the position {line, column} of each key's value, by key.
	KeyPos map[string][2]int
}

// The corrections of a metric for the error of its judge.
const (
	CorrectionPPI         = "ppi"          // prediction-powered: the judge's rate, less its bias on labelled answers
	CorrectionRoganGladen = "rogan_gladen" // by sensitivity and specificity on labelled answers
)

// Family is a set of comparison rules whose error rate is controlled together.
type Family struct {
	ID         string
	Correction string // holm
	Rules      []string

	// KeyPos holds the position {line, column} of each key's value, by key.
	KeyPos map[string][2]int
}

// Load reads the policy at path, or the one of this program that
// builtin:NAME names. The error is a [problem.List] of every problem found.
func Load(path string) (*Policy, error) {
	if name, ok := strings.CutPrefix(path, "builtin:"); ok {
		return loadBuiltin(path, name)
	}
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

func loadBuiltin(path, name string) (*Policy, error) {
	data, err := policies.FS.ReadFile(name + ".yaml")
	if err != nil {
		message := "there is no policy " + path
		if near := problem.Nearest(name, policies.Names()); near != "" {
			message += ", did you mean builtin:" + near + "?"
		}
		return nil, problem.Errorf("%s (there are: builtin:%s)", message, strings.Join(policies.Names(), ", builtin:"))
	}
	return Parse(path, data)
}

// Parse reads data, the content of the policy at path. The error is a
// [problem.List] of every problem found; a policy that comes with it is good for
// [Policy.Check] only, so that a person sees all problems at once.
func Parse(path string, data []byte) (*Policy, error) {
	p := &Policy{Path: path, BlockOn: []State{Fail, InsufficientEvidence, ManualReview}}
	f, err := strictyaml.Parse(path, data, p.table())
	if err != nil {
		return nil, err
	}
	p.Lines = f.Lines
	p.check(f)
	if err := f.Err(); err != nil {
		return p, notASuite(err.(problem.List))
	}
	p.Digest = p.digest()
	return p, nil
}

// notASuite puts one problem in the place of all when the file is a suite.
func notASuite(found problem.List) error {
	var first *problem.Problem
	keys := 0
	for i := range found {
		if strings.HasSuffix(found[i].Message, ofSuites) {
			if keys++; keys == 1 {
				first = &found[i]
			}
		}
	}
	if keys < 2 {
		return found
	}
	one := *first
	one.Message = "this file is a suite, it has the keys of one: a policy is another file, such as release.yaml"
	return problem.List{one}
}

// RunRules returns the rules that look at one run, in the policy's order.
func (p *Policy) RunRules() []Rule { return p.rules(false) }

// ComparisonRules returns the rules that look at two runs, in the policy's order.
func (p *Policy) ComparisonRules() []Rule { return p.rules(true) }

func (p *Policy) rules(comparison bool) []Rule {
	var some []Rule
	for _, r := range p.Rules {
		if r.Kind.Comparison() == comparison {
			some = append(some, r)
		}
	}
	return some
}
