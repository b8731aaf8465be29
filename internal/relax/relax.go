// Package relax keeps the ways in which one version of a file is laxer than
// another, each with its place. What is laxer is known where the file is read:
// packages policy, suite and dataset.
package relax

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Relaxation is one way in which the new version of a file is laxer than the
// old one, or may be.
type Relaxation struct {
	File string `json:"file"`          // as the user named it
	Line int    `json:"line,omitzero"` // 1-based; 0 when the whole file is meant
	Text string `json:"text"`          // one line, no full stop
}

// None is how an absent value is shown.
const None = "none"

// List collects relaxations between two versions of a file.
type List struct {
	oldFile, newFile string
	inNew, inOld     []Relaxation
}

// Between returns an empty list for two versions of a file.
func Between(oldFile, newFile string) *List { return &List{oldFile: oldFile, newFile: newFile} }

// Add adds a relaxation that stands in a line of the new file.
func (l *List) Add(line int, format string, args ...any) {
	l.inNew = append(l.inNew, Relaxation{l.newFile, line, fmt.Sprintf(format, args...)})
}

// Gone adds a relaxation by something that stands in a line of the old file and
// no longer in the new one.
func (l *List) Gone(line int, format string, args ...any) {
	l.inOld = append(l.inOld, Relaxation{l.oldFile, line, fmt.Sprintf(format, args...) + " (line of the old file)"})
}

// All returns the relaxations by line, those of the new file first. Within a
// line they keep the order in which they were added.
func (l *List) All() []Relaxation {
	byLine := func(a, b Relaxation) int { return cmp.Compare(a.Line, b.Line) }
	slices.SortStableFunc(l.inNew, byLine)
	slices.SortStableFunc(l.inOld, byLine)
	return slices.Concat(l.inNew, l.inOld)
}

// Change says that a key has another value, such as "min lowered from 0.7 to 0.6".
func Change(key, from, to string) string {
	verb := "changed"
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	switch {
	case errA != nil || errB != nil:
	case a < b:
		verb = "raised"
	case a > b:
		verb = "lowered"
	}
	return fmt.Sprintf("%s %s from %s to %s", key, verb, from, to)
}
