package evaluate

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// byJudge is an evaluator whose verdict a model gives. What is pure of it is
// here: whether there is something to judge.
type byJudge struct {
	passages  bool // reads the text of the passages in the context
	citations bool
}

func newByJudge(o *suite.Evaluator) (Evaluator, error) {
	reads := o.Reads()
	return byJudge{passages: reads.Context, citations: reads.Citations}, nil
}

// Applicable implements [Evaluator]: every case can be judged.
func (byJudge) Applicable(*evidence.Case) string { return "" }

// Judge implements [Evaluator]. The judgment has no state when a judge has to be
// asked.
func (e byJudge) Judge(_ *evidence.Case, x *evidence.Execution) evidence.Judgment {
	contexts, citations := x.Artifacts.Context, x.Artifacts.Citations
	switch {
	case e.passages && len(contexts) != 1:
		return notOnce(evidence.ContextKind, len(contexts))
	case e.citations && len(citations) != 1:
		return notOnce(evidence.CitationsKind, len(citations))
	}
	if e.passages {
		for i, item := range contexts[0].Items {
			if item.Text == nil {
				return missing(evidence.ReasonMissingText, fmt.Sprintf("passage %d of the context (%s) was recorded without its text, which the judge has to read", i+1, item.DocID))
			}
		}
	}
	return evidence.Judgment{}
}

// Prepare is [Set.Judge], except that a judgment which a judge has to make has
// no state yet.
func (s *Set) Prepare(c *evidence.Case, e *evidence.Execution) []evidence.Judgment {
	judgments := make([]evidence.Judgment, len(s.evaluators))
	for i, evaluator := range s.evaluators {
		judgments[i] = judge(evaluator, s.suite.Evaluators[i].FailOnError, c, e)
	}
	return judgments
}
