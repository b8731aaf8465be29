package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/oloproof/oloproof-go/internal/decide"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/report"
	"github.com/oloproof/oloproof-go/internal/stats"
)

func newJudgeValidate(env *Env) *cobra.Command {
	var f configFlags
	var criterion string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate RUN",
		Short: "say what the judges of a run are worth, by people's labels",
		Long: `validate holds the labels of the suite against what the judges said of the same answers:
agreement, sensitivity, specificity, bias and Cohen's kappa, each with an interval, whether
that clears the bars of the policy, and how many more labels would. Only labels of the very
instrument of the run count. It calls nothing and ends with 0 or 2.`,
		Example: `  oloproof judge validate latest
  oloproof judge validate latest --criterion groundedness --json`,
		Args: args(1, 1, "the run"),
		RunE: func(_ *cobra.Command, given []string) error {
			return env.validateJudges(given[0], criterion, asJSON, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&criterion, "criterion", "", "the `criterion` of one judge (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// validated is what is said of a judge.
type validated struct {
	Criterion string        `json:"criterion"`
	Judge     *report.Judge `json:"judge"`
	Bars      bars          `json:"bars"`
	Cleared   bool          `json:"cleared"`
	// Total and More are the labels that would clear the bars, if the next ones go
	// like those there are; absent when none is known.
	Total int `json:"total,omitzero"`
	More  int `json:"more,omitzero"`
	why   string
}

// bars are what the policy asks of a judge; 0 asks nothing.
type bars struct {
	Agreement float64 `json:"agreement"`
	Bias      float64 `json:"bias"`
}

func (e *Env) validateJudges(name, criterion string, asJSON bool, f configFlags) error {
	j, err := e.openJudged(name, f.config, criterion)
	var several usageError
	all := criterion == "" && errors.As(err, &several)
	if err != nil && !all {
		return err
	}
	p, err := loadPolicy(f, policy.Load)
	if err != nil {
		return err
	}
	if p == nil {
		if p, err = policy.Load(builtinPrefix + "release"); err != nil {
			return err
		}
	}
	var specs []evidence.MetricSpec
	if all {
		if specs, err = e.allJudges(name, f.config); err != nil {
			return err
		}
	} else {
		defer j.run.Close()
		j.spec.Trust = j.file.Of(j.spec)
		specs = []evidence.MetricSpec{j.spec}
	}
	var list []validated
	for _, spec := range specs {
		list = append(list, validatedBy(spec, p))
	}
	if asJSON {
		if err := json.MarshalWrite(e.Stdout, map[string]any{"level": p.ConfidenceLevel, "judges": list}, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err := fmt.Fprintln(e.Stdout)
		return err
	}
	for i, v := range list {
		if i > 0 {
			fmt.Fprintln(e.Stdout)
		}
		for _, line := range report.JudgeTable(report.Clean(v.Criterion), v.Judge) {
			fmt.Fprintln(e.Stdout, line)
		}
		fmt.Fprintf(e.Stdout, "  %s\n", v.verdict())
	}
	_, err = fmt.Fprintf(e.Stdout, "\nIntervals are exact at %s; those of bias and kappa hold for every number of labels.\nThey describe answers like those labelled, as far as these are a random sample.\n", report.Level(p.ConfidenceLevel))
	return err
}

// allJudges returns the metrics of all judges of a run, with their labels.
func (e *Env) allJudges(name, config string) ([]evidence.MetricSpec, error) {
	st, err := e.openStore(config)
	if err != nil {
		return nil, err
	}
	run, err := st.Resolve(name)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	var specs []evidence.MetricSpec
	for _, spec := range run.Manifest.Metrics {
		if !spec.AsksModel() {
			continue
		}
		j, err := e.openJudged(name, config, spec.ID)
		if err != nil {
			return nil, err
		}
		j.run.Close()
		spec.Trust = j.file.Of(spec)
		specs = append(specs, spec)
	}
	return specs, nil
}

func validatedBy(spec evidence.MetricSpec, p *policy.Policy) validated {
	t := spec.Trust
	if t == nil {
		t = &evidence.Trust{}
	}
	asked := decide.BarsOf(p)
	v := validated{
		Criterion: spec.ID, Judge: report.JudgeOf(measure.WorthOf(t, p.ConfidenceLevel)),
		Bars: bars{asked.Agreement, asked.Bias}, Cleared: t.Labels() > 0 && measure.TableOf(t).Met(asked, p.ConfidenceLevel),
	}
	if v.Cleared {
		return v
	}
	plan := stats.PlanLabels(measure.TableOf(t), asked, p.ConfidenceLevel)
	switch {
	case plan.Total > 0:
		v.Total, v.More = plan.Total, plan.Total-t.Labels()
	case t.Labels() == 0:
		v.why = "label answers first: oloproof labels export, or oloproof review"
	case plan.Why == stats.PastThreshold, plan.Why == stats.AtThreshold:
		v.why = "no number of labels would, if they go on like this: the judge is not good enough for these bars"
	default:
		v.why = "no number of labels up to 100,000 would"
	}
	return v
}

// verdict says in a sentence whether the judge clears the bars.
func (v validated) verdict() string {
	var asks []string
	if v.Bars.Agreement > 0 {
		asks = append(asks, "agreement at least "+report.RateScale().Exact(v.Bars.Agreement))
	}
	if v.Bars.Bias > 0 {
		asks = append(asks, "bias within "+report.RateScale().Exact(v.Bars.Bias))
	}
	what := strings.Join(asks, ", ")
	switch {
	case v.Judge.Retired:
		return "out of use: rules on it are MANUAL_REVIEW"
	case what == "" && v.Cleared:
		return "the policy asks for no bar"
	case v.Cleared:
		return "clears the bars of the policy: " + what
	case v.Total > 0:
		return fmt.Sprintf("not shown yet: %s; about %d more labels would show it, if they go like these (%d in total)", what, v.More, v.Total)
	}
	return fmt.Sprintf("not shown: %s; %s", what, v.why)
}
