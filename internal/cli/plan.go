package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/report"
)

func newPlan(env *Env) *cobra.Command {
	var c configFlags
	cmd := &cobra.Command{
		Use:   "plan [RUN]",
		Short: "how many cases would decide each rule",
		Long: "plan prints the planning lines of a stored run, or without a run what each rule\n" +
			"can decide at the suite's size. It calls nothing.\n" + runHelp,
		Example: `  oloproof plan
  oloproof plan latest --policy release.yaml`,
		Args: args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return env.planSuite(c)
			}
			return env.planRun(args[0], c)
		},
	}
	c.add(cmd)
	return cmd
}

func (e *Env) planSuite(c configFlags) error {
	p, err := openProject(c)
	if err != nil {
		return err
	}
	defer p.close()
	return e.printReach(p)
}

// printReach says what each rule of a project can decide at the suite's size.
func (e *Env) printReach(p *project) error {
	if p.policy == nil {
		_, err := fmt.Fprintf(e.Stdout, "No policy, so nothing would be decided: write %s\n", filepath.Join(p.suite.Dir, "release.yaml"))
		return err
	}
	return report.Reach(e.Stdout, decide.Reachable(p.policy, p.eval.Specs(), p.eligible()), p.data.Len())
}

// eligible counts, for every metric, the cases that can be judged.
func (p *project) eligible() map[string]int {
	counts := map[string]int{}
	perEvaluator := p.eval.Eligible()
	for i, spec := range p.eval.Specs() {
		counts[spec.ID] = p.data.Len()
		if i < len(perEvaluator) {
			counts[spec.ID] = perEvaluator[i]
		}
	}
	return counts
}

func (e *Env) planRun(name string, c configFlags) error {
	s, err := e.openStored(name, c)
	if err != nil {
		return err
	}
	defer s.run.Close()
	return report.Plan(e.Stdout, decideDocument(s.manifest, s.tally, s.policy))
}
