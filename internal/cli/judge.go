package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func newJudge(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "look at the judges of a suite",
		Long:  "judge looks at evaluators that ask a model.",
		Example: `  oloproof judge show groundedness
  oloproof judge validate latest`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJudgeShow(env), newJudgeValidate(env), newJudgeProbe(env))
	return cmd
}

func newJudgeShow(env *Env) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:   "show CRITERION|TYPE",
		Short: "print what a judge is asked",
		Long: `show prints the prompt of a judge of the suite, or of a type of judge, with its version. In place
of a case it holds the words INPUT, EXPECTED, PASSAGE, ID and OUTPUT, and FENCE in place of the
word that is derived from the case. It calls nothing and ends with 0 or 2.`,
		Example: `  oloproof judge show groundedness
  oloproof judge show rubric_judge`,
		Args: args(1, 1, "the criterion or the type"),
		RunE: func(_ *cobra.Command, given []string) error { return env.showJudge(config, given[0]) },
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`")
	return cmd
}

// judgeTypes are the types of judges, each with an evaluator that shows its
// prompt.
func judgeTypes() map[string]*suite.Evaluator {
	types := map[string]*suite.Evaluator{}
	for _, name := range []string{suite.TypeRubricJudge, suite.TypeGroundednessJudge, suite.TypeCitationSupportJudge, suite.TypeProbabilityJudge} {
		j := &suite.Judge{Prompt: suite.PromptVersion, Question: "QUESTION", Form: suite.FormYesNo}
		if name == suite.TypeRubricJudge {
			j.Rubric = "RUBRIC"
		}
		types[name] = &suite.Evaluator{Type: name, Judge: j}
	}
	types[suite.TypeCascade] = &suite.Evaluator{Type: suite.TypeCascade, Cascade: &suite.Cascade{First: types[suite.TypeProbabilityJudge], Then: types[suite.TypeRubricJudge]}}
	return types
}

func (e *Env) showJudge(config, name string) error {
	types := judgeTypes()
	evaluator, isType := types[name]
	known := []string{suite.TypeRubricJudge, suite.TypeGroundednessJudge, suite.TypeCitationSupportJudge, suite.TypeProbabilityJudge, suite.TypeCascade}
	if !isType || !absent(config) {
		s, err := suite.Load(config)
		switch {
		case isType && err != nil: // the suite does not matter
		case absent(config):
			return noSuite(config)
		case err != nil:
			return err
		default:
			var here []string
			for i := range s.Evaluators {
				if len(s.Evaluators[i].Stages()) == 0 {
					continue
				}
				here = append(here, s.Evaluators[i].Criterion)
				if s.Evaluators[i].Criterion == name {
					evaluator, isType = &s.Evaluators[i], false
				}
			}
			known = slices.Concat(here, known)
		}
	}
	if evaluator == nil {
		err := fmt.Errorf("no judge has the criterion %q, and no type of judge is called so; there are: %s", name, strings.Join(known, ", "))
		if near := problem.Nearest(name, known); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		return usageError{err}
	}
	for i, p := range judge.Show(evaluator) {
		if i > 0 {
			fmt.Fprintln(e.Stdout)
		}
		fmt.Fprintf(e.Stdout, "prompt %s", p.Name)
		if !isType {
			fmt.Fprintf(e.Stdout, " of the judge %s", p.Digest)
		}
		if _, err := fmt.Fprintf(e.Stdout, "\n\n%s", p.Text); err != nil {
			return err
		}
	}
	return nil
}
