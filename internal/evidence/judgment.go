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
	ReasonNotRecorded       = "not_recorded"        // missing: the system does not say what the answer took
	ReasonEvaluatorError    = "evaluator_error"     // missing: the evaluator could not judge
	ReasonMissingText       = "missing_text"        // missing: a passage that a judge reads was recorded without its text
	ReasonNotAsked          = "judge_not_asked"     // missing: a judge would have to be called, and nothing is called here
	ReasonJudgeFailed       = "judge_failed"        // missing: the judge gave no reply
	ReasonJudgeRefused      = "judge_refused"       // missing: the judge declined to judge
	ReasonJudgeReply        = "judge_reply"         // missing: the reply of the judge holds no verdict, or several that disagree
)

// Judgment is what one criterion says of one case.
type Judgment struct {
	State  JudgmentState
	Value  float64 // 1 passed, 0 failed; or the score; meaningful when State is Judged
	Reason string  // reason code; "" when State is Judged
	Detail string  // for people: what was compared or went wrong; may quote content, so it stays out of judgments.jsonl
	Cached bool    // the verdict of a judge on the same evidence, given in an earlier run
	Asked  *Asked  // how a judge came to it; nil when none was asked. It stays out of judgments.jsonl
}

// Asked is how a judge, which is a model, came to a judgment.
type Asked struct {
	Model        string   // that gave the reply, as its provider names it
	Prompt       string   // what it was asked with, such as groundedness_judge@1
	Calls        int      // that were made for this judgment; 0 when it was cached
	InputTokens  int64    // of those calls, as the provider counts them
	OutputTokens int64    //
	CostUSD      *float64 // of those calls; nil without a price
	LatencyMS    float64  // of the last call, in milliseconds
	Probability  *float64 // that the answer passes, of judges that give one
	Route        string   // of a cascade: first or escalated
	Reply        string   // what the judge said, when no judgment came of it
}

// The routes of a cascade.
const (
	RouteFirst     = "first"
	RouteEscalated = "escalated"
)

// Passed reports whether a pass/fail judgment is a pass.
func (j Judgment) Passed() bool { return j.State == Judged && j.Value == 1 }
