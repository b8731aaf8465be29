package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

type reportFlags struct {
	config         string
	html, junit    string
	markdown       string
	includeContent bool
}

func newReport(env *Env) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report RUN|COMPARISON|DIAGNOSIS",
		Short: "write a result as an HTML page, JUnit XML or markdown",
		Long: `report writes a stored run, or a comparison or diagnosis named by its content id, to a
file. A diagnosis is written as an HTML page only.
The HTML page is one file that needs no network. Questions, answers and passages are
only in it with --include-content.
` + runHelp,
		Example: `  oloproof report latest --html report.html
  oloproof report sha256:2feb024c --html comparison.html --junit rules.xml`,
		Args: args(1, 1, "the run, comparison or diagnosis"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.html == "" && f.junit == "" && f.markdown == "" {
				return usageError{errors.New("nothing to write: name a file with --html, --junit or --markdown")}
			}
			return env.report(args[0], f)
		},
	}
	cmd.Flags().StringVarP(&f.config, "config", "c", "oloproof.yaml", "the suite's `file`; the store lies beside it")
	cmd.Flags().StringVar(&f.html, "html", "", "write an HTML page to `FILE`")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write JUnit XML to `FILE`: rules as test cases")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "write the block of summaries and comments to `FILE`")
	cmd.Flags().BoolVar(&f.includeContent, "include-content", false, "put questions, answers and passages of failing cases into the page")
	return cmd
}

func (e *Env) report(name string, f reportFlags) error {
	st, err := e.openStore(f.config)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "sha256:") {
		if d, err := openDiagnosis(st, name); d != nil || err != nil {
			if err != nil {
				return err
			}
			return reportDiagnosis(st, d, f)
		}
	}
	doc, run, err := e.openDocument(st, name)
	if err != nil {
		return err
	}
	if run != nil {
		defer run.Close()
	}
	findings, err := findingsOf(run)
	if err != nil {
		return err
	}
	if f.html != "" {
		opt, err := e.htmlOptions(st, run, findings, f.includeContent)
		if err != nil {
			return err
		}
		if err := writeFile(f.html, func(w io.Writer) error { return report.HTML(w, doc, opt) }); err != nil {
			return err
		}
	}
	if f.junit != "" {
		if err := writeFile(f.junit, func(w io.Writer) error { return report.JUnit(w, doc, findings.Failing) }); err != nil {
			return err
		}
	}
	if f.markdown != "" {
		return writeFile(f.markdown, func(w io.Writer) error {
			return report.Markdown(w, doc, report.MarkdownOptions{Failing: findings.Failing})
		})
	}
	return nil
}

// reportDiagnosis writes a diagnosis. What its runs recorded is on the page when
// content is asked for and they are still there.
func reportDiagnosis(st *store.Store, d *report.Diagnosis, f reportFlags) error {
	if f.html == "" || f.junit != "" || f.markdown != "" {
		return usageError{errors.New("a diagnosis decides nothing, so it is written as an HTML page only: name a file with --html")}
	}
	var opt report.DiagnosisHTMLOptions
	if f.includeContent {
		lines := func(id string) report.CaseLines {
			run, err := st.Resolve(id)
			if err != nil {
				opt.NoContent = "some texts are not shown, because " + id + " is not in the store any more"
				return nil
			}
			return func(visit func(evidence.CaseLine) error) error {
				defer run.Close()
				return run.CaseLines(visit)
			}
		}
		opt.Recorded = lines(d.Run.ID)
		for _, c := range d.ChildRuns {
			switch {
			case c.Carried:
			case c.Role == evidence.RoleControl:
				opt.Control = lines(c.Run)
			default:
				opt.Changed = lines(c.Run)
			}
		}
	}
	return writeFile(f.html, func(w io.Writer) error { return report.DiagnosisHTML(w, d, opt) })
}

// openDocument reads the document of a comparison, named by its content id, or
// of a run, which is returned too. Of a comparison the candidate is returned
// when it is in the store.
func (e *Env) openDocument(st *store.Store, name string) (*report.Document, *store.Run, error) {
	if strings.HasPrefix(name, "sha256:") {
		found, err := st.Find(name, store.ComparisonShelf)
		if err != nil {
			return nil, nil, err
		}
		data, err := st.Read(found)
		if err != nil {
			return nil, nil, err
		}
		doc, err := report.ReadJSON(data)
		if err != nil {
			return nil, nil, err
		}
		run, err := st.Resolve(doc.Run.ID)
		if err != nil {
			run = nil // a bundle that lies elsewhere
		}
		return doc, run, nil
	}
	run, err := st.Resolve(name)
	if err != nil {
		return nil, nil, err
	}
	doc, err := storedDocument(run)
	if err != nil {
		run.Close()
		return nil, nil, err
	}
	return doc, run, nil
}

// findingsOf goes through the cases of a run; nil has none.
func findingsOf(run *store.Run) (*report.Findings, error) {
	if run == nil {
		return &report.Findings{}, nil
	}
	return report.Find(run.Manifest, run.Outcomes)
}

// mostHistory is how many runs the trend of a page goes back.
const mostHistory = 30

func (e *Env) htmlOptions(st *store.Store, run *store.Run, findings *report.Findings, content bool) (report.HTMLOptions, error) {
	opt := report.HTMLOptions{}
	if run == nil {
		return opt, nil
	}
	opt.Findings = findings
	if content {
		opt.Content = run.CaseLines
	}
	var err error
	opt.History, err = e.history(st, mostHistory, func(doc *report.Document) bool { return doc.Run.Name == run.Manifest.Name })
	return opt, err
}

// history returns the newest stored runs that are wanted, up to limit; 0 is all.
func (e *Env) history(st *store.Store, limit int, wanted func(*report.Document) bool) ([]report.TrendEntry, error) {
	runs, damaged, err := st.List(0)
	if err != nil {
		return nil, err
	}
	for _, d := range damaged {
		fmt.Fprintf(e.Stderr, "warning: %v\n", d)
	}
	var entries []report.TrendEntry
	for _, run := range runs {
		if limit == 0 || len(entries) < limit {
			doc, err := storedDocument(run)
			if err != nil {
				fmt.Fprintf(e.Stderr, "warning: %v\n", err)
			} else if wanted(doc) {
				entries = append(entries, report.TrendEntryOf(doc))
			}
		}
		run.Close()
	}
	return entries, nil
}

// writeFile makes a file appear whole.
func writeFile(path string, write func(io.Writer) error) error {
	err := replaceFile(path, write)
	var open *fs.PathError
	var rename *os.LinkError
	switch { // the temporary file has a name that the user did not give
	case errors.As(err, &open):
		err = open.Err
	case errors.As(err, &rename):
		err = rename.Err
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", filepath.ToSlash(path), err)
	}
	return nil
}

func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".oloproof-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
