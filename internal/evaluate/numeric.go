package evaluate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// numericAnswer passes when a number of the output lies within a tolerance of
// the expected one. Units of one dimension are converted; a number without a
// unit counts as one in the unit of the other.
type numericAnswer struct {
	fields
	tolerance suite.Tolerance
	unit      unitOf // of expected numbers without one
	pick      string
	comma     bool
}

func newNumeric(o *suite.Evaluator) (Evaluator, error) {
	e := numericAnswer{fields: fields{o.Field, o.ExpectedField}, tolerance: o.Tolerance, pick: o.Pick, comma: o.Decimal == "comma"}
	if o.Unit != "" {
		u, ok := findUnit(o.Unit)
		if !ok {
			return nil, &optionError{"unit", fmt.Sprintf("unit: %q is no unit that is read: docs/suite.md lists them", o.Unit)}
		}
		e.unit = u
	}
	return e, nil
}

// wanted is the number that a case expects; the fault says why there is none.
func (e numericAnswer) wanted(v evidence.Value) (q quantity, fault string) {
	switch v.Kind() {
	case '0':
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(f, 0) {
			return q, "want a number that fits a double"
		}
		return quantity{value: f, text: string(v), unit: e.unit}, ""
	case '"':
		text, _ := evidence.Text(v)
		all := quantities(text, e.comma)
		if len(all) != 1 {
			fault = fmt.Sprintf("want a number or a text with one number, such as \"24 months\": there are %d", len(all))
			if other := quantities(text, !e.comma); len(all) == 0 && len(other) == 1 {
				fault += map[bool]string{false: " (with decimal: comma it is one)", true: " (with decimal: point it is one)"}[e.comma]
			}
			return q, fault
		}
		if q = all[0]; q.unit.dimension == "" {
			q.unit = e.unit
		}
		return q, ""
	}
	return q, "want a number or a text with one number"
}

// checkCase refuses an expected value without one number.
func (e numericAnswer) checkCase(c *evidence.Case) []string {
	v, path, ok := e.want(c)
	if !ok || v.Kind() == 'n' {
		return nil
	}
	if _, fault := e.wanted(v); fault != "" {
		if path != "" {
			path = "." + path
		}
		return []string{fmt.Sprintf("expected%s: %s, found %s", path, fault, evidence.Shorten(v, 60))}
	}
	return nil
}

// Applicable implements [Evaluator]: the case must expect a number.
func (e numericAnswer) Applicable(c *evidence.Case) string {
	v, _, ok := e.want(c)
	if !ok {
		return evidence.ReasonNoExpected
	}
	if _, fault := e.wanted(v); fault != "" {
		return evidence.ReasonNoExpected
	}
	return ""
}

// Judge implements [Evaluator].
func (e numericAnswer) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	v, _, _ := e.want(c)
	want, _ := e.wanted(v)
	found, fault := e.found(actual)
	if fault != "" {
		return failed(fmt.Sprintf("want %s: %s %s", want.text, fault, evidence.Shorten(actual, shown)))
	}
	for _, q := range found {
		if e.near(want, q) {
			return passed()
		}
	}
	return failed(fmt.Sprintf("want %s, found %s", want.text, some(found)))
}

// found are the numbers of the output that count.
func (e numericAnswer) found(actual evidence.Value) (all []quantity, fault string) {
	if actual.Kind() == '0' {
		f, err := strconv.ParseFloat(string(actual), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, "no number that fits a double in"
		}
		return []quantity{{value: f, text: string(actual)}}, ""
	}
	all = quantities(pythonText(actual), e.comma)
	switch {
	case len(all) == 0:
		return nil, "no number in"
	case e.pick == suite.PickFirst:
		return all[:1], ""
	case e.pick == suite.PickLast:
		return all[len(all)-1:], ""
	case e.pick == suite.PickOnly && len(all) > 1:
		return nil, fmt.Sprintf("%d numbers, and pick: only asks for one, in", len(all))
	}
	return all, ""
}

// near reports whether a number lies within the tolerance of the expected one.
func (e numericAnswer) near(want, q quantity) bool {
	value := q.value
	if q.unit.dimension != "" && want.unit.dimension != "" {
		if q.unit.dimension != want.unit.dimension {
			return false
		}
		if q.unit.factor != want.unit.factor {
			value = q.value * q.unit.factor / want.unit.factor
		}
	}
	// What was written in decimals is compared as decimals: 0.3 lies within 0.1
	// of 0.2, although their doubles do not.
	slack := 1e-12 * math.Max(math.Abs(want.value), math.Abs(value))
	return math.Abs(value-want.value) <= math.Max(e.tolerance.Absolute, e.tolerance.Relative*math.Abs(want.value))+slack
}

// some lists the first few numbers.
func some(all []quantity) string {
	const most = 5
	var words []string
	for _, q := range all[:min(most, len(all))] {
		words = append(words, strings.ToValidUTF8(q.text[:min(len(q.text), 40)], ""))
	}
	text := strings.Join(words, ", ")
	if len(all) > most {
		text += fmt.Sprintf(" and %d more", len(all)-most)
	}
	return text
}
