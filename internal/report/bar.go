package report

import (
	"math"
	"strings"
)

// The marks of a bar, each one terminal cell wide.
const (
	barAxis      = "·"
	barInterval  = "━"
	barEstimate  = "●"
	barThreshold = "┃"
)

// barLegend explains the marks; what says what the upright one stands for.
func barLegend(what string) string {
	return barInterval + " interval   " + barEstimate + " estimate   " + barThreshold + " " + what
}

// bar is an interval to be drawn on an axis.
type bar struct {
	from, to     float64  // ends of the axis
	lower, upper *float64 // nil: no bound, drawn to the end of the axis
	estimate     *float64
	thresholds   []float64 // ascending; at most two
}

// draw returns the bar in that many cells, and one more for each threshold,
// which stands between two cells: whatever lies on one side of it in the raw
// numbers is drawn on that side, so the picture never contradicts the state.
func (b bar) draw(cells int) string {
	cells = max(cells, len(b.thresholds)+1)
	cuts := b.cuts(cells)
	first, last := 0, cells-1
	if b.lower != nil {
		first = b.side(*b.lower, b.cell(*b.lower, cells, math.Floor), cuts, cells, false)
	}
	if b.upper != nil {
		last = b.side(*b.upper, b.cell(*b.upper, cells, math.Ceil)-1, cuts, cells, true)
	}
	last = max(last, first)
	point := -1
	if b.estimate != nil {
		point = b.side(*b.estimate, b.cell(*b.estimate, cells, math.Floor), cuts, cells, false)
		point = min(max(point, first), last)
	}
	var s strings.Builder
	for i := range cells + 1 {
		for _, cut := range cuts {
			if cut == i {
				s.WriteString(barThreshold)
			}
		}
		switch {
		case i == cells:
		case i == point:
			s.WriteString(barEstimate)
		case first <= i && i <= last:
			s.WriteString(barInterval)
		default:
			s.WriteString(barAxis)
		}
	}
	return s.String()
}

// cell returns the place of x on the axis in cells, rounded.
func (b bar) cell(x float64, cells int, round func(float64) float64) int {
	width := b.to - b.from
	if !(width > 0) || math.IsInf(width, 0) {
		return 0
	}
	at := round((x - b.from) / width * float64(cells))
	return int(min(max(at, 0), float64(cells)))
}

// cuts returns for each threshold the number of cells left of it, ascending.
// There is a cell on each side of it, unless it stands at an end of the axis
// and all lies inward.
func (b bar) cuts(cells int) []int {
	cuts := make([]int, len(b.thresholds))
	for i, threshold := range b.thresholds {
		at := b.cell(threshold, cells, math.RoundToEven)
		if threshold > b.from || b.upper != nil && *b.upper <= threshold {
			at = max(at, 1)
		}
		if threshold < b.to || b.lower != nil && *b.lower >= threshold {
			at = min(at, cells-1)
		}
		cuts[i] = at
	}
	for i := 1; i < len(cuts); i++ { // a cell between two thresholds
		if cuts[i] <= cuts[i-1] {
			cuts[i] = cuts[i-1] + 1
		}
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		if most := cells - (len(cuts) - i); cuts[i] > most && (i+1 < len(cuts) || b.thresholds[i] < b.to) {
			cuts[i] = most
		}
	}
	return cuts
}

// side moves the cell of x to the side of each threshold on which x lies. A
// point on a threshold counts as right of it, the upper end of an interval as
// left of it.
func (b bar) side(x float64, cell int, cuts []int, cells int, upperEnd bool) int {
	for i, threshold := range b.thresholds {
		if x < threshold || upperEnd && x == threshold {
			cell = min(cell, cuts[i]-1)
			break
		}
		cell = max(cell, cuts[i])
	}
	return min(max(cell, 0), cells-1)
}
