package mapping

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// shorten cuts s after n characters and says so with an ellipsis.
func shorten(s string, n int) string {
	at := 0
	for i := range s {
		if at == n {
			return s[:i] + "…"
		}
		at++
	}
	return s
}

// kindOf names the type of a value.
func kindOf(v evidence.Value) string {
	switch v.Kind() {
	case '"':
		return "text"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 'n':
		return "null"
	}
	return "nothing"
}

// found says what stands somewhere, with its type.
func found(v evidence.Value) string {
	switch v.Kind() {
	case '"', '0', 't', 'f':
		return kindOf(v) + ", " + evidence.Shorten(v, 60)
	case '[':
		n := 0
		for range evidence.Elements(v) {
			n++
		}
		return fmt.Sprintf("a list of %d", n)
	}
	return kindOf(v)
}

// asText returns text, and the digits of a number.
func asText(v evidence.Value) (string, bool) {
	if v.Kind() == '0' {
		return string(v), true
	}
	return evidence.Text(v)
}

// quote returns text as JSON.
func quote(s string) evidence.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	}
	return b
}

// aNumber returns the number that a value is, or that its text spells.
func aNumber(v evidence.Value) (float64, bool) {
	if v.Kind() == '0' {
		n, err := strconv.ParseFloat(string(v), 64)
		return n, err == nil
	}
	text, ok := evidence.Text(v)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && n-n == 0 && !strings.ContainsAny(text, "xX_pP")
}

// didYouMean proposes the nearest of several words, or nothing.
func didYouMean(got string, allowed []string) string {
	if near := problem.Nearest(got, allowed); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}
