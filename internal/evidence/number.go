package evidence

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// NumberText returns a JSON number as Python prints it: integers digit for
// digit, others as the shortest text of their double, always with a point or
// an exponent (1.0, 1e-07, 1e+22). It is how a number becomes text in slices
// and in evaluators that compare text.
func NumberText(v Value) string {
	v = bytes.TrimSpace(v)
	if !bytes.ContainsAny(v, ".eE") {
		if string(v) == "-0" {
			return "0"
		}
		return string(v)
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil && math.IsInf(f, 0) {
		return string(v)
	}
	return FloatText(f)
}

// FloatText returns a finite double as Python's repr prints it: the shortest
// digits that give it back, with an exponent below 1e-4 and from 1e16 on.
func FloatText(f float64) string {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.IndexByte(s, '.') < 0 {
		s += ".0"
	}
	return s
}
