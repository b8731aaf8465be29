package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/diagnose"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

type diagnoseFlags struct {
	config          string
	url             string
	json            bool
	intervention    string
	criterion       string
	topK            int
	reranker        string
	rerankerCommand string
	noControl       bool
}

func newDiagnose(env *Env) *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose RUN --intervention gold-context|top-k|reranker --criterion ID",
		Short: "execute failed cases again with one stage changed, and say which stage the failures go with",
		Long: `diagnose takes the cases of a run that failed a criterion and say which passages answer
them (expected.gold_context), and has the generation of a staged system executed again:

  gold-context  with the gold passages in place of the retrieved context
  top-k         with the recorded retrieval, cut at --top-k
  reranker      with the recorded retrieval, in the order of your own function

and once more unchanged, as a control: a case that passes then was unstable, not
diagnosed. The retriever is never called. A replay (top-k, reranker) carries the labels
of the gold-context diagnosis of the same cases, so that one is made first.
A label associates a failure with a stage; it proves no cause. Of a system that is not
staged every case stays UNRESOLVED, and nothing is executed, unless it is an endpoint that
takes passages (system.http.gold_context) and these are given to it.
It ends with 0 whatever it finds, or with 2.
` + runHelp,
		Example: `  oloproof diagnose latest --intervention gold-context --criterion answer_correct
  oloproof diagnose latest --intervention top-k --top-k 4 --criterion answer_correct
  oloproof diagnose latest --intervention reranker --reranker rerank:shortest_first --criterion answer_correct`,
		Args: args(1, 1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			intervention, err := f.check(cmd)
			if err != nil {
				return err
			}
			return env.diagnose(cmd.Context(), args[0], f, intervention)
		},
	}
	cmd.Flags().StringVarP(&f.config, "config", "c", "oloproof.yaml", "the suite's `file`")
	cmd.Flags().StringVar(&f.url, "url", "", "call this `url` instead of system.http.url, as the run did")
	cmd.Flags().StringVar(&f.intervention, "intervention", "", "what is changed, `KIND`: gold-context, top-k or reranker")
	cmd.Flags().StringVar(&f.criterion, "criterion", "", "the pass/fail criterion `ID` that the cases failed")
	cmd.Flags().IntVar(&f.topK, "top-k", 0, "of top-k: how many of the recorded candidates may go into the context, `N`")
	cmd.Flags().StringVar(&f.reranker, "reranker", "", "of reranker: a Python function `MODULE:FUNCTION` (input, candidates) -> candidates")
	cmd.Flags().StringVar(&f.rerankerCommand, "reranker-command", "", "of reranker: a `program` with its arguments that speaks the protocol of docs/systems.md, method rerank")
	cmd.Flags().BoolVar(&f.noControl, "no-control", false, "do not execute the cases unchanged as well; the diagnosis then rests on an assumption")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the diagnosis as JSON")
	return cmd
}

// check reads the flags, all of whose problems are told at once.
func (f *diagnoseFlags) check(cmd *cobra.Command) (diagnose.Intervention, error) {
	var wrong []string
	given := cmd.Flags().Changed
	i := diagnose.Intervention{Kind: diagnose.Kind(f.intervention)}
	switch {
	case f.intervention == "":
		wrong = append(wrong, "--intervention is missing: gold-context, top-k or reranker")
	case !slices.Contains(diagnose.Kinds, i.Kind):
		what := fmt.Sprintf("--intervention is %q: there are gold-context, top-k and reranker", f.intervention)
		if near := problem.Nearest(f.intervention, []string{"gold-context", "top-k", "reranker"}); near != "" {
			what += fmt.Sprintf(", did you mean %s?", near)
		}
		wrong = append(wrong, what)
	}
	if f.criterion == "" {
		wrong = append(wrong, "--criterion is missing: the pass/fail criterion that the cases failed")
	}
	known := slices.Contains(diagnose.Kinds, i.Kind)
	switch isTopK := i.Kind == diagnose.TopK; {
	case given("top-k") && f.topK < 1:
		wrong = append(wrong, fmt.Sprintf("--top-k is %d, it must be at least 1", f.topK))
	case isTopK && !given("top-k"):
		wrong = append(wrong, "--top-k is missing: how many of the recorded candidates may go into the context")
	case known && !isTopK && given("top-k"):
		wrong = append(wrong, "--top-k goes with --intervention top-k only")
	}
	ways := []bool{given("reranker"), given("reranker-command")}
	switch isReranker := i.Kind == diagnose.Reranker; {
	case ways[0] && ways[1]:
		wrong = append(wrong, "--reranker and --reranker-command exclude each other")
	case isReranker && !ways[0] && !ways[1]:
		wrong = append(wrong, "--reranker MODULE:FUNCTION is missing, or --reranker-command PROGRAM")
	case known && !isReranker && ways[0]:
		wrong = append(wrong, "--reranker goes with --intervention reranker only")
	case known && !isReranker && ways[1]:
		wrong = append(wrong, "--reranker-command goes with --intervention reranker only")
	case ways[0] && f.reranker == "":
		wrong = append(wrong, "--reranker is empty, want MODULE:FUNCTION")
	case ways[1] && strings.TrimSpace(f.rerankerCommand) == "":
		wrong = append(wrong, "--reranker-command is empty, want a program")
	}
	if len(wrong) > 0 {
		return i, usageError{errors.New(strings.Join(wrong, "\n  "))}
	}
	i.TopK, i.Reranker = f.topK, f.reranker
	if f.rerankerCommand != "" {
		i.Reranker = f.rerankerCommand
	}
	return i, nil
}

// diagnosis is one on its way.
type diagnosis struct {
	env          *Env
	flags        diagnoseFlags
	intervention diagnose.Intervention
	store        *store.Store
	parent       *store.Run
	selection    *diagnose.Selection
	gold         *report.Diagnosis // whose labels a replay carries
	active       *activeRun        // the suite and its system; nil when nothing is executed
	notes        []string
}

func (e *Env) diagnose(ctx context.Context, name string, f diagnoseFlags, i diagnose.Intervention) error {
	x := &diagnosis{env: e, flags: f, intervention: i}
	var err error
	if x.store, err = e.openStore(f.config); err != nil {
		return err
	}
	if x.parent, err = x.store.Resolve(name); err != nil {
		return err
	}
	defer x.parent.Close()
	if err := x.choose(); err != nil {
		return err
	}
	doc, err := x.make(ctx)
	if err != nil {
		return err
	}
	return x.show(doc)
}

// ofRetrieval are the evaluators that judge what was retrieved.
var ofRetrieval = []string{"hit_rate", "recall", "mrr", "ndcg", "precision_at_k", "map"}

// choose selects the cases of the run.
func (x *diagnosis) choose() error {
	m := x.parent.Manifest
	if c := m.Child; c != nil {
		return problem.Errorf("%s is a run that a diagnosis made: diagnose its parent %s", m.ID, c.Parent)
	}
	var err error
	if x.selection, err = diagnose.Select(m, x.flags.criterion); err != nil {
		return problem.Errorf("%v", err)
	}
	if i := slices.IndexFunc(m.Metrics, func(s evidence.MetricSpec) bool { return s.ID == x.flags.criterion }); slices.Contains(ofRetrieval, m.Metrics[i].Type) {
		x.note("%s judges the retrieval, which no intervention executes again, so nothing will be resolved: choose a criterion of the answer", x.flags.criterion)
	}
	if !x.parent.HasCases() {
		return problem.Errorf("%s carries no cases.jsonl, and a diagnosis needs what was recorded of each case: diagnose the run where it was made, or export it whole", x.parent.Place())
	}
	var malformed problem.List
	err = x.parent.CaseLines(func(l evidence.CaseLine) error {
		if err := x.selection.Add(&l); err != nil {
			malformed = append(malformed, problem.Problem{Message: err.Error()})
		}
		return nil
	})
	if err == nil {
		err = malformed.Err()
	}
	if m.Completeness != evidence.Complete {
		x.note("%s did not finish, so only the cases that it kept could be selected", m.ID)
	}
	return err
}

func (x *diagnosis) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

// takes reports whether the system takes the intervention: a staged one does, and
// an endpoint that takes passages for gold context. No other suite is looked at.
func (x *diagnosis) takes() (bool, error) {
	switch x.parent.Manifest.System.Kind {
	case "rag":
		return true, nil
	case "http":
		if x.intervention.Kind != diagnose.GoldContext || absent(x.flags.config) {
			return false, nil
		}
		s, err := suite.Load(x.flags.config)
		if err != nil {
			return false, err
		}
		return s.System.HTTP != nil && s.System.HTTP.Gold != nil, nil
	}
	return false, nil
}

// make executes what there is to execute, says what it shows, and stores it.
func (x *diagnosis) make(ctx context.Context) (*report.Diagnosis, error) {
	in := diagnose.Input{Selection: x.selection, Intervention: x.intervention, NoControl: x.flags.noControl}
	started := x.env.Now().UTC()
	var children []report.ChildRun
	takes, err := x.takes()
	if err != nil {
		return nil, err
	}
	if takes {
		arms, err := x.execute(ctx, &in)
		if err != nil {
			return nil, err
		}
		children = arms
	}
	d, err := diagnose.New(in)
	if err != nil {
		return nil, err
	}
	doc := report.BuildDiagnosis(report.DiagnosisInput{
		Manifest: x.parent.Manifest, Tool: tool(), Diagnosis: d, ChildRuns: children,
		StartedAt: started, FinishedAt: x.env.Now().UTC(), Notes: x.notes,
	})
	return doc, x.store.SaveDiagnosis(d.ID, func(w io.Writer) error { return report.DiagnosisJSON(w, doc) })
}

func (x *diagnosis) show(doc *report.Diagnosis) error {
	for _, note := range doc.Notes {
		fmt.Fprintf(x.env.Stderr, "note: %s\n", note)
	}
	if x.flags.json {
		return report.DiagnosisJSON(x.env.Stdout, doc)
	}
	return x.env.diagnosisText(doc, x.given(), false)
}

// given is how the user named the run and its project.
func (x *diagnosis) given() given {
	return given{configFlags: configFlags{config: x.flags.config}}.of(x.parent, x.store)
}

func (e *Env) diagnosisText(doc *report.Diagnosis, g given, cases bool) error {
	return report.DiagnosisText(e.Stdout, doc, report.DiagnosisOptions{
		Color: e.color(), Cases: cases, Flags: g.flags(false, false), Run: g.run(doc.Parent),
	})
}

// openDiagnosis reads the diagnosis that a content id names. It is nil when the
// id is that of a comparison.
func openDiagnosis(st *store.Store, name string) (*report.Diagnosis, error) {
	found, err := st.Find(name, store.ComparisonShelf, store.DiagnosisShelf)
	if err != nil || found.Shelf != store.DiagnosisShelf {
		return nil, err
	}
	data, err := st.Read(found)
	if err != nil {
		return nil, err
	}
	return report.ReadDiagnosis(data)
}

// decidesNothing refuses to decide a run that a diagnosis made, or to compare it:
// its cases were selected because they failed.
func decidesNothing(run *store.Run) error {
	c := run.Manifest.Child
	if c == nil {
		return nil
	}
	return problem.Errorf("%s was made by a diagnosis, of cases that failed in %s, so it says nothing of a release: name %[2]s, or another run", run.Manifest.ID, c.Parent)
}
