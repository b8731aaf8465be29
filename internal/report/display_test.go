package report

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

func readGolden[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Source string `json:"source"`
		Rows   []T    `json:"rows"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Rows) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return file.Rows
}

func TestRateDisplayGoldens(t *testing.T) {
	type row struct {
		Successes, Observed, Missing int
		Lower, Upper                 float64
		Estimate, Interval           string
		Denominator                  string
	}
	for _, r := range readGolden[row](t, "display_rates.json") {
		excluded, err := strconv.Atoi(strings.Fields(strings.Split(r.Denominator, " · ")[2])[0])
		if err != nil {
			t.Fatal(err)
		}
		estimate := float64(r.Successes) / float64(r.Observed)
		m := measure.Metric{
			Spec:     evidence.MetricSpec{ID: "m", Kind: evidence.Rate, Range: [2]float64{0, 1}},
			Estimate: &estimate,
			Interval: &measure.Interval{Lower: &r.Lower, Upper: &r.Upper},
			Cases:    measure.Cases{Observed: r.Observed, Missing: r.Missing, Excluded: excluded},
			Passed:   r.Successes,
		}
		want := Display{Estimate: r.Estimate, Interval: r.Interval, Denominator: r.Denominator}
		if diff := cmp.Diff(want, DisplayOf(m)); diff != "" {
			t.Errorf("%d of %d, %d missing (-want +got):\n%s", r.Successes, r.Observed, r.Missing, diff)
		}
	}
}

func TestDifferenceDisplayGoldens(t *testing.T) {
	type row struct {
		Type                      string
		Pairs, Missing            int
		Estimate, Lower, Upper    float64
		ShownEstimate, ShownRange string
		Denominator               string
	}
	for _, r := range readGolden[row](t, "display_differences.json") {
		s := RateDifferenceScale()
		if r.Type == "score" {
			s = ScoreDifferenceScale([2]float64{-1, 1})
		}
		got := []string{s.Estimate(r.Estimate), s.Interval(&r.Lower, &r.Upper), PairedDenominator(measure.Cases{Observed: r.Pairs, Missing: r.Missing})}
		if diff := cmp.Diff([]string{r.ShownEstimate, r.ShownRange, r.Denominator}, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", r, diff)
		}
	}
}

func TestScales(t *testing.T) {
	for _, tt := range []struct {
		name, got, want string
	}{
		{"no binary artefact in the estimate", RateScale().Estimate(0.285), "28.5%"},
		{"half to even, down", RateScale().Estimate(0.1225), "12.2%"},
		{"half to even, up", RateScale().Estimate(0.1235), "12.4%"},
		{"exact bound stays", RateScale().Lower(0.29), "29.0%"},
		{"exact bound stays above", RateScale().Upper(0.57), "57.0%"},
		{"lower floors", RateScale().Lower(0.44899), "44.8%"},
		{"upper ceils", RateScale().Upper(0.92201), "92.3%"},
		{"tiny lower", RateScale().Lower(5e-324), "0.0%"},
		{"tiny upper", RateScale().Upper(5e-324), "0.1%"},
		{"almost one", RateScale().Lower(math.Nextafter(1, 0)), "99.9%"},
		{"one", RateScale().Upper(1), "100.0%"},
		{"points", RateDifferenceScale().Estimate(1.0 / 15), "+6.7 points"},
		{"points below zero", RateDifferenceScale().Lower(-0.2643), "-26.5"},
		{"nothing", RateDifferenceScale().Estimate(0), "+0.0 points"},
		{"negative zero is nothing", RateDifferenceScale().Estimate(math.Copysign(0, -1)), "+0.0 points"},
		{"below zero keeps its sign", RateDifferenceScale().Upper(-0.0001), "-0.0"},
		{"score", ScoreScale([2]float64{0, 1}).Estimate(0.8658), "0.866"},
		{"score on 1 to 5", ScoreScale([2]float64{1, 5}).Estimate(3.14159), "3.142"},
		{"score on 0 to 10", ScoreScale([2]float64{0, 10}).Estimate(3.14159), "3.14"},
		{"score on 0 to 100", ScoreScale([2]float64{0, 100}).Lower(62.59), "62.5"},
		{"score on a wide range", ScoreScale([2]float64{0, 1e6}).Upper(62.1), "63"},
		{"negative score floors", ScoreScale([2]float64{-1, 1}).Lower(-0.0841), "-0.085"},
		{"no score", ScoreScale([2]float64{0, 1}).Interval(nil, ptr(0.99)), "[no bound, 0.990]"},
		{"infinite", RateScale().Interval(ptr(math.Inf(-1)), ptr(math.NaN())), "[no bound, no bound]"},
		{"latency", QuantileScale("ms", 366.22).Estimate(366.22), "366 ms"},
		{"long latency", QuantileScale("ms", 1249.23).Upper(1249.23), "1250 ms"},
		{"short latency", QuantileScale("ms", 12.345).Lower(12.345), "12.3 ms"},
		{"tiny latency", QuantileScale("ms", 0.1234).Upper(0.1234), "0.124 ms"},
		{"threshold", RateScale().Exact(0.7), "70.0%"},
		{"threshold keeps its digits", RateScale().Exact(0.7512), "75.12%"},
		{"level", Level(0.95), "95%"},
		{"odd level", Level(0.975), "97.5%"},
		{"p", PValue(0.7312), "0.73"},
		{"p of one", PValue(1), "1"},
		{"small p", PValue(0.00016102), "0.00016"},
		{"quantile", quantileName(0.95), "p95"},
		{"fine quantile", quantileName(0.999), "p99.9"},
		{"discordance", wholePercent(1.0 / 15), "7%"},
		{"discordance half to even", wholePercent(0.125), "12%"},
		{"small discordance", wholePercent(0.001), "<1%"},
		{"half a percent", wholePercent(0.005), "<1%"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestQuantileDisplay(t *testing.T) {
	for _, tt := range []struct {
		m    measure.Metric
		want Display
	}{
		{
			measure.Metric{
				Spec:     evidence.MetricSpec{Kind: evidence.Quantile, Quantile: 0.9, Unit: "ms"},
				Estimate: ptr(366.22), Interval: &measure.Interval{Lower: ptr(117.56)},
				Cases: measure.Cases{Observed: 12},
			},
			Display{"366 ms", "[117 ms, no bound]", "p90 of 12 observed · 0 missing · 0 excluded"},
		},
		{
			measure.Metric{
				Spec:  evidence.MetricSpec{Kind: evidence.Rate},
				Cases: measure.Cases{Missing: 15}, Interval: &measure.Interval{Lower: ptr(0.0), Upper: ptr(1.0)},
			},
			Display{"not observed", "[0.0%, 100.0%]", "0 / 0 observed · 15 missing · 0 excluded"},
		},
		{
			measure.Metric{Spec: evidence.MetricSpec{Kind: evidence.Mean, Range: [2]float64{0, 1}}, Cases: measure.Cases{Excluded: 3}},
			Display{"not observed", "no interval", "mean of 0 observed · 0 missing · 3 excluded"},
		},
	} {
		if diff := cmp.Diff(tt.want, DisplayOf(tt.m)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A printed interval is never narrower than the raw one, and a bound that
// clears a threshold is never printed on its other side.
func TestDisplayIsOutward(t *testing.T) {
	scales := map[string]struct {
		scale  Scale
		factor float64
		unit   string
	}{
		"rate":   {RateScale(), 100, "%"},
		"points": {RateDifferenceScale(), 100, ""},
		"score":  {ScoreScale([2]float64{0, 1}), 1, ""},
		"ms":     {QuantileScale("ms", 250), 1, " ms"},
	}
	for name, s := range scales {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := rapid.Float64Range(-1, 1).Draw(t, "x")
				lower, upper := parse(t, s.scale.Lower(x), s.unit), parse(t, s.scale.Upper(x), s.unit)
				estimate := parse(t, strings.TrimSuffix(s.scale.Estimate(x), " points"), s.unit)
				const ulp = 1e-12 // of the factor's own multiplication here
				if v := x * s.factor; lower > v+ulp || upper < v-ulp {
					t.Errorf("%v is printed as [%v, %v]", v, lower, upper)
				}
				if estimate < lower || estimate > upper {
					t.Errorf("estimate %v outside [%v, %v]", estimate, lower, upper)
				}
				// Thresholds with as many digits as are printed: a PASS is visible.
				floor := math.Floor(x*1000) / 1000
				if x >= floor && s.factor == 100 && lower < parse(t, strings.TrimSuffix(s.scale.Exact(floor), " points"), s.unit)-ulp {
					t.Errorf("%v clears %v, but %v is printed", x, floor, lower)
				}
			})
		})
	}
}

func TestRoundingIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0, 1).Draw(t, "a")
		b := rapid.Float64Range(a, 1).Draw(t, "b")
		s := RateScale()
		for _, f := range []func(float64) string{s.Estimate, s.Lower, s.Upper} {
			if parse(t, f(a), "%") > parse(t, f(b), "%") {
				t.Errorf("%v is printed as %s, %v as %s", a, f(a), b, f(b))
			}
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func parse(t fataler, s, unit string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.TrimSuffix(s, unit), 64)
	if err != nil {
		t.Fatalf("%q is no number: %v", s, err)
	}
	return x
}

func ptr[T any](v T) *T { return &v }
