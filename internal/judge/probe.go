package judge

import (
	"context"
	"slices"
	"sync"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// The ways in which a judge is asked about the same answer once more. None of
// them changes what a careful reader would say.
const (
	ProbeAgain     = "asked again"
	ProbePadded    = "answer padded"
	ProbeReordered = "passages reordered"
)

// Probes lists them in the order of reports.
func Probes() []string { return []string{ProbeAgain, ProbePadded, ProbeReordered} }

// padding says nothing.
const padding = " I hope this answers your question. Please do not hesitate to ask if there is anything else."

// Answered is a case with what the system answered.
type Answered struct {
	Case      evidence.Case
	Execution evidence.Execution
}

// Probed is what a judge said of one answer, by probe; a probe that does not
// apply, such as reordering one passage, or that got no verdict, is not there.
type Probed struct {
	CaseID string
	Plain  bool // whether it passed as it was; meaningful with Judged
	Judged bool // there was a verdict to hold the others against
	Passed map[string]bool
}

// Probe asks the i-th evaluator about answers as they are and in the ways of
// [Probes], at most [Panel.Concurrency] at one time; the cache is not used. The
// results are in the order of the answers. The error is that of a call.
func (p *Panel) Probe(ctx context.Context, i int, answers []Answered) ([]Probed, error) {
	uncached := *p
	uncached.cfg.Cache = nil
	results := make([]Probed, len(answers))
	errs := make([]error, len(answers))
	slots := make(chan struct{}, p.Concurrency())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	for n := range answers {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if results[n], errs[n] = uncached.probe(ctx, i, &answers[n]); errs[n] != nil {
				cancel()
			}
		})
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil && err != context.Canceled {
			return nil, err
		}
	}
	return results, ctx.Err()
}

func (p *Panel) probe(ctx context.Context, i int, a *Answered) (Probed, error) {
	r := Probed{CaseID: a.Case.ID, Passed: map[string]bool{}}
	plain, err := p.ask(ctx, i, &a.Case, &a.Execution)
	if err != nil || plain.State != evidence.Judged {
		return r, err
	}
	r.Plain, r.Judged = plain.Passed(), true
	for _, probe := range Probes() {
		x, applies := altered(&a.Execution, probe)
		if !applies {
			continue
		}
		j, err := p.ask(ctx, i, &a.Case, x)
		if err != nil {
			return r, err
		}
		if j.State == evidence.Judged {
			r.Passed[probe] = j.Passed()
		}
	}
	return r, nil
}

// altered is an execution as a probe shows it; applies is false where it would be
// the same as before.
func altered(e *evidence.Execution, probe string) (x *evidence.Execution, applies bool) {
	c := *e
	switch probe {
	case ProbePadded:
		output, padded := pad(e.Output)
		c.Output = output
		return &c, padded
	case ProbeReordered:
		c.Artifacts.Context = slices.Clone(e.Artifacts.Context)
		for i := range c.Artifacts.Context {
			items := slices.Clone(c.Artifacts.Context[i].Items)
			applies = applies || len(items) > 1
			slices.Reverse(items)
			c.Artifacts.Context[i].Items = items
		}
		return &c, applies
	}
	return &c, true
}

// pad adds the padding to an output that is a text, or to the longest text of an
// object.
func pad(output evidence.Value) (evidence.Value, bool) {
	if text, ok := evidence.Text(output); ok {
		v, err := evidence.Canonical(text + padding)
		return v, err == nil
	}
	if output.Kind() != '{' {
		return output, false
	}
	fields := map[string]any{}
	longest, key := -1, ""
	for name, v := range evidence.Members(output) {
		fields[name] = v
		if text, ok := evidence.Text(v); ok && len(text) > longest {
			longest, key = len(text), name
		}
	}
	if longest < 0 {
		return output, false
	}
	text, _ := evidence.Text(fields[key].(evidence.Value))
	fields[key] = text + padding
	v, err := evidence.Canonical(fields)
	return v, err == nil
}
