package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/judge"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

func newLabels(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "labels",
		Short: "people's labels of answers that judges judged",
		Long: `labels keeps what people say of answers that a judge judged, in a file beside the suite
(labels.jsonl, unless its key labels names another). They show what the judge is worth:
without them no rule on its metric is decided. A person labels blind, without seeing the
judge's verdict: export writes the sheets, import takes them back; review asks in the
terminal instead.`,
		Example: `  oloproof labels export latest --criterion groundedness --sample 30 --to sheets.jsonl
  oloproof labels import sheets.jsonl --by NAME`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabelsExport(env), newLabelsImport(env), newLabelsRetire(env))
	return cmd
}

// sampleFlags choose the answers that are to be labelled.
type sampleFlags struct {
	config    string
	criterion string
	sample    int
	seed      uint64
	again     bool
}

func (f *sampleFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "oloproof.yaml", "the suite's `file`")
	cmd.Flags().StringVar(&f.criterion, "criterion", "", "the `criterion` of the judge (may be left out when there is one judge)")
	cmd.Flags().IntVar(&f.sample, "sample", 30, "take `N` answers, drawn at random from those that were judged")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "`number` that draws the sample; the same one draws the same")
	cmd.Flags().BoolVar(&f.again, "again", false, "draw answers that have a label, too")
}

func newLabelsExport(env *Env) *cobra.Command {
	var f sampleFlags
	var to string
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "write a blind sample of a run's answers, to be labelled",
		Long: `export writes a random sample of the answers that a judge judged, one a line, with all that
the judge read and without its verdict. Fill in verdict, pass or fail, and give the file to
labels import. Answers that have a label are left out, so that a larger --sample adds to it.`,
		Example: `  oloproof labels export latest --criterion groundedness --sample 30 --to sheets.jsonl
  oloproof labels export latest --sample 50 --seed 7`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, given []string) error {
			sheets, _, err := env.sheets(given[0], f, "")
			if err != nil {
				return err
			}
			var b bytes.Buffer
			for _, s := range sheets {
				b.Write(labels.AppendLine(nil, s))
			}
			if to == "" {
				_, err := env.Stdout.Write(b.Bytes())
				return err
			}
			out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, os.ErrExist) {
				return problem.At(to, "it is there already: labels may be in it, so name another file")
			}
			if err != nil {
				return problem.At(to, "the sheets cannot be written: %v", err)
			}
			_, err = out.Write(b.Bytes())
			if err = errors.Join(err, out.Close()); err != nil {
				return err
			}
			all := ""
			if len(sheets) < f.sample {
				all = " (all that are left)"
			}
			_, err = fmt.Fprintf(env.Stdout, "%s of %s%s in %s: fill in verdict, pass or fail, without looking at the run's result\nNext: oloproof labels import %s --by NAME%s\n",
				countOf(len(sheets), "answer"), given[0], all, to, shellWord(filepath.ToSlash(to)), configFlags{config: f.config}.word())
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&to, "to", "", "write into this new `file` instead of standard output")
	return cmd
}

// word is the flag --config where the suite is not the usual one.
func (f configFlags) word() string { return given{configFlags: f}.flags(false, false) }

// judgedRun is a run with one of its judges.
type judgedRun struct {
	suite     *suite.Suite
	run       *store.Run
	spec      evidence.MetricSpec
	evaluator *suite.Evaluator // as the run had it
	file      *labels.File
}

// openJudged reads a run, one of its judges, and the labels of the suite. Close
// the run in the end.
func (e *Env) openJudged(name, config, criterion string) (*judgedRun, error) {
	if absent(config) {
		return nil, noSuite(config)
	}
	s, err := suite.Load(config)
	if err != nil {
		return nil, err
	}
	file, err := readLabels(s)
	if err != nil {
		return nil, err
	}
	st, err := e.openStore(config)
	if err != nil {
		return nil, err
	}
	run, err := st.Resolve(name)
	if err != nil {
		return nil, err
	}
	spec, err := judgeOf(run.Manifest, criterion)
	if err != nil {
		run.Close()
		return nil, err
	}
	evaluator, err := suite.ReadEvaluator(run.Place(), spec.Options)
	if err != nil {
		run.Close()
		return nil, err
	}
	return &judgedRun{s, run, spec, evaluator, file}, nil
}

// judgeOf returns the metric of a judge; criterion may be empty when there is one.
func judgeOf(m *evidence.Manifest, criterion string) (evidence.MetricSpec, error) {
	var there []string
	for _, spec := range m.Metrics {
		if !spec.AsksModel() {
			continue
		}
		there = append(there, spec.ID)
	}
	switch {
	case len(there) == 0:
		return evidence.MetricSpec{}, problem.Errorf("%s has no judge: no evaluator of its suite asks a model", m.ID)
	case criterion == "" && len(there) > 1:
		return evidence.MetricSpec{}, usageError{fmt.Errorf("%s has several judges, name one with --criterion: %s", m.ID, strings.Join(there, ", "))}
	case criterion == "":
		criterion = there[0]
	case !slices.Contains(there, criterion):
		return evidence.MetricSpec{}, usageError{fmt.Errorf("%s has no judge %q (there are: %s)", m.ID, criterion, strings.Join(there, ", "))}
	}
	i := slices.IndexFunc(m.Metrics, func(s evidence.MetricSpec) bool { return s.ID == criterion })
	return m.Metrics[i], nil
}

// labelsPath is where the labels of a suite lie.
func labelsPath(s *suite.Suite) string {
	if filepath.IsAbs(s.Labels) {
		return s.Labels
	}
	return filepath.Join(s.Dir, s.Labels)
}

// readLabels reads the labels of a suite; none when the file is not there.
func readLabels(s *suite.Suite) (*labels.File, error) {
	path := labelsPath(s)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &labels.File{Path: path}, nil
	}
	if err != nil {
		return nil, problem.At(path, "the labels cannot be read: %v", err)
	}
	return labels.Parse(path, data)
}

// trust writes into the metrics what the labels say of their judges.
func trust(metrics []evidence.MetricSpec, file *labels.File) {
	for i := range metrics {
		if metrics[i].AsksModel() {
			metrics[i].Trust = file.Of(metrics[i])
		}
	}
}

// trust does so for a run that is to be decided.
func (r *finishedRun) trust(file *labels.File) {
	trust(r.manifest.Metrics, file)
	r.tally.table.Trust(r.manifest.Metrics)
}

// labelsBeside reads the labels of a suite; nil without a suite that can be read.
func labelsBeside(config string) (*labels.File, error) {
	if absent(config) {
		return nil, nil
	}
	s, err := suite.Load(config)
	if err != nil {
		return nil, nil // its faults are told by the commands that need it
	}
	return readLabels(s)
}

// trustStored does so for a stored run, by the labels beside the suite as they
// are now. A judge that this suite does not have keeps what it was stored with.
func trustStored(m *evidence.Manifest, config string) error {
	if absent(config) || !slices.ContainsFunc(m.Metrics, evidence.MetricSpec.AsksModel) {
		return nil
	}
	s, err := suite.Load(config)
	if err != nil {
		return nil // its faults are told by the commands that need it
	}
	file, err := readLabels(s)
	if err != nil {
		return err
	}
	for i := range m.Metrics {
		spec := &m.Metrics[i]
		if spec.AsksModel() && slices.ContainsFunc(s.Evaluators, func(e suite.Evaluator) bool { return e.Criterion == spec.ID }) {
			spec.Trust = file.Of(*spec)
		}
	}
	return nil
}

// labelArms counts people's labels of either side's answers, for rules that
// read them. A run without its answers has none.
func labelArms(c *compare.Comparison, p *policy.Policy, people *labels.File, candidate, baseline *store.Run) error {
	for _, rule := range p.ComparisonRules() {
		if !readsArms(rule) || people == nil {
			continue
		}
		if _, done := c.Arms[rule.Metric]; done {
			continue
		}
		var arms compare.Arms
		var err error
		if arms.Candidate, err = labelsOfRun(people, rule.Metric, candidate); err == nil {
			arms.Baseline, err = labelsOfRun(people, rule.Metric, baseline)
		}
		if err != nil {
			return err
		}
		if c.Arms == nil {
			c.Arms = map[string]compare.Arms{}
		}
		c.Arms[rule.Metric] = arms
	}
	return nil
}

// labelsOfRun is what people said of the answers of one run; nil when they said
// nothing.
func labelsOfRun(people *labels.File, metric string, run *store.Run) (*evidence.Trust, error) {
	i := slices.IndexFunc(run.Manifest.Metrics, func(s evidence.MetricSpec) bool { return s.ID == metric && s.AsksModel() })
	if i < 0 || !run.HasCases() {
		return nil, nil
	}
	spec := run.Manifest.Metrics[i]
	evaluator, err := suite.ReadEvaluator(run.Place(), spec.Options)
	if err != nil {
		return nil, err
	}
	ids := map[evidence.Digest]bool{}
	err = run.CaseLines(func(line evidence.CaseLine) error {
		id, err := judge.Evidence(evaluator, &line.Case, &line.Execution)
		ids[id] = err == nil // what cannot be read was not judged
		return nil
	})
	return people.Among(ids).Of(spec), err
}

// sheets draws the answers of a run that are to be labelled, none twice by the same
// person.
func (e *Env) sheets(name string, f sampleFlags, by string) ([]labels.Sheet, *judgedRun, error) {
	if f.sample < 1 {
		return nil, nil, usageError{fmt.Errorf("--sample is %d, it must be at least 1", f.sample)}
	}
	j, err := e.openJudged(name, f.config, f.criterion)
	if err != nil {
		return nil, nil, err
	}
	defer j.run.Close()
	if !j.run.HasCases() {
		return nil, nil, problem.Errorf("%s was stored without its answers, so there is nothing to label: label a run that has cases.jsonl", j.run.Manifest.ID)
	}
	labelled := map[evidence.Digest]bool{}
	for _, l := range j.file.Labels {
		if l.Criterion == j.spec.ID && (!f.again || l.By == by) {
			labelled[l.Evidence] = true
		}
	}
	var ids []string
	judged := false
	sheets := map[string]labels.Sheet{}
	err = j.run.CaseLines(func(line evidence.CaseLine) error {
		if labels.Said(j.spec, line) == nil {
			return nil
		}
		judged = true
		s, err := j.sheet(line)
		if err != nil || labelled[s.Evidence] {
			return err
		}
		ids = append(ids, line.Case.ID)
		sheets[line.Case.ID] = s
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if !judged {
		return nil, nil, problem.Errorf("the judge %s gave no verdict in %s, so there is nothing to label", j.spec.ID, j.run.Manifest.ID)
	}
	if len(ids) == 0 {
		whose := " (--again draws them too)"
		if f.again {
			whose = " by " + by
		}
		return nil, nil, problem.Errorf("no answer of %s is left to be labelled for %s: every one that the judge judged has a label%s", j.run.Manifest.ID, j.spec.ID, whose)
	}
	drawn := make([]labels.Sheet, 0, f.sample)
	for _, id := range labels.Sample(ids, f.sample, f.seed) {
		drawn = append(drawn, sheets[id])
	}
	return drawn, j, nil
}

// sheet is a case as a person is to see it: what the judge read.
func (j *judgedRun) sheet(line evidence.CaseLine) (labels.Sheet, error) {
	id, err := judge.Evidence(j.evaluator, &line.Case, &line.Execution)
	if err != nil {
		return labels.Sheet{}, err
	}
	s := labels.Sheet{
		Case: line.Case.ID, Criterion: j.spec.ID, Evidence: id, Run: j.run.Manifest.ID, Ask: judge.Asks(j.evaluator),
		Input: json.RawMessage(line.Case.Input), Output: json.RawMessage(line.Execution.Output),
	}
	reads := j.evaluator.Reads()
	if reads.Expected && len(line.Case.Expected) > 0 {
		s.Expected = json.RawMessage(line.Case.Expected)
	}
	if reads.Context {
		for _, c := range line.Execution.Artifacts.Context {
			for _, item := range c.Items {
				p := labels.Passage{ID: item.DocID}
				if item.ChunkID != "" {
					p.ID += "#" + item.ChunkID
				}
				if item.Text != nil {
					p.Text = *item.Text
				}
				s.Context = append(s.Context, p)
			}
		}
	}
	if reads.Citations {
		for _, c := range line.Execution.Artifacts.Citations {
			s.Citations = append(s.Citations, c.IDs...)
		}
	}
	return s, nil
}

func newLabelsImport(env *Env) *cobra.Command {
	var config, by string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "take filled in sheets into the suite's labels",
		Long: `import adds the filled in sheets of labels export to the suite's file of labels, each with
the judge's verdict on the same answer, so that the file says what the judge is worth
wherever it lies. Sheets without a verdict are counted and left out. Nothing is written
when a line is wrong.`,
		Example: `  oloproof labels import sheets.jsonl --by NAME
  oloproof labels import sheets.jsonl --by NAME --config my-rag/oloproof.yaml`,
		Args: args(1, 1, "the file"),
		RunE: func(_ *cobra.Command, given []string) error { return env.importLabels(given[0], config, by) },
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`")
	cmd.Flags().StringVar(&by, "by", "", "`name` of who labelled")
	return cmd
}

func (e *Env) importLabels(path, config, by string) error {
	if by = strings.TrimSpace(by); by == "" { // a space more is no other person
		return usageError{errors.New("--by says who labelled, and is required")}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return problem.At(path, "the sheets cannot be read: %v", err)
	}
	var problems problem.List
	sheets, err := labels.ParseSheets(path, data)
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	filled := slices.DeleteFunc(slices.Clone(sheets), func(s labels.Sheet) bool { return s.Verdict == "" })
	if len(filled) == 0 && len(problems) == 0 {
		return problem.At(path, "no sheet has a verdict: fill in pass or fail")
	}
	var added []labels.Label
	byJudge := map[[2]string][]labels.Sheet{}
	for _, s := range filled {
		key := [2]string{s.Run, s.Criterion}
		byJudge[key] = append(byJudge[key], s)
	}
	var target string
	for key, sheets := range byJudge {
		j, err := e.openJudged(key[0], config, key[1])
		if err != nil {
			problems.Add(problem.Problem{File: path, Line: sheets[0].Line, Message: strings.TrimPrefix(err.Error(), "Configuration error: ")})
			continue
		}
		target = j.file.Path
		taken, wrong, err := e.take(j, sheets, path, by)
		j.run.Close()
		if err != nil {
			return err
		}
		added, problems = append(added, taken...), append(problems, wrong...)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	labels.Sort(added)
	if err := appendLabels(target, added); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "%s by %s in %s", countOf(len(added), "label"), report.Clean(by), target)
	if left := len(sheets) - len(filled); left > 0 {
		fmt.Fprintf(e.Stdout, "; %s without a verdict left out", countOf(left, "sheet"))
	}
	_, err = fmt.Fprintf(e.Stdout, "\nNext: oloproof judge validate %s%s\n", filled[0].Run, configFlags{config: config}.word())
	return err
}

// take joins sheets with what the judge said of the same answers.
func (e *Env) take(j *judgedRun, sheets []labels.Sheet, path, by string) ([]labels.Label, problem.List, error) {
	answers := map[string]labels.Answer{}
	err := j.run.CaseLines(func(line evidence.CaseLine) error {
		if !slices.ContainsFunc(sheets, func(s labels.Sheet) bool { return s.Case == line.Case.ID }) {
			return nil
		}
		said := labels.Said(j.spec, line)
		if said == nil {
			return nil
		}
		id, err := judge.Evidence(j.evaluator, &line.Case, &line.Execution)
		answers[line.Case.ID] = labels.Answer{Evidence: id, Judge: said}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	added, problems := j.file.Take(path, sheets, j.run.Manifest.ID, answers, by, e.Now)
	return added, problems, nil
}

// appendLabels adds labels to a file, all or none. They are written in one piece at
// the end of the file, so that what others add at the same time is not lost.
func appendLabels[T any](path string, added []T) (err error) {
	wrong := func(err error) error { return problem.At(path, "the labels cannot be written: %v", err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return wrong(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return wrong(err)
	}
	defer func() {
		if e := f.Close(); e != nil && err == nil {
			err = wrong(e)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return wrong(err)
	}
	var data []byte
	if size := info.Size(); size > 0 {
		last := []byte{0}
		if _, err := f.ReadAt(last, size-1); err != nil {
			return wrong(err)
		}
		if last[0] != '\n' {
			data = append(data, '\n')
		}
	}
	for _, l := range added {
		data = labels.AppendLine(data, l)
	}
	if n, err := f.Write(data); err != nil {
		if n > 0 { // the disk is full: half a line would be in the way of all others
			err = errors.Join(err, f.Truncate(info.Size()))
		}
		return wrong(err)
	}
	return nil
}

func newLabelsRetire(env *Env) *cobra.Command {
	var config, by, reason string
	cmd := &cobra.Command{
		Use:   "retire CRITERION",
		Short: "take a judge out of use",
		Long: `retire notes in the suite's labels that a judge is not to be used any more: rules on its
metric are MANUAL_REVIEW from then on, evaluator_retired.`,
		Example: `  oloproof labels retire groundedness --by NAME --reason stopped-by-provider
  oloproof labels retire tone --by NAME --reason nobody-agrees`,
		Args: args(1, 1, "the criterion"),
		RunE: func(_ *cobra.Command, given []string) error {
			if strings.TrimSpace(by) == "" || strings.TrimSpace(reason) == "" {
				return usageError{errors.New("--by and --reason are required")}
			}
			if absent(config) {
				return noSuite(config)
			}
			s, err := suite.Load(config)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(s.Evaluators, func(ev suite.Evaluator) bool { return ev.Criterion == given[0] && len(ev.Stages()) > 0 }) {
				return usageError{fmt.Errorf("%s has no judge %q", config, given[0])}
			}
			if _, err := readLabels(s); err != nil {
				return err
			}
			path := labelsPath(s)
			if err := appendLabels(path, []labels.Retirement{{Criterion: given[0], Retired: reason, By: by, At: env.Now().UTC()}}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "%s is out of use: %s (by %s, in %s)\n", given[0], report.Clean(reason), report.Clean(by), path)
			return err
		},
	}
	cmd.Flags().StringVarP(&config, "config", "c", "oloproof.yaml", "the suite's `file`")
	cmd.Flags().StringVar(&by, "by", "", "`name` of who decides it")
	cmd.Flags().StringVar(&reason, "reason", "", "why, in a `sentence`")
	return cmd
}
