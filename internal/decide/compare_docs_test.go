package decide

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/compare"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// byMethod is a difference without a flip whose interval is of the method.
func byMethod(t *testing.T, method string, pairs int) compare.Difference {
	t.Helper()
	return paired(t, 0, 0, pairs, compare.Options{Level: level, Method: method}).Differences[0]
}

var pairsRow = regexp.MustCompile(`(?m)^\| (0\.\d\d) \| (\d+) \| (\d+) \| (\d+) \|$`)

// The table of pairs that a comparison without a flip needs is what planning says.
func TestPoliciesPageTableOfPairs(t *testing.T) {
	rows := pairsRow.FindAllStringSubmatch(doc(t, "policies.md"), -1)
	if len(rows) < 4 {
		t.Fatalf("docs/policies.md has %d rows of margins, want at least 4", len(rows))
	}
	for _, row := range rows {
		margin, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		got := "| " + row[1]
		for _, method := range compare.Methods() {
			p := blockAll(notWorse(margin))
			p.DifferenceMethod = method
			d := byMethod(t, method, 1)
			got += fmt.Sprintf(" | %d", Compare(p, comparison(d)).Decisions[0].Planning.Total)
		}
		if got += " |"; got != row[0] {
			t.Errorf("docs/policies.md says %s, computed %s", row[0], got)
		}
	}
}

func TestComparisonFiguresOfTheDocumentation(t *testing.T) {
	points := func(d compare.Difference) string {
		tenth := func(x float64) float64 { return x / 10 }
		return fmt.Sprintf("%+.1f points [%+.1f, %+.1f]", *d.Estimate*100,
			tenth(math.Floor(*d.Interval.Lower*1000)), tenth(math.Ceil(*d.Interval.Upper*1000)))
	}
	example := verdictDifference(level, 1, 0, 15, 0)
	five, two := decided(notWorse(0.05), example).Planning, decided(notWorse(0.02), example).Planning
	line := fmt.Sprintf("about %d more paired cases would decide it, if the difference holds (%d in total at 7%% discordance)", five.More, five.Total)
	needs := func(d compare.Difference, r policy.Rule) int { return decided(r, d).Planning.Total }
	pages := map[string][]string{
		"policies.md": {
			"`" + points(example) + "` over 15 pairs", line,
			fmt.Sprintf("it is %d more (%d in total)", two.More, two.Total),
			fmt.Sprintf("takes at most %d,%03d", stats.MaxExactPairs/1000, stats.MaxExactPairs%1000),
		},
		"statistics.md": {
			"15 pairs with one win are " + points(example),
			"13 pairs without a difference " + points(verdictDifference(level, 0, 0, 13, 0)),
			line,
			fmt.Sprintf("with 13 pairs and a margin of 0.05 it is %d pairs in total", needs(verdictDifference(level, 0, 0, 13, 0), notWorse(0.05))),
			fmt.Sprintf("at most %d,%03d pairs", stats.MaxExactPairs/1000, stats.MaxExactPairs%1000),
		},
	}
	for name, sentences := range pages {
		page := doc(t, name)
		for _, s := range sentences {
			if !strings.Contains(page, s) {
				t.Errorf("docs/%s does not say %q", name, s)
			}
		}
	}
}

func TestStatisticsPageNamesTheMethodsOfPairs(t *testing.T) {
	page := doc(t, "statistics.md")
	for _, id := range append(compare.Methods(), stats.MethodPairedQuantile) {
		if !strings.Contains(page, "`"+id+"`") {
			t.Errorf("docs/statistics.md does not name the method %s", id)
		}
	}
}
