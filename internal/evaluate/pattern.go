package evaluate

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// pattern is a regular expression in the syntax and with the meaning of
// Python's re for text, compiled for an engine that takes linear time. It
// reports matches only, so that groups need no capture.
type pattern struct {
	source string
	// fast is right for every text, except that it reads $ as the very end and
	// \b as the border of ASCII words.
	fast        *regexp.Regexp
	exact       *machine // right for every text; nil when fast is
	hasEnd      bool     // $ stands in it, outside of (?m)
	hasBoundary bool     // \b or \B stands in it, outside of (?a)
	hasEmpty    bool     // \b or \B stands in it: special in an empty text
}

// CheckPattern says what is wrong with a pattern of an evaluator; nil when nothing is.
func CheckPattern(source string) error {
	_, err := compilePattern(source)
	return err
}

// compilePattern compiles a pattern of Python's re, or says what is wrong with
// it or not supported, and where: positions count characters from 0.
func compilePattern(source string) (*pattern, error) {
	t := translator{source: []rune(source), names: map[string]bool{}}
	expression, err := t.translate()
	if err != nil {
		return nil, err
	}
	p := &pattern{source: source, hasEnd: t.hasEnd, hasBoundary: t.hasBoundary, hasEmpty: t.hasEmpty}
	if p.fast, err = regexp.Compile(expression); err != nil {
		return nil, engineError(err)
	}
	if p.hasEnd || p.hasEmpty {
		parsed, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			return nil, engineError(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return nil, engineError(err)
		}
		p.exact = newMachine(program)
	}
	return p, nil
}

// engineError puts a refusal of the engine in our words. What is wrong by
// Python's rules was found before.
func engineError(err error) error {
	var fault *syntax.Error
	if errors.As(err, &fault) {
		switch fault.Code {
		case syntax.ErrInvalidRepeatSize:
			return fmt.Errorf("repeats inside repeats come to more than %d, which is not supported", maxRepeat)
		case syntax.ErrNestingDepth:
			return fmt.Errorf("groups and repeats are nested more than %d deep, which is not supported", maxDepth)
		case syntax.ErrLarge:
			return errors.New("the pattern is too large")
		}
	}
	return err
}

// String returns the pattern as it was written.
func (p *pattern) String() string { return p.source }

// MatchString reports whether the pattern is found anywhere in text.
func (p *pattern) MatchString(text string) bool {
	if p.exact != nil && (p.hasEnd && strings.HasSuffix(text, "\n") || p.hasBoundary && !isASCII(text) || p.hasEmpty && text == "") {
		return p.exact.match(text)
	}
	return p.fast.MatchString(text)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > unicode.MaxASCII {
			return false
		}
	}
	return true
}

// maxRepeat is the largest count of a repeat, which is RE2's.
const maxRepeat = 1000

// maxDepth is how deep groups are nested at most.
const maxDepth = 1000

// flags are the inline flags in force.
type flags struct {
	ignoreCase, multiline, dotAll, verbose, ascii bool
}

// translator turns Python's syntax into Go's. Groups become groups without
// capture; the groups with capture that it writes mark what Go has no word
// for: (\z) is Python's $, (\b) and (\B) are those of ASCII words.
type translator struct {
	source []rune
	at     int
	names  map[string]bool // of groups

	hasEnd, hasBoundary, hasEmpty bool
}

// patternError is what is wrong at a place of a pattern.
type patternError struct {
	at      int
	message string
}

func (e *patternError) Error() string { return fmt.Sprintf("%s at position %d", e.message, e.at) }

func (t *translator) fail(at int, format string, args ...any) error {
	return &patternError{at, fmt.Sprintf(format, args...)}
}

// refuse names a construct that Python has and a linear-time engine has not.
func (t *translator) refuse(at int, what string) error {
	return fmt.Errorf("%s at position %d is not supported: patterns run in linear time (RE2), without look-around, backreferences, conditionals, atomic groups, possessive repeats or repeats above %d", what, at, maxRepeat)
}

func (t *translator) translate() (string, error) {
	expression, err := t.alternation(flags{}, 0)
	if err != nil {
		return "", err
	}
	if t.at < len(t.source) {
		return "", t.fail(t.at, "unbalanced parenthesis")
	}
	return expression, nil
}

// peek returns the next character, or -1 at the end.
func (t *translator) peek() rune {
	if t.at < len(t.source) {
		return t.source[t.at]
	}
	return -1
}

// accept skips s if it comes next.
func (t *translator) accept(s string) bool {
	n := 0
	for _, r := range s {
		if t.at+n >= len(t.source) || t.source[t.at+n] != r {
			return false
		}
		n++
	}
	t.at += n
	return true
}

// alternation reads up to the end of a group or of the pattern.
func (t *translator) alternation(f flags, depth int) (string, error) {
	var b strings.Builder
	for first := true; ; first = false {
		sequence, err := t.sequence(&f, depth, first)
		if err != nil {
			return "", err
		}
		b.WriteString(sequence)
		if !t.accept("|") {
			return b.String(), nil
		}
		b.WriteByte('|')
	}
}

// What the last item of a sequence is to a repeat.
const (
	nothing = iota // there is none
	position
	atom
	repeated
)

// sequence reads up to a bar, the end of a group or of the pattern.
func (t *translator) sequence(f *flags, depth int, first bool) (string, error) {
	var items []string
	last := nothing
	for t.at < len(t.source) {
		start, c := t.at, t.source[t.at]
		if c == '|' || c == ')' {
			break
		}
		if f.verbose && t.skipVerbose() {
			continue
		}
		if minimum, maximum, ok := t.repeat(); ok {
			item, err := t.repeatItem(start, last, items, minimum, maximum)
			if err != nil {
				return "", err
			}
			items[len(items)-1], last = item, repeated
			continue
		}
		t.at++
		item, kind, err := t.item(start, c, f, depth, first && len(items) == 0)
		if err != nil {
			return "", err
		}
		if kind != nothing {
			items, last = append(items, item), kind
		}
	}
	return strings.Join(items, ""), nil
}

// skipVerbose skips white space or a comment of (?x).
func (t *translator) skipVerbose() bool {
	switch c := t.source[t.at]; {
	case strings.ContainsRune(" \t\n\r\v\f", c):
		t.at++
		return true
	case c == '#':
		for t.at < len(t.source) && t.source[t.at] != '\n' {
			t.at++
		}
		return true
	}
	return false
}

// repeat reads a count such as * or {2,3}; maximum is -1 when there is none.
// A brace that is no count is left, as a literal.
func (t *translator) repeat() (minimum, maximum int, ok bool) {
	switch {
	case t.accept("*"):
		return 0, -1, true
	case t.accept("+"):
		return 1, -1, true
	case t.accept("?"):
		return 0, 1, true
	}
	start := t.at
	if !t.accept("{") || t.peek() == '}' {
		t.at = start
		return 0, 0, false
	}
	minimum, hasMinimum := t.number()
	maximum = minimum
	if t.accept(",") {
		var hasMaximum bool
		if maximum, hasMaximum = t.number(); !hasMaximum {
			maximum = -1
		}
	} else if !hasMinimum {
		t.at = start
		return 0, 0, false
	}
	if !t.accept("}") {
		t.at = start
		return 0, 0, false
	}
	return minimum, maximum, true
}

// number reads decimal digits; a number beyond any count is cut to one.
func (t *translator) number() (n int, ok bool) {
	for '0' <= t.peek() && t.peek() <= '9' {
		n = min(10*n+int(t.peek()-'0'), 1<<30)
		t.at++
		ok = true
	}
	return n, ok
}

func (t *translator) repeatItem(start, last int, items []string, minimum, maximum int) (string, error) {
	switch {
	case last == nothing || last == position:
		return "", t.fail(start, "nothing to repeat")
	case last == repeated:
		return "", t.fail(start, "multiple repeat")
	case maximum >= 0 && maximum < minimum:
		return "", t.fail(start, "the least count of a repeat is above the largest")
	case max(minimum, maximum) > maxRepeat:
		return "", t.refuse(start, fmt.Sprintf("a repeat of %s", string(t.source[start:t.at])))
	}
	if t.accept("+") {
		return "", t.refuse(start, "a possessive repeat "+string(t.source[start:t.at]))
	}
	t.accept("?") // lazy: the same for a search that only asks whether there is a match
	count := fmt.Sprintf("{%d,%d}", minimum, maximum)
	if maximum < 0 {
		count = fmt.Sprintf("{%d,}", minimum)
	}
	return "(?:" + items[len(items)-1] + ")" + count, nil
}

// item reads one item that starts with c at start.
func (t *translator) item(start int, c rune, f *flags, depth int, first bool) (string, int, error) {
	switch c {
	case '^':
		if f.multiline {
			return `(?m:^)`, position, nil
		}
		return `\A`, position, nil
	case '$':
		if f.multiline {
			return `(?m:$)`, position, nil
		}
		t.hasEnd = true
		return `(\z)`, position, nil
	case '.':
		if f.dotAll {
			return `(?s:.)`, atom, nil
		}
		return `[^\n]`, atom, nil
	case '[':
		class, err := t.class(start, f)
		return class, atom, err
	case '(':
		return t.group(start, f, depth, first)
	case '\\':
		return t.escape(start, f)
	}
	return literal(c, f), atom, nil
}

// group reads what follows an opening parenthesis.
func (t *translator) group(start int, f *flags, depth int, first bool) (string, int, error) {
	inner := *f
	if t.accept("?") {
		switch {
		case t.accept("#"):
			for !t.accept(")") {
				if t.at == len(t.source) {
					return "", 0, t.fail(start, "the comment does not end")
				}
				t.at++
			}
			return "", nothing, nil
		case t.accept("P<"):
			if err := t.groupName(); err != nil {
				return "", 0, err
			}
		case t.accept(":"):
		default:
			if what := t.refused(); what != "" {
				return "", 0, t.refuse(start, what)
			}
			global, err := t.flags(start, &inner)
			if err != nil {
				return "", 0, err
			}
			if global {
				if depth > 0 || !first {
					return "", 0, t.fail(start, "flags for the whole pattern stand at its start only")
				}
				*f = inner
				return "", nothing, nil
			}
		}
	}
	if depth >= maxDepth {
		return "", 0, t.refuse(start, fmt.Sprintf("a group nested more than %d deep", maxDepth))
	}
	body, err := t.alternation(inner, depth+1)
	if err != nil {
		return "", 0, err
	}
	if !t.accept(")") {
		return "", 0, t.fail(start, "missing ), the group does not end")
	}
	return "(?:" + body + ")", atom, nil
}

// refused names the construct that a group is, when it is not supported.
func (t *translator) refused() string {
	for _, c := range []struct{ start, name string }{
		{"=", "a lookahead (?=…)"}, {"!", "a negative lookahead (?!…)"},
		{"<=", "a lookbehind (?<=…)"}, {"<!", "a negative lookbehind (?<!…)"},
		{"P=", "a backreference (?P=…)"}, {"(", "a conditional (?(…)…)"}, {">", "an atomic group (?>…)"},
	} {
		if t.accept(c.start) {
			return c.name
		}
	}
	return ""
}

// groupName reads the name of a group and the > after it.
func (t *translator) groupName() error {
	start := t.at
	for t.peek() >= 0 && t.peek() != '>' {
		t.at++
	}
	name := string(t.source[start:t.at])
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return t.fail(start, "the group name %q is no identifier", name)
		}
	}
	switch {
	case !t.accept(">"):
		return t.fail(start, "missing >, the group name does not end")
	case name == "":
		return t.fail(start, "missing group name")
	case t.names[name]:
		return t.fail(start, "the group name %q stands twice", name)
	}
	t.names[name] = true
	return nil
}

// flags reads inline flags into f. They are global when a parenthesis follows,
// and of a group when a colon does.
func (t *translator) flags(start int, f *flags) (global bool, err error) {
	on, kind := true, rune(0)
	for n := 0; ; n++ {
		c := t.peek()
		t.at++
		switch c {
		case 'i':
			f.ignoreCase = on
		case 'm':
			f.multiline = on
		case 's':
			f.dotAll = on
		case 'x':
			f.verbose = on
		case 'a', 'u':
			if !on || kind != 0 && kind != c {
				return false, t.fail(t.at-1, "the flag %c cannot stand here: a and u exclude each other and cannot be turned off", c)
			}
			f.ascii, kind = c == 'a', c
		case 'L':
			return false, t.fail(t.at-1, "the flag L is for bytes, and patterns search text")
		case '-':
			if !on {
				return false, t.fail(t.at-1, "unknown flag -")
			}
			on = false
			if next := t.peek(); next == ':' || next == ')' || next < 0 {
				return false, t.fail(t.at, "missing flag")
			}
		case ')':
			if !on {
				return false, t.fail(t.at-1, "missing :, flags are turned off for a group")
			}
			if n == 0 {
				return false, t.fail(start, "unknown extension (?)")
			}
			return true, nil
		case ':':
			return false, nil
		case -1:
			t.at--
			return false, t.fail(start, "missing ), the group does not end")
		default:
			return false, t.fail(start+1, "unknown extension (?%c", c)
		}
	}
}

// escape reads what follows a backslash outside of a class.
func (t *translator) escape(start int, f *flags) (string, int, error) {
	c := t.peek()
	switch c {
	case 'A':
		t.at++
		return `\A`, position, nil
	case 'Z':
		t.at++
		return `\z`, position, nil
	case 'b', 'B':
		t.at++
		t.hasEmpty = true
		if f.ascii {
			return `(\` + string(c) + `)`, position, nil
		}
		t.hasBoundary = true
		return `\` + string(c), position, nil
	case 'd', 'D', 's', 'S', 'w', 'W':
		t.at++
		return category(c, f.ascii).expression(), atom, nil
	}
	if c >= '1' && c <= '9' && !t.octalAhead() {
		n, _ := t.number()
		return "", 0, t.refuse(start, fmt.Sprintf("a backreference \\%d", n))
	}
	r, err := t.character(start, false)
	return literal(r, f), atom, err
}

// octalAhead reports whether three octal digits follow.
func (t *translator) octalAhead() bool {
	for i := range 3 {
		if t.at+i >= len(t.source) || t.source[t.at+i] < '0' || t.source[t.at+i] > '7' {
			return false
		}
	}
	return true
}

// character reads the character that an escape stands for; the backslash at
// start is read already.
func (t *translator) character(start int, inClass bool) (rune, error) {
	c := t.peek()
	if c < 0 {
		return 0, t.fail(start, "the pattern ends in a backslash")
	}
	t.at++
	switch c {
	case 'a':
		return '\a', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'b':
		if inClass {
			return '\b', nil
		}
	case 'x':
		return t.hex(start, 2)
	case 'u':
		return t.hex(start, 4)
	case 'U':
		return t.hex(start, 8)
	case 'N':
		return 0, t.fail(start, "a character by name \\N{…} is not supported, write the character itself,")
	}
	switch {
	case c >= '0' && c <= '7':
		t.at--
		return t.octal(start)
	case c <= unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)):
		return 0, t.fail(start, "unknown escape \\%c", c)
	}
	return c, nil
}

func (t *translator) hex(start, digits int) (rune, error) {
	end := min(t.at+digits, len(t.source))
	n, err := strconv.ParseUint(string(t.source[t.at:end]), 16, 32)
	if err != nil || end-t.at < digits {
		return 0, t.fail(start, "incomplete escape %s", string(t.source[start:end]))
	}
	if n > unicode.MaxRune || n >= 0xd800 && n < 0xe000 {
		return 0, t.fail(start, "escape %s is no character", string(t.source[start:end]))
	}
	t.at = end
	return rune(n), nil
}

// octal reads at most three octal digits.
func (t *translator) octal(start int) (rune, error) {
	n := rune(0)
	for i := 0; i < 3 && t.peek() >= '0' && t.peek() <= '7'; i++ {
		n = 8*n + t.peek() - '0'
		t.at++
	}
	if n > 0o377 {
		return 0, t.fail(start, "octal escape \\%o is above \\377", n)
	}
	return n, nil
}

// class reads what follows an opening bracket.
func (t *translator) class(start int, f *flags) (string, error) {
	var s charset
	s.negated = t.accept("^")
	for first := true; first || t.peek() != ']'; first = false {
		at := t.at
		low, group, err := t.member(start, f)
		if err != nil {
			return "", err
		}
		if t.peek() != '-' || t.at+1 >= len(t.source) || t.source[t.at+1] == ']' {
			s.add(low, low, group)
			continue
		}
		t.at++
		high, other, err := t.member(start, f)
		if err != nil {
			return "", err
		}
		if group != nil || other != nil || high < low {
			return "", t.fail(at, "bad character range %s", string(t.source[at:t.at]))
		}
		s.add(low, high, nil)
	}
	t.at++
	if f.ignoreCase {
		s.ranges = foldRanges(s.ranges, f.ascii)
	}
	return s.expression(), nil
}

// member reads one character of a class, or a category such as \d.
func (t *translator) member(start int, f *flags) (rune, *charset, error) {
	at, c := t.at, t.peek()
	if c < 0 {
		return 0, nil, t.fail(start, "missing ], the character set does not end")
	}
	t.at++
	if c != '\\' {
		return c, nil, nil
	}
	if next := t.peek(); next >= 0 && strings.ContainsRune("dDsSwW", next) {
		t.at++
		s := category(next, f.ascii)
		return 0, &s, nil
	}
	r, err := t.character(at, true)
	return r, nil, err
}

// literal writes a character, with its other cases when case is ignored.
func literal(c rune, f *flags) string {
	if f.ignoreCase {
		if folded := foldRanges([]span{{c, c}}, f.ascii); folded[0] != (span{c, c}) || len(folded) > 1 {
			return charset{ranges: folded}.expression()
		}
	}
	return regexp.QuoteMeta(string(c))
}

// span is a range of characters, both ends included.
type span struct{ low, high rune }

// charset is a set of characters: ranges and Unicode classes, or what is in neither.
type charset struct {
	ranges  []span
	fixed   []span // as ranges, but of categories: other cases are not added
	classes string // such as \p{Nd}, as they stand inside brackets
	negated bool
}

// add adds a range, or a category in its place.
func (s *charset) add(low, high rune, category *charset) {
	switch {
	case category == nil:
		s.ranges = append(s.ranges, span{low, high})
	case category.negated:
		s.fixed = append(s.fixed, category.complement()...)
	default:
		s.fixed = append(s.fixed, category.ranges...)
		s.classes += category.classes
	}
}

func (s charset) expression() string {
	var b strings.Builder
	b.WriteByte('[')
	if s.negated {
		b.WriteByte('^')
	}
	for _, r := range slices.Concat(s.ranges, s.fixed) {
		fmt.Fprintf(&b, `\x{%x}`, r.low)
		if r.high > r.low {
			fmt.Fprintf(&b, `-\x{%x}`, r.high)
		}
	}
	b.WriteString(s.classes)
	b.WriteByte(']')
	return b.String()
}

// category returns the set of \d, \s or \w, or of its opposite. Without the
// flag a they are Unicode's: decimal digits; white space; letters, numbers
// and the underscore.
func category(c rune, ascii bool) charset {
	var s charset
	switch unicode.ToLower(c) {
	case 'd':
		s = charset{classes: `\p{Nd}`}
		if ascii {
			s = charset{ranges: []span{{'0', '9'}}}
		}
	case 's':
		s = charset{ranges: []span{{'\t', '\r'}, {' ', ' '}}}
		if !ascii {
			s.ranges = []span{{'\t', '\r'}, {0x1c, ' '}, {0x85, 0x85}, {0xa0, 0xa0}, {0x1680, 0x1680},
				{0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}}
		}
	case 'w':
		s = charset{ranges: []span{{'_', '_'}}, classes: `\p{L}\p{N}`}
		if ascii {
			s = charset{ranges: []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}
		}
	}
	s.negated = unicode.IsUpper(c)
	return s
}

// complement returns the ranges of what is not in a category.
func (s charset) complement() []span {
	spans := slices.Clone(s.ranges)
	for name, table := range map[string]*unicode.RangeTable{`\p{Nd}`: unicode.Nd, `\p{L}`: unicode.L, `\p{N}`: unicode.N} {
		if strings.Contains(s.classes, name) {
			spans = append(spans, tableSpans(table)...)
		}
	}
	var out []span
	next := rune(0)
	for _, r := range merge(spans) {
		if r.low > next {
			out = append(out, span{next, r.low - 1})
		}
		next = r.high + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out
}

func tableSpans(table *unicode.RangeTable) []span {
	var spans []span
	add := func(low, high, stride rune) {
		if stride == 1 {
			spans = append(spans, span{low, high})
			return
		}
		for r := low; r <= high; r += stride {
			spans = append(spans, span{r, r})
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return spans
}

// merge sorts spans and joins those that touch.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return int(a.low - b.low) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.low <= out[n-1].high+1 {
			out[n-1].high = max(out[n-1].high, s.high)
			continue
		}
		out = append(out, s)
	}
	return out
}

// extraFolds are characters that Python takes for cases of each other and
// Unicode's simple folding does not.
var extraFolds = [][]rune{{'I', 'i', 0x130, 0x131}, {0x390, 0x1fd3}, {0x3b0, 0x1fe3}, {0xfb05, 0xfb06}}

// lastCased is above every character that has another case.
const lastCased = 0x1e944

// foldRanges adds the other cases of every character in the ranges.
func foldRanges(ranges []span, ascii bool) []span {
	out := slices.Clone(ranges)
	one := func(r rune) { out = append(out, span{r, r}) }
	for _, s := range ranges {
		if ascii {
			for r := s.low; r <= min(s.high, unicode.MaxASCII); r++ {
				if unicode.IsLetter(r) {
					one(r ^ 0x20)
				}
			}
			continue
		}
		for r := s.low; r <= min(s.high, lastCased); r++ {
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				one(other)
			}
		}
		for _, orbit := range extraFolds {
			if slices.ContainsFunc(orbit, func(r rune) bool { return s.low <= r && r <= s.high }) {
				for _, r := range orbit {
					one(r)
				}
			}
		}
	}
	return merge(out)
}
