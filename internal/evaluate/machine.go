package evaluate

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// machine runs a compiled expression on a text in time linear in both (Pike's
// simulation: R. Cox, Regular Expression Matching: the Virtual Machine
// Approach, 2009). It is for what package regexp reads in another way than
// Python: $ before a last line feed, and the borders of words that are not
// ASCII.
type machine struct {
	program *syntax.Prog
	marked  []bool // per instruction: it stands in a group with capture, see [translator]
}

func newMachine(program *syntax.Prog) *machine {
	m := &machine{program, make([]bool, len(program.Inst))}
	for _, inst := range program.Inst {
		if inst.Op == syntax.InstCapture && inst.Arg > 1 && inst.Arg%2 == 0 {
			m.marked[inst.Out] = true
		}
	}
	return m
}

// spot is a position in a text with the characters around it, -1 at the ends.
type spot struct {
	previous, next rune
	last           bool // next is the last character
	empty          bool // the text is empty
}

// match reports whether the expression is found anywhere in text.
func (m *machine) match(text string) bool {
	current, following := newThreads(len(m.program.Inst)), newThreads(len(m.program.Inst))
	p := spot{previous: -1, empty: text == ""}
	for at := 0; ; {
		var width int
		p.next = -1
		if at < len(text) {
			p.next, width = utf8.DecodeRuneInString(text[at:])
		}
		p.last = at+width == len(text)
		// The threads that came here, and one that starts here.
		following.clear()
		for _, pc := range current.pcs {
			m.follow(following, pc, p)
		}
		m.follow(following, uint32(m.program.Start), p)
		if following.matched {
			return true
		}
		if p.next < 0 {
			return false
		}
		current.clear()
		for _, pc := range following.pcs {
			if inst := &m.program.Inst[pc]; consumes(inst.Op) && inst.MatchRune(p.next) {
				current.add(inst.Out)
			}
		}
		p.previous = p.next
		at += width
	}
}

func consumes(op syntax.InstOp) bool {
	return op == syntax.InstRune || op == syntax.InstRune1 || op == syntax.InstRuneAny || op == syntax.InstRuneAnyNotNL
}

// follow adds every instruction that is reached from pc without a character.
func (m *machine) follow(to *threads, pc uint32, p spot) {
	to.stack = append(to.stack[:0], pc)
	for len(to.stack) > 0 {
		pc := to.stack[len(to.stack)-1]
		to.stack = to.stack[:len(to.stack)-1]
		if !to.add(pc) {
			continue
		}
		switch inst := &m.program.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			to.stack = append(to.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			to.stack = append(to.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if holds(syntax.EmptyOp(inst.Arg), m.marked[pc], p) {
				to.stack = append(to.stack, inst.Out)
			}
		case syntax.InstMatch:
			to.matched = true
		}
	}
}

// holds reports whether a condition on a position is met.
func holds(op syntax.EmptyOp, marked bool, p spot) bool {
	word := isWord
	if marked {
		word = isASCIIWord
	}
	border := word(p.previous) != word(p.next)
	switch op {
	case syntax.EmptyBeginLine:
		return p.previous < 0 || p.previous == '\n'
	case syntax.EmptyEndLine:
		return p.next < 0 || p.next == '\n'
	case syntax.EmptyBeginText:
		return p.previous < 0
	case syntax.EmptyEndText:
		return p.next < 0 || marked && p.last && p.next == '\n'
	case syntax.EmptyWordBoundary:
		return border
	case syntax.EmptyNoWordBoundary:
		return !border && !p.empty // so it is in Python
	}
	return false
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isASCIIWord(r rune) bool { return r >= 0 && r <= unicode.MaxASCII && isWord(r) }

// threads is a set of instructions that are reached, in the order of arrival.
type threads struct {
	pcs     []uint32
	in      []bool
	stack   []uint32
	matched bool
}

func newThreads(n int) *threads { return &threads{in: make([]bool, n)} }

func (t *threads) add(pc uint32) bool {
	if t.in[pc] {
		return false
	}
	t.in[pc] = true
	t.pcs = append(t.pcs, pc)
	return true
}

func (t *threads) clear() {
	for _, pc := range t.pcs {
		t.in[pc] = false
	}
	t.pcs, t.matched = t.pcs[:0], false
}
