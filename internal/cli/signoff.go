package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/report"
)

func newSignoff(env *Env) *cobra.Command {
	var f configFlags
	var by, reason string
	cmd := &cobra.Command{
		Use:   "signoff RUN",
		Short: "release the rules of a run that are MANUAL_REVIEW, as a person",
		Long: `signoff records that a person looked at the rules of a run that are MANUAL_REVIEW and
releases them: gate lets them warn where they would block, and says who did it and why.
It holds for these rules of this policy on this evidence, and travels with the bundle. A
FAIL and INSUFFICIENT_EVIDENCE are not for a person to release, nor is what ci blocked
for another reason, by the base branch's policy for example. The gate is decided again
at once, and its code is the exit code.`,
		Example: `  oloproof signoff latest --by NAME --reason reviewed-with-legal
  oloproof signoff run_01M4FC --by NAME --reason ticket-4711 --policy release.yaml`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, given []string) error {
			if strings.TrimSpace(by) == "" || strings.TrimSpace(reason) == "" {
				return usageError{errors.New("--by and --reason are required: a signoff says who and why")}
			}
			return env.signoff(given[0], f, by, reason)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&by, "by", "", "`name` of who signs")
	cmd.Flags().StringVar(&reason, "reason", "", "why, in a `sentence`")
	return cmd
}

func (e *Env) signoff(name string, f configFlags, by, reason string) error {
	s, err := e.openStored(name, f)
	if err != nil {
		return err
	}
	defer s.run.Close()
	v := newVerdict(s.manifest, s.tally)
	v.decideRun(report.RoleOnly, s.policy)
	var rules, reasons []string
	for _, d := range v.in.Policies[0].Result.Decisions {
		if d.State == policy.ManualReview {
			rules, reasons = append(rules, d.Rule.ID), append(reasons, d.Reasons...)
		}
	}
	if len(rules) == 0 {
		return problem.Errorf("no rule of %s is MANUAL_REVIEW by %s, so there is nothing to sign off", s.manifest.ID, s.policy.Path)
	}
	if s.manifest.CI != nil {
		if err := s.reviewed(); err != nil {
			return err
		}
	}
	err = s.run.Sign(evidence.Signoff{
		Run: s.manifest.ID, By: by, Reason: reason, At: e.Now().UTC(),
		Judgments: s.run.JudgmentsSum(), Policy: evidence.Digest(s.policy.Digest),
		Rules: rules, Reasons: slices.Compact(slices.Sorted(slices.Values(reasons))),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "%s signed off %s of %s: %s\n\n", report.Clean(by), strings.Join(rules, ", "), s.manifest.ID, report.Clean(reason))
	return e.gate(name, f, formatFlags{format: "text"}, comparisonFlags{}, false)
}

// reviewed reports whether a run that ci decided waits for nothing but a person's
// word. ci decided by the policy and the labels of the base branch as well, which
// a checkout of the change may not have: what blocks there is not released here.
func (s *storedRun) reviewed() error {
	doc, err := storedDocument(s.run)
	if err != nil {
		return err
	}
	blocked := func(format string, args ...any) error {
		return problem.At(s.run.Place(), "ci blocked %s by more than MANUAL_REVIEW, and a person releases nothing else: %s", s.manifest.ID, fmt.Sprintf(format, args...))
	}
	if doc.Gate == nil {
		return blocked("its gate.json is not there")
	}
	if len(doc.Gate.Reasons) > 0 {
		return blocked("%s", strings.Join(doc.Gate.Reasons, ", "))
	}
	for _, p := range doc.Policies {
		if p.Gate.Action != string(decide.Block) {
			continue
		}
		if p.Digest != s.policy.Digest {
			return blocked("%s (%s) decided otherwise than %s, which is signed", p.Path, p.Role, s.policy.Path)
		}
		for _, d := range p.Decisions {
			if state := policy.State(d.State); state != policy.ManualReview && slices.Contains(s.policy.BlockOn, state) {
				return blocked("%s is %s", d.Rule, d.State)
			}
		}
	}
	return nil
}

// signed releases what people signed off of a stored run, and notes who and why.
func (v *verdict) signed(s *storedRun) error {
	all, err := s.run.Signoffs()
	if err != nil {
		return err
	}
	for i := range v.in.Policies {
		p := &v.in.Policies[i]
		var hold []evidence.Signoff
		p.Result, hold = p.Result.Signed(p.Policy, s.manifest.ID, s.run.JudgmentsSum(), s.manifest.Coverage(), all)
		for _, one := range hold {
			v.in.Signoffs = append(v.in.Signoffs, one)
			v.note("signed off by %s on %s: %s (%s)", one.By, one.At.Format("2006-01-02"), one.Reason, strings.Join(one.Rules, ", "))
		}
	}
	if len(all) > 0 && len(v.in.Signoffs) == 0 {
		v.note("a signoff is stored with the run and does not hold: it is of another policy, of other evidence, or did not know of a reason that there is now")
	}
	return nil
}
