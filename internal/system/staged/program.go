package staged

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/system/process"
)

// Program is a program that offers the stages as methods of the protocol.
type Program struct {
	*process.Client
	Redact *redact.Redactor // takes secrets out of what is said of answers
}

var _ Stages = Program{}

// Retrieve implements [Stages]: {input, depth} is asked, and a retrieval, or the
// list of its candidates, is the answer.
func (p Program) Retrieve(ctx context.Context, c *evidence.Case, depth int) (Retrieved, error) {
	params := append(append(evidence.Value(`{"input":`), c.Input...), `,"depth":`...)
	params = append(strconv.AppendInt(params, int64(depth), 10), '}')
	result, call, err := p.call(ctx, c, retrieval, params)
	if err != nil {
		return Retrieved{}, err
	}
	r, err := ReadRetrieval(result, depth)
	if err != nil {
		return Retrieved{}, p.malformed(c, evidence.RetrievalKind, err.Error(), result)
	}
	return Retrieved{r, call}, nil
}

// Generate implements [Stages]: {input, passages} is asked, and the output is the
// answer.
func (p Program) Generate(ctx context.Context, c *evidence.Case, passages []evidence.Passage) (Generated, error) {
	params := append(append(evidence.Value(`{"input":`), c.Input...), `,"passages":`...)
	params = append(appendPassages(params, passages), '}')
	result, call, err := p.call(ctx, c, generation, params)
	return Generated{result, call}, err
}

// CountTokens implements [Stages]: {passage} is asked, and a whole number is the
// answer.
func (p Program) CountTokens(ctx context.Context, c *evidence.Case, passage evidence.Passage) (int, error) {
	list := appendPassages(nil, []evidence.Passage{passage})
	params := append(append(evidence.Value(`{"passage":`), list[1:len(list)-1]...), '}')
	result, _, err := p.call(ctx, c, counting, params)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(result))
	if err != nil || n < 0 {
		return 0, badCount(c, passage, p.Redact.String(evidence.Shorten(result, 60)))
	}
	return n, nil
}

// call asks a stage.
func (p Program) call(ctx context.Context, c *evidence.Case, stage stageName, params evidence.Value) (evidence.Value, Call, error) {
	reply, err := p.Client.Call(ctx, c.ID, string(stage), params)
	var fault *process.Fault
	if errors.As(err, &fault) {
		attempts := append(slices.Clone(fault.Retried), evidence.Attempt{Error: fault.Kind, LatencyMS: fault.LatencyMS})
		return nil, Call{}, &Failure{
			Timeout: fault.Kind == evidence.ErrTimeout, Attempts: attempts,
			Err: evidence.ExecutionError{Kind: fault.Kind, Message: string(stage) + ": " + fault.Message, Snippet: fault.Detail},
		}
	}
	if err != nil {
		return nil, Call{}, err
	}
	if kind := recordedKind(&reply.Artifacts); kind != "" {
		return nil, Call{}, &evidence.ContractError{
			CaseID: c.ID, Artifact: kind,
			Problem: fmt.Sprintf("recorded by %s: the stages of a staged system record nothing, since retrieval, context, citations and timings are recorded for them", stage),
		}
	}
	return reply.Result, Call{Retried: reply.Retried, Usage: reply.Usage, Log: reply.Stderr}, nil
}

// recordedKind returns a kind of artifact that was recorded; "" when none was.
func recordedKind(a *evidence.Artifacts) string {
	switch {
	case len(a.Retrieval) > 0:
		return evidence.RetrievalKind
	case len(a.Context) > 0:
		return evidence.ContextKind
	case len(a.Citations) > 0:
		return evidence.CitationsKind
	}
	for kind := range a.Other {
		return kind
	}
	return ""
}

func (p Program) malformed(c *evidence.Case, kind, problem string, found evidence.Value) error {
	return &evidence.ContractError{CaseID: c.ID, Artifact: kind, Problem: p.Redact.String(problem), Found: p.Redact.String(evidence.Shorten(found, 200))}
}

// ReadRetrieval reads what a retrieval answered to a call with that depth: a
// retrieval/v1 artifact, of which the depth may be left out, or the list of its
// candidates.
func ReadRetrieval(v evidence.Value, depth int) (evidence.Retrieval, error) {
	if v.Kind() == '[' {
		v = append(append(evidence.Value(`{"candidates":`), v...), '}')
	}
	if said, _ := evidence.Member(v, "depth"); v.Kind() == '{' && evidence.IsNull(said) {
		v = withDepth(v, depth)
	}
	var a evidence.Artifacts
	if err := evidence.DecodeArtifact(evidence.RetrievalKind, v, &a); err != nil {
		return evidence.Retrieval{}, err
	}
	return a.Retrieval[0], nil
}

// withDepth returns an object with that depth in place of its own.
func withDepth(v evidence.Value, depth int) evidence.Value {
	out := strconv.AppendInt(evidence.Value(`{"depth":`), int64(depth), 10)
	for key, member := range evidence.Members(v) {
		if key != "depth" {
			out, _ = jsontext.AppendQuote(append(out, ','), key) // a key of valid JSON
			out = append(append(out, ':'), member...)
		}
	}
	return append(out, '}')
}
