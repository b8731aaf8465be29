package measure

import (
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Figure is an estimate with its interval.
type Figure struct {
	Estimate *float64 // nil without anything to count
	Interval Interval
	Of       int // labels that it counts
}

// Worth is what people's labels say of a judge.
type Worth struct {
	Labels    int // answers that people and this very judge judged
	Others    int // labels of answers that another instrument judged
	Unsettled int // answers that people labelled differently
	People    int
	Retired   string // why the judge is out of use; "" when it is not

	Agreement   Figure // share of answers judged alike
	Sensitivity Figure // share of people's passes that the judge passes
	Specificity Figure // share of people's fails that the judge fails
	Bias        Figure // judge minus people, in [-1, 1]
	Kappa       Figure // agreement beyond chance, in [-1, 1]
}

// WorthOf measures a judge by its labels.
func WorthOf(t *evidence.Trust, level float64) Worth {
	l := TableOf(t)
	figure := func(of int, method string, f func(level float64) (*float64, stats.Interval)) Figure {
		estimate, i := f(level)
		return Figure{Estimate: estimate, Of: of, Interval: Interval{Lower: &i.Lower, Upper: &i.Upper, Level: level, Method: method}}
	}
	return Worth{
		Labels: l.N(), Others: t.Others, Unsettled: t.Unsettled, People: t.People, Retired: t.Retired,
		Agreement:   figure(l.N(), stats.MethodRate, l.Agreement),
		Sensitivity: figure(l.BothPass+l.HumanOnly, stats.MethodRate, l.Sensitivity),
		Specificity: figure(l.BothFail+l.JudgeOnly, stats.MethodRate, l.Specificity),
		Bias:        figure(l.N(), stats.MethodPaired, l.Bias),
		Kappa:       figure(l.N(), stats.MethodKappa, l.Kappa),
	}
}

// TableOf returns the confusion table of a judge.
func TableOf(t *evidence.Trust) stats.Labels {
	return stats.Labels{BothPass: t.BothPass, JudgeOnly: t.JudgeOnly, HumanOnly: t.HumanOnly, BothFail: t.BothFail, Unsettled: t.Unsettled}
}
