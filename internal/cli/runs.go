package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

func newRuns(env *Env) *cobra.Command {
	var config, metric string
	var limit int
	var children bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list the stored runs, newest first, or one metric over them",
		Long:  "runs lists the stored runs. Those that diagnoses made are left out: --children lists them too.",
		Example: `  oloproof runs
  oloproof runs --metric answer_correct --limit 10`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			st, err := env.openStore(config)
			if err != nil {
				return err
			}
			if metric != "" {
				return env.trend(st, metric, limit)
			}
			list := st.List
			if children {
				list = st.ListAll
			}
			runs, damaged, err := list(limit)
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
	cmd.Flags().BoolVar(&children, "children", false, "list the runs that diagnoses made, too")
	cmd.Flags().StringVar(&metric, "metric", "", "show the metric `ID` over the runs, with its intervals")
	return cmd
}

// trend prints one metric over the stored runs that have it.
func (e *Env) trend(st *store.Store, metric string, limit int) error {
	known := map[string]bool{}
	entries, err := e.history(st, limit, func(doc *report.Document) bool {
		has := false
		for _, m := range doc.Metrics {
			known[m.ID] = true
			has = has || m.ID == metric
		}
		return has
	})
	if err != nil {
		return err
	}
	if len(entries) == 0 && len(known) > 0 {
		names := slices.Sorted(maps.Keys(known))
		return usageError{fmt.Errorf("no stored run has the metric %q (there are: %s)", metric, strings.Join(names, ", "))}
	}
	return report.Trend(e.Stdout, entries, metric, e.width())
}

func newExport(env *Env) *cobra.Command {
	var config, output string
	cmd := &cobra.Command{
		Use:   "export RUN|COMPARISON|DIAGNOSIS",
		Short: "copy a run to a directory of plain files, a bundle; or a comparison or diagnosis",
		Long: "export writes run.json, judgments.jsonl, cases.jsonl and gate.json. cases.jsonl holds\n" +
			"questions, answers and passages; the others hold none. Of a comparison or diagnosis,\n" +
			"named by its content id, it writes comparison.json or diagnosis.json, which hold none.\n" + runHelp,
		Example: `  oloproof export latest
  oloproof export run_01K --output baseline`,
		Args: args(1, 1, "the run, comparison or diagnosis"),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := env.openStore(config)
			if err != nil {
				return err
			}
			if strings.HasPrefix(args[0], "sha256:") {
				return env.exportStored(st, args[0], output)
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

// exportStored copies a comparison or a diagnosis to a directory of its own.
func (e *Env) exportStored(st *store.Store, name, dir string) error {
	found, err := st.Find(name, store.ComparisonShelf, store.DiagnosisShelf)
	if err != nil {
		return err
	}
	data, err := st.Read(found)
	if err != nil {
		return err
	}
	word := found.Shelf.Word()
	if dir == "" {
		dir = st.BundleDir(word + "_" + found.ID.Hex())
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err = writeFile(filepath.Join(dir, word+".json"), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "Exported the %s %s to %s\n", word, found.ID, filepath.ToSlash(dir))
	return err
}
