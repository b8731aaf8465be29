package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// mostCode is the most characters of a foreign string in Markdown.
const mostCode = 200

// Code makes a foreign string (an id, a slice value, a branch, an error text)
// safe in GitHub's Markdown: a code span of one line, in which no mention,
// link, image, tag or emphasis holds. Everything that this program did not write
// itself goes through it. What is invisible or moves text is dropped, long
// strings end with an ellipsis, an empty one is a dash.
func Code(s string) string { return codeSpan(s, mostCode) }

// codeCell is [Code] for a cell of a table, where a bar would end the cell.
func codeCell(s string) string { return strings.ReplaceAll(Code(s), "|", `\|`) }

func codeSpan(s string, most int) string {
	s = cutRunes(visible(s), most)
	if strings.Trim(s, " ") == "" {
		return "–"
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " " // which the reader of Markdown takes off again
	}
	return fence + s + fence
}

// visible returns s in normal form on one line, without escape sequences,
// control characters, and characters that are invisible or reorder text.
func visible(s string) string {
	s = strings.ToValidUTF8(withoutEscapes(s), "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Zs):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co), ignorable(r):
			return -1
		}
		return r
	}, s)
	// Last, since it may turn a look-alike into a backquote.
	return norm.NFC.String(s)
}

// ignorable reports characters that take no place though they are letters or
// marks: Hangul fillers, the combining grapheme joiner, variation selectors.
func ignorable(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// withoutEscapes drops terminal escape sequences (ECMA-48): ESC [ … final byte,
// and ESC ] … up to BEL or ESC \. Any other ESC is dropped as a control character.
func withoutEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = rest[sequence(rest):]
	}
}

// sequence is the length of the escape sequence that s continues behind its ESC.
func sequence(s string) int {
	switch {
	case strings.HasPrefix(s, "["):
		for i := 1; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x3f {
				return i
			}
		}
		return len(s)
	case strings.HasPrefix(s, "]"):
		if i := strings.IndexAny(s, "\a\x1b\n"); i >= 0 {
			if s[i] == '\a' {
				return i + 1
			}
			return i
		}
	}
	return 0
}

// longestRun is the length of the longest run of b in s.
func longestRun(s string, b byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != b {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Prose returns a sentence that this program wrote as it is, and any other text
// as [Code]. A stored document may come from anywhere, so what it says is looked
// at: only words, names and numbers that Markdown and GitHub leave alone pass.
func Prose(s string) string {
	for word := range strings.SplitSeq(s, " ") {
		if !plainWord(word) {
			return Code(s)
		}
	}
	if strings.TrimSpace(s) == "" {
		return "–"
	}
	return s
}

// proseCell is [Prose] for a cell of a table.
func proseCell(s string) string {
	if p := Prose(s); p == s {
		return p
	}
	return codeCell(s)
}

// plainWord reports whether a word is a number, or a word of letters whose
// parts may be joined by - or _, in brackets and with a sign of punctuation.
func plainWord(w string) bool {
	if w == "·" || w == "/" || w == "-" {
		return true
	}
	if strings.Contains(w, "]:") { // the definition of a link
		return false
	}
	w = strings.TrimRight(strings.TrimLeft(w, "(["), ",;:.)]")
	return plainNumber(w) || plainName(strings.TrimSuffix(w, "'s"))
}

// plainNumber accepts 15, -26.5%, +40.8, <1%, ±5.0 and 1/2.
func plainNumber(w string) bool {
	for _, sign := range []string{"<", "±", "+", "-"} {
		w = strings.TrimPrefix(w, sign)
	}
	w = strings.TrimSuffix(w, "%")
	if w == "" || len(w) > 20 {
		return false
	}
	digit := false
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case (c == '.' || c == ',') && digit && i+1 < len(w):
			digit = false
		default:
			return false
		}
	}
	return digit
}

// plainName accepts words of ASCII letters, with digits behind a letter or an
// underscore, joined inside by single - or _, and the @1 of a method's version,
// which stands behind a small letter.
func plainName(w string) bool {
	if method, ok := strings.CutSuffix(w, "@1"); ok && method != "" && method[len(method)-1] >= 'a' && method[len(method)-1] <= 'z' {
		w = method
	}
	if len(w) > 60 || strings.HasPrefix(strings.ToLower(w), "www") || commitLike(w) {
		return false
	}
	before := byte('-')
	for i := range len(w) {
		c := w[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		switch {
		case letter:
		case digit && before != '-' && i > 0:
		case c == '.' && before >= '0' && before <= '9' && i+1 < len(w) && w[i+1] >= '0' && w[i+1] <= '9':
		case (c == '-' || c == '_') && i > 0 && i+1 < len(w) && before != '-' && before != '_':
		default:
			return false
		}
		before = c
	}
	return w != ""
}

// commitLike reports whether GitHub may take a word for the id of a commit.
func commitLike(w string) bool {
	hex := func(r rune) bool { return r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'f' }
	return len(w) >= 7 && !strings.ContainsFunc(w, func(r rune) bool { return !hex(r) })
}
