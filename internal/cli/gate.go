package cli

import (
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
	cmd := &cobra.Command{
		Use:   "gate RUN",
		Short: "decide a stored run again under a policy; nothing is executed",
		Long:  "gate decides a stored run under a policy and ends with the gate's code. It calls nothing.\n" + runHelp,
		Example: `  oloproof gate latest --policy release.yaml
  oloproof gate run_01K --policy builtin:strict --json`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return env.gate(args[0], c, f, save)
		},
	}
	c.add(cmd)
	f.add(cmd)
	cmd.Flags().BoolVar(&save, "save", false, "replace the run's gate.json by this decision")
	return cmd
}

func (e *Env) gate(name string, c configFlags, f formatFlags, save bool) error {
	s, err := e.openStored(name, c)
	if err != nil {
		return err
	}
	defer s.run.Close()
	m, p := s.manifest, s.policy
	m.Policies = []evidence.PolicyRef{{Path: p.Path, Digest: evidence.Digest(p.Digest)}}
	doc := decideDocument(m, s.tally, p)
	if save {
		if err := s.run.SaveDocument(func(w io.Writer) error { return report.JSON(w, doc) }); err != nil {
			return err
		}
	}
	return e.show(doc, f, given{configFlags: c}.of(s.run, s.store))
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
