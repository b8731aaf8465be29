package decide

import (
	"errors"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
)

// Cases are the cases of a data set.
type Cases interface {
	Len() int
	ID(i int) string
	CaseDigest(i int) evidence.Digest
	Case(i int) (*evidence.Case, error)
}

// BaseSuite is the suite as it was before a proposed change.
type BaseSuite struct {
	Cases Cases
	Specs []evidence.MetricSpec // of its metrics: those that are judged first
	// Judge judges by its evaluators, in the order of the specs. It asks no model:
	// what one would have to say is missing.
	Judge func(c *evidence.Case, e *evidence.Execution) []evidence.Judgment
	// Trust gives what its labels say of a judge, nil when they say nothing.
	Trust func(spec evidence.MetricSpec) *evidence.Trust
}

// Candidate is the run that a proposed change is decided by.
type Candidate struct {
	compare.Side
	// CaseLines gives every case with its answer; nil when the run was stored
	// without them.
	CaseLines func(visit func(line evidence.CaseLine) error) error
}

// KeptSuite measures the proposed run as if the suite had not been changed: with
// the removed and edited cases as the baseline judged them, and with the
// evaluators of the base suite on what the system answered.
type KeptSuite struct {
	Released bool // by people

	base       BaseSuite
	specs      []evidence.MetricSpec // of the base suite
	candidate  Candidate
	baseline   *compare.Side   // nil when there is none
	taken      map[string]bool // ids of cases that were removed or edited
	altered    map[string]bool // metrics whose evaluator was changed
	gone       map[string]bool // metrics that the proposed suite does not have
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

// NewKeptSuite compares the base suite with the proposed cases and with the metrics
// of the candidate; baseline is nil when there is none. It is nil when nothing was
// taken away.
func NewKeptSuite(base BaseSuite, proposed Cases, candidate Candidate, baseline *compare.Side) (*KeptSuite, error) {
	k := &KeptSuite{
		base: base, specs: slices.Clone(base.Specs), candidate: candidate, baseline: baseline,
		taken: map[string]bool{}, altered: map[string]bool{}, gone: map[string]bool{}, tables: map[tableKey]*measure.Table{},
	}
	now := map[string]int{}
	for i := range proposed.Len() {
		now[proposed.ID(i)] = i
	}
	for i := range base.Cases.Len() {
		j, there := now[base.Cases.ID(i)]
		if there && base.Cases.CaseDigest(i) == proposed.CaseDigest(j) {
			continue
		}
		if there {
			same, err := sameQuestion(base.Cases, i, proposed, j)
			if err != nil {
				return nil, err
			}
			if same {
				continue
			}
		}
		k.taken[base.Cases.ID(i)] = true
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
func (k *KeptSuite) trust() {
	for i := range k.specs {
		spec := &k.specs[i]
		from := &k.candidate.Side
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
	for i := range k.specs {
		if k.specs[i].AsksModel() {
			k.specs[i].Trust = k.base.Trust(k.specs[i])
		}
	}
}

func sameMeasure(a, b evidence.MetricSpec) bool {
	return a.Evaluator == b.Evaluator && a.Source == b.Source && a.Quantile == b.Quantile && a.Range == b.Range && a.Prices.Equal(b.Prices)
}

// sameQuestion reports whether only the metadata of a case was edited.
func sameQuestion(base Cases, i int, proposed Cases, j int) (bool, error) {
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
func (k *KeptSuite) read() error {
	read := k.candidateJudged
	if k.candidate.CaseLines != nil {
		read = k.candidateAgain
	}
	if err := read(); err != nil || k.baseline == nil {
		return err
	}
	k.baselines = map[string]evidence.Outcome{}
	return k.eachOutcome(*k.baseline, func(o evidence.Outcome) { k.baselines[o.ID] = o })
}

// candidateJudged takes the candidate's judgments as they stand: without its
// answers an altered evaluator cannot judge them as it did before.
func (k *KeptSuite) candidateJudged() error {
	return k.eachOutcome(k.candidate.Side, func(o evidence.Outcome) {
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
func (k *KeptSuite) candidateAgain() error {
	return k.candidate.CaseLines(func(line evidence.CaseLine) error {
		if k.taken[line.Case.ID] {
			return nil
		}
		judgments := k.base.Judge(&line.Case, &line.Execution)
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
func (k *KeptSuite) eachOutcome(run compare.Side, visit func(evidence.Outcome)) error {
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
func (k *KeptSuite) judged() []evidence.MetricSpec {
	n := 0
	for n < len(k.specs) && k.specs[n].Judged() {
		n++
	}
	return k.specs[:n]
}

// Kept is what [RunRelaxed] decides a policy with beside the run itself.
func (k *KeptSuite) Kept(p *policy.Policy) (Kept, error) {
	metrics := map[string]*measure.Metric{} // by rule id
	for _, rule := range p.RunRules() {
		i := slices.IndexFunc(k.specs, func(s evidence.MetricSpec) bool { return s.ID == rule.Metric })
		if i < 0 {
			continue // a metric that only the proposed suite has
		}
		t, err := k.table(rule)
		if err != nil {
			return Kept{}, err
		}
		metrics[rule.ID] = &t.Metrics(p.ConfidenceLevel)[i]
	}
	kept := k.OfComparison()
	kept.Metrics = func(rule policy.Rule) *measure.Metric { return metrics[rule.ID] }
	return kept, nil
}

// OfComparison is what [CompareRelaxed] decides a policy with beside a comparison.
func (k *KeptSuite) OfComparison() Kept {
	return Kept{Gone: func(metric string) bool { return k.gone[metric] }, Released: k.Released}
}

// Comparison is that of the run with a baseline as the base suite would have made
// it: the cases that were taken away count as the baseline judged them, and so do
// metrics that nothing can judge any more. It is nil when the two share no case.
func (k *KeptSuite) Comparison(baseline compare.Side, opt compare.Options) (*compare.Comparison, error) {
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
			if there, ok := inferred[o.ID]; ok && k.candidate.CaseLines == nil {
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
		for i := range k.base.Cases.Len() {
			o, there := inferred[k.base.Cases.ID(i)]
			if !there || !k.taken[o.ID] || o.Digest != k.base.Cases.CaseDigest(i) {
				continue
			}
			if err := next(o); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := compare.Runs(compare.Side{Manifest: &m, Outcomes: outcomes}, baseline, opt)
	var noMetric *compare.NoSharedMetricError
	var noCase *compare.NoSharedCaseError
	if errors.As(err, &noMetric) || errors.As(err, &noCase) {
		return nil, nil
	}
	return c, err
}

// table counts the run as the base suite would have, for one rule: where the
// baseline has no judgment either, the worst for the rule is taken.
func (k *KeptSuite) table(rule policy.Rule) (*measure.Table, error) {
	gone := k.gone[rule.Metric] || k.altered[rule.Metric] && k.candidate.CaseLines == nil
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
	for i := range k.base.Cases.Len() {
		if !gone && !k.taken[k.base.Cases.ID(i)] {
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
func (k *KeptSuite) asBaselineJudged(rule policy.Rule, i int) (evidence.Outcome, error) {
	c, err := k.base.Cases.Case(i)
	if err != nil {
		return evidence.Outcome{}, err
	}
	o, there := k.baselines[c.ID]
	if !there || o.Digest != c.Digest {
		o = evidence.Outcome{ID: c.ID, Status: evidence.StatusNotRun, Judgments: make([]evidence.Judgment, len(k.judged()))}
	}
	o.Judgments = slices.Clone(o.Judgments)
	// A case that was never run still tells which metrics it does not count for.
	unrun := k.base.Judge(c, &evidence.Execution{Status: evidence.StatusNotRun})
	for j := range o.Judgments {
		switch {
		case o.Judgments[j].State != 0:
		case unrun[j].State == evidence.NotApplicable:
			o.Judgments[j] = unrun[j]
		default:
			o.Judgments[j] = Worst(rule, k.specs[j])
		}
	}
	return o, nil
}
