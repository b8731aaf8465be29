package stats

import "math"

// Method ids of what a judge is worth and of metrics corrected for its error.
const (
	MethodKappa                 = "cohen_kappa_projected@2"
	MethodRoganGladen           = "rogan_gladen_projected@1"
	MethodPredictionPower       = "prediction_powered_difference@1"
	MethodPairedRoganGladen     = "rogan_gladen_paired_projected@1"
	MethodPairedPredictionPower = "prediction_powered_paired@1"
)

// Labels counts how a judge and a person labelled the same answers, drawn at
// random: the confusion table of the judge.
type Labels struct {
	BothPass  int // the judge and the person say pass
	JudgeOnly int // the judge says pass, the person fail
	HumanOnly int // the person says pass, the judge fail
	BothFail  int // both say fail
	// Unsettled answers were labelled too, and people do not agree on them: no figure
	// counts them, and every limit does at their worst, since leaving out what is hard
	// would make a judge good.
	Unsettled int
}

// N is the number of labelled answers that are settled.
func (l Labels) N() int { return l.BothPass + l.JudgeOnly + l.HumanOnly + l.BothFail }

// share is an estimate of passed out of all, nil without any.
func share(passed, all int) *float64 {
	if all == 0 {
		return nil
	}
	x := float64(passed) / float64(all)
	return &x
}

// Agreement returns the share of answers that judge and person label alike, nil
// without a label, and the interval of [Rate].
func (l Labels) Agreement(level float64) (*float64, Interval) {
	same := l.BothPass + l.BothFail
	return share(same, l.N()), Rate(same, l.N(), l.Unsettled, level)
}

// Sensitivity returns the share of the answers that pass for the person that also
// pass for the judge, nil when there is none, and the interval of [Rate].
func (l Labels) Sensitivity(level float64) (*float64, Interval) {
	all := l.BothPass + l.HumanOnly
	return share(l.BothPass, all), Rate(l.BothPass, all, l.Unsettled, level)
}

// Specificity returns the share of the answers that fail for the person that also
// fail for the judge, nil when there is none, and the interval of [Rate].
func (l Labels) Specificity(level float64) (*float64, Interval) {
	all := l.BothFail + l.JudgeOnly
	return share(l.BothFail, all), Rate(l.BothFail, all, l.Unsettled, level)
}

// pairs are the labels as paired differences, judge minus person.
func (l Labels) pairs() Pairs {
	return Pairs{Wins: l.JudgeOnly, Losses: l.HumanOnly, Observed: l.N(), Missing: l.Unsettled}
}

// Bias returns the mean of judge minus person, in [-1, 1], and the interval of
// [PairedVerdicts]. A judge that passes more than the person has a positive bias.
// Nil without a label.
func (l Labels) Bias(level float64) (*float64, Interval) {
	if l.N() == 0 {
		return nil, Interval{Lower: -1, Upper: 1}
	}
	x := l.pairs().Difference()
	return &x, PairedVerdicts(l.pairs(), level)
}

// BiasDifference returns the bias of a judge on one side's answers less that on the
// other's, in [-2, 2]; nil without labels of both. The interval subtracts those of
// [Labels.Bias], each at half of the error (Bonferroni).
func BiasDifference(candidate, baseline Labels, level float64) (*float64, Interval) {
	each := 1 - (1-level)/2
	of, c := candidate.Bias(each)
	from, b := baseline.Bias(each)
	interval := Interval{Lower: c.Lower - b.Upper, Upper: c.Upper - b.Lower}
	if of == nil || from == nil {
		return nil, interval
	}
	x := *of - *from
	return &x, interval
}

// Kappa returns Cohen's kappa, (po - pe) / (1 - pe) with po the agreement and pe
// that of two who label at random with the same shares of passes; nil without a
// label and where both always say the same word.
//
// The labels that agree are binomial, and given how many there are, so are those of
// them that pass. The interval is the range of kappa over po and over the share of
// passes among the labels that agree, each within its Clopper-Pearson interval at
// the root of the level, and over every share of those that do not agree. The second
// covers whatever the first one counts, so that both cover at the level, for every
// number of labels; it is wide for few.
//
// Source: Cohen, "A coefficient of agreement for nominal scales", Educational
// and Psychological Measurement 20 (1960).
func (l Labels) Kappa(level float64) (*float64, Interval) {
	n, same := l.N(), l.BothPass+l.BothFail
	if n == 0 {
		return nil, Interval{Lower: -1, Upper: 1}
	}
	each := math.Sqrt(level)
	po, passes := Rate(same, n, l.Unsettled, each), Rate(l.BothPass, same, l.Unsettled, each)
	below, above := passes.Lower-0.5, passes.Upper-0.5
	far, near := max(-below, above), max(0, below, -above) // of the share of passes, from a half
	// With d the difference of the two shares of passes, 1 - pe is
	// (1 + d*d) / 2 - 2*(po*t)*(po*t), t the distance from a half, and |d| <= 1 - po.
	// Kappa grows with po at either end of t and of d.
	limit := func(po, t, d float64) float64 { return kappa(po, 1-(1+d*d)/2+2*po*po*t*t) }
	interval := within(-1, 1, limit(po.Lower, far, 0), limit(po.Upper, near, 1-po.Upper))
	judge, person := l.BothPass+l.JudgeOnly, l.BothPass+l.HumanOnly
	chance := (float64(judge)*float64(person) + float64(n-judge)*float64(n-person)) / (float64(n) * float64(n))
	if chance == 1 {
		return nil, interval
	}
	x := kappa(float64(same)/float64(n), chance)
	return &x, interval
}

func kappa(agreement, chance float64) float64 {
	if agreement >= 1 {
		return 1
	}
	if chance >= 1 {
		return math.Inf(-1)
	}
	return 1 - (1-agreement)/(1-chance)
}

func clip(lo, hi, x float64) float64 { return min(hi, max(lo, x)) }

// within is an interval cut to the range of what it is for: limits that lie
// beyond one end of it leave only that end.
func within(lo, hi, lower, upper float64) Interval {
	return Interval{Lower: clip(lo, hi, lower), Upper: clip(lo, hi, upper)}
}

// Bars are what a policy asks of a judge.
type Bars struct {
	Agreement float64 // the lower limit of the agreement must reach it; 0 asks nothing
	Bias      float64 // the interval of the bias must lie strictly within minus and plus this; 0 asks nothing
}

// Met reports whether the labels show that the judge clears the bars.
func (l Labels) Met(b Bars, level float64) bool {
	if l.N() == 0 {
		return b == Bars{}
	}
	_, agreement := l.Agreement(level)
	_, bias := l.Bias(level)
	return agreement.Lower >= b.Agreement && (b.Bias == 0 || -b.Bias < bias.Lower && bias.Upper < b.Bias)
}

// PlanLabels says how many labels in all would show that the judge clears the
// bars, if the next ones go like those there are: the larger of the plans of
// [PlanRate] and of [PlanPairs].
func PlanLabels(l Labels, b Bars, level float64) Plan {
	var plan Plan
	add := func(p Plan) {
		if plan.Why == 0 && (p.Why != 0 || p.Total > plan.Total) {
			plan = p
		}
	}
	_, agreement := l.Agreement(level)
	if b.Agreement > 0 && agreement.Lower < b.Agreement {
		add(PlanRate(l.BothPass+l.BothFail, l.N(), l.Unsettled, b.Agreement, AtLeast, level))
	}
	if b.Bias > 0 && l.N() > 0 && !Equivalent.Met(PairedVerdicts(l.pairs(), level), b.Bias) {
		add(PlanPairs(l.pairs(), Equivalent, b.Bias, level))
	}
	return plan
}

// RoganGladen returns what the rate of true passes is, given how many of the
// observed cases the judge passes and what its labels say of its errors:
// (q + sp - 1) / (se + sp - 1), cut to [0, 1], with q the judge's rate, se its
// sensitivity and sp its specificity; nil where the labels do not show that the
// judge is better than a coin. The interval is the range of that over q, se and sp
// within their Clopper-Pearson intervals, each at a third of the error
// (Bonferroni), so that it carries the error of the labels; a missing case counts
// at its worst. It assumes that the labelled answers are like those judged.
//
// Source: Rogan and Gladen, "Estimating prevalence from the results of a
// screening test", American Journal of Epidemiology 107 (1978).
func RoganGladen(passed, observed, missing int, l Labels, level float64) (*float64, Interval) {
	each := 1 - (1-level)/3
	q := Rate(passed, observed, missing, each)
	_, se := l.Sensitivity(each)
	_, sp := l.Specificity(each)
	whole := Interval{Lower: 0, Upper: 1}
	if se.Lower+sp.Lower <= 1 {
		return nil, whole
	}
	corrected := func(q, se, sp float64) float64 { return (q + sp - 1) / (se + sp - 1) }
	// It grows with q and sp and falls with se.
	interval := within(0, 1, corrected(q.Lower, se.Upper, sp.Lower), corrected(q.Upper, se.Lower, sp.Upper))
	if observed == 0 {
		return nil, interval
	}
	sensitivity, _ := l.Sensitivity(level)
	specificity, _ := l.Specificity(level)
	x := clip(0, 1, corrected(float64(passed)/float64(observed), *sensitivity, *specificity))
	return &x, interval
}

// RoganGladenPaired returns the true mean paired difference behind the judge's,
// in [-1, 1]: its own divided by se + sp - 1; nil where the labels do not show
// that the judge is better than a coin. The interval is the range of that over the
// interval of [PairedVerdicts] and those of se and sp, each at a third of the
// error. It assumes that the judge errs alike on both sides.
func RoganGladenPaired(p Pairs, l Labels, level float64) (*float64, Interval) {
	each := 1 - (1-level)/3
	_, se := l.Sensitivity(each)
	_, sp := l.Specificity(each)
	if se.Lower+sp.Lower <= 1 {
		return nil, Interval{Lower: -1, Upper: 1}
	}
	d := PairedVerdicts(p, each)
	least, most := se.Lower+sp.Lower-1, min(1, se.Upper+sp.Upper-1)
	apart := func(limit, toward float64) float64 { // dividing by less than 1 widens
		if limit*toward > 0 {
			return limit / least
		}
		return limit / most
	}
	interval := within(-1, 1, apart(d.Lower, -1), apart(d.Upper, 1))
	if p.Observed == 0 {
		return nil, interval
	}
	sensitivity, _ := l.Sensitivity(level)
	specificity, _ := l.Specificity(level)
	x := clip(-1, 1, p.Difference()/(*sensitivity+*specificity-1))
	return &x, interval
}

// PredictionPowered returns the rate of true passes as the judge's rate over all
// cases plus the mean of person minus judge over the labelled ones; nil without a
// label or an observed case. The interval adds those of [Rate] and of
// [Labels.Bias], each at half of the error (Bonferroni); a missing case counts at
// its worst. The labelled answers must be a random sample of answers like those
// judged.
//
// Source: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered
// inference", Science 382 (2023), the mean with its rectifier; the limits here
// hold for every number of cases and labels.
func PredictionPowered(passed, observed, missing int, l Labels, level float64) (*float64, Interval) {
	each := 1 - (1-level)/2
	q := Rate(passed, observed, missing, each)
	bias, b := l.Bias(each)
	interval := within(0, 1, q.Lower-b.Upper, q.Upper-b.Lower)
	if bias == nil || observed == 0 {
		return nil, interval
	}
	x := clip(0, 1, float64(passed)/float64(observed)-*bias)
	return &x, interval
}

// PredictionPoweredPaired returns the true mean paired difference, in [-1, 1], as
// the judge's less its bias on the candidate's answers plus that on the
// baseline's; nil without labels of both or an observed pair. The interval adds
// the three, each at a third of the error: a bias that is the same on both sides
// does not cancel unless the labels of each side show it.
func PredictionPoweredPaired(p Pairs, candidate, baseline Labels, level float64) (*float64, Interval) {
	each := 1 - (1-level)/3
	d := PairedVerdicts(p, each)
	of, c := candidate.Bias(each)
	from, b := baseline.Bias(each)
	interval := within(-1, 1, d.Lower-c.Upper+b.Lower, d.Upper-c.Lower+b.Upper)
	if of == nil || from == nil || p.Observed == 0 {
		return nil, interval
	}
	x := clip(-1, 1, p.Difference()-*of+*from)
	return &x, interval
}
