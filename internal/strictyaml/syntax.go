package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxLocate bounds the bytes parsed again to find the line of a syntax error.
const maxLocate = 16 << 20

// parse returns the root node of the only document of a file.
func (f *File) parse() *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(f.src.text))
	var root, second yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		f.whole("the file is empty: %s", f.emptyHint)
		return nil
	case err != nil:
		f.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		f.syntax(err)
		return nil
	default:
		f.problem(f.secondDocument(&second), "a second YAML document begins here: a file holds one, remove the --- and what follows")
	}
	node := &root
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		node = root.Content[0]
	}
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		f.whole("the file is empty: %s", f.emptyHint)
		return nil
	}
	return node
}

// secondDocument finds the --- line that opens the second document.
func (f *File) secondDocument(second *yaml.Node) Position {
	at := f.at(second)
	for n := at.Line; n > 1; n-- {
		if strings.HasPrefix(f.src.line(n), "---") {
			return Position{Line: n, Column: 1}
		}
	}
	return at
}

// syntax reports an error of the YAML parser. The line that the parser names is
// often that of an enclosing list or mapping, so the line is looked for here.
func (f *File) syntax(err error) {
	text := withoutLine(err.Error())
	if name, ok := strings.CutPrefix(text, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		f.problem(f.find("*"+name), "the alias *%s has no anchor: write &%s before the value it stands for, or quote the text", name, name)
		return
	}
	line := f.brokenLine(text)
	source := f.src.line(line)
	indent := len(source) - len(strings.TrimLeft(source, " \t"))
	at := Position{Line: line, Column: utf8.RuneCountInString(source[:indent]) + 1}
	if tab := strings.IndexByte(source[:indent], '\t'); tab >= 0 {
		f.problem(Position{Line: line, Column: tab + 1}, "a tab indents this line: YAML allows only spaces there")
		return
	}
	if open := f.openQuote(line); open.Line > 0 {
		f.problem(open, "not valid YAML: a quote opens here that the line does not close")
		return
	}
	f.problem(at, "not valid YAML: %s", explain(text, source))
}

// openedValue is the beginning of a value in quotes, behind a key or a dash.
var openedValue = regexp.MustCompile(`^\s*(?:- +)?(?:[\w.-]+: +)?(["'])`)

// openQuote finds the last line, up to a broken one, whose value opens a quote
// that the line does not close, and behind which no value goes on: the parser
// reads on to the next quote, and finds the fault there.
func (f *File) openQuote(broken int) (at Position) {
	for i, line := range f.src.lines[:min(broken, len(f.src.lines))] {
		m := openedValue.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		quote := line[m[2]:m[3]]
		rest := strings.ReplaceAll(strings.ReplaceAll(line[m[3]:], `\\`, ""), `\"`, "")
		if strings.Contains(rest, quote) || !f.newKeyAt(i+1) {
			continue
		}
		at = Position{Line: i + 1, Column: utf8.RuneCountInString(line[:m[2]]) + 1}
	}
	return at
}

// newKeyAt reports whether the next line with text begins a key or a comment, or
// there is none.
func (f *File) newKeyAt(i int) bool {
	for ; i < len(f.src.lines); i++ {
		if line := strings.TrimSpace(f.src.lines[i]); line != "" {
			return keyLine.MatchString(line)
		}
	}
	return true
}

var keyLine = regexp.MustCompile(`^(#|- |[\w.-]+:( |$))`)

// explain puts a message of the YAML parser into words that name the fix.
func explain(text, source string) string {
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("mapping values are not allowed"):
		return `a colon and a space stand inside a value, or the indent fits no key above: quote the value, or align the key`
	case has("did not find expected key"), has("did not find expected '-' indicator"):
		return `the indent, a quote or a bracket of this line does not fit what stands above it`
	case has("could not find expected ':'"):
		return `a key without a colon: write KEY: VALUE`
	case has("unexpected end of stream"):
		return `a quote that opens here is never closed`
	case has("expected ',' or"), has("did not find expected node content"):
		return `a bracket or brace is not closed, or a comma is missing, here or in what this line continues`
	case has("cannot start any token"):
		trimmed := strings.TrimLeft(source, " -")
		for _, c := range []string{"@", "`", "%"} {
			if strings.HasPrefix(trimmed, c) || strings.Contains(source, " "+c) {
				return fmt.Sprintf("%s cannot begin a value: put the value in quotes", c)
			}
		}
		return "a character here cannot begin a value: put the value in quotes"
	case has("unknown escape"):
		return `an unknown escape in double quotes: use single quotes, or double the backslash`
	case has("incompatible YAML document"):
		return "only YAML 1.1 and 1.2 can be read"
	case has("tab character"):
		return "a tab stands where YAML allows only spaces"
	}
	return text
}

// counter gives its bytes one at a time, so that it knows how far the parser
// had read when it gave up.
type counter struct {
	text []byte
	n    int
}

func (c *counter) Read(p []byte) (int, error) {
	if c.n >= len(c.text) {
		return 0, io.EOF
	}
	p[0] = c.text[c.n]
	c.n++
	return 1, nil
}

// broken parses text and returns the parser's message, "" when it is valid, and
// how many bytes it had read then.
func broken(text []byte) (message string, reached int) {
	c := &counter{text: text}
	decoder := yaml.NewDecoder(c)
	for {
		var n yaml.Node
		switch err := decoder.Decode(&n); {
		case errors.Is(err, io.EOF):
			return "", c.n
		case err != nil:
			return err.Error(), c.n
		}
	}
}

// brokenLine finds the line where the file stops being YAML, given the parser's
// message: the line after the longest beginning of the text that is valid.
func (f *File) brokenLine(text string) int {
	ends := lineEnds(f.src.text)
	_, reached := broken(f.src.text)
	last := 0 // lines read when the parser gave up
	for last < len(ends) && (last == 0 || ends[last-1] < reached) {
		last++
	}
	budget := max(maxLocate/max(len(f.src.text), 1), 8)
	valid := func(lines int) bool {
		if lines == 0 {
			return true
		}
		message, _ := broken(f.src.text[:ends[lines-1]])
		return message == ""
	}
	good, bad := last-1, last
	for good > 0 && budget > 0 && !valid(good) {
		bad, good, budget = good, good-1, budget-1
	}
	if budget == 0 { // too far back to walk: halve
		budget = 1
		for good = 0; bad-good > 1; {
			if mid := (good + bad) / 2; valid(mid) {
				good = mid
			} else {
				bad = mid
			}
		}
	}
	// Inside a quote or bracket that goes on, every beginning is invalid: there
	// the first line that gives the message of the whole text is meant.
	for n := good + 1; n <= last && budget > 0; n, budget = n+1, budget-1 {
		if message, _ := broken(f.src.text[:ends[n-1]]); withoutLine(message) == text {
			return n
		}
	}
	return good + 1
}

// withoutLine removes what the YAML parser puts before its messages.
func withoutLine(message string) string {
	return regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(message, "")
}

// lineEnds returns the offset after each line of a text.
func lineEnds(text []byte) []int {
	var ends []int
	for i, b := range text {
		if b == '\n' || b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(text) {
		ends = append(ends, len(text))
	}
	return ends
}

// find returns where a text first stands, as a word of its own.
func (f *File) find(word string) Position {
	for i, line := range f.src.lines {
		for from := 0; ; {
			at := strings.Index(line[from:], word)
			if at < 0 {
				break
			}
			end := from + at + len(word)
			if end == len(line) || strings.ContainsRune(" ,]}:\t", rune(line[end])) {
				return Position{Line: i + 1, Column: utf8.RuneCountInString(line[:from+at]) + 1}
			}
			from = end
		}
	}
	return Position{Line: 1, Column: 1}
}
