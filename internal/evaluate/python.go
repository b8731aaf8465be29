package evaluate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Suites are written with Python's notion of text and equality in mind: these
// functions follow str, repr, ==, str.casefold and str.isspace of Python 3 for
// the values that JSON can hold.

// pythonText returns v as text: a string as it is, null as nothing, other
// values as Python's str prints them.
func pythonText(v evidence.Value) string {
	switch v.Kind() {
	case '"':
		s, _ := evidence.Text(v)
		return s
	case 'n':
		return ""
	}
	return string(appendRepr(nil, v))
}

// appendRepr appends v as Python's repr prints it.
func appendRepr(dst []byte, v evidence.Value) []byte {
	switch v.Kind() {
	case 'n':
		return append(dst, "None"...)
	case 't':
		return append(dst, "True"...)
	case 'f':
		return append(dst, "False"...)
	case '0':
		return append(dst, evidence.NumberText(v)...)
	case '"':
		s, _ := evidence.Text(v)
		return appendStringRepr(dst, s)
	case '[':
		dst = append(dst, '[')
		start := len(dst)
		for element := range evidence.Elements(v) {
			if len(dst) > start {
				dst = append(dst, ", "...)
			}
			dst = appendRepr(dst, element)
		}
		return append(dst, ']')
	case '{':
		dst = append(dst, '{')
		start := len(dst)
		for name, member := range evidence.Members(v) {
			if len(dst) > start {
				dst = append(dst, ", "...)
			}
			dst = appendStringRepr(dst, name)
			dst = append(dst, ": "...)
			dst = appendRepr(dst, member)
		}
		return append(dst, '}')
	}
	return dst
}

// appendStringRepr quotes s: with single quotes unless it holds some and no
// double ones; what cannot be printed is escaped.
func appendStringRepr(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r <= 0xff:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r <= 0xffff:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, quote)
}

// isSpace reports whether Python's str.isspace and \s hold for r.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// casefold removes differences of case as str.casefold does: two texts are
// equal after the one when they are after the other.
func casefold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	// Fold swaps the two cases of Cherokee; given small letters only, it makes
	// them all capital, as Unicode's CaseFolding.txt does.
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToLower(r)
		}
		return r
	}, s)
	return cases.Fold().String(s)
}

// pythonEqual compares two JSON values: true is 1, false is 0, numbers are
// compared by their exact value, members of objects in any order.
func pythonEqual(a, b evidence.Value) bool {
	if numeric(a) && numeric(b) {
		return numbersEqual(a, b)
	}
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case '"':
		x, _ := evidence.Text(a)
		y, _ := evidence.Text(b)
		return x == y
	case '[':
		return listsEqual(a, b)
	case '{':
		return objectsEqual(a, b)
	}
	return true // null
}

func listsEqual(a, b evidence.Value) bool {
	var rest []evidence.Value
	for v := range evidence.Elements(b) {
		rest = append(rest, v)
	}
	for v := range evidence.Elements(a) {
		if len(rest) == 0 || !pythonEqual(v, rest[0]) {
			return false
		}
		rest = rest[1:]
	}
	return len(rest) == 0
}

func objectsEqual(a, b evidence.Value) bool {
	members := map[string]evidence.Value{}
	for name, v := range evidence.Members(b) {
		members[name] = v
	}
	n := 0
	for name, v := range evidence.Members(a) {
		other, ok := members[name]
		if !ok || !pythonEqual(v, other) {
			return false
		}
		n++
	}
	return n == len(members)
}

// numeric reports whether Python counts v as a number: booleans are.
func numeric(v evidence.Value) bool {
	k := v.Kind()
	return k == '0' || k == 't' || k == 'f'
}

// numbersEqual compares by exact value: an integer is not rounded to a double.
func numbersEqual(a, b evidence.Value) bool {
	x, xIsInt := integerText(a)
	y, yIsInt := integerText(b)
	switch {
	case xIsInt && yIsInt:
		return x == y
	case xIsInt:
		return integerEquals(x, b)
	case yIsInt:
		return integerEquals(y, a)
	}
	f, _ := strconv.ParseFloat(string(a), 64)
	g, _ := strconv.ParseFloat(string(b), 64)
	return f == g
}

// integerText returns the digits of an integer or a boolean.
func integerText(v evidence.Value) (digits string, ok bool) {
	switch v.Kind() {
	case 't':
		return "1", true
	case 'f':
		return "0", true
	}
	digits = evidence.NumberText(v)
	return digits, !strings.ContainsAny(digits, ".e")
}

// integerEquals reports whether the double that v writes has exactly the value
// of an integer.
func integerEquals(digits string, v evidence.Value) bool {
	f, err := strconv.ParseFloat(string(v), 64)
	const longest = 310 // digits of the largest double, and a sign
	if err != nil || f != math.Trunc(f) || len(digits) > longest {
		return false
	}
	exact, _ := new(big.Float).SetFloat64(f).Int(nil)
	return exact.String() == digits
}
