// Package problem describes what is wrong with a file the user wrote: where,
// what was found, what is allowed and the likely fix. Readers collect every
// problem of a file and report them together.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault in one file.
type Problem struct {
	File    string // as the user named it
	Line    int    // 1-based; 0 when the whole file is meant
	Column  int    // 1-based, in characters; 0 when the whole line is meant
	Message string // lower case, no full stop: what was found, what is allowed, the fix
	Source  string // the line itself, without its end; empty when unknown
}

// Place returns FILE, FILE:LINE or FILE:LINE:COLUMN.
func (p Problem) Place() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// List is an error that holds every problem found. A List of length zero must
// be turned into nil by [List.Err] before it is returned as an error.
type List []Problem

// Add appends one problem.
func (l *List) Add(p Problem) { *l = append(*l, p) }

// Err returns the problems sorted by place, each once, or nil when there are
// none.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(sorted)
}

// Error prints each problem as the commands do:
//
//	Configuration error: MESSAGE
//	  at FILE:LINE:COLUMN
//	  | the line itself
func (l List) Error() string {
	var b strings.Builder
	for i, p := range l {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Configuration error: %s", p.Message)
		if p.File != "" {
			fmt.Fprintf(&b, "\n  at %s", p.Place())
		}
		if p.Source != "" {
			fmt.Fprintf(&b, "\n  | %s", clip(p.Source))
		}
	}
	return b.String()
}

// maxSource is the most characters of a source line that are shown.
const maxSource = 200

func clip(s string) string {
	s = strings.TrimRight(s, "\r\n")
	r := []rune(s)
	if len(r) <= maxSource {
		return s
	}
	return string(r[:maxSource]) + "…"
}

// Errorf returns a List of one problem that belongs to no file.
func Errorf(format string, args ...any) error {
	return List{{Message: fmt.Sprintf(format, args...)}}
}

// At returns a List of one problem about a whole file.
func At(file, format string, args ...any) error {
	return List{{File: file, Message: fmt.Sprintf(format, args...)}}
}

// Nearest returns the member of allowed that is closest to got by edit
// distance, or "" when none is close enough to be a likely typing error (at
// most a third of the longer word, at least one).
func Nearest(got string, allowed []string) string {
	best, bestDistance := "", -1
	for _, a := range allowed {
		limit := max(1, max(len(got), len(a))/3)
		d := distance(strings.ToLower(got), strings.ToLower(a))
		if d <= limit && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = a, d
		}
	}
	return best
}

// distance is the optimal string alignment distance (insertions, deletions,
// substitutions and swaps of neighbours) between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}
