package report

import "github.com/oloproof/oloproof-go/internal/evidence"

// Remedy says what to do about cases that are excluded or missing for a
// reason, in the run of that id; "" for a reason it does not know.
func Remedy(reason, run string) string {
	switch reason {
	case evidence.ReasonNoExpected:
		return "declare in the case's expected what the evaluator compares with (its expected_field), or accept the smaller denominator"
	case evidence.ReasonNoRelevanceLabels:
		return "declare expected.relevant in these cases, a list of {doc_id, chunk_id, grade} naming the passages that answer the question, or accept the smaller denominator"
	case evidence.ReasonExecutionError:
		return "the system gave no output for these cases: oloproof inspect " + run + " --failures shows each error"
	case evidence.ReasonNotRun:
		return "the run stopped before these cases: oloproof run --resume finishes it"
	case evidence.ReasonMissingField:
		return "the output has nothing at the evaluator's field: correct the field, or output_path, in the suite"
	case evidence.ReasonMissingArtifact:
		return "record the artifact exactly once on every way through the system, also where it gives no answer"
	case evidence.ReasonDepthBelowK:
		return "let the system retrieve at least k places, or lower the evaluator's k"
	case evidence.ReasonMissingText:
		return "record the text of every passage of the context, which the judge has to read"
	case evidence.ReasonNotAsked:
		return "a judge would have to be called for these cases: oloproof run calls it"
	case evidence.ReasonJudgeFailed:
		return "the judge gave no reply for these cases: oloproof inspect " + run + " --failures shows why; run again, or resume"
	case evidence.ReasonJudgeRefused, evidence.ReasonJudgeReply:
		return "the judge gave no usable verdict on these cases: oloproof inspect " + run + " --case ID shows its reply; look at the rubric, or take another model"
	case evidence.ReasonNotRecorded:
		return "say in the suite where the response carries it, under system.http.usage (the time to the first token comes with system.http.stream), or drop the metric"
	case evidence.ReasonEvaluatorError:
		return "the evaluator could not judge these cases: oloproof inspect " + run + " --failures shows why"
	}
	return ""
}
