package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/relax"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/policies"
)

// builtinPolicies lists the policies of this program as --policy names them.
func builtinPolicies() string {
	return builtinPrefix + strings.Join(policies.Names(), ", "+builtinPrefix)
}

const builtinPrefix = "builtin:"

func newPolicy(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "what a change of a policy or a suite makes laxer",
		Example: `  oloproof policy diff main/release.yaml release.yaml
  oloproof policy diff builtin:nightly release.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q, there is policy diff", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyDiff(env))
	return cmd
}

func newPolicyDiff(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "name every way in which a policy or a suite is laxer than another",
		Long: `diff names every way in which NEW is laxer than OLD, or judges something else, each
with its line. Both are policies (files, or ` + builtinPolicies() + `),
or both are suites, whose data sets are compared too. What is stricter, and cases
that were added, are not named. It decides nothing and ends with 0, or with 2 when
a file cannot be read.`,
		Example: `  oloproof policy diff main/release.yaml release.yaml
  oloproof policy diff builtin:strict release.yaml --json
  oloproof policy diff main/oloproof.yaml oloproof.yaml`,
		Args: args(2, 2, "OLD or NEW"),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := diff(args[0], args[1])
			if err != nil {
				return err
			}
			if asJSON {
				return d.json(env.Stdout)
			}
			return d.text(env.Stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// difference is what policy diff prints.
type difference struct {
	Kind        fileKind           `json:"kind"`
	Old         string             `json:"old"`
	New         string             `json:"new"`
	Relaxations []relax.Relaxation `json:"relaxations"`
}

// diff compares two files of one kind.
func diff(old, new string) (*difference, error) {
	kind, other, err := both(kindOf, old, new)
	if err != nil {
		return nil, err
	}
	if kind != other {
		return nil, problem.Errorf("%s is a %s and %s is a %s: name two files of one kind", old, kind, new, other)
	}
	compare := diffPolicies
	if kind == suiteFile {
		compare = diffSuites
	}
	found, err := compare(old, new)
	if err != nil {
		return nil, err
	}
	return &difference{kind, old, new, found}, nil
}

func (d *difference) json(w io.Writer) error {
	text, err := json.Marshal(d, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (d *difference) text(w io.Writer) error {
	var b strings.Builder
	for _, r := range d.Relaxations {
		place := problem.Problem{File: r.File, Line: r.Line}.Place()
		fmt.Fprintf(&b, "%s: %s\n", report.Clean(place), report.Clean(r.Text))
	}
	switch n := len(d.Relaxations); n {
	case 0:
		fmt.Fprintf(&b, "Nothing in %s is laxer than in %s\n", report.Clean(d.New), report.Clean(d.Old))
	case 1:
		fmt.Fprintf(&b, "1 relaxation from %s to %s\n", report.Clean(d.Old), report.Clean(d.New))
	default:
		fmt.Fprintf(&b, "%d relaxations from %s to %s\n", n, report.Clean(d.Old), report.Clean(d.New))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func diffPolicies(old, new string) ([]relax.Relaxation, error) {
	a, b, err := both(policy.Load, old, new)
	if err != nil {
		return nil, err
	}
	return policy.Relaxations(a, b), nil
}

// diffSuites compares two suites, then their cases.
func diffSuites(old, new string) ([]relax.Relaxation, error) {
	a, b, err := both(suite.Load, old, new)
	if err != nil {
		return nil, err
	}
	before, after, err := both(openCases, a, b)
	for _, d := range []*dataset.Dataset{before, after} {
		if d != nil {
			defer d.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	cases, err := dataset.Relaxations(before, after, a.Slices)
	return append(suite.Relaxations(a, b), cases...), err
}

// openCases opens the data set of a suite.
func openCases(s *suite.Suite) (*dataset.Dataset, error) {
	path, err := casesPath(s)
	if err != nil {
		return nil, err
	}
	return openDataset(s, path, dataset.Options{Slices: s.Slices})
}

// both reads two things and reports the problems of both together.
func both[From, To any](read func(From) (To, error), old, new From) (a, b To, err error) {
	a, errA := read(old)
	b, errB := read(new)
	var listA, listB problem.List
	if errors.As(errA, &listA) && errors.As(errB, &listB) {
		return a, b, append(listA, listB...)
	}
	return a, b, errors.Join(errA, errB)
}

// fileKind says what a file is.
type fileKind string

const (
	policyFile fileKind = "policy"
	suiteFile  fileKind = "suite"
)

// kindOf tells a policy from a suite by its keys.
func kindOf(path string) (fileKind, error) {
	if strings.HasPrefix(path, builtinPrefix) {
		return policyFile, nil
	}
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return "", err
	}
	var kind fileKind
	is := func(k fileKind) strictyaml.Type {
		// With keys of both it is a suite, whose reader says what is wrong.
		return strictyaml.Ignored(func(strictyaml.Position) { kind = max(kind, k) })
	}
	table := strictyaml.Mapping(strictyaml.Table{
		{Key: "rules", Type: is(policyFile)}, {Key: "families", Type: is(policyFile)},
		{Key: "dataset", Type: is(suiteFile)}, {Key: "system", Type: is(suiteFile)}, {Key: "evaluators", Type: is(suiteFile)},
	})
	if _, err := strictyaml.Parse(path, data, table); err != nil {
		return "", err
	}
	if kind == "" {
		return "", problem.At(path, "it is neither a policy, which has rules, nor a suite, which has system, evaluators and dataset")
	}
	return kind, nil
}
