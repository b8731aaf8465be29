package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/stats"
)

func newJudgeProbe(env *Env) *cobra.Command {
	var f sampleFlags
	var attacks bool
	cmd := &cobra.Command{
		Use:   "probe RUN",
		Short: "ask a judge again: how often does a verdict move that should not?",
		Long: `probe draws answers of a stored run and asks the judge about each: as it is, once more, with
words added that say nothing, and with the passages in reverse order. It counts the verdicts
that move. --attacks also shows it a wrong answer with each text of the corpus of attacks.
It calls the judge (4 calls an answer, one an attack), keeps nothing and ends with 0 or 2.`,
		Example: `  oloproof judge probe latest --criterion groundedness --sample 20
  oloproof judge probe latest --attacks`,
		Args: args(1, 1, "the run"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return env.probeJudge(cmd.Context(), given[0], f, attacks)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&attacks, "attacks", false, "also show it the corpus of attacks")
	return cmd
}

func (e *Env) probeJudge(ctx context.Context, name string, f sampleFlags, attacks bool) error {
	answers, spec, err := e.answersOf(name, f)
	if err != nil {
		return err
	}
	x := &activeRun{env: e, flags: runFlags{configFlags: configFlags{config: f.config, none: true}}}
	p, err := openProject(x.flags.configFlags, x.resolve)
	if err != nil {
		return err
	}
	defer p.close()
	x.project, x.cases = p, p.data
	i := slices.IndexFunc(p.eval.Specs(), func(s evidence.MetricSpec) bool { return s.ID == spec.ID })
	if i < 0 || p.eval.Specs()[i].Evaluator != spec.Evaluator {
		return problem.Errorf("the judge %s of the suite is not that of %s any more: run the suite again, or bring the old judge back", spec.ID, name)
	}
	ctx, stop, err := x.startService(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := x.openPanel(nil); err != nil {
		return err
	}
	defer x.panel.Close()
	probed, err := x.panel.Probe(ctx, i, answers)
	if err != nil {
		return err
	}
	e.printProbes(spec.ID, probed)
	if !attacks {
		return nil
	}
	results, err := x.panel.Besiege(ctx, i, judge.Attacks())
	if err != nil {
		return problem.Errorf("%v", err)
	}
	e.printAttacks(results)
	return nil
}

// answersOf draws answers of a stored run that a judge judged.
func (e *Env) answersOf(name string, f sampleFlags) ([]judge.Answered, evidence.MetricSpec, error) {
	if f.sample < 1 {
		return nil, evidence.MetricSpec{}, usageError{errors.New("--sample must be at least 1")}
	}
	j, err := e.openJudged(name, f.config, f.criterion)
	if err != nil {
		return nil, evidence.MetricSpec{}, err
	}
	defer j.run.Close()
	if !j.run.HasCases() {
		return nil, j.spec, problem.Errorf("%s was stored without its answers, so there is nothing to ask about", j.run.Manifest.ID)
	}
	var ids []string
	all := map[string]judge.Answered{}
	err = j.run.CaseLines(func(line evidence.CaseLine) error {
		if labels.Said(j.spec, line) == nil {
			return nil
		}
		ids = append(ids, line.Case.ID)
		all[line.Case.ID] = judge.Answered{Case: line.Case, Execution: line.Execution}
		return nil
	})
	if err != nil {
		return nil, j.spec, err
	}
	if len(ids) == 0 {
		return nil, j.spec, problem.Errorf("the judge %s gave no verdict in %s", j.spec.ID, j.run.Manifest.ID)
	}
	var drawn []judge.Answered
	for _, id := range labels.Sample(ids, f.sample, f.seed) {
		drawn = append(drawn, all[id])
	}
	return drawn, j.spec, nil
}

func (e *Env) printProbes(name string, probed []judge.Probed) {
	judged := 0
	for _, p := range probed {
		if p.Judged {
			judged++
		}
	}
	fmt.Fprintf(e.Stdout, "%s: %s of the run, %d with a verdict now\n", report.Clean(name), countOf(len(probed), "answer"), judged)
	for _, probe := range judge.Probes() {
		asked, moved := 0, 0
		for _, p := range probed {
			passed, ok := p.Passed[probe]
			if !ok || !p.Judged {
				continue
			}
			asked++
			if passed != p.Plain {
				moved++
			}
		}
		if asked == 0 {
			fmt.Fprintf(e.Stdout, "  %-18s  does not apply to any of them\n", probe)
			continue
		}
		i := stats.Rate(moved, asked, 0, defaultLevel)
		s := report.RateScale()
		fmt.Fprintf(e.Stdout, "  %-18s  %d of %d moved  %s %s\n", probe, moved, asked, s.Estimate(float64(moved)/float64(asked)), s.Interval(&i.Lower, &i.Upper))
	}
}

func (e *Env) printAttacks(results []judge.AttackResult) {
	count := map[string]int{}
	var moved []string
	for _, r := range results {
		count[r.Outcome]++
		if r.Outcome == judge.Moved {
			moved = append(moved, r.Name)
		}
	}
	fmt.Fprintf(e.Stdout, "  %-18s  %d of %d moved, %d caught\n", "attacks", count[judge.Moved], len(results), count[judge.Caught])
	for _, name := range moved {
		fmt.Fprintf(e.Stdout, "    moved by %s\n", report.Clean(name))
	}
}
