// Package evaluate judges executions. An evaluator is a function from a case
// and its execution to a judgment: no network, disk, clock or environment.
package evaluate

import (
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// Evaluator judges one criterion. Implementations are safe for concurrent use.
type Evaluator interface {
	// Judge is called for every case whose execution is OK. What the evaluator
	// cannot judge is a judgment that is Missing or NotApplicable.
	Judge(c *evidence.Case, e *evidence.Execution) evidence.Judgment
	// Applicable returns "" when the case's own data allow a judgment, else the
	// reason code of its exclusion. It needs no execution, so that failed
	// executions of excluded cases are excluded too, and `check` can count.
	Applicable(c *evidence.Case) string
}

// caseChecker is an evaluator that can find the data of a case wrong.
type caseChecker interface {
	// checkCase returns what a person must correct in the case.
	checkCase(c *evidence.Case) []string
}

// kinded is an evaluator whose metric is not a rate.
type kinded interface {
	kind() evidence.Kind
}

// constructors makes the evaluator of each type. The error says what is wrong
// with its options.
var constructors = map[string]func(o *suite.Evaluator) (Evaluator, error){
	"contains":          newContains,
	"exact_match":       newExactMatch,
	"regex":             newRegex,
	"json_schema":       newJSONSchema,
	"hit_rate":          newHitRate,
	"recall":            newRecall,
	"mrr":               newMRR,
	"ndcg":              newNDCG,
	"citation_validity": newCitationValidity,
	"numeric":           newNumeric,
	"refusal":           newRefusal,
	"precision_at_k":    newPrecision,
	"map":               newMAP,
	"context_recall":    newContextRecall,
	"context_precision": newContextPrecision,

	"rubric_judge":           newByJudge,
	"groundedness_judge":     newByJudge,
	"citation_support_judge": newByJudge,
	"probability_judge":      newByJudge,
	"cascade":                newByJudge,
}

// Set is the evaluators of a suite. Check sees every case once, in order,
// before Judge, which is safe for concurrent use.
type Set struct {
	suite      *suite.Suite
	evaluators []Evaluator
	eligible   []int
	vacuous    []int // checked cases that pass whatever is answered
}

// New makes the evaluators of a suite. The error is a [problem.List] with the
// place of each evaluator whose options do not work; the set that comes with it
// is good for Check and Specs only.
func New(s *suite.Suite) (*Set, error) {
	set := &Set{suite: s, eligible: make([]int, len(s.Evaluators)), vacuous: make([]int, len(s.Evaluators))}
	var problems problem.List
	for i := range s.Evaluators {
		o := &s.Evaluators[i]
		e, err := newEvaluator(o)
		if err != nil {
			problems = append(problems, place(s, o, err)...)
			e = unusable{}
		}
		set.evaluators = append(set.evaluators, e)
	}
	return set, problems.Err()
}

// unusable stands in for an evaluator that could not be made.
type unusable struct{}

func (unusable) Judge(*evidence.Case, *evidence.Execution) evidence.Judgment {
	panic("an evaluator that could not be made is asked to judge")
}

func (unusable) Applicable(*evidence.Case) string { return "" }

// ForMetrics makes the evaluators that the metrics of a stored run were judged
// with, in their order; where names the file the specs come from. The error is a
// [problem.List].
func ForMetrics(where string, specs []evidence.MetricSpec) (*Set, error) {
	s := &suite.Suite{Path: where}
	for _, spec := range specs {
		e, err := suite.ReadEvaluator(where, spec.Options)
		if err != nil {
			return nil, err
		}
		s.Evaluators = append(s.Evaluators, *e)
	}
	return New(s)
}

// optionError is what is wrong with one option of an evaluator.
type optionError struct {
	key     string
	message string
}

func (e *optionError) Error() string { return e.message }

func newEvaluator(o *suite.Evaluator) (Evaluator, error) {
	construct, ok := constructors[o.Type]
	if !ok {
		return nil, &optionError{"type", "evaluator type " + o.Type + " is not known"}
	}
	return construct(o)
}

// place puts an error at the option that it is about.
func place(s *suite.Suite, o *suite.Evaluator, err error) problem.List {
	at := o.Pos
	if option, ok := err.(*optionError); ok {
		if pos, ok := o.KeyPos[option.key]; ok {
			at = pos
		}
	}
	return s.Problem(at, "evaluator %s: %v", o.Criterion, err).(problem.List)
}

// Check looks at a case as the evaluators will: it returns what is wrong with
// the case's data, counts the cases that each evaluator can judge and learns
// what the metrics are. Call it once for each case, in order.
func (s *Set) Check(c *evidence.Case) []string {
	var messages []string
	for i, e := range s.evaluators {
		if checker, ok := e.(caseChecker); ok {
			for _, m := range checker.checkCase(c) {
				if !slices.Contains(messages, m) { // several evaluators read the same labels
					messages = append(messages, m)
				}
			}
		}
		if e.Applicable(c) == "" {
			s.eligible[i]++
		}
		if e, ok := e.(contains); ok && e.vacuous(c) {
			s.vacuous[i]++
		}
	}
	return messages
}

// Notes says which criteria the checked cases make of no use.
func (s *Set) Notes() []string {
	var notes []string
	for i, n := range s.vacuous {
		switch criterion := s.suite.Evaluators[i].Criterion; n {
		case 0:
		case 1:
			notes = append(notes, criterion+": 1 case expects an empty text, which every answer contains, and passes whatever is answered")
		default:
			notes = append(notes, fmt.Sprintf("%s: %d cases expect an empty text, which every answer contains, and pass whatever is answered", criterion, n))
		}
	}
	return notes
}

// Eligible returns, per evaluator, how many of the checked cases it can judge.
func (s *Set) Eligible() []int { return slices.Clone(s.eligible) }

// Specs returns the metrics of the suite: one per evaluator in their order,
// then what is measured. It is complete when every case has been checked.
func (s *Set) Specs() []evidence.MetricSpec {
	specs := make([]evidence.MetricSpec, 0, len(s.evaluators)+len(s.suite.Measures))
	for i, e := range s.evaluators {
		o := &s.suite.Evaluators[i]
		spec := evidence.MetricSpec{
			ID: o.Criterion, Kind: evidence.Rate, Range: [2]float64{0, 1},
			Evaluator: s.suite.EvaluatorDigest(i), Type: o.Type, Options: o.Options(),
		}
		if k, ok := e.(kinded); ok {
			spec.Kind = k.kind()
		}
		specs = append(specs, spec)
	}
	for _, q := range s.suite.Measures {
		specs = append(specs, q.Spec())
	}
	return specs
}

// Judge returns one judgment per evaluator, in their order. It calls no judge:
// what one would have to say is missing. See [Set.Prepare].
func (s *Set) Judge(c *evidence.Case, e *evidence.Execution) []evidence.Judgment {
	judgments := s.Prepare(c, e)
	for i := range judgments {
		if judgments[i].State == 0 {
			judgments[i] = missing(evidence.ReasonNotAsked, "a judge would have to be called")
		}
	}
	return judgments
}

// judge asks one evaluator. Exclusion comes first: a case outside the
// denominator stays outside when its execution failed.
func judge(evaluator Evaluator, failOnError bool, c *evidence.Case, e *evidence.Execution) evidence.Judgment {
	if reason := evaluator.Applicable(c); reason != "" {
		return evidence.Judgment{State: evidence.NotApplicable, Reason: reason}
	}
	switch {
	case e.Status == evidence.StatusOK:
		return evaluator.Judge(c, e)
	case e.Status == evidence.StatusNotRun:
		return missing(evidence.ReasonNotRun, "")
	case failOnError:
		return failed("the execution failed, which counts as a failure here")
	}
	return missing(evidence.ReasonExecutionError, "")
}

func passed() evidence.Judgment { return evidence.Judgment{State: evidence.Judged, Value: 1} }

func failed(detail string) evidence.Judgment {
	return evidence.Judgment{State: evidence.Judged, Detail: detail}
}

func scored(value float64) evidence.Judgment {
	return evidence.Judgment{State: evidence.Judged, Value: value}
}

func missing(reason, detail string) evidence.Judgment {
	return evidence.Judgment{State: evidence.Missing, Reason: reason, Detail: detail}
}
