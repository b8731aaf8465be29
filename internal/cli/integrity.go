package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/relax"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// Most bytes of a file that is read at the base commit.
const (
	maxBaseConfig  = 1 << 20
	maxBaseDataset = 64 << 20
)

// fileAt reads a file of the repository at the base commit; the path has slashes
// and starts at the root. The error is fs.ErrNotExist when there is none.
type fileAt func(ctx context.Context, name string, limit int64) ([]byte, error)

// baseSuite is the suite with its cases as it was before the proposed change.
type baseSuite struct {
	suite *suite.Suite
	data  *dataset.Dataset
	eval  *evaluate.Set
	// labels are people's, as they were: those of the change do not say what its
	// judge is worth.
	labels *labels.File
	dir    string // temporary
}

func (b *baseSuite) close() {
	if b.data != nil {
		b.data.Close()
	}
	os.RemoveAll(b.dir)
}

// openBaseSuite reads suite and data set at the base commit. It is nil when the
// suite was not there. The error is that it could not be read.
func openBaseSuite(ctx context.Context, read fileAt, config string) (*baseSuite, error) {
	text, err := read(ctx, config, maxBaseConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	beside := func(name string) string { return path.Join(path.Dir(config), filepath.ToSlash(name)) }
	s, err := suite.Parse(config, text, func(name string) ([]byte, error) { return read(ctx, filepath.ToSlash(name), maxBaseConfig) })
	if err != nil {
		return nil, fmt.Errorf("the suite at the base commit: %w", err)
	}
	b := &baseSuite{suite: s}
	if b.dir, err = os.MkdirTemp("", "oloproof-base-"); err != nil {
		return nil, err
	}
	if err := b.open(ctx, read, beside); err != nil {
		b.close()
		return nil, fmt.Errorf("the data set at the base commit: %w", err)
	}
	b.labels = &labels.File{Path: beside(s.Labels)}
	if !s.Judged() {
		return b, nil
	}
	people, err := read(ctx, beside(s.Labels), maxBaseDataset)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		b.labels, err = labels.Parse(beside(s.Labels), people)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the labels at the base commit: %w", err)
	}
	return b, nil
}

// place is where the data set is copied to.
func (b *baseSuite) place() string {
	return filepath.Join(b.dir, "data", filepath.Base(filepath.FromSlash(b.suite.Dataset)))
}

// open copies the files of the data set and indexes it. beside turns a path of the
// suite into one from the root.
func (b *baseSuite) open(ctx context.Context, read fileAt, beside func(string) string) (err error) {
	place := b.place()
	for _, name := range dataFiles(b.suite) {
		content, err := read(ctx, beside(name), maxBaseDataset)
		if err != nil {
			return err
		}
		copied := filepath.Join(b.dir, "qrels")
		if below, ok := strings.CutPrefix(filepath.ToSlash(name), filepath.ToSlash(b.suite.Dataset)); ok {
			copied = place + filepath.FromSlash(below)
		}
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			return err
		}
	}
	if b.eval, err = evaluate.New(b.suite); err != nil {
		return err
	}
	form := b.suite
	if b.suite.DataForm != nil && b.suite.DataForm.Qrels != "" {
		copied := *b.suite
		spec := *copied.DataForm
		spec.Qrels, copied.DataForm, form = filepath.Join(b.dir, "qrels"), &spec, &copied
	}
	b.data, err = openDataset(form, place, dataset.Options{Slices: b.suite.Slices, Visit: b.eval.Check})
	return err
}

// relaxations lists in what a proposed suite and its cases are laxer. Files are
// named from the repository's root, as fromRoot does it.
func (b *baseSuite) relaxations(s *suite.Suite, d *dataset.Dataset, fromRoot func(string) string) ([]relax.Relaxation, error) {
	list := suite.Relaxations(b.suite, s)
	cases, err := dataset.Relaxations(b.data, d, b.suite.Slices)
	for i := range cases {
		if cases[i].File == b.place() {
			cases[i].File = path.Join(path.Dir(b.suite.Path), filepath.ToSlash(b.suite.Dataset))
		} else {
			cases[i].File = fromRoot(cases[i].File)
		}
	}
	return append(list, cases...), err
}

// keptSuite measures the proposed run as if the suite had not been changed: with
// the removed and edited cases as the baseline judged them, and with the
// evaluators of the base commit on what the system answered.
type keptSuite struct {
	base       *baseSuite
	specs      []evidence.MetricSpec // of the base suite
	candidate  *store.Run
	baseline   *store.Run      // nil when there is none
	taken      map[string]bool // ids of cases that were removed or edited
	altered    map[string]bool // metrics whose evaluator was changed
	gone       map[string]bool // metrics that the proposed suite does not have
	released   bool            // by people
	tables     map[tableKey]*measure.Table
	candidates []evidence.Outcome // of the candidate, with the base suite's judgments
	baselines  map[string]evidence.Outcome
}

// tableKey says which cases a table has and what those count as that nothing
// judged.
type tableKey struct {
	ceiling bool // as the worst under a ceiling
	gone    bool // the baseline's judgments only
}

// newKeptSuite compares the suites. It is nil when nothing was taken away.
func newKeptSuite(base *baseSuite, proposed *project, candidate, baseline *store.Run) (*keptSuite, error) {
	k := &keptSuite{
		base: base, specs: base.eval.Specs(), candidate: candidate, baseline: baseline,
		taken: map[string]bool{}, altered: map[string]bool{}, gone: map[string]bool{}, tables: map[tableKey]*measure.Table{},
	}
	now := map[string]int{}
	for i := range proposed.data.Len() {
		now[proposed.data.ID(i)] = i
	}
	for i := range base.data.Len() {
		j, there := now[base.data.ID(i)]
		if there && base.data.CaseDigest(i) == proposed.data.CaseDigest(j) {
			continue
		}
		if there {
			same, err := sameQuestion(base.data, i, proposed.data, j)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
		}
		k.taken[base.data.ID(i)] = true
	}
	for _, spec := range k.specs {
		i := slices.IndexFunc(candidate.Manifest.Metrics, func(s evidence.MetricSpec) bool { return s.ID == spec.ID })
		switch {
		case i < 0:
			k.gone[spec.ID] = true
		case !sameMeasure(spec, candidate.Manifest.Metrics[i]):
			k.altered[spec.ID] = true
		}
	}
	k.trust()
	if len(k.taken) == 0 && len(k.altered) == 0 && len(k.gone) == 0 {
		return nil, nil
	}
	return k, k.read()
}

// trust says of the judges of the base suite what its labels say of them, by the
// models that served the run, or the baseline where the run has another judge.
func (k *keptSuite) trust() {
	for i := range k.specs {
		spec := &k.specs[i]
		from := k.candidate
		if k.gone[spec.ID] || k.altered[spec.ID] {
			from = k.baseline
		}
		if from == nil {
			continue
		}
		for _, there := range from.Manifest.Metrics {
			if there.ID == spec.ID && there.Evaluator == spec.Evaluator {
				spec.Served = there.Served
			}
		}
	}
	trust(k.specs, k.base.labels)
}

func sameMeasure(a, b evidence.MetricSpec) bool {
	return a.Evaluator == b.Evaluator && a.Source == b.Source && a.Quantile == b.Quantile && a.Range == b.Range && a.Prices.Equal(b.Prices)
}

// sameQuestion reports whether only the metadata of a case was edited.
func sameQuestion(base *dataset.Dataset, i int, proposed *dataset.Dataset, j int) (bool, error) {
	a, err := base.Case(i)
	if err != nil {
		return false, err
	}
	b, err := proposed.Case(j)
	if err != nil {
		return false, err
	}
	without := func(c *evidence.Case) (evidence.Digest, error) {
		return evidence.CaseDigest(&evidence.Case{Input: c.Input, Expected: c.Expected})
	}
	x, err := without(a)
	if err != nil {
		return false, err
	}
	y, err := without(b)
	return x == y, err
}

// read takes what both runs judged into the order of the base suite's metrics.
func (k *keptSuite) read() error {
	read := k.candidateJudged
	if k.candidate.HasCases() {
		read = k.candidateAgain
	}
	if err := read(); err != nil || k.baseline == nil {
		return err
	}
	k.baselines = map[string]evidence.Outcome{}
	return k.eachOutcome(k.baseline, func(o evidence.Outcome) { k.baselines[o.ID] = o })
}

// candidateJudged takes the candidate's judgments as they stand: without its
// answers an altered evaluator cannot judge them as it did before.
func (k *keptSuite) candidateJudged() error {
	return k.eachOutcome(k.candidate, func(o evidence.Outcome) {
		if k.taken[o.ID] {
			return
		}
		for i := range o.Judgments {
			if o.Judgments[i].State == 0 {
				o.Judgments[i] = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}
			}
		}
		k.candidates = append(k.candidates, o)
	})
}

// candidateAgain judges the candidate's answers by the evaluators that were
// altered, as they were before.
func (k *keptSuite) candidateAgain() error {
	return k.candidate.CaseLines(func(line evidence.CaseLine) error {
		if k.taken[line.Case.ID] {
			return nil
		}
		judgments := k.base.eval.Judge(&line.Case, &line.Execution)
		for i, spec := range k.judged() {
			j := slices.IndexFunc(line.Judgments, func(n evidence.NamedJudgment) bool { return n.Criterion == spec.ID })
			if j >= 0 && !k.altered[spec.ID] {
				judgments[i] = line.Judgments[j].Judgment
			}
		}
		k.candidates = append(k.candidates, evidence.OutcomeOf(&line.Case, &line.Execution, nil, judgments))
		return nil
	})
}

// eachOutcome gives what a run judged as the base suite does, in the order of its
// metrics. What the run did not judge so has no state.
func (k *keptSuite) eachOutcome(run *store.Run, visit func(evidence.Outcome)) error {
	return run.Outcomes(func(_ int, o *evidence.Outcome) error {
		kept := *o
		kept.Slices = nil
		kept.Judgments = make([]evidence.Judgment, len(k.judged()))
		judged := 0
		for _, spec := range run.Manifest.Metrics {
			if !spec.Judged() {
				continue
			}
			for i, want := range k.judged() {
				if want.ID == spec.ID && want.Evaluator == spec.Evaluator {
					kept.Judgments[i] = o.Judgments[judged]
				}
			}
			judged++
		}
		visit(kept)
		return nil
	})
}

// judged returns the base suite's metrics that judgments belong to.
func (k *keptSuite) judged() []evidence.MetricSpec {
	return k.specs[:len(k.base.suite.Evaluators)]
}

// kept is what a policy is decided with beside the run itself.
func (k *keptSuite) kept(p *policy.Policy) (decide.Kept, error) {
	metrics := map[string]*measure.Metric{} // by rule id
	for _, rule := range p.RunRules() {
		i := slices.IndexFunc(k.specs, func(s evidence.MetricSpec) bool { return s.ID == rule.Metric })
		if i < 0 {
			continue // a metric that only the proposed suite has
		}
		t, err := k.table(rule)
		if err != nil {
			return decide.Kept{}, err
		}
		metrics[rule.ID] = &t.Metrics(p.ConfidenceLevel)[i]
	}
	kept := k.ofComparison()
	kept.Metrics = func(rule policy.Rule) *measure.Metric { return metrics[rule.ID] }
	return kept, nil
}

// ofComparison is what a policy is decided with beside a comparison.
func (k *keptSuite) ofComparison() decide.Kept {
	return decide.Kept{Gone: func(metric string) bool { return k.gone[metric] }, Released: k.released}
}

// comparison is that of the run with a baseline as the base suite would have made
// it: the cases that were taken away count as the baseline judged them, and so do
// metrics that nothing can judge any more. It is nil when the two share no case.
func (k *keptSuite) comparison(baseline *store.Run, opt compare.Options) (*compare.Comparison, error) {
	inferred := map[string]evidence.Outcome{} // what the baseline judged, in the base suite's metrics
	if err := k.eachOutcome(baseline, func(o evidence.Outcome) { inferred[o.ID] = o }); err != nil {
		return nil, err
	}
	m := *k.candidate.Manifest
	m.Metrics, m.Slices = k.specs, baseline.Manifest.Slices
	outside := make([]string, len(m.Slices)) // the baseline's values decide who belongs to a slice
	for i := range outside {
		outside[i] = evidence.NoSlice
	}
	outcomes := func(visit func(int, *evidence.Outcome) error) error {
		place := 0
		next := func(o evidence.Outcome) error {
			o.Slices = outside
			o.Judgments = slices.Clone(o.Judgments)
			for i := range o.Judgments {
				if o.Judgments[i].State == 0 {
					o.Judgments[i] = evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}
				}
			}
			place++
			return visit(place-1, &o)
		}
		for _, o := range k.candidates {
			if there, ok := inferred[o.ID]; ok && !k.candidate.HasCases() {
				for i, spec := range k.judged() {
					if k.gone[spec.ID] || k.altered[spec.ID] {
						o.Judgments = slices.Clone(o.Judgments)
						o.Judgments[i] = there.Judgments[i]
					}
				}
			}
			if err := next(o); err != nil {
				return err
			}
		}
		for i := range k.base.data.Len() {
			o, there := inferred[k.base.data.ID(i)]
			if !there || !k.taken[o.ID] || o.Digest != k.base.data.CaseDigest(i) {
				continue
			}
			if err := next(o); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := compare.Runs(compare.Side{Manifest: &m, Outcomes: outcomes}, compare.Side{Manifest: baseline.Manifest, Outcomes: baseline.Outcomes}, opt)
	var noMetric *compare.NoSharedMetricError
	var noCase *compare.NoSharedCaseError
	if errors.As(err, &noMetric) || errors.As(err, &noCase) {
		return nil, nil
	}
	return c, err
}

// table counts the run as the base suite would have, for one rule: where the
// baseline has no judgment either, the worst for the rule is taken.
func (k *keptSuite) table(rule policy.Rule) (*measure.Table, error) {
	gone := k.gone[rule.Metric] || k.altered[rule.Metric] && !k.candidate.HasCases()
	key := tableKey{ceiling: rule.Max != nil, gone: gone}
	if t, ok := k.tables[key]; ok {
		return t, nil
	}
	t := measure.NewTable(k.specs, nil)
	n := 0
	add := func(o evidence.Outcome) error {
		n++
		return t.Add(n-1, &o)
	}
	if !gone {
		for _, o := range k.candidates {
			if err := add(o); err != nil {
				return nil, err
			}
		}
	}
	for i := range k.base.data.Len() {
		if !gone && !k.taken[k.base.data.ID(i)] {
			continue
		}
		o, err := k.asBaselineJudged(rule, i)
		if err != nil {
			return nil, err
		}
		if err := add(o); err != nil {
			return nil, err
		}
	}
	k.tables[key] = t
	return t, nil
}

// asBaselineJudged is case i of the base suite as the baseline judged it.
func (k *keptSuite) asBaselineJudged(rule policy.Rule, i int) (evidence.Outcome, error) {
	c, err := k.base.data.Case(i)
	if err != nil {
		return evidence.Outcome{}, err
	}
	o, there := k.baselines[c.ID]
	if !there || o.Digest != c.Digest {
		o = evidence.Outcome{ID: c.ID, Status: evidence.StatusNotRun, Judgments: make([]evidence.Judgment, len(k.judged()))}
	}
	o.Judgments = slices.Clone(o.Judgments)
	// A case that was never run still tells which metrics it does not count for.
	unrun := k.base.eval.Judge(c, &evidence.Execution{Status: evidence.StatusNotRun})
	for j := range o.Judgments {
		switch {
		case o.Judgments[j].State != 0:
		case unrun[j].State == evidence.NotApplicable:
			o.Judgments[j] = unrun[j]
		default:
			o.Judgments[j] = decide.Worst(rule, k.specs[j])
		}
	}
	return o, nil
}
