package evidence

// JudgmentState says whether a judgment counts.
type JudgmentState uint8

// The states of a judgment. The zero value is invalid.
const (
	Judged        JudgmentState = iota + 1 // observed: Value holds
	Missing                                // should have been judged but was not; Reason says why
	NotApplicable                          // outside the denominator; Reason says why
)

// Reason codes of judgments that do not count.
const (
	ReasonNoExpected        = "no_expected"         // excluded: nothing expected at the path
	ReasonNoRelevanceLabels = "no_relevance_labels" // excluded: expected.relevant names nothing relevant
	ReasonNotApplicable     = "not_applicable"      // excluded: for a reason without a code; Detail says which
	ReasonExecutionError    = "execution_error"     // missing: the case has no output
	ReasonNotRun            = "not_run"             // missing: the run was stopped before the case finished
	ReasonMissingField      = "missing_field"       // missing: the output has nothing at the field
	ReasonMissingArtifact   = "missing_artifact"    // missing: an artifact that the evaluator reads was not recorded once
	ReasonDepthBelowK       = "depth_below_k"       // missing: the retrieval recorded fewer places than k
	ReasonEvaluatorError    = "evaluator_error"     // missing: the evaluator could not judge
)

// Judgment is what one criterion says of one case.
type Judgment struct {
	State  JudgmentState
	Value  float64 // 1 passed, 0 failed; or the score; meaningful when State is Judged
	Reason string  // reason code; "" when State is Judged
	Detail string  // for people: what was compared or went wrong; may quote content, so it stays out of judgments.jsonl
}

// Passed reports whether a pass/fail judgment is a pass.
func (j Judgment) Passed() bool { return j.State == Judged && j.Value == 1 }
