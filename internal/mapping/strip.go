package mapping

import (
	"regexp"
	"strings"
)

// stripper takes parts out of a text. think and references go first: what they
// hold is not cited by the answer. Own patterns go last, since they may take
// out the markers themselves.
type stripper struct {
	think, references bool
	patterns          []*regexp.Regexp
}

func (c *compiler) stripper(strip []Strip) *stripper {
	if len(strip) == 0 {
		return nil
	}
	s := &stripper{}
	for _, one := range strip {
		switch one.Part {
		case Think:
			s.think = true
		case References:
			s.references = true
		default:
			re, err := regexp.Compile(one.Regex)
			if err != nil {
				c.problem(one.Key, "%s", regexFault(err))
				continue
			}
			s.patterns = append(s.patterns, re)
		}
	}
	return s
}

// said returns what the answer itself says.
func (s *stripper) said(text string) string {
	if s == nil {
		return text
	}
	if s.think {
		text = withoutThinking(text)
	}
	if s.references {
		text = withoutReferences(text)
	}
	return text
}

// judged returns what is left for the evaluators.
func (s *stripper) judged(text string) string {
	text = s.said(text)
	if s != nil {
		for _, re := range s.patterns {
			text = re.ReplaceAllLiteralString(text, "")
		}
	}
	return text
}

// thinkTags are the tags in which models put their reasoning.
var thinkTags = [...]string{"think", "thinking", "thought", "reasoning"}

// withoutThinking drops what stands between tags of reasoning. What comes
// before a closing tag without an opening one is reasoning too, as is what
// follows an opening one that is never closed.
func withoutThinking(text string) string {
	for again := true; again; {
		again = false
		for _, tag := range thinkTags {
			lower := asciiLower(text)
			opening, closing := "<"+tag+">", "</"+tag+">"
			start, end := strings.Index(lower, opening), strings.Index(lower, closing)
			switch {
			case start < 0 && end < 0:
				continue
			case end < 0: // never closed
				text = text[:start]
			case start < 0 || start > end: // never opened
				text = text[end+len(closing):]
			default:
				text = text[:start] + text[end+len(closing):]
			}
			text, again = strings.TrimSpace(text), true
		}
	}
	return text
}

// asciiLower lowers A to Z and keeps all other bytes, so that offsets stay.
func asciiLower(text string) string {
	if strings.IndexByte(text, '<') < 0 {
		return text
	}
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// headings of a list of references, in lower case.
var headings = [...]string{"references", "reference", "sources", "source", "citations", "footnotes", "bibliography", "quellen", "fuentes", "références"}

// withoutReferences drops a list of references at the end: a heading alone in
// its line, and after it nothing but entries of a list.
func withoutReferences(text string) string {
	lines := strings.SplitAfter(text, "\n")
	entries := false
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "":
		case isHeading(line) && entries:
			return strings.TrimRight(strings.Join(lines[:i], ""), " \t\r\n")
		case isEntry(line):
			entries = true
		default:
			return text
		}
	}
	return text
}

func isHeading(line string) bool {
	word := strings.ToLower(strings.Trim(line, "#*_:-–— \t"))
	for _, h := range headings {
		if word == h {
			return true
		}
	}
	return false
}

// isEntry reports whether a line begins as the entries of a list do.
func isEntry(line string) bool {
	for _, mark := range []string{"- ", "* ", "• ", "+ ", "http://", "https://"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(line, "["); ok { // [1] … and [^1]: …
		inside, _, closed := strings.Cut(rest, "]")
		return closed && len(inside) <= 20
	}
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}
