package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
)

func newCheck(env *Env) *cobra.Command {
	var f runFlags
	var noCall bool
	var caseID string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check every file, say what each rule can decide, call the endpoint once",
		Long: `check reads suite, data set and policy, says what each rule can decide at the suite's
size before anything is spent, calls the system for one case and shows what every
evaluator made of the answer. Nothing is stored.`,
		Example: `  oloproof check --config my-rag/oloproof.yaml
  oloproof check --no-call`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.check(cmd.Context(), f, noCall, caseID)
		},
	}
	f.configFlags.add(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", "call this `url` instead of system.http.url; system.start is not launched")
	cmd.Flags().BoolVar(&noCall, "no-call", false, "do not call the system")
	cmd.Flags().StringVar(&caseID, "case", "", "call the system for the case `ID` (default the first one)")
	return cmd
}

func (e *Env) check(ctx context.Context, f runFlags, noCall bool, caseID string) error {
	p, err := openProject(f.configFlags)
	if err != nil {
		return err
	}
	defer p.close()
	index, err := p.find(caseID)
	if err != nil {
		return err
	}
	x := &activeRun{env: e, flags: f, project: p}
	if !noCall {
		if err := x.resolve(); err != nil {
			return err
		}
	}
	e.printProject(p)
	if err := e.printReach(p); err != nil {
		return err
	}
	if noCall {
		_, err := fmt.Fprintln(e.Stdout, "\nThe system was not called.")
		return err
	}
	return x.callOnce(ctx, index)
}

// find returns the index of a case; "" is the first one.
func (p *project) find(id string) (int, error) {
	if id == "" {
		return 0, nil
	}
	ids := make([]string, p.data.Len())
	for i := range ids {
		if ids[i] = p.data.ID(i); ids[i] == id {
			return i, nil
		}
	}
	near := ""
	if n := problem.Nearest(id, ids); n != "" {
		near = fmt.Sprintf("; did you mean %q?", n)
	}
	return 0, usageError{fmt.Errorf("the data set has no case %q%s", id, near)}
}

func (e *Env) printProject(p *project) {
	fmt.Fprintf(e.Stdout, "Suite %s: %s\n", p.suite.Project, p.suite.Path)
	fmt.Fprintf(e.Stdout, "Data set %s: %d cases, %s\n", p.suite.Dataset, p.data.Len(), p.data.Digest())
	eligible := p.eligible()
	for _, spec := range p.eval.Specs() {
		fmt.Fprintf(e.Stdout, "  %s (%s): %d of %d cases can be judged\n", spec.ID, spec.Kind, eligible[spec.ID], p.data.Len())
	}
	for _, note := range slices.Concat(p.suite.Notes, p.data.Notes()) {
		fmt.Fprintf(e.Stdout, "note: %s\n", report.Clean(note))
	}
	fmt.Fprintln(e.Stdout)
}

// callOnce calls the system for one case and shows what came of it.
func (x *activeRun) callOnce(ctx context.Context, index int) error {
	ctx, stop, err := x.startService(ctx)
	if err != nil {
		return err
	}
	defer stop()
	system, err := x.newSystem(1)
	if err != nil {
		return err
	}
	defer system.Close()
	c, err := x.project.data.Case(index)
	if err != nil {
		return err
	}
	out := x.env.Stdout
	fmt.Fprintf(out, "\nCalled %s for case %s\n", report.Clean(x.publicURL()), report.Clean(c.ID))
	execution, err := system.Execute(ctx, c)
	if err != nil {
		var contract *evidence.ContractError
		if errors.As(err, &contract) {
			return problem.Errorf("%s", err)
		}
		return err
	}
	judgments := x.project.eval.Judge(c, &execution)
	if err := report.Call(out, &execution, x.project.eval.Specs(), judgments); err != nil {
		return err
	}
	if execution.Status != evidence.StatusOK {
		return problem.Errorf("the call for case %s failed: %s", c.ID, execution.Error.Message)
	}
	_, err = io.WriteString(out, "\nNext: oloproof run"+configFlag(x.flags.config)+"\n")
	return err
}
