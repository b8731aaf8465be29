package decide

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// doc returns a page of the user's documentation.
func doc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// stringConstants returns the values of the string constants of a file of this
// package by name.
func stringConstants(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				values[spec.Names[i].Name] = value
			}
		}
		return true
	})
	return values
}

var reasonRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (MANUAL_REVIEW|INSUFFICIENT_EVIDENCE|PASS|FAIL) \\|")

func TestPoliciesPageNamesEveryReason(t *testing.T) {
	page := doc(t, "policies.md")
	listed := map[string]bool{}
	for _, row := range reasonRow.FindAllStringSubmatch(page, -1) {
		listed[row[1]] = true
	}
	constants := stringConstants(t, "reasons.go")
	if len(constants) == 0 {
		t.Fatal("reasons.go has no constants")
	}
	for name, code := range constants {
		switch {
		case strings.HasPrefix(name, "Gate"):
			if !strings.Contains(page, "- `"+code+"`:") {
				t.Errorf("docs/policies.md does not explain the gate reason %s", code)
			}
		case !listed[code]:
			t.Errorf("docs/policies.md does not list the reason code %s", code)
		}
		delete(listed, code)
	}
	for code := range listed {
		t.Errorf("docs/policies.md lists %s, which no rule gives", code)
	}
}

func TestPoliciesPageNamesEveryStateAndExitCode(t *testing.T) {
	page := doc(t, "policies.md")
	for _, s := range allStates {
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", s)) {
			t.Errorf("docs/policies.md does not explain the state %s", s)
		}
	}
	for _, a := range []Action{Allow, Warn, Block} {
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", a)) {
			t.Errorf("docs/policies.md does not explain the gate %s", a)
		}
	}
	for _, code := range []int{ExitAllowed, ExitFail, ExitTrouble, ExitBlocked} {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("docs/policies.md does not explain exit code %d", code)
		}
	}
}

var perfectRow = regexp.MustCompile(`(?m)^\| (0\.\d\d) \| (\d+) \| (\d+) \|$`)

// The table of cases that a perfect result needs is what Reachable says.
func TestPoliciesPageTableOfPerfectResults(t *testing.T) {
	rows := perfectRow.FindAllStringSubmatch(doc(t, "policies.md"), -1)
	if len(rows) < 5 {
		t.Fatalf("docs/policies.md has %d rows of floors, want at least 5", len(rows))
	}
	for _, row := range rows {
		threshold, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		ofRate := reach("rate", 0, floor(threshold)).Needs
		ofMean := reach("mean", 0, floor(threshold)).Needs
		if got := fmt.Sprintf("| %s | %d | %d |", row[1], ofRate, ofMean); got != row[0] {
			t.Errorf("docs/policies.md says %s, computed %s", row[0], got)
		}
	}
}

// Sentences of the documentation with figures, and the figures computed.
func TestFiguresOfTheDocumentation(t *testing.T) {
	percent := func(limit float64, up bool) string {
		tenths := math.Floor(limit * 1000)
		if up {
			tenths = math.Ceil(limit * 1000)
		}
		return fmt.Sprintf("%.1f%%", tenths/10)
	}
	interval := func(passed, observed int) string {
		i := stats.Rate(passed, observed, 0, level)
		return fmt.Sprintf("[%s, %s]", percent(i.Lower, false), percent(i.Upper, true))
	}
	more := func(r policy.Rule, passed, observed int) *Planning {
		return Run(blockAll(r), []measure.Metric{rate(passed, observed, 0)}, evidence.Complete).Decisions[0].Planning
	}
	answers, retrieval := more(floor(0.7), 11, 15), more(floor(0.8), 12, 13)
	ndcg := scores(0, append(times(10, 1), 1/math.Log2(3), 1/math.Log2(3), 0)...)
	answerReach, retrievalReach := reach("rate", 15, floor(0.7)), reach("rate", 13, floor(0.8))

	pages := map[string][]string{
		"policies.md": {
			"11 of 15, 73.3%, interval " + interval(11, 15),
			"12 of 13, 92.3%, interval " + interval(12, 13),
			fmt.Sprintf("`about %d more cases would decide it, if the rate holds (%d in total)`", answers.More, answers.Total),
			fmt.Sprintf("about %d more (%d in total)", retrieval.More, retrieval.Total),
			fmt.Sprintf("`answer-floor` can PASS only at %d of 15 and FAILs at %d or fewer", *answerReach.PassFrom, *answerReach.FailTo),
			fmt.Sprintf("13 of 13 reaches %s at best. It needs %d.", percent(*retrievalReach.Best, false), retrievalReach.Needs),
			fmt.Sprintf("needs %d cases for p50, %d for p90, %d for p95", reach("p50", 0, ceiling(1)).Needs, reach("p90", 0, ceiling(1)).Needs, reach("p95", 0, ceiling(1)).Needs),
		},
		"statistics.md": {
			"11 of 15 is 73.3% with the interval " + interval(11, 15),
			"13 of 13 is 100.0% with " + interval(13, 13),
			"5 of 8, 62.5%, " + interval(5, 8),
			fmt.Sprintf("have the mean %.3f and the interval [%.3f, %.3f]", stats.Estimate(ndcg.Values), math.Floor(*ndcg.Interval.Lower*1000)/1000, math.Ceil(*ndcg.Interval.Upper*1000)/1000),
			fmt.Sprintf("`about %d more cases would decide it, if the rate holds (%d in total)`", answers.More, answers.Total),
			fmt.Sprintf("a rate with floor 0.80 needs %d perfect cases, a mean needs %d", reach("rate", 0, floor(0.8)).Needs, reach("mean", 0, floor(0.8)).Needs),
			fmt.Sprintf("needs %d cases for p50, %d for p90 and %d for p95", reach("p50", 0, ceiling(1)).Needs, reach("p90", 0, ceiling(1)).Needs, reach("p95", 0, ceiling(1)).Needs),
			fmt.Sprintf("13 of 13 reaches %s; at %d cases a perfect result can", percent(*retrievalReach.Best, false), retrievalReach.Needs),
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

func TestStatisticsPageNamesTheMethods(t *testing.T) {
	page := doc(t, "statistics.md")
	for _, id := range []string{stats.MethodRate, stats.MethodMean, stats.MethodQuantile} {
		if !strings.Contains(page, "`"+id+"`") {
			t.Errorf("docs/statistics.md does not name the method %s", id)
		}
	}
	if limit := "100,000"; stats.MaxPlan != 100_000 || !strings.Contains(page, limit) {
		t.Errorf("docs/statistics.md says %s, planning ends at %d", limit, stats.MaxPlan)
	}
}
