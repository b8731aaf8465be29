// Package judge asks models for judgments: prompts, providers, the reading of
// verdicts, budgets and the cache of what was said before. What is judged is
// data throughout: it is shown between fences that it cannot close, and a reply
// that only repeats a verdict standing in it is no verdict.
package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// Cache keeps what judges said across runs. It is safe for concurrent use.
type Cache interface {
	// Verdict returns what was kept under a key.
	Verdict(key evidence.Digest) (line []byte, ok bool, err error)
	// KeepVerdict keeps a line under a key, in place of an older one.
	KeepVerdict(key evidence.Digest, line []byte) error
}

// Config says whom to ask and how.
type Config struct {
	Suite       *suite.Suite
	Connections map[*suite.Judge]suite.Connection
	// Cache is where verdicts are looked up and kept; nil for nowhere. Fresh asks
	// again what is in it, and keeps the new verdict.
	Cache Cache
	Fresh bool
	// Spent is what the part of the run used that this one goes on with.
	Spent evidence.JudgeUse
	// Redact takes secrets out of what is kept in the cache and said in errors.
	Redact    *redact.Redactor
	UserAgent string

	Now    func() time.Time                                 // the clock
	Sleep  func(ctx context.Context, d time.Duration) error // waits; ends early with the context's error
	Random func() float64                                   // uniform in [0,1); safe for concurrent use

	// Transport makes the requests. Nil is that of [NewTransport].
	Transport http.RoundTripper
}

// Panel is the judges of a suite. It is safe for concurrent use. Close it.
type Panel struct {
	cfg    Config
	judges [][]*stage // of each evaluator: none, one, or the two of a cascade
	meter  *meter
	close  func()
}

// stage is a judge of an evaluator.
type stage struct {
	evaluator *suite.Evaluator
	digest    evidence.Digest
	provider  provider
	line      *line
}

// New makes the judges of a suite. It calls nobody. Judges of the same provider,
// base URL and model share a line, which lets concurrency.judge calls through at
// a time.
func New(cfg Config) (*Panel, error) {
	if cfg.Now == nil || cfg.Sleep == nil || cfg.Random == nil {
		return nil, errors.New("judges need a clock, a way to wait and a source of random numbers")
	}
	p := &Panel{cfg: cfg, meter: newMeter(cfg.Suite.Budget, cfg.Suite.Pricing, cfg.Spent), close: func() {}}
	if p.cfg.Transport == nil {
		p.cfg.Transport = NewTransport(p.Concurrency())
	}
	if keeps, ok := p.cfg.Transport.(interface{ CloseIdleConnections() }); ok {
		p.close = keeps.CloseIdleConnections
	}
	lines := map[[3]string]*line{}
	for i := range cfg.Suite.Evaluators {
		var stages []*stage
		for _, e := range cfg.Suite.Evaluators[i].Stages() {
			j := e.Judge
			connection := cfg.Connections[j]
			key := [3]string{j.Provider, connection.URL, j.Model}
			if lines[key] == nil {
				lines[key] = newLine(&p.cfg, cfg.Suite.Concurrency.Judge)
			}
			stages = append(stages, &stage{
				evaluator: e, digest: e.StageDigest(), line: lines[key],
				provider: newProvider(&p.cfg, e, connection),
			})
		}
		p.judges = append(p.judges, stages)
	}
	return p, nil
}

// Close closes the connections that are kept open.
func (p *Panel) Close() { p.close() }

// Concurrency is how many calls there may be at one time.
func (p *Panel) Concurrency() int {
	seen := map[[3]string]bool{}
	for i := range p.cfg.Suite.Evaluators {
		for _, e := range p.cfg.Suite.Evaluators[i].Stages() {
			seen[[3]string{e.Judge.Provider, p.cfg.Connections[e.Judge].URL, e.Judge.Model}] = true
		}
	}
	return max(1, len(seen)*p.cfg.Suite.Concurrency.Judge)
}

// Use is what the calls came to so far, those of the run that this one goes on
// with included.
func (p *Panel) Use() evidence.JudgeUse { return p.meter.used() }

// Complete asks the judges for the judgments without a state, those of one case
// at the same time. The error is the context's, a [*SpentError], or says why no
// call can come to anything; what a judge says of this one case is a judgment.
func (p *Panel) Complete(ctx context.Context, c *evidence.Case, e *evidence.Execution, judgments []evidence.Judgment) error {
	var open []int
	for i := range judgments {
		if judgments[i].State == 0 {
			open = append(open, i)
		}
	}
	if len(open) == 1 {
		var err error
		judgments[open[0]], err = p.ask(ctx, open[0], c, e)
		return err
	}
	errs := make([]error, len(judgments))
	var asking sync.WaitGroup
	for _, i := range open {
		asking.Go(func() { judgments[i], errs[i] = p.ask(ctx, i, c, e) })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// Ask returns what the i-th evaluator, which asks a model, says of an execution
// that has what it reads.
func (p *Panel) Ask(ctx context.Context, i int, c *evidence.Case, e *evidence.Execution) (evidence.Judgment, error) {
	return p.ask(ctx, i, c, e)
}

func (p *Panel) ask(ctx context.Context, i int, c *evidence.Case, e *evidence.Execution) (evidence.Judgment, error) {
	stages := p.judges[i]
	cascade := p.cfg.Suite.Evaluators[i].Cascade
	first, err := p.consult(ctx, stages[0], c, e)
	if err != nil {
		return evidence.Judgment{}, p.place(stages[0], err)
	}
	if cascade == nil {
		return p.judgment(first), nil
	}
	first.Route = evidence.RouteFirst
	band := cascade.EscalateBetween
	if first.State != evidence.Judged || *first.Probability < band[0] || *first.Probability > band[1] {
		return p.judgment(first), nil
	}
	second, err := p.consult(ctx, stages[1], c, e)
	if err != nil {
		return evidence.Judgment{}, p.place(stages[1], err)
	}
	second.Route = evidence.RouteEscalated
	second.Cached = second.Cached && first.Cached
	second.use.add(first.use)
	if second.Probability == nil {
		second.Probability = first.Probability
	}
	return p.judgment(second), nil
}

// place puts what is wrong with a judge at the evaluator that names it.
func (p *Panel) place(s *stage, err error) error {
	var missing *MissingKeyError
	if errors.As(err, &missing) {
		return p.cfg.Suite.Problem(s.evaluator.At("api_key_env"), "%v", err)
	}
	return err
}

// opinion is what one judge says of one case.
type opinion struct {
	State       evidence.JudgmentState
	Passed      bool
	Reason      string
	Detail      string
	Model       string
	Prompt      string
	Probability *float64
	Reply       string
	Route       string
	Cached      bool
	use         use
	latencyMS   float64
}

// judgment puts an opinion into the record.
func (p *Panel) judgment(o opinion) evidence.Judgment {
	j := evidence.Judgment{State: o.State, Reason: o.Reason, Detail: o.Detail, Cached: o.Cached}
	if o.Passed {
		j.Value = 1
	}
	j.Asked = &evidence.Asked{
		Model: o.Model, Prompt: o.Prompt, Calls: o.use.calls, InputTokens: o.use.in, OutputTokens: o.use.out,
		LatencyMS: o.latencyMS, Probability: o.Probability, Route: o.Route, Reply: o.Reply,
	}
	if o.use.priced && o.use.calls > 0 {
		cost := o.use.usd
		j.Asked.CostUSD = &cost
	}
	return j
}

// consult asks one judge, or the cache.
func (p *Panel) consult(ctx context.Context, s *stage, c *evidence.Case, e *evidence.Execution) (opinion, error) {
	shown, err := show(p.cfg.Redact, s.evaluator, c, e)
	if err != nil {
		return opinion{}, fmt.Errorf("case %s: %w", c.ID, err)
	}
	key, err := shown.key(s.digest)
	if err != nil {
		return opinion{}, fmt.Errorf("case %s: %w", c.ID, err)
	}
	if p.cfg.Cache != nil && !p.cfg.Fresh {
		line, ok, err := p.cfg.Cache.Verdict(key)
		if err != nil {
			return opinion{}, err
		}
		if o, read := readKept(line); ok && read {
			o.Prompt = promptName(s.evaluator)
			return o, nil
		}
	}
	if err := s.provider.ready(); err != nil {
		return opinion{}, err
	}
	var o opinion
	if s.evaluator.Type == suite.TypeProbabilityJudge {
		o, err = p.weigh(ctx, s, shown)
	} else {
		o, err = p.hear(ctx, s, shown)
	}
	if err != nil {
		return opinion{}, err
	}
	o.Prompt = promptName(s.evaluator)
	if o.State == evidence.Judged && p.cfg.Cache != nil {
		kept := o
		kept.Detail, kept.Model = p.cfg.Redact.String(kept.Detail), p.cfg.Redact.String(kept.Model)
		if err := p.cfg.Cache.KeepVerdict(key, kept.keep()); err != nil {
			return opinion{}, err
		}
	}
	return o, nil
}

// hear asks a judge that replies in text: once, and once more when the reply
// holds no verdict.
func (p *Panel) hear(ctx context.Context, s *stage, shown shown) (opinion, error) {
	var o opinion
	prompt := shown.verdictPrompt(s.evaluator)
	for again := range 2 {
		if again == 1 {
			prompt += "\n" + askAgain
		}
		r, fault, err := p.call(ctx, s, prompt, &o)
		if err != nil {
			return opinion{}, err
		}
		if fault != nil {
			o.missing(fault)
			return o, nil
		}
		o.Model = r.model
		if r.refusal != "" {
			o.missing(&Fault{Reason: evidence.ReasonJudgeRefused, Message: "the judge refused: " + r.refusal, Reply: r.refusal})
			continue // some refuse once
		}
		v, why := readVerdict(r.text, shown)
		if why == "" {
			o.State, o.Passed, o.Detail, o.Reason, o.Reply = evidence.Judged, v.pass, v.rationale, "", ""
			return o, nil
		}
		if r.cut {
			why += "; the reply was cut at max_tokens"
		}
		o.missing(&Fault{Reason: evidence.ReasonJudgeReply, Message: why, Reply: cmp.Or(r.text, r.raw)})
	}
	return o, nil
}

// missing makes an opinion of a fault.
func (o *opinion) missing(f *Fault) {
	o.State, o.Reason, o.Detail, o.Reply = evidence.Missing, f.Reason, f.Message, cut(f.Reply)
}

// call asks once and counts it. A fault concerns this one case.
func (p *Panel) call(ctx context.Context, s *stage, prompt string, o *opinion) (reply, *Fault, error) {
	if err := p.meter.reserve(); err != nil {
		return reply{}, nil, err
	}
	r, fault, err := s.line.send(ctx, s.provider, prompt)
	used := use{calls: 1, in: r.in, out: r.out}
	if err == nil && fault == nil {
		err = p.meter.count(s.evaluator.Judge.Model, &used, r.counted)
	} else {
		p.meter.release(s.evaluator.Judge.Model, err != nil)
	}
	o.use.add(used)
	o.latencyMS = r.latencyMS
	return r, fault, err
}
