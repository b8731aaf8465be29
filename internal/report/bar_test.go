package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBar(t *testing.T) {
	unit := func(lower, upper, estimate, threshold float64) bar {
		return bar{from: 0, to: 1, lower: &lower, upper: &upper, estimate: &estimate, thresholds: []float64{threshold}}
	}
	two := func(lower, upper, estimate, low, high float64) bar {
		return bar{from: -1, to: 1, lower: &lower, upper: &upper, estimate: &estimate, thresholds: []float64{low, high}}
	}
	for _, tt := range []struct {
		name string
		bar  bar
		want string
	}{
		{"overlaps", unit(0.448, 0.923, 0.733, 0.7), "········━━━━━━┃●━━━━·"},
		{"clears", unit(0.71, 0.93, 0.8, 0.7), "··············┃━━●━━·"},
		{"below", unit(0.10, 0.30, 0.2, 0.7), "··━━●━········┃······"},
		{"lower bound meets it", unit(0.7, 0.93, 0.8, 0.7), "··············┃━━●━━·"},
		{"lower bound just misses it", unit(0.6999, 0.93, 0.8, 0.7), "·············━┃━━●━━·"},
		{"upper bound meets it", unit(0.1, 0.7, 0.2, 0.7), "··━━●━━━━━━━━━┃······"},
		{"upper bound just passes it", unit(0.1, 0.7001, 0.2, 0.7), "··━━●━━━━━━━━━┃━·····"},
		{"threshold at the end", unit(0.5, 1, 1, 1), "··········━━━━━━━━━●┃"},
		{"threshold at the start", unit(0, 0.1, 0, 0), "┃●━··················"},
		{"near the end", unit(0.5, 0.9999, 0.9, 0.999), "··········━━━━━━━━●┃━"},
		{"two thresholds, inside", two(-0.02, 0.02, 0, -0.05, 0.05), "··········┃●┃·········"},
		{"two thresholds, across", two(-0.3, 0.4, 0.1, -0.2, 0.2), "·······━┃━━━●┃━━······"},
		{"two thresholds, one cell apart", two(0.4, 0.5, 0.45, -0.001, 0.001), "··········┃·┃···●·····"},
		{"two thresholds at the ends", two(-0.1, 0.1, 0, -1, 1), "┃·········━●·········┃"},
		{"no upper bound", bar{from: 0, to: 1, lower: ptr(0.5), estimate: ptr(0.6), thresholds: []float64{0.9}}, "··········━━●━━━━━┃━━"},
		{"no interval", bar{from: 0, to: 1}, strings.Repeat("━", 20)},
		{"no axis", bar{from: 1, to: 1, lower: ptr(1.0), upper: ptr(1.0), estimate: ptr(1.0)}, "●···················"},
	} {
		if got := tt.bar.draw(20); got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// The picture says what the numbers say: an interval is drawn on both sides of
// the threshold exactly when it lies on both sides of it.
func TestBarNeverContradictsTheNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.Float64Range(0, 1).Draw(t, "lower")
		estimate := rapid.Float64Range(lower, 1).Draw(t, "estimate")
		upper := rapid.Float64Range(estimate, 1).Draw(t, "upper")
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		cells := rapid.IntRange(2, 60).Draw(t, "cells")
		got := bar{from: 0, to: 1, lower: &lower, upper: &upper, estimate: &estimate, thresholds: []float64{threshold}}.draw(cells)
		if n := utf8.RuneCountInString(got); n != cells+1 {
			t.Fatalf("%d cells, want %d: %s", n, cells+1, got)
		}
		left, right, ok := strings.Cut(got, barThreshold)
		if !ok {
			t.Fatalf("no threshold in %s", got)
		}
		drawn := func(s string) bool { return strings.ContainsAny(s, barInterval+barEstimate) }
		if (lower < threshold) != drawn(left) {
			t.Errorf("lower %v, threshold %v: %s", lower, threshold, got)
		}
		if (upper > threshold || lower >= threshold) != drawn(right) {
			t.Errorf("[%v, %v], threshold %v: %s", lower, upper, threshold, got)
		}
		if strings.Count(got, barEstimate) != 1 || (estimate < threshold) != strings.Contains(left, barEstimate) {
			// An estimate on the threshold that is the upper end stays with its interval.
			if !(estimate == threshold && upper == threshold && lower < threshold) {
				t.Errorf("estimate %v, threshold %v: %s", estimate, threshold, got)
			}
		}
	})
}

// The same between two margins: each end of the interval and the estimate stand
// in the part where the numbers are.
func TestBarBetweenTwoThresholds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.Float64Range(-1, 1).Draw(t, "lower")
		upper := rapid.Float64Range(lower, 1).Draw(t, "upper")
		estimate := rapid.Float64Range(lower, upper).Draw(t, "estimate")
		margin := rapid.Float64Range(0.0001, 0.9999).Draw(t, "margin")
		cells := rapid.IntRange(1, 60).Draw(t, "cells")
		got := bar{from: -1, to: 1, lower: &lower, upper: &upper, estimate: &estimate, thresholds: []float64{-margin, margin}}.draw(cells)
		parts := strings.Split(got, barThreshold)
		if len(parts) != 3 || utf8.RuneCountInString(got) != max(cells, 3)+2 {
			t.Fatalf("margin %v in %d cells: %s", margin, cells, got)
		}
		for i, part := range parts {
			from, to := []float64{-2, -margin, margin}[i], []float64{-margin, margin, 2}[i]
			drawn := strings.ContainsAny(part, barInterval+barEstimate)
			if reaches := lower < to && (upper > from || lower >= from); drawn != reaches {
				t.Errorf("[%v, %v], margin %v, part %d: %s", lower, upper, margin, i, got)
			}
			if holds := from <= estimate && estimate < to; strings.Contains(part, barEstimate) != holds && estimate != upper {
				t.Errorf("estimate %v of [%v, %v], margin %v, part %d: %s", estimate, lower, upper, margin, i, got)
			}
		}
	})
}
