package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// style is how a cell or a word is coloured on a terminal that has colours.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	violet style = "35"
)

// paint wraps s in the style's escape sequences. The text inside must be clean.
func (p *printer) paint(s string, st style) string {
	if !p.color || st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// cell is one field of a table.
type cell struct {
	text  string // clean
	style style
}

// column says how a column gives way when a table is too wide.
type column struct {
	keep  bool // never dropped
	rank  int  // the droppable column of the lowest rank goes first
	solid bool // not wrapped while anything else can give way
}

const (
	edge      = "│ "
	middle    = " │ "
	lastEdge  = " │"
	leastCell = 8 // characters below which no column is wrapped, unless nothing else helps
)

// noBreak is a space that stays within a line; it is printed as a space.
const noBreak = "\u00a0"

// table prints rows between bars, the first as a header. With a width it wraps
// cells, then drops the least column, then wraps harder; with width 0 it never
// cuts.
func (p *printer) table(columns []column, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	shown, widths := fitColumns(columns, rows, p.width)
	for n, row := range rows {
		if n == 1 {
			p.raw(ruleUnder(widths))
		}
		wrapped := make([][]string, len(shown))
		height := 1
		for i, c := range shown {
			wrapped[i] = wrap(row[c].text, widths[i])
			height = max(height, len(wrapped[i]))
		}
		for line := range height {
			var b strings.Builder
			b.WriteString(edge)
			for i, c := range shown {
				if i > 0 {
					b.WriteString(middle)
				}
				text := ""
				if line < len(wrapped[i]) {
					text = wrapped[i][line]
				}
				b.WriteString(p.paint(strings.ReplaceAll(text, noBreak, " "), row[c].style))
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-displayWidth(text))))
			}
			b.WriteString(lastEdge)
			p.raw(b.String())
		}
	}
}

// ruleUnder is the line under a header.
func ruleUnder(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w+2)
	}
	return "├" + strings.Join(parts, "┼") + "┤"
}

// fitColumns returns the indexes of the columns to show and their widths.
func fitColumns(columns []column, rows [][]cell, width int) (shown, widths []int) {
	natural, least := make([]int, len(columns)), make([]int, len(columns))
	for _, row := range rows {
		for c := range columns {
			natural[c] = max(natural[c], displayWidth(row[c].text))
			least[c] = max(least[c], longestPiece(row[c].text))
		}
	}
	for c := range columns {
		least[c] = min(natural[c], max(least[c], leastCell))
		if columns[c].solid {
			least[c] = natural[c]
		}
	}
	shown = make([]int, len(columns))
	for c := range shown {
		shown[c] = c
	}
	for {
		widths = pick(natural, shown)
		if width <= 0 || shrink(widths, pick(least, shown), width-frame(len(shown))) {
			return shown, widths
		}
		last := slices.IndexFunc(shown, func(c int) bool { return !columns[c].keep })
		if last < 0 {
			break
		}
		for i, c := range shown {
			if !columns[c].keep && cmp.Compare(columns[c].rank, columns[shown[last]].rank) < 0 {
				last = i
			}
		}
		shown = slices.Delete(shown, last, last+1)
	}
	// Nothing may be dropped any more: break words.
	hard := make([]int, len(shown))
	for i := range hard {
		hard[i] = 2
	}
	shrink(widths, hard, width-frame(len(shown)))
	return shown, widths
}

func pick(list, indexes []int) []int {
	out := make([]int, len(indexes))
	for i, c := range indexes {
		out[i] = list[c]
	}
	return out
}

// frame is the width of a table's bars and spaces.
func frame(columns int) int {
	return displayWidth(edge) + displayWidth(lastEdge) + (columns-1)*displayWidth(middle)
}

// shrink narrows the widest columns that still can be, until all fit in
// budget; it reports whether they do.
func shrink(widths, least []int, budget int) bool {
	total := 0
	for _, w := range widths {
		total += w
	}
	for total > budget {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
		total--
	}
	return true
}

// displayWidth is the number of terminal cells that s takes.
func displayWidth(s string) int { return uniseg.StringWidth(s) }

// pieces cuts s where a line may break: after spaces and after the characters
// that join words in ids.
func pieces(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		if strings.ContainsRune(" _/=", r) && (i+1 == len(s) || s[i+1] != ' ') {
			out = append(out, s[start:i+1])
			start = i + 1
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func longestPiece(s string) int {
	longest := 0
	for _, piece := range pieces(s) {
		longest = max(longest, displayWidth(strings.TrimRight(piece, " ")))
	}
	return longest
}

// wrap cuts s into lines of at most width cells; it loses nothing but the
// spaces at the breaks. At width 0 there is one line.
func wrap(s string, width int) []string {
	if width <= 0 || displayWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line, used := "", 0
	flush := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = "", 0
	}
	for _, piece := range pieces(s) {
		if w := displayWidth(strings.TrimRight(piece, " ")); used > 0 && used+w > width {
			flush()
		}
		if displayWidth(strings.TrimRight(piece, " ")) <= width {
			line += piece
			used += displayWidth(piece)
			continue
		}
		for g := uniseg.NewGraphemes(piece); g.Next(); {
			if used > 0 && used+g.Width() > width {
				flush()
			}
			line += g.Str()
			used += g.Width()
		}
	}
	if strings.TrimSpace(line) != "" {
		flush()
	}
	return lines
}

// cutTo returns s in at most width cells, with an ellipsis where it was cut.
func cutTo(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used+g.Width() > width-1 {
			break
		}
		b.WriteString(g.Str())
		used += g.Width()
	}
	return b.String() + "…"
}
