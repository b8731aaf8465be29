package report

import "github.com/oloproof/oloproof-go/internal/evidence"

// Remedy says what to do about cases that are excluded or missing for a reason;
// "" for a reason it does not know. show is as [TextOptions.Case] says.
func Remedy(reason string, show func(id string) string) string {
	look := func(id, does string) string {
		command := show(id)
		if command == "" {
			return ""
		}
		return ": " + Clean(command) + " " + does
	}
	switch reason {
	case evidence.ReasonNoExpected:
		return "declare in the case's expected what the evaluator compares with (its expected_field), or accept the smaller denominator"
	case evidence.ReasonNoRelevanceLabels:
		return "declare expected.relevant in these cases, a list of {doc_id, chunk_id, grade} naming the passages that answer the question, or accept the smaller denominator"
	case evidence.ReasonExecutionError:
		return "the system gave no output for these cases" + look("", "shows each error")
	case evidence.ReasonNotRun:
		return "the run did not come to these cases: finish it, or merge the shard that is missing"
	case evidence.ReasonMissingField:
		return "the output has nothing at the evaluator's field: correct the field, or output_path, in the suite"
	case evidence.ReasonMissingArtifact:
		return "record the artifact exactly once on every way through the system, also where it gives no answer"
	case evidence.ReasonDepthBelowK:
		return "let the system retrieve at least k places, or lower the evaluator's k"
	case evidence.ReasonMissingText:
		return "record the text of every passage of the context, which the judge has to read"
	case evidence.ReasonNotAsked:
		return "a judge would have to be called for these cases: a new run calls it"
	case evidence.ReasonJudgeFailed:
		return "the judge gave no reply for these cases" + look("", "shows why") + "; run again, or resume"
	case evidence.ReasonJudgeRefused, evidence.ReasonJudgeReply:
		return "the judge gave no usable verdict on these cases" + look("ID", "shows its reply") + "; look at the rubric, or take another model"
	case evidence.ReasonNotRecorded:
		return "say in the suite where the response carries it, under system.http.usage (the time to the first token comes with system.http.stream), or drop the metric"
	case evidence.ReasonEvaluatorError:
		return "the evaluator could not judge these cases" + look("", "shows why")
	}
	return ""
}
