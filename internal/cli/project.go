package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/labels"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// configFlags are the flags of every command that reads a project.
type configFlags struct {
	config string
	policy string
	none   bool // no policy, whatever lies beside the suite
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "oloproof.yaml", "the suite's `file`")
	cmd.Flags().StringVarP(&f.policy, "policy", "p", "", "policy `file`, or "+builtinPolicies()+" (default release.yaml beside the suite, if it is there)")
}

// project is a suite with its data set, evaluators and policy, all checked.
type project struct {
	suite  *suite.Suite
	data   *dataset.Dataset
	eval   *evaluate.Set
	policy *policy.Policy // nil when there is none
	labels *labels.File   // of the suite; never nil in a project that was opened
}

func (p *project) close() {
	if p.data != nil {
		p.data.Close()
	}
}

// openProject reads every file of a project and reports the problems of all of
// them together, with those that more finds in the suite.
func openProject(f configFlags, more ...func(*suite.Suite) error) (*project, error) {
	if absent(f.config) {
		return nil, noSuite(f.config)
	}
	p := &project{}
	var problems problem.List
	collect := func(err error) error {
		var list problem.List
		if errors.As(err, &list) {
			problems = append(problems, list...)
			return nil
		}
		return err
	}
	var err error
	if p.suite, err = suite.Load(f.config); err != nil {
		if err := collect(err); err != nil {
			return nil, err
		}
	}
	if p.policy, err = loadPolicy(f, policy.Load); err != nil {
		if err := collect(err); err != nil {
			return nil, err
		}
	}
	if p.suite != nil {
		if p.labels, err = readLabels(p.suite); err != nil {
			if err := collect(err); err != nil {
				return nil, err
			}
		}
		if err := p.openData(collect); err != nil {
			return nil, err
		}
		for _, find := range more {
			if err := collect(find(p.suite)); err != nil {
				p.close()
				return nil, err
			}
		}
	}
	if len(problems) > 0 {
		p.close()
		return nil, problems.Err()
	}
	return p, nil
}

// openData indexes the data set and checks evaluators and policy against it, as
// far as the suite could be read.
func (p *project) openData(collect func(error) error) error {
	var err error
	if p.eval, err = evaluate.New(p.suite); err != nil {
		if err := collect(err); err != nil {
			return err
		}
	}
	opt := dataset.Options{Slices: p.suite.Slices, Visit: p.visit()}
	if p.suite.Dataset != "" && !p.suite.NeedsForm() {
		path, err := casesPath(p.suite)
		if err == nil {
			p.data, err = openDataset(p.suite, path, opt)
		}
		if err != nil {
			if err := collect(err); err != nil {
				return err
			}
		}
	}
	if p.policy != nil && !p.suite.Unread {
		return collect(p.policy.Check(p.eval.Specs(), p.suite.Slices))
	}
	return nil
}

// visit returns what is to be found in each case: what evaluators and templates
// lack.
func (p *project) visit() func(*evidence.Case) []string {
	h := p.suite.System.HTTP
	if h == nil || h.Sequence() == nil && h.Mapping == nil {
		return p.eval.Check
	}
	requests, m := h.Sequence(), h.Mapping
	return func(c *evidence.Case) []string {
		messages := p.eval.Check(c)
		for _, err := range requests.CheckCase(c, m) {
			messages = append(messages, fmt.Sprintf("case %s lacks what the request needs: %v", c.ID, err))
		}
		return messages
	}
}

// dataFiles lists the files of a suite's data set, as the suite names them.
func dataFiles(s *suite.Suite) []string {
	if s.DataForm == nil {
		return []string{s.Dataset}
	}
	return s.DataForm.Files(s.Dataset)
}

// openDataset opens the data set of a suite, which lies at path.
func openDataset(s *suite.Suite, path string, opt dataset.Options) (*dataset.Dataset, error) {
	if s.DataForm == nil {
		return dataset.Open(path, opt)
	}
	form := *s.DataForm
	if info, err := os.Stat(path); err == nil && info.IsDir() && form.Format == "" {
		return nil, s.Problem(s.DatasetPos, "dataset: %s is a directory: add format: beir", filepath.ToSlash(s.Dataset))
	}
	if form.Qrels != "" && !filepath.IsAbs(form.Qrels) {
		form.Qrels = filepath.Join(s.Dir, form.Qrels)
	}
	return dataset.OpenForeign(path, form, opt)
}

// casesPath returns where the data set of a suite lies.
func casesPath(s *suite.Suite) (string, error) {
	path := s.Dataset
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", s.Problem(s.DatasetPos, "dataset: %s does not exist (paths start at the suite's directory)", filepath.ToSlash(path))
	}
	return path, nil
}

// loadPolicy reads the named policy, or release.yaml beside the suite when it
// exists and none is named. A policy that comes with an error is good for
// checking only.
func loadPolicy(f configFlags, load func(string) (*policy.Policy, error)) (*policy.Policy, error) {
	if f.none {
		return nil, nil
	}
	if f.policy != "" {
		if !strings.HasPrefix(f.policy, "builtin:") && absent(f.policy) {
			return nil, noPolicy(f.policy, f.config)
		}
		p, err := load(f.policy)
		if err != nil {
			return p, err
		}
		if len(p.RunRules()) == 0 {
			return nil, problem.At(f.policy, "it has comparison rules only, so it cannot decide one run: add a rule with min, max or max_failures, or name another policy")
		}
		return p, nil
	}
	beside := filepath.Join(filepath.Dir(f.config), "release.yaml")
	if absent(beside) {
		return nil, nil
	}
	return load(beside)
}

// openStore opens the store beside the suite; OLOPROOF_HOME overrides.
func (e *Env) openStore(config string) (*store.Store, error) {
	return store.Open(e.home(config))
}

func (e *Env) home(config string) string {
	if home, ok := e.Lookup("OLOPROOF_HOME"); ok && home != "" {
		return home
	}
	return filepath.Join(filepath.Dir(config), ".oloproof")
}

// allowExec reports whether programs may be started.
func (e *Env) allowExec() bool {
	v, ok := e.Lookup("OLOPROOF_ALLOW_EXEC")
	return !ok || v != "0"
}

// formatFlags choose how the result is printed.
type formatFlags struct {
	format  string
	json    bool
	allowed []string
}

// documentFormats are the formats of a document.
var documentFormats = []string{"text", "json", "markdown"}

func (f *formatFlags) add(cmd *cobra.Command, allowed ...string) {
	f.allowed = allowed
	cmd.Flags().StringVar(&f.format, "format", "text", "print the result as `FORMAT`: "+strings.Join(allowed, ", "))
	cmd.Flags().BoolVar(&f.json, "json", false, "short form of --format json")
}

func (f *formatFlags) check() error {
	if f.json {
		f.format = "json"
	}
	if !slices.Contains(f.allowed, f.format) {
		return usageError{fmt.Errorf("--format is %q, allowed are %s", f.format, strings.Join(f.allowed, ", "))}
	}
	return nil
}
