package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
)

// runHelp says how a run may be named.
const runHelp = "RUN is an id, a unique part of its beginning, latest, latest~1, a bundle directory or a zip of one."

func newGate(env *Env) *cobra.Command {
	var c configFlags
	var f formatFlags
	var save bool
	var with comparisonFlags
	cmd := &cobra.Command{
		Use:   "gate RUN",
		Short: "decide a stored run again under a policy; nothing is executed",
		Long: `gate decides a stored run under a policy and ends with the gate's code. It calls nothing.
With --baseline it decides the comparison with other runs too: the first one is the
baseline, further ones are pinned references, which show slow drift.
` + runHelp,
		Example: `  oloproof gate latest --policy release.yaml
  oloproof gate run_01K --policy builtin:strict --json
  oloproof gate latest --baseline latest~1 --baseline pinned.zip --compare-policy compare.yaml`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if with.policy != "" && len(with.baselines) == 0 {
				return usageError{errors.New("--compare-policy needs a --baseline to compare with")}
			}
			return env.gate(args[0], c, f, with, save)
		},
	}
	c.add(cmd)
	f.add(cmd, documentFormats...)
	cmd.Flags().StringArrayVar(&with.baselines, "baseline", nil, "compare with this `RUN` too; may be repeated")
	cmd.Flags().StringVar(&with.policy, "compare-policy", "", "`file` that decides the comparisons (default compare.yaml beside the suite, else the release policy)")
	cmd.Flags().BoolVar(&save, "save", false, "replace the run's gate.json by this decision")
	return cmd
}

// comparisonFlags say what a run is compared with while it is decided.
type comparisonFlags struct {
	baselines []string
	policy    string
}

func (e *Env) gate(name string, c configFlags, f formatFlags, with comparisonFlags, save bool) error {
	s, err := e.openStored(name, c)
	if err != nil {
		return err
	}
	defer s.run.Close()
	m, p := s.manifest, s.policy
	m.Policies = []evidence.PolicyRef{{Path: p.Path, Digest: evidence.Digest(p.Digest)}}
	v := newVerdict(m, s.tally)
	v.decideRun(report.RoleOnly, p)
	if err := v.signed(s); err != nil {
		return err
	}
	if len(with.baselines) > 0 {
		if err := e.decideAgainst(v, s, c, with); err != nil {
			return err
		}
	}
	doc := v.document()
	if save {
		if err := s.run.SaveDocument(func(w io.Writer) error { return report.JSON(w, doc) }); err != nil {
			return err
		}
	}
	return e.show(doc, f, given{configFlags: c}.of(s.run, s.store))
}

// decideAgainst compares a run with others and decides the comparison policy on
// each.
func (e *Env) decideAgainst(v *verdict, s *storedRun, c configFlags, with comparisonFlags) error {
	p, err := loadComparePolicy(configFlags{config: c.config, policy: with.policy})
	if p != nil && err != nil {
		return againstMetrics(p, err, s.run.Manifest)
	}
	if err != nil {
		return err
	}
	if p == nil && len(s.policy.ComparisonRules()) > 0 {
		p = s.policy
	}
	if p == nil {
		return problem.Errorf("there is no comparison policy: name one with --compare-policy, or write compare.yaml beside the suite")
	}
	for i, name := range with.baselines {
		baseline, err := s.store.Resolve(name)
		if err != nil {
			return err
		}
		comparison, err := compareRuns(s.run, baseline, p, c.config, nil)
		baseline.Close()
		if err != nil {
			return err
		}
		role := report.RoleBaseline
		if i > 0 {
			role = report.RolePin
		}
		if _, err := storeComparison(s.store, s.run.Manifest, s.tally, comparison, p, c); err != nil {
			return err
		}
		v.compared(role, comparison)
		v.decideComparison(report.RoleOnly, p, comparison)
	}
	return nil
}

// checkRole holds a policy's require_suite_role against the run's suite.
func checkRole(p *policy.Policy, m *evidence.Manifest) error {
	if p.RequireSuiteRole == "" || p.RequireSuiteRole == m.SuiteRole {
		return nil
	}
	found := "none"
	if m.SuiteRole != "" {
		found = fmt.Sprintf("%q", m.SuiteRole)
	}
	return problem.At(p.Path, "require_suite_role is %q and the suite's suite_role is %s: use the release suite, or drop the requirement", p.RequireSuiteRole, found)
}
