package cli

import (
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/store"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// sides returns the two sides of a comparison. The metrics of both runs whose
// evaluator changed are judged again with the candidate's evaluators when both
// runs have kept their evidence; their names are returned. Criteria are the
// metrics to compare, none for all.
func sides(candidate, baseline *store.Run, criteria []string) (c, b compare.Side, rejudged []string, err error) {
	c = stored(candidate)
	b = stored(baseline)
	changed := judgedOtherwise(candidate.Manifest, baseline.Manifest)
	if len(criteria) > 0 {
		changed = slices.DeleteFunc(changed, func(spec evidence.MetricSpec) bool { return !slices.Contains(criteria, spec.ID) })
	}
	if len(changed) == 0 || !candidate.HasCases() || !baseline.HasCases() {
		return c, b, nil, nil
	}
	for _, spec := range changed {
		rejudged = append(rejudged, spec.ID)
	}
	if c, err = judgedAgain(candidate, changed); err != nil {
		return c, b, nil, err
	}
	if b, err = judgedAgain(baseline, changed); err != nil {
		return c, b, nil, err
	}
	return c, b, rejudged, nil
}

// judgedOtherwise returns the candidate's specs of the metrics that the baseline
// judged otherwise, as far as their evaluators are known and call nobody.
func judgedOtherwise(candidate, baseline *evidence.Manifest) []evidence.MetricSpec {
	var specs []evidence.MetricSpec
	for _, n := range compare.Unlike(candidate, baseline) {
		named := func(s evidence.MetricSpec) bool { return s.ID == n.Metric }
		i, j := slices.IndexFunc(candidate.Metrics, named), slices.IndexFunc(baseline.Metrics, named)
		if candidate.Metrics[i].Options != nil && !suite.AsksModel(candidate.Metrics[i].Type) && baseline.Metrics[j].Judged() {
			specs = append(specs, candidate.Metrics[i])
		}
	}
	return specs
}

// judgedAgain is a run as if its metrics of these names had been judged by these
// evaluators.
func judgedAgain(run *store.Run, specs []evidence.MetricSpec) (compare.Side, error) {
	set, err := evaluate.ForMetrics(run.Place(), specs)
	if err != nil {
		return compare.Side{}, err
	}
	type fresh struct {
		digest    evidence.Digest
		judgments []evidence.Judgment
	}
	again := map[string]fresh{}
	err = run.CaseLines(func(line evidence.CaseLine) error {
		again[line.Case.ID] = fresh{line.Case.Digest, set.Judge(&line.Case, &line.Execution)}
		return nil
	})
	if err != nil {
		return compare.Side{}, err
	}
	m := *run.Manifest
	m.Metrics = slices.Clone(m.Metrics)
	replace := map[int]int{} // place among the judged metrics to index of specs
	judged := 0
	for i := range m.Metrics {
		if !m.Metrics[i].Judged() {
			continue
		}
		id := m.Metrics[i].ID
		if j := slices.IndexFunc(specs, func(s evidence.MetricSpec) bool { return s.ID == id }); j >= 0 {
			m.Metrics[i] = specs[j]
			replace[judged] = j
		}
		judged++
	}
	outcomes := func(visit func(int, *evidence.Outcome) error) error {
		return run.Outcomes(func(i int, o *evidence.Outcome) error {
			now, ok := again[o.ID]
			if !ok || now.digest != o.Digest {
				return fmt.Errorf("%s: case %s stands otherwise in judgments.jsonl than in cases.jsonl, so they do not belong together", run.Place(), o.ID)
			}
			changed := *o
			changed.Judgments = slices.Clone(o.Judgments)
			for place, j := range replace {
				changed.Judgments[place] = now.judgments[j]
			}
			return visit(i, &changed)
		})
	}
	return compare.Side{Manifest: &m, Outcomes: outcomes}, nil
}
