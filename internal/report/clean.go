package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a foreign string (an id, a slice value, an error text) safe to
// print on one line of a terminal: characters that move the cursor, change
// colours, break lines, reorder text or hide are shown as escapes. In JSON text
// the escapes keep its meaning.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // what is not UTF-8 comes as U+FFFD
		switch {
		case !unprintable(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000 // as JSON writes it: a pair of surrogates
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// unprintable reports whether a character is a control, a line or paragraph
// separator or an invisible format character. The two joiners stay: scripts
// and emoji need them.
func unprintable(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	if r < 0x7f {
		return r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) &&
		r != zeroWidthNonJoiner && r != zeroWidthJoiner
}

// cleanAll cleans every string.
func cleanAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Clean(s)
	}
	return out
}
