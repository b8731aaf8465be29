package evaluate

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/oloproof/oloproof-go/internal/suite"
)

// normal brings texts to a form in which they are compared.
type normal struct {
	nfkc, fold, articles, whitespace bool
	marks                            func(rune) bool // what is left out; nil: nothing
}

func newNormal(o *suite.Evaluator) normal {
	has := func(form string) bool { return slices.Contains(o.Normalise, form) }
	n := normal{nfkc: has(suite.FormNFKC), fold: o.CaseFold, articles: has(suite.FormArticles), whitespace: has(suite.FormWhitespace)}
	if has(suite.FormSQuAD) {
		n.fold, n.articles, n.whitespace, n.marks = true, true, true, isASCIIMark
	}
	if has(suite.FormPunctuation) {
		n.marks = func(r rune) bool { return isASCIIMark(r) || unicode.IsPunct(r) }
	}
	return n
}

// isASCIIMark reports whether r is one of the 32 characters of Python's
// string.punctuation.
func isASCIIMark(r rune) bool {
	return r > ' ' && r < 0x7f && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// withoutArticles puts a space in place of each English article that is a word.
func withoutArticles(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i + strings.IndexFunc(s[i:], isWord)
		if end < i {
			end = len(s)
		}
		b.WriteString(s[i:end])
		i = end
		if end = strings.IndexFunc(s[i:], func(r rune) bool { return !isWord(r) }); end < 0 {
			end = len(s) - i
		}
		switch word := s[i : i+end]; strings.ToLower(word) {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		i += end
	}
	return b.String()
}

// text returns s in its form. The steps have the order of the official script
// of SQuAD (evaluate-v1.1.py, normalize_answer): small letters, marks,
// articles, white space.
func (n normal) text(s string) string {
	if n.nfkc {
		s = norm.NFKC.String(s)
	}
	if n.fold {
		s = casefold(s)
	}
	if n.marks != nil {
		s = strings.Map(func(r rune) rune {
			if n.marks(r) {
				return -1
			}
			return r
		}, s)
	}
	if n.articles {
		s = withoutArticles(s)
	}
	if n.whitespace {
		s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	}
	return s
}
