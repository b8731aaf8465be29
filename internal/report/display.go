package report

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// What stands where there is no figure.
const (
	noBound    = "no bound"
	noInterval = "no interval"
	noEstimate = "not observed"
)

// rounding says to which side a figure is rounded.
type rounding int

const (
	halfEven rounding = iota + 1 // estimates
	downward                     // lower bounds, so that no interval looks narrower than it is
	upward                       // upper bounds
)

// Scale says how the figures of one metric, or of its differences, are
// printed. The zero value prints plain numbers without decimals.
type Scale struct {
	shift  int    // powers of ten between the raw number and the printed one: 2 for percent
	places int    // decimals
	unit   string // after each figure: "%", " ms"
	word   string // after an estimate only: " points"
	signed bool   // differences show their sign
}

// RateScale prints shares as percent with one decimal.
func RateScale() Scale { return Scale{shift: 2, places: 1, unit: "%"} }

// RateDifferenceScale prints differences of shares as signed percentage points
// with one decimal.
func RateDifferenceScale() Scale { return Scale{shift: 2, places: 1, word: " points", signed: true} }

// ScoreScale prints scores with as many decimals as make four significant
// digits of the width of their range: three on [0,1].
func ScoreScale(bounds [2]float64) Scale { return Scale{places: significant(bounds[1]-bounds[0], 4)} }

// ScoreDifferenceScale prints differences of scores, signed. The bounds are
// those of the differences: [-1,1] for scores in [0,1].
func ScoreDifferenceScale(bounds [2]float64) Scale {
	s := ScoreScale(bounds)
	s.signed = true
	return s
}

// QuantileScale prints measurements with their unit. Decimals are such that
// the largest of the values shown has three significant digits, at least.
func QuantileScale(unit string, shown ...float64) Scale {
	largest := 0.0
	for _, x := range shown {
		if isFinite(x) {
			largest = max(largest, math.Abs(x))
		}
	}
	s := Scale{places: significant(largest, 3)}
	if unit != "" {
		s.unit = " " + unit
	}
	return s
}

// significant returns the decimals that give a number of the size of x that
// many significant digits, from 0 to 12.
func significant(x float64, digits int) int {
	if !isFinite(x) || x == 0 {
		return digits - 1
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', -1, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return digits - 1
	}
	return min(max(digits-1-e, 0), 12)
}

// Estimate prints a point value, rounded half to even.
func (s Scale) Estimate(x float64) string { return s.format(x, halfEven) + s.unit + s.word }

// Lower prints a lower bound, rounded down.
func (s Scale) Lower(x float64) string { return s.format(x, downward) + s.unit }

// Upper prints an upper bound, rounded up.
func (s Scale) Upper(x float64) string { return s.format(x, upward) + s.unit }

// Exact prints a number that a person wrote, such as a threshold: every digit
// of it, and at least the decimals of the scale.
func (s Scale) Exact(x float64) string {
	wide := s
	wide.places = max(s.places, decimals(x)-s.shift)
	return wide.format(x, halfEven) + s.unit + s.word
}

// Interval prints both bounds; a side that is nil or infinite has no bound.
func (s Scale) Interval(lower, upper *float64) string {
	low, high := noBound, noBound
	if lower != nil && isFinite(*lower) {
		low = s.Lower(*lower)
	}
	if upper != nil && isFinite(*upper) {
		high = s.Upper(*upper)
	}
	return "[" + low + ", " + high + "]"
}

// format rounds the shortest decimal form of x. Working on that form keeps
// binary artefacts out: 0.29 times 100 is 29, not 28.999999999999996.
func (s Scale) format(x float64, r rounding) string {
	if !isFinite(x) {
		return noBound
	}
	n := scaled(x, s.shift+s.places, r)
	sign := ""
	switch {
	case x < 0:
		sign = "-" // also in front of a zero: the number is below it
	case s.signed:
		sign = "+"
	}
	digits := n.Abs(n).String()
	if s.places == 0 {
		return sign + digits
	}
	if missing := s.places + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - s.places
	return sign + digits[:point] + "." + digits[point:]
}

// scaled returns x times ten to the power of places, rounded to an integer.
func scaled(x float64, places int, r rounding) *big.Int {
	rat, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'e', -1, 64))
	if !ok {
		return new(big.Int)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	rat.Mul(rat, new(big.Rat).SetInt(power))
	floor, rest := new(big.Int).DivMod(rat.Num(), rat.Denom(), new(big.Int)) // the denominator is positive, so this floors
	up := false
	switch r {
	case upward:
		up = rest.Sign() > 0
	case halfEven:
		half := rest.Lsh(rest, 1).Cmp(rat.Denom())
		up = half > 0 || half == 0 && floor.Bit(0) == 1
	}
	if up {
		floor.Add(floor, big.NewInt(1))
	}
	return floor
}

// decimals counts the digits after the point in the shortest decimal form of x.
func decimals(x float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(fraction)
}

// PValue prints a p value with two significant digits.
func PValue(p float64) string { return fmt.Sprintf("%.2g", p) }

// Level prints a confidence level as percent without needless decimals: 95%.
func Level(level float64) string { return Scale{shift: 2, unit: "%"}.Exact(level) }

// wholePercent prints a share as whole percent, half to even; a share that is
// not zero is never printed as zero.
func wholePercent(share float64) string {
	if s := (Scale{shift: 2, unit: "%"}).Estimate(share); s != "0%" || share == 0 {
		return s
	}
	return "<1%"
}

// DisplayOf returns the strings that stand for a metric in every rendering.
func DisplayOf(m measure.Metric) Display {
	s := scaleOf(m)
	d := Display{Estimate: noEstimate, Interval: noInterval, Denominator: denominator(m)}
	if m.Estimate != nil && isFinite(*m.Estimate) {
		d.Estimate = s.Estimate(*m.Estimate)
	}
	if m.Interval != nil {
		d.Interval = s.Interval(m.Interval.Lower, m.Interval.Upper)
	}
	return d
}

func scaleOf(m measure.Metric) Scale {
	switch {
	case m.Spec.Kind == evidence.Rate:
		return RateScale()
	case measuredQuantity(m.Spec.Kind, m.Spec.Unit):
		return quantityScale(m.Spec.Kind, m.Spec.Unit, m.Estimate, m.Interval)
	}
	return ScoreScale(m.Spec.Range)
}

// quantityScale prints a quantity with its unit. The limits of a mean may lie far
// from it, towards the ends of its range, so they do not take its digits away.
func quantityScale(kind evidence.Kind, unit string, estimate *float64, iv *measure.Interval) Scale {
	if kind == evidence.Mean && estimate != nil && *estimate != 0 {
		iv = nil
	}
	return QuantileScale(unit, shownValues(estimate, iv)...)
}

// measuredQuantity reports whether figures are those of a quantity with a unit,
// not shares and not scores.
func measuredQuantity(kind evidence.Kind, unit string) bool {
	return kind == evidence.Quantile || kind == evidence.Mean && unit != ""
}

// shownValues are the numbers that a figure and its interval show.
func shownValues(estimate *float64, iv *measure.Interval) []float64 {
	values := []*float64{estimate}
	if iv != nil {
		values = append(values, iv.Lower, iv.Upper)
	}
	var shown []float64
	for _, v := range values {
		if v != nil {
			shown = append(shown, *v)
		}
	}
	return shown
}

func denominator(m measure.Metric) string {
	var observed string
	switch m.Spec.Kind {
	case evidence.Rate:
		observed = fmt.Sprintf("%d / %d observed", m.Passed, m.Cases.Observed)
	case evidence.Quantile:
		observed = fmt.Sprintf("%s of %d observed", quantileName(m.Spec.Quantile), m.Cases.Observed)
	default:
		observed = fmt.Sprintf("mean of %d observed", m.Cases.Observed)
	}
	return fmt.Sprintf("%s · %d missing · %d excluded", observed, m.Cases.Missing, m.Cases.Excluded)
}

// quantileName returns p95 for 0.95 and p99.9 for 0.999.
func quantileName(q float64) string { return "p" + Scale{shift: 2}.Exact(q) }

// PairedDenominator returns the denominator of a difference.
func PairedDenominator(c measure.Cases) string {
	return fmt.Sprintf("%d paired · %d missing · %d excluded", c.Observed, c.Missing, c.Excluded)
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// finite returns x unless it is nil or no number that JSON can hold.
func finite(x *float64) *float64 {
	if x == nil || !isFinite(*x) {
		return nil
	}
	v := *x
	return &v
}

// count returns "1 case" or "2 cases".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
