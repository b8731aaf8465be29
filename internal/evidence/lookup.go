package evidence

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// PathError says at which step a path leads nowhere.
type PathError struct {
	Path  string // as given
	Step  string // the key or index that is not there
	At    string // the path up to the step; "" is the whole value
	Found Value  // what stands at At
}

// Error implements error.
func (e *PathError) Error() string {
	where := "the value"
	if e.At != "" {
		where = strconv.Quote(shorten(e.At, 80))
	}
	return fmt.Sprintf("nothing at %s: %s has no %s (%s)",
		strconv.Quote(shorten(e.Path, 120)), where, strconv.Quote(shorten(e.Step, 60)), describe(e.Found))
}

// Lookup returns what stands at a dotted path in v: members by key, elements
// of lists by index from 0. An empty path is the whole value. Nothing but the
// way to the value is read. The result shares v. The error is a [*PathError].
func Lookup(v Value, path string) (Value, error) {
	at := skipSpace(v, 0)
	if path == "" {
		return v[at:valueEnd(v, at)], nil
	}
	for rest, more := path, true; more; {
		var step string
		done := len(path) - len(rest)
		step, rest, more = strings.Cut(rest, ".")
		next := -1
		if at < len(v) {
			switch v[at] {
			case '{':
				next = memberAt(v, at, step)
			case '[':
				next = elementAt(v, at, step)
			}
		}
		if next < 0 {
			return nil, &PathError{Path: path, Step: step, At: strings.TrimSuffix(path[:done], "."), Found: v[min(at, len(v)):]}
		}
		at = next
	}
	return v[at:valueEnd(v, at)], nil
}

// Member returns a member of an object by its name, which may hold dots; ok is
// false when v has none or is no object.
func Member(v Value, name string) (member Value, ok bool) {
	at := -1
	if i := skipSpace(v, 0); i < len(v) && v[i] == '{' {
		at = memberAt(v, i, name)
	}
	if at < 0 {
		return nil, false
	}
	return v[at:valueEnd(v, at)], true
}

// memberAt returns the offset of the value of a member of the object at i, or -1.
func memberAt(v Value, i int, name string) int {
	found := -1
	_, _ = eachMember(v, i, func(key []byte, at int) (int, error) {
		if string(key) == name {
			found = at
			return at, errStop
		}
		return valueEnd(v, at), nil
	})
	return found
}

// elementAt returns the offset of an element of the list at i, or -1.
func elementAt(v Value, i int, index string) int {
	want, ok := parseIndex(index)
	if !ok {
		return -1
	}
	found := -1
	_, _ = eachElement(v, i, func(n, at int) (int, error) {
		if n == want {
			found = at
			return at, errStop
		}
		return valueEnd(v, at), nil
	})
	return found
}

// errStop ends a walk early.
var errStop = &SyntaxError{Message: "stopped"}

func parseIndex(s string) (int, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// maxKeysShown bounds the keys that an error lists.
const maxKeysShown = 12

// describe says what v is, so that a person sees why a path does not lead on.
func describe(v Value) string {
	switch v.Kind() {
	case '{':
		var keys []string
		n := 0
		for name := range Members(v) {
			if n++; n <= maxKeysShown {
				keys = append(keys, strconv.Quote(shorten(name, 40)))
			}
		}
		switch {
		case n == 0:
			return "it is an object without keys"
		case n > maxKeysShown:
			return fmt.Sprintf("keys: %s and %d more", strings.Join(keys, ", "), n-maxKeysShown)
		}
		return "keys: " + strings.Join(keys, ", ")
	case '[':
		n := 0
		for range Elements(v) {
			n++
		}
		if n == 0 {
			return "it is an empty list"
		}
		return fmt.Sprintf("it is a list: indexes 0 to %d", n-1)
	case '"':
		return "it is a string"
	case '0':
		return "it is a number"
	case 't', 'f':
		return "it is a boolean"
	case 'n':
		return "it is null"
	}
	return "it is no value"
}

// Members yields the members of an object in their order, and nothing for
// another value.
func Members(v Value) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		_, _ = eachMember(v, 0, func(name []byte, i int) (int, error) {
			end := valueEnd(v, i)
			if !yield(string(name), v[i:end]) {
				return end, errStop
			}
			return end, nil
		})
	}
}

// Texts yields every string in a value but for the names of members, in their order.
func Texts(v Value) iter.Seq[string] {
	return func(yield func(string) bool) { eachText(v, yield) }
}

func eachText(v Value, yield func(string) bool) bool {
	if len(v) == 0 {
		return true
	}
	switch v.Kind() {
	case '"':
		s, _ := Text(v)
		return yield(s)
	case '{':
		for _, member := range Members(v) {
			if !eachText(member, yield) {
				return false
			}
		}
	case '[':
		for element := range Elements(v) {
			if !eachText(element, yield) {
				return false
			}
		}
	}
	return true
}

// RawMembers is [Members] with names that share v where they can, for those who
// look at many.
func RawMembers(v Value) iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		_, _ = eachMember(v, 0, func(name []byte, i int) (int, error) {
			end := valueEnd(v, i)
			if !yield(name, v[i:end]) {
				return end, errStop
			}
			return end, nil
		})
	}
}

// Elements yields the elements of a list in their order, and nothing for
// another value.
func Elements(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		_, _ = eachElement(v, 0, func(_, i int) (int, error) {
			end := valueEnd(v, i)
			if !yield(v[i:end]) {
				return end, errStop
			}
			return end, nil
		})
	}
}

// Text returns the text of a JSON string; ok is false for another value.
func Text(v Value) (s string, ok bool) {
	b, _, ok := text(v, skipSpace(v, 0))
	return string(b), ok
}

// IsNull reports whether v is absent or JSON null.
func IsNull(v Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// readable returns JSON with letters in place of their escapes, as services write
// them that send ASCII only. What cannot be printed stays escaped.
func readable(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	unit := func(i int) rune { // of the escape at i; -1 when there is none
		if i+6 > len(s) || s[i:i+2] != `\u` {
			return -1
		}
		n, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		end, r := min(i+6, len(s)), unit(i)
		if low := unit(end); utf16.IsSurrogate(r) && low >= 0 {
			r, end = utf16.DecodeRune(r, low), end+6
		}
		switch {
		case r >= 0x80 && r != utf8.RuneError && !utf16.IsSurrogate(r) && unicode.IsPrint(r):
			b.WriteString(string(r))
			i = end
		default: // an escape of another kind; its second character is no new one
			b.WriteString(s[i:min(i+2, len(s))])
			i += 2
		}
	}
	return b.String()
}

// Shorten returns the start of v as one line for a message: at most n
// characters, with an ellipsis when something is cut.
func Shorten(v Value, n int) string {
	if len(v) == 0 {
		return "nothing"
	}
	start := string(v[:min(len(v), 8*n)])
	line := shorten(readable(strings.Join(strings.Fields(start), " ")), n)
	if len(start) < len(v) && !strings.HasSuffix(line, "…") {
		line += "…"
	}
	return line
}
