package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/store"
)

type compareFlags struct {
	configFlags
	formatFlags
	criteria []string
	slices   bool
}

func newCompare(env *Env) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare CANDIDATE BASELINE",
		Short: "pair two runs case by case and decide a comparison policy; nothing is executed",
		Long: `compare pairs the cases that both runs have with the same content, puts an interval on
every paired difference (candidate minus baseline) and decides the comparison rules.
Without --policy it takes compare.yaml beside the suite, else release.yaml.
` + runHelp,
		Example: `  oloproof compare latest latest~1
  oloproof compare run_01K baseline.zip --policy compare.yaml --slices`,
		Args: args(2, 2, "the candidate or the baseline"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.formatFlags.check(); err != nil {
				return err
			}
			return env.compare(args[0], args[1], f)
		},
	}
	f.configFlags.add(cmd)
	cmd.Flags().Lookup("policy").Usage = "policy `file`, or " + builtinPolicies() + " (default compare.yaml beside the suite, else release.yaml)"
	f.formatFlags.add(cmd, documentFormats...)
	cmd.Flags().StringArrayVar(&f.criteria, "criterion", nil, "compare the metric `ID` only; may be repeated")
	cmd.Flags().BoolVar(&f.slices, "slices", false, "list the differences of slices")
	return cmd
}

func (e *Env) compare(candidateName, baselineName string, f compareFlags) error {
	st, err := e.openStore(f.config)
	if err != nil {
		return err
	}
	p, faults := loadComparePolicy(f.configFlags)
	if p == nil && faults != nil {
		return faults
	}
	candidate, err := st.Resolve(candidateName)
	if err != nil {
		return err
	}
	defer candidate.Close()
	if err := trustStored(candidate.Manifest, f.config); err != nil {
		return err
	}
	if faults != nil {
		return againstMetrics(p, faults, candidate.Manifest)
	}
	baseline, err := st.Resolve(baselineName)
	if err != nil {
		return err
	}
	defer baseline.Close()
	c, err := compareRuns(candidate, baseline, p, f.config, f.criteria)
	if err != nil {
		return err
	}
	_, t, err := load(candidate)
	if err != nil {
		return err
	}
	doc, err := storeComparison(st, candidate.Manifest, t, c, p, f.configFlags)
	if err != nil {
		return err
	}
	return e.showComparison(doc, f, given{configFlags: f.configFlags}.of(candidate, st))
}

// storeComparison decides a comparison of the counted cases of a run, and keeps
// the document under its content id; p is nil when nothing is decided.
func storeComparison(st *store.Store, m *evidence.Manifest, t *tally, c *compare.Comparison, p *policy.Policy, f configFlags) (*report.Document, error) {
	v := newVerdict(m, t)
	v.compared(report.RoleBaseline, c)
	if p != nil {
		v.decideComparison(report.RoleOnly, p, c)
	} else if path := comparePolicyBeside(f.config); path != "" {
		v.note("%s has no comparison rule, so nothing was decided: add one, or name another policy with --policy", path)
	}
	doc := v.document()
	return doc, st.SaveComparison(c.ID, func(w io.Writer) error { return report.JSON(w, doc) })
}

func (e *Env) showComparison(doc *report.Document, f compareFlags, g given) error {
	return e.showWith(doc, f.formatFlags, func() error { return e.compareText(doc, f, g) })
}

func (e *Env) compareText(doc *report.Document, f compareFlags, g given) error {
	return report.CompareText(e.Stdout, doc, report.TextOptions{
		Width: e.width(), Color: e.color(), Slices: f.slices, Next: g.nextAfterComparison(doc), Case: g.showCase(doc),
	})
}

// compareRuns pairs two stored runs at the level and by the method of a policy
// that fits the candidate; p is nil when nothing is decided.
func compareRuns(candidate, baseline *store.Run, p *policy.Policy, config string, criteria []string) (*compare.Comparison, error) {
	if err := cmp.Or(decidesNothing(candidate), decidesNothing(baseline)); err != nil {
		return nil, err
	}
	if p == nil {
		return compareAt(candidate, baseline, compare.Options{Level: defaultLevel, Criteria: criteria})
	}
	if err := p.Check(candidate.Manifest.Metrics, candidate.Manifest.Slices); err != nil {
		return nil, err
	}
	for _, rule := range p.ComparisonRules() {
		if len(criteria) > 0 && !slices.Contains(criteria, rule.Metric) {
			return nil, usageError{fmt.Errorf("--criterion leaves out %s, which the rule %s of %s needs", rule.Metric, rule.ID, p.Path)}
		}
	}
	c, err := compareAt(candidate, baseline, compare.Options{Level: p.ConfidenceLevel, Method: p.DifferenceMethod, Criteria: criteria})
	if err != nil || !asksOfArms(p) {
		return c, err
	}
	people, err := labelsBeside(config)
	if err != nil {
		return nil, err
	}
	return c, labelArms(c, p, people, candidate, baseline)
}

// asksOfArms reports whether a rule asks for labels of either side's answers.
func asksOfArms(p *policy.Policy) bool {
	return slices.ContainsFunc(p.ComparisonRules(), func(r policy.Rule) bool { return readsArms(r) })
}

func readsArms(r policy.Rule) bool {
	return r.JudgeBiasBar != nil || r.Correction == policy.CorrectionPPI
}

// compareAt pairs two stored runs. Runs that cannot be compared are a
// [problem.List].
func compareAt(candidate, baseline *store.Run, opt compare.Options) (*compare.Comparison, error) {
	if err := cmp.Or(decidesNothing(candidate), decidesNothing(baseline)); err != nil {
		return nil, err
	}
	c, b, rejudged, err := sides(candidate, baseline, opt.Criteria)
	if err != nil {
		return nil, err
	}
	opt.Rejudged = rejudged
	comparison, err := compare.Runs(c, b, opt)
	var noMetric *compare.NoSharedMetricError
	var noCase *compare.NoSharedCaseError
	var unknown *compare.UnknownMetricError
	var tooMany *compare.TooManyPairsError
	if errors.As(err, &noMetric) || errors.As(err, &noCase) || errors.As(err, &unknown) || errors.As(err, &tooMany) {
		return nil, problem.Errorf("%s", err)
	}
	return comparison, err
}

// loadComparePolicy reads the named policy, else compare.yaml, else release.yaml
// beside the suite. It is nil when there is none, or when one that was not named
// has no comparison rule.
func loadComparePolicy(f configFlags) (*policy.Policy, error) {
	if f.policy != "" {
		if !strings.HasPrefix(f.policy, "builtin:") && absent(f.policy) {
			return nil, noPolicy(f.policy, f.config)
		}
		p, err := policy.Load(f.policy)
		if err == nil && len(p.ComparisonRules()) == 0 {
			return nil, problem.At(f.policy, "it has no comparison rule, so it cannot decide a comparison: add a rule of kind superiority, non_inferiority or equivalence, or name another policy")
		}
		return p, err
	}
	path := comparePolicyBeside(f.config)
	if path == "" {
		return nil, nil
	}
	p, err := policy.Load(path)
	if err == nil && len(p.ComparisonRules()) == 0 {
		return nil, nil
	}
	return p, err
}

// comparePolicyBeside returns the policy of comparisons when none is named; ""
// when there is none.
func comparePolicyBeside(config string) string {
	for _, name := range []string{"compare.yaml", "release.yaml"} {
		if path := filepath.Join(filepath.Dir(config), name); !absent(path) {
			return path
		}
	}
	return ""
}
