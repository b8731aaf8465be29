package staged

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// execution is one case on its way through the stages.
type execution struct {
	*System
	ctx      context.Context
	c        *evidence.Case
	started  time.Time
	recorded evidence.Artifacts
	output   evidence.Value
	retried  []evidence.Attempt
	timings  timings
}

// timings says how long each stage took in milliseconds; nil is a stage that
// did not run.
type timings struct{ retrieval, assembly, generation *float64 }

func (s *System) begin(ctx context.Context, c *evidence.Case) *execution {
	return &execution{System: s, ctx: ctx, c: c, started: s.cfg.Now()}
}

// since returns the milliseconds since a time.
func (x *execution) since(start time.Time) *float64 {
	ms := float64(x.cfg.Now().Sub(start)) / float64(time.Millisecond)
	return &ms
}

// retrieve calls the retrieval and records what it found.
func (x *execution) retrieve() error {
	start := x.cfg.Now()
	r, err := x.cfg.Stages.Retrieve(x.ctx, x.c, x.cfg.Depth)
	x.timings.retrieval = x.since(start)
	if err != nil {
		return err
	}
	x.retried = append(x.retried, r.Retried...)
	if n := len(r.Candidates); n > x.cfg.Depth {
		return &evidence.ContractError{
			CaseID: x.c.ID, Artifact: evidence.RetrievalKind,
			Problem: fmt.Sprintf("candidates: %d of them exceed the depth %d", n, x.cfg.Depth),
		}
	}
	if r.Candidates == nil {
		r.Candidates = []evidence.Passage{}
	}
	// A stage may have looked less deep than it was asked to, not deeper.
	if r.Depth < 1 || r.Depth > x.cfg.Depth {
		r.Depth = x.cfg.Depth
	}
	x.recorded.Retrieval = []evidence.Retrieval{r.Retrieval}
	return nil
}

// answer assembles the context of what was retrieved and generates.
func (x *execution) answer() error {
	start := x.cfg.Now()
	assembled, passages, err := x.Assemble(x.ctx, x.c, x.recorded.Retrieval[0].Candidates, x.cfg.TopK)
	x.timings.assembly = x.since(start)
	if err != nil {
		return err
	}
	x.recorded.Context = []evidence.Context{assembled}
	return x.generate(passages, 0)
}

// generate calls the generation and records what it cited.
func (x *execution) generate(passages []evidence.Passage, _ int) error {
	start := x.cfg.Now()
	g, err := x.cfg.Stages.Generate(x.ctx, x.c, passages)
	x.timings.generation = x.since(start)
	if err != nil {
		return err
	}
	x.retried = append(x.retried, g.Retried...)
	x.output = g.Output
	return x.cite()
}

// cite records the cited ids of the output. An output without them records
// none, which is a missing observation of that case.
func (x *execution) cite() error {
	ids, err := evidence.Lookup(x.output, x.cfg.CitationsPath)
	if err != nil {
		return nil
	}
	artifact := ids
	if ids.Kind() == '[' {
		artifact = append(append(evidence.Value(`{"ids":`), ids...), '}')
	}
	if err := evidence.DecodeArtifact(evidence.CitationsKind, artifact, &x.recorded); err != nil {
		return &evidence.ContractError{
			CaseID: x.c.ID, Artifact: evidence.CitationsKind, Path: x.cfg.CitationsPath,
			Problem: err.Error(), Found: evidence.Shorten(ids, 200),
		}
	}
	return nil
}

// end makes the execution. An error that stops the run is returned.
func (x *execution) end(err error) (evidence.Execution, error) {
	e := evidence.Execution{Status: evidence.StatusOK, StartedAt: x.started, Artifacts: x.recorded, LatencyMS: x.timings.sum()}
	last := evidence.Attempt{LatencyMS: e.LatencyMS}
	var failure *Failure
	switch {
	case err == nil:
		e.Output = x.output
	case !errors.As(err, &failure):
		return evidence.Execution{}, err
	case x.ctx.Err() != nil: // the run was stopped while a stage was called
		return evidence.Execution{}, x.ctx.Err()
	default:
		e.Status = evidence.StatusError
		if failure.Timeout {
			e.Status = evidence.StatusTimeout
		}
		reason := failure.Err
		e.Error = &reason
		last.Error, last.HTTPStatus = reason.Kind, reason.HTTPStatus
		if n := len(failure.Attempts); n > 0 {
			x.retried = append(x.retried, failure.Attempts[:n-1]...)
		}
	}
	e.Attempts = append(x.retried, last)
	e.Artifacts.Other = map[string][]evidence.Value{TimingsKind: {x.timings.artifact()}}
	return e, nil
}

func (t timings) sum() float64 {
	sum := 0.0
	for _, ms := range []*float64{t.retrieval, t.assembly, t.generation} {
		if ms != nil {
			sum += *ms
		}
	}
	return sum
}

// artifact returns the timings as a stage_timings/v1 artifact.
func (t timings) artifact() evidence.Value {
	b := append([]byte(nil), `{"assembly_ms":`...)
	b = append(appendMS(b, t.assembly), `,"generation_ms":`...)
	b = append(appendMS(b, t.generation), `,"retrieval_ms":`...)
	return append(appendMS(b, t.retrieval), '}')
}

func appendMS(b []byte, ms *float64) []byte {
	if ms == nil {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, *ms, 'f', -1, 64)
}
