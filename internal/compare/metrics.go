package compare

import (
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// matched is what became of the metrics of two runs.
type matched struct {
	columns                     []column // comparable, in the candidate's order
	notComparable               []NotComparable
	onlyCandidate, onlyBaseline []string
}

// matchMetrics finds the metrics that both runs have, and among the wanted
// ones those that can be compared.
func matchMetrics(candidate, baseline *evidence.Manifest, wanted []string) (matched, error) {
	var m matched
	var shared []string
	places, basePlaces := measure.Places(candidate.Metrics), measure.Places(baseline.Metrics)
	for i, spec := range candidate.Metrics {
		at := indexOf(baseline.Metrics, spec.ID)
		if at < 0 {
			m.onlyCandidate = append(m.onlyCandidate, spec.ID)
			continue
		}
		shared = append(shared, spec.ID)
		if len(wanted) > 0 && !slices.Contains(wanted, spec.ID) {
			continue
		}
		base := baseline.Metrics[at]
		if detail := differs(spec, base); detail != "" {
			m.notComparable = append(m.notComparable, NotComparable{spec.ID, ReasonEvaluatorChanged, detail})
			continue
		}
		m.columns = append(m.columns, newColumn(spec, base, places[i], basePlaces[at]))
	}
	for _, spec := range baseline.Metrics {
		if indexOf(candidate.Metrics, spec.ID) < 0 {
			m.onlyBaseline = append(m.onlyBaseline, spec.ID)
		}
	}
	if len(shared) == 0 {
		return m, &NoSharedMetricError{candidate.ID, baseline.ID, ids(candidate.Metrics), ids(baseline.Metrics)}
	}
	for _, id := range wanted {
		if !slices.Contains(shared, id) {
			return m, &UnknownMetricError{id, shared}
		}
	}
	return m, nil
}

// Unlike returns the metrics that both runs have and did not judge alike, in the
// candidate's order: [Runs] leaves them out unless the sides it is given were
// judged again with the same evaluators.
func Unlike(candidate, baseline *evidence.Manifest) []NotComparable {
	m, err := matchMetrics(candidate, baseline, nil)
	if err != nil { // no metric in common
		return nil
	}
	return m.notComparable
}

// differs says what two metrics of one name do not have in common, so that they
// cannot be compared; "" when they can.
//
// A rate and a mean can: recall is the one or the other by the labels of all
// cases of the data set, and its judgments of one case are the same.
func differs(candidate, baseline evidence.MetricSpec) string {
	was := func(what, now, before string) string {
		return fmt.Sprintf("%s is %s, in the baseline %s", what, now, before)
	}
	switch measured := !candidate.Judged() || !baseline.Judged(); {
	case measured && candidate.Kind != baseline.Kind:
		return was("the kind", string(candidate.Kind), string(baseline.Kind))
	case candidate.Type != baseline.Type:
		return was("the evaluator", candidate.Type, baseline.Type)
	case candidate.Evaluator != baseline.Evaluator:
		return "the options of the evaluator differ"
	case otherJudge(candidate, baseline):
		return was("the judge", evidence.ModelNames(candidate.Served), evidence.ModelNames(baseline.Served))
	case candidate.Range != baseline.Range:
		return was("the range", interval(candidate.Range), interval(baseline.Range))
	case candidate.Source != baseline.Source || candidate.Unit != baseline.Unit:
		return was("the source", candidate.Source+" in "+candidate.Unit, baseline.Source+" in "+baseline.Unit)
	case !candidate.Prices.Equal(baseline.Prices):
		return "the prices differ"
	case candidate.Quantile != baseline.Quantile:
		return was("the quantile", fmt.Sprint(candidate.Quantile), fmt.Sprint(baseline.Quantile))
	}
	return ""
}

// otherJudge reports whether another model gave the verdicts. Which of the two
// judges of a cascade do depends on the answers.
func otherJudge(candidate, baseline evidence.MetricSpec) bool {
	a, b := candidate.Served, baseline.Served
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(model string) bool { return !slices.Contains(b, model) })
	}
	if candidate.Type == "cascade" {
		return !within(a, b) && !within(b, a)
	}
	return !within(a, b) || !within(b, a)
}

func interval(r [2]float64) string { return fmt.Sprintf("[%v, %v]", r[0], r[1]) }

func indexOf(specs []evidence.MetricSpec, id string) int {
	return slices.IndexFunc(specs, func(s evidence.MetricSpec) bool { return s.ID == id })
}

func ids(specs []evidence.MetricSpec) []string {
	all := make([]string, len(specs))
	for i, s := range specs {
		all[i] = s.ID
	}
	return all
}
