package evidence

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here walk over JSON without decoding it. They never read
// outside the text; on text that is not JSON they stop early.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the offset after the string that starts with the quote at
// i, or len(b) when it does not end.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' { // ends at the opening quote at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// numberEnd returns the offset after the number, or other bare word, at i.
func numberEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\n', '\t', '\r', '"', '{', '[':
			return i
		}
		i++
	}
	return i
}

// valueEnd returns the offset after the value that starts at i.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		depth := 0
		for ; i < len(b); i++ {
			switch b[i] {
			case '"':
				i = stringEnd(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(b)
	}
	return max(numberEnd(b, i), i+1)
}

// text returns the string that starts at i, with the offset after it. It is a
// part of b unless it holds escapes.
func text(b []byte, i int) (s []byte, end int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return nil, i, false
	}
	end = stringEnd(b, i)
	if end-i < 2 || b[end-1] != '"' {
		return nil, i, false
	}
	s = b[i+1 : end-1]
	if !plain(s) {
		var err error
		if s, err = jsontext.AppendUnquote(nil, b[i:end]); err != nil {
			return nil, i, false
		}
	}
	return s, end, true
}

// plain reports whether a string's text needs no decoding and no check.
func plain(s []byte) bool {
	for _, c := range s {
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// eachMember calls f with the name and the offset of the value of each member
// of the object at i; f returns the offset after the value. The name is valid
// during the call only.
func eachMember(b []byte, i int, f func(name []byte, i int) (int, error)) (int, error) {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '{' {
		return i, fault(b, i, "want an object")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		name, end, ok := text(b, i)
		if !ok {
			return i, fault(b, i, "want a key in double quotes")
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return i, fault(b, i, "want a colon")
		}
		end, err := f(name, skipSpace(b, i+1))
		if err != nil {
			return i, err
		}
		switch i = skipSpace(b, end); {
		case i < len(b) && b[i] == ',':
			i = skipSpace(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, nil
		default:
			return i, fault(b, i, "want a comma or the end of the object")
		}
	}
}

// eachElement calls f with the number and the offset of each element of the
// list at i; f returns the offset after the element.
func eachElement(b []byte, i int, f func(n, i int) (int, error)) (int, error) {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '[' {
		return i, fault(b, i, "want a list")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for n := 0; ; n++ {
		end, err := f(n, i)
		if err != nil {
			return i, err
		}
		switch i = skipSpace(b, end); {
		case i < len(b) && b[i] == ',':
			i = skipSpace(b, i+1)
		case i < len(b) && b[i] == ']':
			return i + 1, nil
		default:
			return i, fault(b, i, "want a comma or the end of the list")
		}
	}
}

func fault(b []byte, i int, want string) error {
	if i >= len(b) {
		return &SyntaxError{Offset: len(b), Message: want + ", but the text ends"}
	}
	return &SyntaxError{Offset: i, Message: want + ", found " + quoteStart(b[i:])}
}
