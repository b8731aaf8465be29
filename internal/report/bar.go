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

// barLegend explains the marks.
const barLegend = barInterval + " interval   " + barEstimate + " estimate   " + barThreshold + " threshold"

// bar is an interval to be drawn on an axis.
type bar struct {
	from, to     float64  // ends of the axis
	lower, upper *float64 // nil: no bound, drawn to the end of the axis
	estimate     *float64
	threshold    *float64
}

// draw returns the bar in that many cells, and one more for the threshold,
// which stands between two cells: whatever lies on one side of it in the raw
// numbers is drawn on that side, so the picture never contradicts the state.
func (b bar) draw(cells int) string {
	cut := -1 // cells left of the threshold
	if b.threshold != nil {
		cut = b.cut(*b.threshold, cells)
	}
	first, last := 0, cells-1
	if b.lower != nil {
		first = b.side(*b.lower, b.cell(*b.lower, cells, math.Floor), cut, cells, false)
	}
	if b.upper != nil {
		last = b.side(*b.upper, b.cell(*b.upper, cells, math.Ceil)-1, cut, cells, true)
	}
	last = max(last, first)
	point := -1
	if b.estimate != nil {
		point = b.side(*b.estimate, b.cell(*b.estimate, cells, math.Floor), cut, cells, false)
		point = min(max(point, first), last)
	}
	var s strings.Builder
	for i := range cells {
		if i == cut {
			s.WriteString(barThreshold)
		}
		switch {
		case i == point:
			s.WriteString(barEstimate)
		case first <= i && i <= last:
			s.WriteString(barInterval)
		default:
			s.WriteString(barAxis)
		}
	}
	if cut == cells {
		s.WriteString(barThreshold)
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

// cut returns the number of cells left of a threshold. There is a cell on each
// side of it, unless it stands at an end of the axis and all lies inward.
func (b bar) cut(threshold float64, cells int) int {
	at := b.cell(threshold, cells, math.RoundToEven)
	if threshold > b.from || b.upper != nil && *b.upper <= threshold {
		at = max(at, 1)
	}
	if threshold < b.to || b.lower != nil && *b.lower >= threshold {
		at = min(at, cells-1)
	}
	return at
}

// side moves the cell of x to the side of the threshold on which x lies. A
// point on the threshold counts as right of it, the upper end of an interval
// as left of it.
func (b bar) side(x float64, cell, cut, cells int, upperEnd bool) int {
	if cut >= 0 {
		if x < *b.threshold || upperEnd && x == *b.threshold {
			cell = min(cell, cut-1)
		} else {
			cell = max(cell, cut)
		}
	}
	return min(max(cell, 0), cells-1)
}
