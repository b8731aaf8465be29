package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func closeTo(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 5e-5 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestKappaPublished holds kappa against published tables.
func TestKappaPublished(t *testing.T) {
	for _, x := range []struct {
		source string
		l      Labels
		kappa  float64
	}{
		// statsmodels 0.15, statsmodels.stats.inter_rater.cohens_kappa.
		{"statsmodels", Labels{BothPass: 20, JudgeOnly: 5, HumanOnly: 10, BothFail: 15}, 0.4},
		{"statsmodels", Labels{BothPass: 45, JudgeOnly: 15, HumanOnly: 25, BothFail: 15}, 0.130435},
		{"statsmodels", Labels{BothPass: 40, JudgeOnly: 9, HumanOnly: 6, BothFail: 45}, 0.699519},
		{"statsmodels", Labels{BothPass: 11, HumanOnly: 1, BothFail: 8}, 0.897959},
		// Feinstein and Cicchetti, "High agreement but low kappa: I", Journal of
		// Clinical Epidemiology 43 (1990): agreement 0.85 in both tables.
		{"Feinstein and Cicchetti, balanced", Labels{BothPass: 40, JudgeOnly: 9, HumanOnly: 6, BothFail: 45}, 0.6995},
		{"Feinstein and Cicchetti, unbalanced", Labels{BothPass: 80, JudgeOnly: 10, HumanOnly: 5, BothFail: 5}, 0.3182},
	} {
		got, interval := x.l.Kappa(0.95)
		closeTo(t, x.source, got, x.kappa)
		if got != nil && (interval.Lower > *got || interval.Upper < *got) {
			t.Errorf("%s: %v does not hold %v", x.source, interval, *got)
		}
	}
}

// TestFloorOfAJudge: eleven labels that all agree show an agreement of 0.70, and
// thirteen a bias within 0.35 as well (the floor of the Python tool).
func TestFloorOfAJudge(t *testing.T) {
	floor := Bars{Agreement: 0.70, Bias: 0.35}
	for n, want := range map[int][2]bool{10: {false, false}, 11: {true, false}, 12: {true, false}, 13: {true, true}} {
		l := Labels{BothPass: n - 4, BothFail: 4}
		if got := [2]bool{l.Met(Bars{Agreement: 0.70}, 0.95), l.Met(floor, 0.95)}; got != want {
			t.Errorf("%d labels: %v, want %v", n, got, want)
		}
	}
	if p := PlanLabels(Labels{BothPass: 5, BothFail: 3}, floor, 0.95); p.Total != 13 {
		t.Errorf("plan %+v, want 13 in all", p)
	}
	if p := PlanLabels(Labels{BothPass: 10, BothFail: 5}, floor, 0.95); p != (Plan{}) {
		t.Errorf("plan %+v of what is shown", p)
	}
	if p := PlanLabels(Labels{BothPass: 5, HumanOnly: 5}, floor, 0.95); p.Why != PastThreshold {
		t.Errorf("plan %+v of a judge that agrees in half", p)
	}
}

// TestCorrectionsPublished holds the estimates against published ones.
func TestCorrectionsPublished(t *testing.T) {
	// Rogan and Gladen (1978): with sensitivity 0.9 and specificity 0.8 an apparent
	// prevalence of 0.34 stands for a true one of 0.2.
	labels := Labels{BothPass: 90, HumanOnly: 10, BothFail: 80, JudgeOnly: 20}
	got, _ := RoganGladen(340, 1000, 0, labels, 0.95)
	closeTo(t, "Rogan-Gladen", got, 0.2)
	// ppi-python 0.2.3, ppi_mean_pointestimate with lam=1: 600 of 1,000 predictions
	// are 1, and the 50 labelled ones are 40 predicted and 32 true.
	got, interval := PredictionPowered(600, 1000, 0, Labels{BothPass: 30, JudgeOnly: 10, HumanOnly: 2, BothFail: 8}, 0.95)
	closeTo(t, "prediction-powered", got, 0.44)
	// Its normal approximation, ppi_mean_ci, is [0.3081, 0.5719]: ours holds for
	// every number of labels and is wider.
	if interval.Lower > 0.3081 || interval.Upper < 0.5719 || interval.Upper-interval.Lower > 0.6 {
		t.Errorf("interval %v", interval)
	}
}

// TestCorrectedIntervals holds the intervals, with cases that are missing and answers
// that people do not agree on. The values are those of scipy 1.17.1 (beta.ppf) and of
// the betting interval written again with numpy, put together by docs/statistics.md.
// They are so wide that enumeration alone would not notice an error that is not shared.
func TestCorrectedIntervals(t *testing.T) {
	const level = 0.95
	l := Labels{BothPass: 40, JudgeOnly: 3, HumanOnly: 5, BothFail: 22, Unsettled: 2}
	baseline := Labels{BothPass: 35, JudgeOnly: 2, HumanOnly: 6, BothFail: 17, Unsettled: 1}
	pairs := Pairs{Wins: 9, Losses: 4, Observed: 150, Missing: 3}
	type figure struct {
		estimate *float64
		interval Interval
	}
	of := func(x *float64, i Interval) figure { return figure{x, i} }
	for name, x := range map[string]struct {
		got                    figure
		estimate, lower, upper float64
	}{
		"ppi":                  {of(PredictionPowered(110, 160, 4, l, level)), 0.7160714285714286, 0.41971831764926393, 0.9953905537944662},
		"rogan_gladen":         {of(RoganGladen(110, 160, 4, l, level)), 0.7380780346820809, 0.2783123378774155, 1},
		"rogan_gladen, few":    {of(RoganGladen(60, 160, 4, l, level)), 0.3316473988439306, 0, 0.7017827106308293},
		"ppi, paired":          {of(PredictionPoweredPaired(pairs, l, baseline, level)), -0.004761904761904759, -0.5319016102151866, 0.5207838022613428},
		"rogan_gladen, paired": {of(RoganGladenPaired(pairs, l, level)), 0.04335260115606937, -0.32085808914648495, 0.591296224086991},
	} {
		closeTo(t, name, x.got.estimate, x.estimate)
		closeTo(t, name+", lower", &x.got.interval.Lower, x.lower)
		closeTo(t, name+", upper", &x.got.interval.Upper, x.upper)
	}
}

// TestUselessJudge: labels that do not show that a judge is better than a coin
// correct nothing.
func TestUselessJudge(t *testing.T) {
	coin := Labels{BothPass: 25, JudgeOnly: 25, HumanOnly: 25, BothFail: 25}
	for _, l := range []Labels{{}, coin, {BothPass: 40}, {BothFail: 40}} {
		if x, i := RoganGladen(8, 10, 0, l, 0.95); x != nil || i != (Interval{0, 1}) {
			t.Errorf("%+v: %v %v", l, x, i)
		}
		if x, i := RoganGladenPaired(Pairs{Wins: 5, Observed: 10}, l, 0.95); x != nil || i != (Interval{-1, 1}) {
			t.Errorf("%+v, paired: %v %v", l, x, i)
		}
	}
	if x, i := PredictionPowered(8, 10, 0, Labels{}, 0.95); x != nil || i != (Interval{0, 1}) {
		t.Errorf("without labels: %v %v", x, i)
	}
	if x, i := PredictionPoweredPaired(Pairs{Observed: 10}, Labels{}, Labels{BothPass: 9}, 0.95); x != nil || i != (Interval{-1, 1}) {
		t.Errorf("without labels, paired: %v %v", x, i)
	}
}

// eachLabels visits every table of n labels with its probability.
func eachLabels(n int, p [4]float64, visit func(Labels, float64)) {
	term := func(k int, p float64) float64 {
		if k == 0 {
			return 0
		}
		return float64(k) * math.Log(p)
	}
	for a := range n + 1 {
		for b := range n + 1 - a {
			for c := range n + 1 - a - b {
				d := n - a - b - c
				mass := math.Exp(logChoose(n, a) + logChoose(n-a, b) + logChoose(n-a-b, c) + term(a, p[0]) + term(b, p[1]) + term(c, p[2]) + term(d, p[3]))
				visit(Labels{BothPass: a, JudgeOnly: b, HumanOnly: c, BothFail: d}, mass)
			}
		}
	}
}

// TestLabelCoverage enumerates every outcome of labels and cases: no limit errs
// more often than the level allows.
func TestLabelCoverage(t *testing.T) {
	const level, cases, labelled = 0.8, 8, 9
	for _, truth := range []float64{0.1, 0.5, 0.8, 0.97} {
		for _, judge := range [][2]float64{{0.95, 0.9}, {0.7, 0.99}, {0.99, 0.6}, {0.6, 0.6}} {
			se, sp := judge[0], judge[1]
			table := [4]float64{truth * se, (1 - truth) * (1 - sp), truth * (1 - se), (1 - truth) * sp}
			q := table[0] + table[1]
			chance := q*truth + (1-q)*(1-truth)
			want := kappa(table[0]+table[3], chance)
			var wrong [3][2]float64
			miss := func(which int, i Interval, truth, mass float64) {
				if i.Lower > truth {
					wrong[which][0] += mass
				}
				if i.Upper < truth {
					wrong[which][1] += mass
				}
			}
			eachLabels(labelled, table, func(l Labels, mass float64) {
				_, k := l.Kappa(level)
				miss(0, k, want, mass)
				for passed := range cases + 1 {
					both := mass * binomialMass(passed, cases, q)
					_, rg := RoganGladen(passed, cases, 0, l, level)
					miss(1, rg, truth, both)
					_, pp := PredictionPowered(passed, cases, 0, l, level)
					miss(2, pp, truth, both)
				}
			})
			for which, w := range wrong {
				if most := tail(level) + slack; w[0] > most || w[1] > most {
					t.Errorf("truth %v, judge %v, interval %d: the lower limit errs with %v, the upper with %v", truth, judge, which, w[0], w[1])
				}
			}
		}
	}
}

// TestPairedCorrectionsAreConsistent: with many labels both corrections find the true
// difference behind a judge that errs alike on both sides. Its bias is not alike: it
// passes more of the side that has more to fail, so that labels of both sides
// together would hide the difference.
func TestPairedCorrectionsAreConsistent(t *testing.T) {
	// Half of the candidate's answers are right, and 0.8 of the baseline's; the judge's
	// sensitivity and specificity are 0.8, so that it passes 0.5 and 0.68.
	const truth = -0.3
	pairs := Pairs{Wins: 320, Losses: 680, Observed: 2000}
	candidate := Labels{BothPass: 2000, HumanOnly: 500, JudgeOnly: 500, BothFail: 2000}
	baseline := Labels{BothPass: 3200, HumanOnly: 800, JudgeOnly: 200, BothFail: 800}
	both := Labels{BothPass: 5200, HumanOnly: 1300, JudgeOnly: 700, BothFail: 2800}
	x, i := PredictionPoweredPaired(pairs, candidate, baseline, 0.95)
	closeTo(t, "prediction-powered", x, truth)
	if i.Lower > truth || i.Upper < truth || i.Upper-i.Lower > 0.25 {
		t.Errorf("interval %v", i)
	}
	if _, i := PredictionPoweredPaired(pairs, both, both, 0.95); i.Lower <= truth {
		t.Errorf("labels of both sides together give %v, which this test takes for wrong", i)
	}
	x, i = RoganGladenPaired(pairs, both, 0.95)
	closeTo(t, "Rogan-Gladen", x, truth)
	if i.Lower > truth || i.Upper < truth {
		t.Errorf("interval %v", i)
	}
}

// TestBiasDifferenceCoverage enumerates the labels of two sides.
func TestBiasDifferenceCoverage(t *testing.T) {
	const level, labelled = 0.8, 4
	one := [4]float64{0.5, 0.3, 0.05, 0.15}
	for _, two := range [][4]float64{{0.6, 0.05, 0.25, 0.1}, one, {0.25, 0.25, 0.25, 0.25}} {
		want := (one[1] - one[2]) - (two[1] - two[2])
		wrong := 0.0
		eachLabels(labelled, one, func(c Labels, mass float64) {
			eachLabels(labelled, two, func(b Labels, other float64) {
				if x, i := BiasDifference(c, b, level); i.Lower > want || i.Upper < want || *x < i.Lower || *x > i.Upper {
					wrong += mass * other
				}
			})
		})
		if wrong > 1-level+slack {
			t.Errorf("%v beside %v: errs with %v", one, two, wrong)
		}
	}
	if x, i := BiasDifference(Labels{BothPass: 50}, Labels{}, level); x != nil || i.Lower > -1 || i.Upper < 1 {
		t.Errorf("without labels of one side: %v", i)
	}
}

// TestLabelLaws: estimates lie in their intervals, more error is a wider interval,
// and exchanging pass and fail mirrors all.
func TestLabelLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) int { return rapid.IntRange(0, 40).Draw(t, name) }
		l := Labels{some("both pass"), some("judge only"), some("human only"), some("both fail"), rapid.IntRange(0, 3).Draw(t, "unsettled")}
		o := Labels{some("pass"), some("judge"), some("human"), some("fail"), 0}
		observed := rapid.IntRange(1, 200).Draw(t, "observed")
		passed, missing := rapid.IntRange(0, observed).Draw(t, "passed"), rapid.IntRange(0, 5).Draw(t, "missing")
		pairs := Pairs{Wins: rapid.IntRange(0, observed/2).Draw(t, "wins"), Losses: rapid.IntRange(0, observed/2).Draw(t, "losses"), Observed: observed, Missing: missing}
		type estimate func(level float64) (*float64, Interval)
		for name, f := range map[string]estimate{
			"agreement": l.Agreement, "sensitivity": l.Sensitivity, "specificity": l.Specificity, "bias": l.Bias, "kappa": l.Kappa,
			"rogan_gladen": func(level float64) (*float64, Interval) { return RoganGladen(passed, observed, missing, l, level) },
			"prediction": func(level float64) (*float64, Interval) {
				return PredictionPowered(passed, observed, missing, l, level)
			},
			"paired prediction": func(level float64) (*float64, Interval) { return PredictionPoweredPaired(pairs, l, o, level) },
			"paired rogan":      func(level float64) (*float64, Interval) { return RoganGladenPaired(pairs, l, level) },
		} {
			x, i := f(0.9)
			if x != nil && (*x < i.Lower || *x > i.Upper) {
				t.Fatalf("%s: %v is not in %v", name, *x, i)
			}
			if _, wider := f(0.99); wider.Lower > i.Lower || wider.Upper < i.Upper {
				t.Fatalf("%s: at 0.99 %v, at 0.9 %v", name, wider, i)
			}
		}
		// However an unsettled answer had been settled, its limits lie within.
		settled := l
		settled.Unsettled = 0
		for range l.Unsettled {
			*[]*int{&settled.BothPass, &settled.JudgeOnly, &settled.HumanOnly, &settled.BothFail}[rapid.IntRange(0, 3).Draw(t, "settles")]++
		}
		for name, f := range map[string][2]func(float64) (*float64, Interval){
			"agreement": {l.Agreement, settled.Agreement}, "sensitivity": {l.Sensitivity, settled.Sensitivity}, "specificity": {l.Specificity, settled.Specificity},
			"bias": {l.Bias, settled.Bias}, "kappa": {l.Kappa, settled.Kappa},
		} {
			_, open := f[0](0.9)
			if _, i := f[1](0.9); i.Lower < open.Lower-1e-9 || i.Upper > open.Upper+1e-9 {
				t.Fatalf("%s: %v with %d unsettled, %v when they are settled", name, open, l.Unsettled, i)
			}
		}
		swapped := Labels{l.BothFail, l.HumanOnly, l.JudgeOnly, l.BothPass, l.Unsettled}
		_, i := RoganGladen(passed, observed, missing, l, 0.9)
		_, m := RoganGladen(observed-passed, observed, missing, swapped, 0.9)
		if math.Abs(i.Lower-(1-m.Upper)) > 1e-9 || math.Abs(i.Upper-(1-m.Lower)) > 1e-9 {
			t.Fatalf("Rogan-Gladen %v, mirrored %v", i, m)
		}
	})
}
