package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// openPanel makes the judges of the suite ready to be asked; verdicts is where
// they are kept, nil for nowhere. Close the panel.
func (x *activeRun) openPanel(verdicts *store.Cache) error {
	transport, err := x.guarded(&x.judgeRules, judge.NewTransport(2*x.project.suite.Concurrency.Judge))
	if err != nil {
		return err
	}
	cfg := judge.Config{
		Suite: x.project.suite, Connections: x.resolved.Judges, Fresh: x.flags.freshJudgments,
		Redact: x.redact, UserAgent: "oloproof/" + Version(),
		Now: x.env.Now, Sleep: x.env.sleep, Random: rand.Float64, Transport: transport,
	}
	if verdicts != nil {
		cfg.Cache = verdicts
	}
	if x.tally != nil {
		cfg.Spent = atLeast(x.tally.judges(), x.spent)
	}
	x.panel, err = judge.New(cfg)
	return err
}

// printJudge says whom a criterion asks, and whether the key is there that a call
// would need.
func (e *Env) printJudge(criterion string, j *suite.Judge) {
	key := ""
	if value, _ := e.Lookup(j.APIKeyEnv); strings.TrimSpace(value) != "" {
		key = ", with the key in " + j.APIKeyEnv
	} else if at := j.Endpoint(); !strings.Contains(at, "${") && (suite.Connection{URL: at}).NeedsKey() {
		key = ", which needs a key: " + j.APIKeyEnv + " is not set"
	}
	fmt.Fprintf(e.Stdout, "  %s asks %s %s%s\n", report.Clean(criterion), j.Provider, report.Clean(j.Model), key)
}

// judge returns the judgments of a case: what is pure, and what the judges say.
func (x *activeRun) judge(ctx context.Context, c *evidence.Case, e *evidence.Execution) ([]evidence.Judgment, error) {
	judgments := x.project.eval.Prepare(c, e)
	err := x.panel.Complete(ctx, c, e, judgments)
	var spent *judge.SpentError
	if errors.As(err, &spent) {
		return nil, &runner.SpentError{Reason: err}
	}
	return judgments, err
}

// stopShort makes a run of what is finished, when the budget does not reach for
// the rest.
func (x *activeRun) stopShort(spent *runner.SpentError) error {
	m := x.manifest
	m.FinishedAt = x.env.Now().UTC()
	m.Status, m.Completeness, m.Stopped = evidence.RunError, evidence.Partial, spent.Error()
	if err := x.markNotRun(func(i int, o *evidence.Outcome) error { return x.tally.add(i, o) }); err != nil {
		return err
	}
	x.sumUp()
	return nil
}

// sumUp writes into the manifest what the cases came to.
func (x *activeRun) sumUp() {
	m := x.manifest
	m.Counts, m.Cache, m.Stages, m.Notes = x.tally.counts, x.tally.cache, x.tally.stagesOf(m), x.notes()
	x.tally.describeJudges(m)
	x.finishedRun.trust(x.project.labels)
	x.noteJudges()
	for _, spec := range m.Metrics {
		if len(spec.Served) > 1 && !strings.HasPrefix(spec.Type, "cascade") {
			m.Notes = append(m.Notes, fmt.Sprintf("%s was judged by several models (%s): the provider changed the instrument; --fresh-judgments asks for every verdict again", spec.ID, evidence.ModelNames(spec.Served)))
		}
	}
}

// noteJudges writes into the manifest what the calls of judges came to, those for
// cases that are not kept included.
func (x *activeRun) noteJudges() {
	x.manifest.Judges = x.spent
	if x.panel != nil && x.project.suite.Judged() {
		use := x.panel.Use()
		x.manifest.Judges = &use
	}
}

// atLeast is what the kept cases of an interrupted run took, or what its manifest
// says where that is more: of a case that was not kept some judges had been asked.
func atLeast(kept evidence.JudgeUse, noted *evidence.JudgeUse) evidence.JudgeUse {
	if noted == nil {
		return kept
	}
	use := evidence.JudgeUse{
		Calls:       max(kept.Calls, noted.Calls),
		InputTokens: max(kept.InputTokens, noted.InputTokens), OutputTokens: max(kept.OutputTokens, noted.OutputTokens),
	}
	switch {
	case kept.Calls == 0:
		use.CostUSD = noted.CostUSD
	case noted.Calls == 0:
		use.CostUSD = kept.CostUSD
	case kept.CostUSD != nil && noted.CostUSD != nil:
		cost := max(*kept.CostUSD, *noted.CostUSD)
		use.CostUSD = &cost
	}
	return use
}

// addJudged counts what only the full record of a case tells of its judgments,
// which are in the order of the metrics.
func (t *tally) addJudged(judgments []evidence.Judgment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range judgments {
		a := judgments[i].Asked
		if a == nil {
			continue
		}
		if t.served == nil {
			t.served = map[int][]string{}
		}
		if judgments[i].State == evidence.Judged && !slices.Contains(t.served[i], a.Model) {
			t.served[i] = append(t.served[i], a.Model)
		}
		t.asked.Calls += a.Calls
		t.asked.InputTokens += a.InputTokens
		t.asked.OutputTokens += a.OutputTokens
		switch {
		case a.Calls == 0:
		case a.CostUSD == nil:
			t.unpriced = true
		default:
			t.cost += *a.CostUSD
		}
	}
}

// judges is what the calls of judges came to.
func (t *tally) judges() evidence.JudgeUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	use := t.asked
	if use.Calls > 0 && !t.unpriced {
		cost := t.cost
		use.CostUSD = &cost
	}
	return use
}

// describeJudges writes into the manifest which models gave the verdicts.
func (t *tally) describeJudges(m *evidence.Manifest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	judged := 0
	for i := range m.Metrics {
		if !m.Metrics[i].Judged() {
			continue
		}
		// A provider that never names its models serves none; one that does so at times
		// serves one without a name as well.
		if models := slices.Sorted(slices.Values(t.served[judged])); len(models) > 1 || len(models) == 1 && models[0] != "" {
			m.Metrics[i].Served = models
		}
		judged++
	}
}
