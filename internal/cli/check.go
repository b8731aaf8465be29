package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/runner"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func newCheck(env *Env) *cobra.Command {
	var f runFlags
	var noCall, full, once bool
	var caseID string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "check every file, say what each rule can decide, try the endpoint with one case",
		Long: `check reads suite, data set and policy, says what each rule can decide at the suite's
size before anything is spent, calls the system for one case and shows what every
evaluator made of the answer. Then it asks the case once more and says what the two
calls tell: address, certificate, credentials, latency, rate limits, whether cases see
each other, and how long the whole suite takes. Nothing is stored. It ends with 0 or 2.`,
		Example: `  oloproof check --config my-rag/oloproof.yaml
  oloproof check --no-call
  oloproof check --case seat_count --full`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.check(cmd.Context(), f, noCall, full, once, caseID)
		},
	}
	f.configFlags.add(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", "call this `url` instead of system.http.url; system.start is not launched")
	cmd.Flags().BoolVar(&noCall, "no-call", false, "do not call the system")
	cmd.Flags().BoolVar(&once, "once", false, "do not ask the case a second time")
	cmd.Flags().BoolVar(&full, "full", false, "show the whole output and every artifact of the call")
	cmd.Flags().StringVar(&caseID, "case", "", "call the system for the case `ID` (default the first one)")
	return cmd
}

func (e *Env) check(ctx context.Context, f runFlags, noCall, full, once bool, caseID string) error {
	x := &activeRun{env: e, flags: f}
	resolve := x.resolve
	if noCall {
		resolve = func(*suite.Suite) error { return nil }
	}
	p, err := openProject(f.configFlags, resolve)
	if err != nil {
		return err
	}
	defer p.close()
	x.project, x.cases = p, p.data
	index, err := p.find(caseID)
	if err != nil {
		return err
	}
	e.printProject(p)
	if err := e.printReach(p); err != nil {
		return err
	}
	if noCall {
		_, err := fmt.Fprintf(e.Stdout, "\nThe system was not called.\nNext: oloproof check%s\n", x.given().flags(true, true))
		return err
	}
	return x.callOnce(ctx, index, full, once)
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
	fmt.Fprintf(e.Stdout, "Data set %s: %s, %s\n", p.suite.Dataset, countCases(p.data.Len()), p.data.Digest())
	eligible := p.eligible()
	for i, spec := range p.eval.Specs() {
		why := ""
		if eligible[spec.ID] == 0 && i < len(p.suite.Evaluators) && p.suite.Evaluators[i].ExpectedField != nil {
			why = ": no case has expected." + report.Clean(*p.suite.Evaluators[i].ExpectedField)
		}
		fmt.Fprintf(e.Stdout, "  %s (%s): %d of %s can be judged%s\n", spec.ID, spec.Kind, eligible[spec.ID], countCases(p.data.Len()), why)
	}
	for i := range p.suite.Evaluators {
		for _, stage := range p.suite.Evaluators[i].Stages() {
			e.printJudge(p.suite.Evaluators[i].Criterion, stage.Judge)
		}
	}
	for _, note := range slices.Concat(p.suite.Notes, p.data.Notes(), p.eval.Notes()) {
		fmt.Fprintf(e.Stdout, "note: %s\n", report.Clean(note))
	}
	fmt.Fprintln(e.Stdout)
}

// callOnce calls the system for one case and shows what came of it.
func (x *activeRun) callOnce(ctx context.Context, index int, full, once bool) error {
	ctx, stop, err := x.startService(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var seen *watch
	if x.project.suite.System.HTTP != nil {
		x.around = func(base http.RoundTripper) http.RoundTripper {
			seen = &watch{base: base, now: x.env.Now}
			return seen
		}
	}
	system, err := x.openSystem(ctx, 1)
	if err != nil {
		return err
	}
	defer system.close()
	c, err := x.project.data.Case(index)
	if err != nil {
		return err
	}
	out := x.env.Stdout
	if x.deployed != nil && x.deployed.said.First != "" {
		fmt.Fprintf(out, "\n%s\n", x.deployed.words())
	}
	fmt.Fprintf(out, "\nCalled %s for case %s\n", system.called, report.Clean(c.ID))
	execution, err := system.Execute(ctx, c)
	if err != nil {
		return explainContract(err)
	}
	if err := x.openPanel(nil); err != nil {
		return err
	}
	defer x.panel.Close()
	judgments, err := x.judge(ctx, c, &execution)
	if err != nil {
		return err
	}
	runner.Redact(x.redact, &execution, judgments)
	again := "oloproof check" + x.given().flags(true, true)
	hint := again + " --full"
	if index != 0 {
		hint += " --case " + shellWord(c.ID)
	}
	if full {
		hint = ""
	}
	if err := report.Call(out, c, &execution, x.project.eval.Specs(), judgments, hint); err != nil {
		return err
	}
	if seen != nil {
		x.describeConnection(seen)
	}
	if e := execution.Error; e != nil {
		message := fmt.Sprintf("the call for case %s failed: %s", c.ID, e.Message)
		if fix := advice(e, x.project.suite.System.Kind()); fix != "" {
			message += "\n  " + fix
		}
		return problem.Errorf("%s", message)
	}
	if err := x.describeCalls(ctx, system, seen, c, &execution, once); err != nil {
		return err
	}
	if missing(judgments) {
		_, err = fmt.Fprintf(out, "\nNext: mend what errored above, then %s\n", again)
		return err
	}
	_, err = fmt.Fprintf(out, "\nNext: oloproof run%s\n", x.given().flags(true, true))
	return err
}

// missing reports whether an evaluator could not judge.
func missing(judgments []evidence.Judgment) bool {
	return slices.ContainsFunc(judgments, func(j evidence.Judgment) bool { return j.State == evidence.Missing })
}
