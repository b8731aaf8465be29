package decide

import (
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Reach says what a rule of one run can decide with a number of cases, before
// any of them has run, if none of them goes missing.
type Reach struct {
	Rule  policy.Rule
	Kind  evidence.Kind // of the metric; "" when there is no such metric
	Cases int           // cases that carry what the metric needs

	// Of a rate, in passed cases; nil when no number of passes gives the state.
	// A floor and a count have PassFrom and FailTo, a ceiling PassTo and FailFrom.
	PassFrom *int // fewest passes that PASS
	FailTo   *int // most passes that FAIL
	PassTo   *int // most passes that PASS
	FailFrom *int // fewest passes that FAIL

	// Best is the limit that a perfect result reaches, to be compared with the
	// threshold; nil for counts, for what is measured, which has no perfect result, and
	// without a case.
	Best *float64
	// NeverPass and NeverFail hold when no result with Cases cases gives the state.
	NeverPass, NeverFail bool
	// Needs is the fewest cases with which a perfect result passes, or with which
	// the limit exists that decides a quantile. It is 0 when Cases are enough, and
	// when no number is.
	Needs int
}

// Reachable returns, in the policy's order, what each rule of one run can
// decide with the eligible cases of its metric: those that carry the labels
// the metric needs. Comparison rules are left out.
func Reachable(p *policy.Policy, specs []evidence.MetricSpec, eligible map[string]int) []Reach {
	var all []Reach
	for _, rule := range p.Rules {
		if rule.Kind.Comparison() {
			continue
		}
		r := Reach{Rule: rule, Cases: eligible[rule.Metric], NeverPass: true, NeverFail: true}
		i := slices.IndexFunc(specs, func(s evidence.MetricSpec) bool { return s.ID == rule.Metric })
		if i >= 0 {
			r.Kind = specs[i].Kind
			// A rule under manual review has no other state at any size.
			if !rule.ManualReview {
				r.find(specs[i], p.ConfidenceLevel)
			}
		}
		all = append(all, r)
	}
	return all
}

// find fills in what the rule can decide about the metric.
func (r *Reach) find(spec evidence.MetricSpec, level float64) {
	switch {
	case r.Rule.Correction != "": // the labels decide as well
		r.NeverPass, r.NeverFail = false, false
	case r.Rule.Kind == policy.ObservedCount:
		if spec.Kind == evidence.Rate {
			r.count(*r.Rule.MaxFailures)
		}
	case spec.Kind == evidence.Rate:
		r.rate(level)
	case spec.Kind == evidence.Mean && hasRange(spec):
		if r.mean(spec, level); !spec.Judged() {
			r.Best = nil // no quantity is perfect
		}
	case spec.Kind == evidence.Mean && !spec.Judged(): // with a lower limit only
		r.NeverPass, r.NeverFail = r.Rule.Max != nil || r.Cases == 0, r.Rule.Min != nil || r.Cases == 0
		if r.Rule.Min != nil {
			r.Needs = 1
		}
	case spec.Kind == evidence.Quantile:
		r.quantile(spec.Quantile, level)
	}
	if !r.NeverPass {
		r.Needs = 0
	}
}

func (r *Reach) count(limit int) {
	if r.Cases == 0 {
		r.Needs = 1
		return
	}
	r.PassFrom = atLeastZero(max(0, r.Cases-limit))
	r.FailTo = atLeastZero(r.Cases - limit - 1)
	r.NeverPass, r.NeverFail = false, r.FailTo == nil
}

func (r *Reach) rate(level float64) {
	threshold, direction := thresholdOf(r.Rule)
	s := stats.ReachRate(r.Cases, threshold, direction, level)
	pass, fail := atLeastZero(s.PassAt), atLeastZero(s.FailAt)
	if direction == stats.AtLeast {
		r.PassFrom, r.FailTo = pass, fail
	} else {
		r.PassTo, r.FailFrom = pass, fail
	}
	if r.Cases > 0 {
		r.Best = &s.Best
	}
	r.NeverPass, r.NeverFail = pass == nil, fail == nil
	r.Needs = s.Needs
}

// mean looks at the two extremes: every case with the best score, every case
// with the worst.
func (r *Reach) mean(spec evidence.MetricSpec, level float64) {
	threshold, direction := thresholdOf(r.Rule)
	low, high := spec.Range[0], spec.Range[1]
	best, worst := high, low
	if direction == stats.AtMost {
		best, worst = low, high
	}
	r.Needs = perfectNeeds(stats.PlanMean([]float64{best}, 0, low, high, threshold, direction, level))
	if r.Cases == 0 {
		return
	}
	atBest := stats.Mean(slices.Repeat([]float64{best}, r.Cases), 0, low, high, level)
	atWorst := stats.Mean(slices.Repeat([]float64{worst}, r.Cases), 0, low, high, level)
	if direction == stats.AtLeast {
		r.Best = &atBest.Lower
		r.NeverPass, r.NeverFail = !(atBest.Lower >= threshold), !(atWorst.Upper < threshold)
	} else {
		r.Best = &atBest.Upper
		r.NeverPass, r.NeverFail = !(atBest.Upper <= threshold), !(atWorst.Lower > threshold)
	}
}

// quantile looks at which limits exist with so many cases: only the values
// themselves decide the rest.
func (r *Reach) quantile(q, level float64) {
	limits := stats.Quantile(make([]float64, r.Cases), 0, q, level)
	r.NeverPass, r.NeverFail = math.IsInf(limits.Lower, 0), math.IsInf(limits.Upper, 0)
	if r.Rule.Max != nil {
		r.NeverPass, r.NeverFail = r.NeverFail, r.NeverPass
	} else {
		q = 1 - q // the lower limit is the upper one of the values upside down
	}
	// Equal values that meet the threshold pass as soon as the limit exists.
	r.Needs = perfectNeeds(stats.PlanQuantile([]float64{0}, 0, q, 0, level))
}

// perfectNeeds is the size at which a plan that starts from one perfect case
// passes; 0 when none does.
func perfectNeeds(p stats.Plan) int {
	if p == (stats.Plan{}) {
		return 1
	}
	return p.Total
}

// atLeastZero returns nil for what does not exist: a negative number of cases.
func atLeastZero(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
