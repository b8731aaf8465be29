package stats

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

func TestPlanRateGolden(t *testing.T) {
	type row struct {
		Successes int
		NObserved int `json:"n_observed"`
		NMissing  int `json:"n_missing"`
		Direction string
		Threshold float64
		Level     float64
		Line      string
		MoreCases *int `json:"more_cases"`
	}
	g := golden[rows[row]](t, "e_plan_single_run.json")
	if len(g.Rows) != 28 {
		t.Fatalf("%d rows, want 28", len(g.Rows))
	}
	reasons := map[Why]*regexp.Regexp{
		AtThreshold:  regexp.MustCompile(`is at the threshold`),
		MissingShare: regexp.MustCompile(`of cases stay missing`),
	}
	for _, r := range g.Rows {
		name := fmt.Sprintf("%d of %d, %d missing, %s %v at %v", r.Successes, r.NObserved, r.NMissing, r.Direction, r.Threshold, r.Level)
		p := PlanRate(r.Successes, r.NObserved, r.NMissing, r.Threshold, direction(r.Direction), r.Level)
		if r.MoreCases == nil {
			if re := reasons[p.Why]; re == nil || !re.MatchString(r.Line) {
				t.Errorf("%s: %+v, want no size as %q says", name, p, r.Line)
			}
			continue
		}
		if more := p.Total - r.NObserved - r.NMissing; p.Why != 0 || more != *r.MoreCases {
			t.Errorf("%s: %+v, want %d more", name, p, *r.MoreCases)
		}
	}
}

func direction(name string) Direction {
	if name == "max" {
		return AtMost
	}
	return AtLeast
}

// A size whose sample has 14 wins by exact arithmetic (261 x 2/36 = 14.5, rounded
// to even) and 15 by that of doubles. Value computed with Oloproof 0.1.0a20 (PyPI).
func TestPlanPairsRoundsDoubles(t *testing.T) {
	p := Pairs{Wins: 2, Losses: 3, Observed: 36}
	if plan := PlanPairs(p, NonInferior, 0.1, 0.9); plan.Total != 261 {
		t.Errorf("%+v: %+v, want 261 in total", p, plan)
	}
}

// The same with missing cases: 14/44 of 165 are 52.5 by exact arithmetic and more
// by that of doubles. Values computed with Oloproof 0.1.0a20 (PyPI).
func TestPlanRateRoundsDoubles(t *testing.T) {
	if plan := PlanRate(11, 41, 3, 0.3962642035815033, AtMost, 0.95); plan.Total != 166 {
		t.Errorf("%+v, want 166 in total", plan)
	}
	if plan := PlanRate(7, 11, 1, 1.0/3, AtLeast, 0.99); plan.Total != 31 {
		t.Errorf("%+v, want 31 in total", plan)
	}
}

func TestPlanPairsGolden(t *testing.T) {
	type row struct {
		Wins, Losses, Pairs int
		Margin              *float64
		Kind                string
		Level               float64
		Line                *string
		MoreCases           *int `json:"more_cases"`
	}
	g := golden[rows[row]](t, "d_planning_pairs.json")
	if len(g.Rows) != 26 {
		t.Fatalf("%d rows, want 26", len(g.Rows))
	}
	goals := map[string]Goal{"superiority": Superior, "non_inferiority": NonInferior, "equivalence": Equivalent}
	differing := regexp.MustCompile(`\((\d+)% of them`)
	for _, r := range g.Rows {
		p := Pairs{Wins: r.Wins, Losses: r.Losses, Observed: r.Pairs}
		margin := 0.0
		if r.Margin != nil {
			margin = *r.Margin
		}
		goal := goals[r.Kind]
		met := goal.Met(PairedVerdicts(p, r.Level), margin)
		if decided := r.Line == nil; met != decided {
			t.Errorf("%+v: met %v, want %v", r, met, decided)
		}
		if r.Line == nil {
			continue
		}
		plan := PlanPairs(p, goal, margin, r.Level)
		if r.MoreCases == nil {
			if plan.Why != PastThreshold && plan.Why != AtThreshold {
				t.Errorf("%+v: %+v, want no size as %q says", r, plan, *r.Line)
			}
			continue
		}
		if more := plan.Total - r.Pairs; plan.Why != 0 || more != *r.MoreCases {
			t.Errorf("%+v %v: %+v, want %d more", p, r.Kind, plan, *r.MoreCases)
		}
		share := ""
		if m := differing.FindStringSubmatch(*r.Line); m != nil {
			share = m[1]
		}
		if got := strconv.FormatFloat(100*p.Discordance(), 'f', 0, 64); share != "" && got != share {
			t.Errorf("%+v: discordance %s%%, want %s%%", p, got, share)
		}
	}
}

// TestPlanSizes compares with sizes that the planning of Oloproof 0.1.0a20
// (PyPI) finds for random inputs, whatever the size of the sample there is.
func TestPlanSizes(t *testing.T) {
	type sizes struct {
		Rates []struct {
			Passed, Observed int
			Direction        string
			Threshold, Level float64
			Size             *int
		}
		Pairs []struct {
			Wins, Losses, Observed int
			Margin, Level          float64
			Superior               bool
			Size                   *int
		}
		Scores []struct {
			Differences   []float64
			Margin, Level float64
			Superior      bool
			Size          *int
		}
		Quantiles []struct {
			Values            []float64
			Q, Ceiling, Level float64
			Size              *int
		}
	}
	g := golden[sizes](t, "plan_sizes.json")
	if len(g.Rates) != 150 || len(g.Pairs) != 120 || len(g.Scores) != 60 || len(g.Quantiles) != 60 {
		t.Fatal("rows are missing")
	}
	check := func(p Plan, n int, size *int, row any) {
		t.Helper()
		want := 0
		if size != nil && *size > n {
			want = *size
		}
		if p.Total != want || (size == nil) != (p.Why != 0) {
			t.Errorf("%+v: %+v, want %d", row, p, want)
		}
	}
	goal := func(superior bool) Goal {
		if superior {
			return Superior
		}
		return NonInferior
	}
	for _, r := range g.Rates {
		check(PlanRate(r.Passed, r.Observed, 0, r.Threshold, direction(r.Direction), r.Level), r.Observed, r.Size, r)
	}
	for _, r := range g.Pairs {
		p := Pairs{Wins: r.Wins, Losses: r.Losses, Observed: r.Observed}
		check(PlanPairs(p, goal(r.Superior), r.Margin, r.Level), r.Observed, r.Size, r)
	}
	for _, r := range g.Scores {
		check(PlanPairedScores(r.Differences, 0, 1, goal(r.Superior), r.Margin, r.Level), len(r.Differences), r.Size, r)
	}
	for _, r := range g.Quantiles {
		check(PlanQuantile(r.Values, 0, r.Q, r.Ceiling, r.Level), len(r.Values), r.Size, r)
	}
}
