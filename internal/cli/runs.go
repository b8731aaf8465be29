package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/report"
)

func newRuns(env *Env) *cobra.Command {
	var config string
	var limit int
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list the stored runs, newest first",
		Example: `  oloproof runs
  oloproof runs --limit 5 --config my-rag/oloproof.yaml`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			st, err := env.openStore(config)
			if err != nil {
				return err
			}
			runs, damaged, err := st.List(limit)
			if err != nil {
				return err
			}
			for _, d := range damaged {
				fmt.Fprintf(env.Stderr, "warning: %v\n", d)
			}
			entries := make([]report.RunEntry, len(runs))
			for i, run := range runs {
				entries[i].Manifest = run.Manifest
				if data, err := run.Document(); err == nil && data != nil {
					entries[i].Document, _ = report.ReadJSON(data)
				}
				run.Close()
			}
			return report.Runs(env.Stdout, entries)
		},
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`; the store lies beside it")
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most `N` runs; 0 lists all")
	return cmd
}

func newExport(env *Env) *cobra.Command {
	var config, output string
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "copy a run to a directory of plain files, a bundle",
		Long: "export writes run.json, judgments.jsonl, cases.jsonl and gate.json. cases.jsonl holds\n" +
			"questions, answers and passages; the others hold none.\n" + runHelp,
		Example: `  oloproof export latest
  oloproof export run_01K --output baseline`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := env.openStore(config)
			if err != nil {
				return err
			}
			run, err := st.Resolve(args[0])
			if err != nil {
				return err
			}
			defer run.Close()
			dir := output
			if dir == "" {
				dir = st.BundleDir(run.Manifest.ID)
			}
			if err := st.Export(run, dir); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "Exported %s to %s\n", run.Manifest.ID, filepath.ToSlash(dir))
			if run.HasCases() {
				fmt.Fprintln(env.Stdout, "cases.jsonl holds questions, answers and passages; the other files hold none.")
			}
			_, err = fmt.Fprintf(env.Stdout, "Next: oloproof gate %s%s\n", shellWord(filepath.ToSlash(dir)), given{configFlags: configFlags{config: config}}.flags(false, false))
			return err
		},
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`; the store lies beside it")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `DIR` (default .oloproof/bundles/RUN)")
	return cmd
}
