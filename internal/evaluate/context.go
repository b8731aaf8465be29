package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// contextRecall is the share of the relevant units that are among the items of
// context/v1: what reached the model. Like recall it is a rate when every
// labelled case has exactly one relevant unit, else a mean.
type contextRecall struct{ recall }

func newContextRecall(o *suite.Evaluator) (Evaluator, error) {
	return &contextRecall{recall{retrieval: retrieval{chunk: o.ChunkUnit}, failOnError: o.FailOnError}}, nil
}

// Judge implements [Evaluator].
func (e *contextRecall) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	items, trouble := contextItems(x)
	if trouble != nil {
		return *trouble
	}
	labels := e.labels(c)
	var absent []string
	for _, l := range labels {
		if !slices.ContainsFunc(items, func(item evidence.ContextItem) bool { return e.unitOf(item) == l.unit }) {
			absent = append(absent, l.unit.String())
		}
	}
	j := scored(float64(len(labels)-len(absent)) / float64(len(labels)))
	if len(absent) > 0 {
		const most = 5
		j.Detail = fmt.Sprintf("not in the context: %d of %d, such as %s", len(absent), len(labels), strings.Join(absent[:min(most, len(absent))], ", "))
	}
	return j
}

// contextPrecision is the share of the items of context/v1 that are relevant.
// Several passages of one relevant document all count. An empty context scores
// 0: nothing relevant reached the model.
type contextPrecision struct{ retrieval }

func newContextPrecision(o *suite.Evaluator) (Evaluator, error) {
	return contextPrecision{retrieval{chunk: o.ChunkUnit}}, nil
}

func (contextPrecision) kind() evidence.Kind { return evidence.Mean }

// Judge implements [Evaluator].
func (e contextPrecision) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	items, trouble := contextItems(x)
	if trouble != nil {
		return *trouble
	}
	if len(items) == 0 {
		return failed("the context is empty")
	}
	labels := e.labels(c)
	relevant := 0
	for _, item := range items {
		if slices.ContainsFunc(labels, func(l label) bool { return l.unit == e.unitOf(item) }) {
			relevant++
		}
	}
	j := scored(float64(relevant) / float64(len(items)))
	j.Detail = fmt.Sprintf("%d of %d passages are relevant", relevant, len(items))
	return j
}

func (r retrieval) unitOf(item evidence.ContextItem) unit {
	u := unit{doc: item.DocID}
	if r.chunk {
		u.chunk = item.ChunkID
	}
	return u
}

// contextItems returns what reached the model.
func contextItems(x *evidence.Execution) ([]evidence.ContextItem, *evidence.Judgment) {
	if n := len(x.Artifacts.Context); n != 1 {
		j := notOnce(evidence.ContextKind, n)
		return nil, &j
	}
	return x.Artifacts.Context[0].Items, nil
}
