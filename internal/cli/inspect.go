package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

func newInspect(env *Env) *cobra.Command {
	var config, caseID string
	var failures, slices bool
	var limit int
	cmd := &cobra.Command{
		Use:   "inspect RUN|COMPARISON|DIAGNOSIS",
		Short: "look at a stored run: its result, its failures, one case; or at a comparison or a diagnosis",
		Long: "inspect prints what a stored run found, or a comparison or diagnosis that is named by its\n" +
			"content id, sha256: and its beginning. It calls nothing and ends with 0 or 2.\n" + runHelp,
		Example: `  oloproof inspect latest --failures
  oloproof inspect latest --case refund_review
  oloproof inspect sha256:2feb024c --slices`,
		Args: args(1, 1, "the run, comparison or diagnosis"),
		RunE: func(_ *cobra.Command, args []string) error {
			if failures && caseID != "" {
				return usageError{fmt.Errorf("--failures and --case exclude each other: --case shows one case in full")}
			}
			st, err := env.openStore(config)
			if err != nil {
				return err
			}
			if strings.HasPrefix(args[0], "sha256:") {
				if failures || caseID != "" {
					return usageError{fmt.Errorf("--failures and --case look at one run: name the candidate or the baseline, or a run that the diagnosis names")}
				}
				if doc, err := openDiagnosis(st, args[0]); doc != nil || err != nil {
					if err != nil {
						return err
					}
					return env.diagnosisText(doc, given{configFlags: configFlags{config: config}}, true)
				}
				return env.inspectComparison(st, args[0], compareFlags{configFlags: configFlags{config: config}, slices: slices})
			}
			run, err := st.Resolve(args[0])
			if err != nil {
				return err
			}
			defer run.Close()
			switch {
			case failures:
				return report.Failures(env.Stdout, run.CaseLines, run.Manifest, limit)
			case caseID != "":
				line, err := run.CaseLine(caseID)
				if err != nil {
					return err
				}
				return report.Case(env.Stdout, line, run.Manifest)
			}
			return env.inspectRun(run, given{configFlags: configFlags{config: config}}.of(run, st))
		},
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`; the store lies beside it")
	cmd.Flags().BoolVar(&failures, "failures", false, "list the cases that failed, errored or did not finish")
	cmd.Flags().StringVar(&caseID, "case", "", "show the case `ID` in full")
	cmd.Flags().BoolVar(&slices, "slices", false, "of a comparison: list the differences of slices")
	cmd.Flags().IntVar(&limit, "limit", 50, "list at most `N` cases; 0 lists all")
	return cmd
}

// inspectComparison prints a stored comparison again.
func (e *Env) inspectComparison(st *store.Store, id string, f compareFlags) error {
	doc, run, err := e.openDocument(st, id)
	if err != nil {
		return err
	}
	g := given{configFlags: f.configFlags, bare: run == nil}
	if run != nil {
		defer run.Close()
		g = g.of(run, st)
	}
	return e.compareText(doc, f, g)
}

// inspectRun prints the stored document, or measures the run when it has none.
func (e *Env) inspectRun(run *store.Run, g given) error {
	doc, err := storedDocument(run)
	if err != nil {
		return err
	}
	return e.showText(doc, g)
}

func storedDocument(run *store.Run) (*report.Document, error) {
	data, err := run.Document()
	if err != nil {
		return nil, err
	}
	if data != nil {
		doc, err := report.ReadJSON(data)
		if err != nil {
			return nil, fmt.Errorf("gate.json of %s: %w; oloproof gate decides the run again", run.Place(), err)
		}
		return doc, nil
	}
	m, t, err := load(run)
	if err != nil {
		return nil, err
	}
	return decideDocument(m, t, nil), nil
}
