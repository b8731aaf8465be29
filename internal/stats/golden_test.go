package stats

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

// The goldens a to i in testdata were computed with Oloproof 0.1.0a20 (PyPI);
// statistics.json by an independent implementation in mpmath at 40 digits.

func golden[T any](t testing.TB, name string) T {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// near compares doubles across machines: math.Log and math.Exp are not equal
// to the last bit everywhere.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got == want { // infinities too
		return
	}
	if !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

type rows[T any] struct{ Rows []T }

func TestRateGolden(t *testing.T) {
	type row struct {
		Successes    int
		NObserved    int `json:"n_observed"`
		NMissing     int `json:"n_missing"`
		Level        float64
		Lower, Upper float64
	}
	g := golden[rows[row]](t, "a_clopper_pearson.json")
	if len(g.Rows) != 43 {
		t.Fatalf("%d rows, want 43", len(g.Rows))
	}
	for _, r := range g.Rows {
		i := Rate(r.Successes, r.NObserved, r.NMissing, r.Level)
		near(t, "lower", i.Lower, r.Lower)
		near(t, "upper", i.Upper, r.Upper)
	}
}

func TestRateReference(t *testing.T) {
	type row struct {
		K, N     int
		Level    string
		LowerSig string `json:"lower_sig"`
		UpperSig string `json:"upper_sig"`
	}
	g := golden[struct {
		Rows []row `json:"clopper_pearson"`
	}](t, "statistics.json")
	if len(g.Rows) != 29 {
		t.Fatalf("%d rows, want 29", len(g.Rows))
	}
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	// 1e-9 of the distance to the nearer end of [0, 1], so that small limits count.
	relative := func(what string, r row, got, want float64) {
		if math.Abs(got-want) > 1e-9*min(want, 1-want)+1e-15 {
			t.Errorf("%s of %d of %d at %s = %v, want %v", what, r.K, r.N, r.Level, got, want)
		}
	}
	for _, r := range g.Rows {
		i := Rate(r.K, r.N, 0, number(r.Level))
		relative("lower", r, i.Lower, number(r.LowerSig))
		relative("upper", r, i.Upper, number(r.UpperSig))
	}
}

func TestMeanGolden(t *testing.T) {
	type row struct {
		Kind         string
		Values       []float64
		NMissing     int `json:"n_missing"`
		Range        [2]float64
		Level        float64
		Estimate     float64
		Lower, Upper float64
	}
	g := golden[rows[row]](t, "b_bounded_mean.json")
	if len(g.Rows) != 34 {
		t.Fatalf("%d rows, want 34", len(g.Rows))
	}
	for _, r := range g.Rows {
		i := Mean(r.Values, r.NMissing, r.Range[0], r.Range[1], r.Level)
		near(t, r.Kind+" lower", i.Lower, r.Lower)
		near(t, r.Kind+" upper", i.Upper, r.Upper)
		near(t, r.Kind+" estimate", Estimate(r.Values), r.Estimate)
	}
}

func TestQuantileGolden(t *testing.T) {
	type row struct {
		Values       []float64
		Q, Level     float64
		NMissing     int `json:"n_missing"`
		Estimate     float64
		Lower, Upper *float64
	}
	g := golden[rows[row]](t, "i_quantile.json")
	if len(g.Rows) != 14 {
		t.Fatalf("%d rows, want 14", len(g.Rows))
	}
	bound := func(p *float64, none float64) float64 {
		if p == nil {
			return none
		}
		return *p
	}
	for _, r := range g.Rows {
		i := Quantile(r.Values, r.NMissing, r.Q, r.Level)
		want := Interval{bound(r.Lower, math.Inf(-1)), bound(r.Upper, math.Inf(1))}
		if i != want {
			t.Errorf("quantile %v of %d values at %v = %v, want %v", r.Q, len(r.Values), r.Level, i, want)
		}
		if got := QuantileEstimate(r.Values, r.Q); got != r.Estimate {
			t.Errorf("estimate = %v, want %v", got, r.Estimate)
		}
	}
}

func TestPairedGolden(t *testing.T) {
	type row struct {
		Type                string
		Wins, Losses, Pairs int
		Differences         []float64
		Range               [2]float64
		NMissing            int `json:"n_missing"`
		Level               float64
		Estimate            float64
		Lower, Upper        float64
		ConditionalExact    *Interval `json:"conditional_exact"`
	}
	g := golden[rows[row]](t, "c_paired_difference.json")
	if len(g.Rows) != 31 {
		t.Fatalf("%d rows, want 31", len(g.Rows))
	}
	for _, r := range g.Rows {
		if r.Type == "score" {
			i := PairedScores(r.Differences, r.NMissing, r.Range[1], r.Level)
			near(t, "score lower", i.Lower, r.Lower)
			near(t, "score upper", i.Upper, r.Upper)
			near(t, "score estimate", Estimate(r.Differences), r.Estimate)
			continue
		}
		p := Pairs{Wins: r.Wins, Losses: r.Losses, Observed: r.Pairs, Missing: r.NMissing}
		i := PairedVerdicts(p, r.Level)
		near(t, "lower", i.Lower, r.Lower)
		near(t, "upper", i.Upper, r.Upper)
		near(t, "estimate", p.Difference(), r.Estimate)
		c := PairedConditionalExact(p, r.Level)
		near(t, "conditional lower", c.Lower, r.ConditionalExact.Lower)
		near(t, "conditional upper", c.Upper, r.ConditionalExact.Upper)
	}
}
