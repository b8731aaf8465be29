package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func renderCompare(t fataler, d *Document, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := CompareText(&b, d, opt); err != nil {
		t.Fatalf("CompareText: %v", err)
	}
	return b.String()
}

// The words and figures of these lines are fixed by the specification.
func TestCompareFixedLines(t *testing.T) {
	got := renderCompare(t, comparedDocument(exampleComparison()), TextOptions{})
	for _, want := range []string{
		"Comparison " + comparisonID + " of " + candidateID + " against " + baselineID + " · 15 paired cases\n",
		"\nanswer_correct: +6.7 points [-26.5, +40.8] · 15 paired · 0 missing · 0 excluded\n" +
			"hit_rate_at_2: +7.7 points [-29.8, +45.5] · 13 paired · 0 missing · 2 excluded\n" +
			"  excluded 2: no_relevance_labels\n" +
			"recall_at_2: +7.7 points [-29.8, +45.5] · 13 paired · 0 missing · 2 excluded\n" +
			"  excluded 2: no_relevance_labels\n" +
			"citations_valid: +6.7 points [-26.5, +40.8] · 15 paired · 0 missing · 0 excluded\n" +
			"20 exploratory slice differences not shown; add --slices to list them\n",
		"\nDecisions\n" +
			"  answers-not-worse  answer_correct  non-inferiority, margin 5.0 points  INSUFFICIENT_EVIDENCE  interval_overlaps_margin\n" +
			"    about 38 more paired cases would decide it, if the difference holds (53 in total at 7% discordance)\n" +
			"  citations-not-worse  citations_valid  non-inferiority, margin 2.0 points  INSUFFICIENT_EVIDENCE  interval_overlaps_margin\n" +
			"    about 68 more paired cases would decide it, if the difference holds (83 in total at 7% discordance)\n",
		"\nGate: BLOCK (exit 3)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestCompareTextGoldens(t *testing.T) {
	for name, in := range map[string]Input{"example": compareInput(exampleComparison(), comparePolicy()), "everything": everythingInput()} {
		for _, width := range []int{0, 60, 100} {
			d := Build(in)
			golden(t, fmt.Sprintf("compare_%s_%d.txt", name, width), renderCompare(t, d, TextOptions{Width: width, Slices: name == "everything"}))
		}
	}
	golden(t, "text_everything_100.txt", render(t, Build(everythingInput()), TextOptions{Width: 100}))
	golden(t, "text_without_baseline_0.txt", render(t, Build(inputs()["without a baseline"]), TextOptions{}))
}

// The ends of an axis are round numbers around all that is drawn.
func TestAxisEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.Float64Range(-1, 1).Draw(t, "lower")
		upper := rapid.Float64Range(lower, 1).Draw(t, "upper")
		x := differenceOf(ptr(difference("m", 0, 0, 10, 0, lower, upper)))
		end := differenceEnd(&x, bar{lower: &lower, upper: &upper})
		if end < max(math.Abs(lower), math.Abs(upper)) || end > 1 {
			t.Errorf("[%v, %v] on an axis to %v", lower, upper, end)
		}
		label := differenceAxis(&x, bar{from: -end, to: end}).right
		digits := strings.TrimLeft(strings.NewReplacer("+", "", " points", "", ".", "").Replace(label), "0")
		if digits = strings.TrimRight(digits, "0"); len(digits) > 2 && end < 1 {
			t.Errorf("the axis of [%v, %v] ends at %s", lower, upper, label)
		}
	})
}
