package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says why bytes are no JSON that can be trusted.
type SyntaxError struct {
	Offset  int    // of the fault, in bytes from 0
	Message string // what stands there and, where it is known, the fix
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Message, e.Offset) }

// ParseJSON checks that b is exactly one JSON value: UTF-8, no name twice in
// an object, no NaN or infinity, no number with a fraction or exponent beyond a
// double, no lone surrogate, at most 1,000 levels deep. The value shares b.
// The error is a [*SyntaxError].
func ParseJSON(b []byte) (Value, error) {
	v := Value(bytes.Trim(b, " \t\r\n"))
	if !v.IsValid() {
		return nil, syntaxError(b, firstFault(b))
	}
	if fault := beyondLimits(v); fault != nil {
		fault.Offset += len(b) - len(bytes.TrimLeft(b, " \t\r\n"))
		return nil, fault
	}
	return v, nil
}

// maxDepth is the deepest nesting of a value. The reader's own limit of 10,000
// holds for the lines of a run's files, which hold values inside.
const maxDepth = 1000

// firstFault returns what the JSON reader says of b.
func firstFault(b []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	if err := d.SkipValue(); err != nil {
		if err == io.EOF {
			return &SyntaxError{Offset: len(b), Message: "nothing there, want a JSON value"}
		}
		return err
	}
	end := int(d.InputOffset())
	switch _, err := d.ReadToken(); err {
	case nil:
		return &SyntaxError{Offset: skipSpace(b, end), Message: "more text after the JSON value: one value is allowed"}
	case io.EOF:
		return nil
	default:
		return &SyntaxError{Offset: skipSpace(b, end), Message: "text after the end of the JSON value: " + quoteStart(b[skipSpace(b, end):])}
	}
}

// syntaxError puts the reader's complaint about b in our words.
func syntaxError(b []byte, err error) *SyntaxError {
	var own *SyntaxError
	if errors.As(err, &own) {
		return own
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return &SyntaxError{Message: fmt.Sprintf("not JSON: %v", err)}
	}
	at := min(int(syntactic.ByteOffset), len(b))
	if at > 0 && at < len(b) && b[at] == 'I' && b[at-1] == '-' {
		at-- // of -Infinity
	}
	rest := b[at:]
	message := ""
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = fmt.Sprintf("key %s stands twice in one object", strconv.Quote(shorten(syntactic.JSONPointer.LastToken(), 60)))
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = len(b)
		message = "the JSON value ends too early"
	case hasUTF16(b):
		message = "looks like UTF-16, want UTF-8"
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		message = "a byte order mark (BOM) stands before the JSON value"
	case isNonFinite(rest):
		message = fmt.Sprintf("%s is not JSON: a number must be finite, and null stands for none", nonFinite(rest))
	case strings.Contains(syntactic.Err.Error(), "surrogate"):
		message = fmt.Sprintf("lone surrogate %s in a string is no Unicode text", quoteStart(rest[:min(6, len(rest))]))
	case strings.Contains(syntactic.Err.Error(), "UTF-8"):
		at += invalidUTF8(rest)
		message = "not UTF-8"
		if at < len(b) {
			message = fmt.Sprintf("byte 0x%02x is not UTF-8", b[at])
		}
	case strings.Contains(syntactic.Err.Error(), "depth"):
		message = tooDeep
	default:
		message = strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ") + hint(b, at)
	}
	return &SyntaxError{Offset: at, Message: message}
}

// hint names the likely fix of a common slip.
func hint(b []byte, at int) string {
	before := bytes.TrimRight(b[:at], " \t\r\n")
	if at >= len(b) {
		return ""
	}
	after := skipSpace(b, at+1)
	switch c := b[at]; {
	case c == ',' && after < len(b) && (b[after] == '}' || b[after] == ']'):
		return "; remove the comma"
	case c == '\'':
		return "; strings take double quotes"
	case c == '/' || c == '#':
		return "; JSON has no comments"
	case bytes.HasPrefix(b[at:], []byte("True")), bytes.HasPrefix(b[at:], []byte("False")), bytes.HasPrefix(b[at:], []byte("None")):
		return "; JSON writes true, false and null"
	case c == '"' && len(before) > 0 && (before[len(before)-1] == '"' || before[len(before)-1] == '}' || before[len(before)-1] == ']'):
		return "; a comma is missing before it"
	}
	return ""
}

// hasUTF16 reports whether b starts as UTF-16 text does: with its byte order
// mark, or with an ASCII character in two bytes.
func hasUTF16(b []byte) bool {
	return len(b) >= 2 && (b[0] == 0xff && b[1] == 0xfe || b[0] == 0xfe && b[1] == 0xff ||
		b[0] == 0 && b[1] != 0 || b[0] != 0 && b[1] == 0)
}

func isNonFinite(b []byte) bool { return nonFinite(b) != "" }

func nonFinite(b []byte) string {
	for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "-NaN", "Inf", "-Inf"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return word
		}
	}
	return ""
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or 0.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return 0
}

const tooDeep = "nested more than 1,000 levels deep"

// beyondLimits returns the first number in valid JSON that is written with a
// fraction or exponent and does not fit a double, or the first place that is
// nested too deep, or nil.
func beyondLimits(v Value) *SyntaxError {
	const longest = 308 // digits before the point that always fit
	depth := 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			i = stringEnd(v, i) - 1
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return &SyntaxError{Offset: i, Message: tooDeep}
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			end := numberEnd(v, i)
			text := v[i:end]
			if bytes.ContainsAny(text, "eE") || len(text) > longest && bytes.IndexByte(text, '.') >= 0 {
				if _, err := strconv.ParseFloat(string(text), 64); err != nil {
					return &SyntaxError{Offset: i, Message: fmt.Sprintf("number %s does not fit a double", quoteStart(text))}
				}
			}
			i = end - 1
		}
	}
	return nil
}

// quoteStart quotes the start of text for a message.
func quoteStart(text []byte) string { return strconv.Quote(shorten(string(text), 40)) }

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
