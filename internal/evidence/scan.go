package evidence

import "bytes"

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
