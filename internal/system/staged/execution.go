package staged

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	usage    *evidence.Usage // of all stages
	retried  []evidence.Attempt
	log      []string // of the stages that were called
	timings  timings
	uses     evidence.StageUse
	fresh    bool // no answer of the cache will do
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

// retrieve has the retrieval answer, or the cache, and records what was found.
func (x *execution) retrieve() error {
	key, err := x.retrieveKey()
	if err != nil {
		return err
	}
	if known, ok, err := x.find(key); ok || err != nil {
		if ok && err == nil {
			x.uses.Retrieve, x.timings.retrieval = evidence.StageHit, &known.LatencyMS
			x.recorded.Retrieval, x.usage = known.Artifacts.Retrieval, known.Usage
		}
		return err
	}
	x.uses.Retrieve = evidence.StageMiss
	start := x.cfg.Now()
	r, err := x.cfg.Stages.Retrieve(x.ctx, x.c, x.cfg.Depth)
	x.timings.retrieval = x.since(start)
	if err != nil {
		return err
	}
	x.called(r.Call)
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
	return x.keep(key, evidence.Execution{
		Artifacts: evidence.Artifacts{Retrieval: x.recorded.Retrieval}, LatencyMS: *x.timings.retrieval, Usage: r.Usage,
	})
}

// called notes what is known of the call of a stage.
func (x *execution) called(c Call) {
	x.retried = append(x.retried, c.Retried...)
	x.usage = together(x.usage, c.Usage)
	if c.Log != "" {
		x.log = append(x.log, c.Log)
	}
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

// generate has the generation answer, or the cache, and records what was cited.
func (x *execution) generate(passages []evidence.Passage, sample int) error {
	key, err := x.generateKey(passages, sample)
	if err != nil {
		return err
	}
	known, ok, err := x.find(key)
	if err != nil {
		return err
	}
	if ok {
		x.uses.Generate, x.timings.generation = evidence.StageHit, &known.LatencyMS
		x.output, x.usage = known.Output, together(x.usage, known.Usage)
		return x.cite()
	}
	x.uses.Generate = evidence.StageMiss
	start := x.cfg.Now()
	g, err := x.cfg.Stages.Generate(x.ctx, x.c, passages)
	x.timings.generation = x.since(start)
	if err != nil {
		return err
	}
	x.called(g.Call)
	x.output = g.Output
	if err := x.cite(); err != nil {
		return err
	}
	return x.keep(key, evidence.Execution{Output: g.Output, LatencyMS: *x.timings.generation, Usage: g.Usage})
}

// cite records the cited ids of the output. An output without them records
// none, which is a missing observation of that case.
func (x *execution) cite() error {
	ids, err := evidence.Lookup(x.output, x.cfg.CitationsPath)
	if err != nil {
		return nil
	}
	artifact := ids
	switch ids.Kind() {
	case '[':
		artifact = append(append(evidence.Value(`{"ids":`), ids...), '}')
	case '{':
	default:
		err = errors.New("want a list of cited ids, each DOC or DOC#CHUNK, or nothing there")
	}
	if err == nil {
		err = evidence.DecodeArtifact(evidence.CitationsKind, artifact, &x.recorded)
	}
	if err != nil {
		return &evidence.ContractError{
			CaseID: x.c.ID, Artifact: evidence.CitationsKind, Path: x.cfg.CitationsPath, Key: "system.rag.citations_path",
			Problem: x.cfg.Redact.String(err.Error()), Found: x.cfg.Redact.String(evidence.Shorten(ids, 200)),
		}
	}
	return nil
}

// end makes the execution. An error that stops the run is returned.
func (x *execution) end(err error) (evidence.Execution, error) {
	e := evidence.Execution{
		Status: evidence.StatusOK, StartedAt: x.started, Artifacts: x.recorded, LatencyMS: x.timings.sum(), Usage: x.usage, Stages: x.uses,
		Log: strings.Join(x.log, "\n"),
	}
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
	if err != nil || x.uses.Retrieve == evidence.StageMiss || x.uses.Generate == evidence.StageMiss {
		e.Attempts = append(x.retried, last)
	}
	e.Artifacts.Other = map[string][]evidence.Value{TimingsKind: {x.timings.artifact()}}
	return e, nil
}

// together returns what two stages took: the sum of what both say, and what one
// of them says alone.
func together(a, b *evidence.Usage) *evidence.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &evidence.Usage{
		InputTokens: sum(a.InputTokens, b.InputTokens), OutputTokens: sum(a.OutputTokens, b.OutputTokens), CostUSD: sum(a.CostUSD, b.CostUSD),
		FirstTokenMS: cmp.Or(b.FirstTokenMS, a.FirstTokenMS), // of the stage that answers
	}
}

func sum[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	both := *a + *b
	return &both
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
