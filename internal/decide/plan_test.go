package decide

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// TestPlanningReproducesTheReference reads testdata/planning.json, whose source
// is stated in it.
func TestPlanningReproducesTheReference(t *testing.T) {
	b, err := os.ReadFile("testdata/planning.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Rows []struct {
			Successes int          `json:"successes"`
			Observed  int          `json:"n_observed"`
			Missing   int          `json:"n_missing"`
			Direction string       `json:"direction"`
			Threshold float64      `json:"threshold"`
			Level     float64      `json:"level"`
			Lower     float64      `json:"lower"`
			Upper     float64      `json:"upper"`
			State     policy.State `json:"state"`
			Reasons   []string     `json:"reasons"`
			Total     int          `json:"total"`
			More      int          `json:"more"`
			Reason    string       `json:"reason"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Rows) != 28 {
		t.Fatalf("%d rows, want 28", len(golden.Rows))
	}
	for _, row := range golden.Rows {
		name := fmt.Sprintf("%d of %d and %d missing, %s %v at %v", row.Successes, row.Observed, row.Missing, row.Direction, row.Threshold, row.Level)
		t.Run(name, func(t *testing.T) {
			rule := floor(row.Threshold)
			if row.Direction == "max" {
				rule = ceiling(row.Threshold)
			}
			m := rateAt(row.Level, row.Successes, row.Observed, row.Missing)
			near := cmpopts.EquateApprox(0, 1e-9)
			if diff := cmp.Diff([]float64{row.Lower, row.Upper}, []float64{*m.Interval.Lower, *m.Interval.Upper}, near); diff != "" {
				t.Errorf("interval (-want +got):\n%s", diff)
			}
			p := blockAll(rule)
			p.ConfidenceLevel = row.Level
			d := Run(p, []measure.Metric{m}, evidence.Complete).Decisions[0]
			want := Decision{State: row.State, Reasons: row.Reasons, Planning: &Planning{Total: row.Total, More: row.More, Reason: row.Reason}}
			got := Decision{State: d.State, Reasons: d.Reasons, Planning: d.Planning}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// scores is a mean of scores in [0, 1] with its real interval.
func scores(missing int, values ...float64) measure.Metric {
	slices.Sort(values)
	i := stats.Mean(values, missing, 0, 1, level)
	m := metric(0, len(values), missing, &i.Lower, &i.Upper)
	m.Spec.Kind, m.Values = evidence.Mean, values
	return m
}

// latency is a quantile with its real interval.
func latency(q float64, missing int, values ...float64) measure.Metric {
	slices.Sort(values)
	i := stats.Quantile(values, missing, q, level)
	m := metric(0, len(values), missing, finite(i.Lower), finite(i.Upper))
	m.Spec = evidence.MetricSpec{ID: "m", Kind: evidence.Quantile, Quantile: q}
	m.Values = values
	return m
}

func finite(limit float64) *float64 {
	if math.IsInf(limit, 0) {
		return nil
	}
	return &limit
}

func times(n int, values ...float64) []float64 { return slices.Repeat(values, n) }

func TestPlanning(t *testing.T) {
	ndcg := append(times(10, 1), 1/math.Log2(3), 1/math.Log2(3), 0)
	tests := []struct {
		name   string
		rule   policy.Rule
		metric measure.Metric
		want   *Planning
	}{
		{"PASS", floor(0.5), rate(100, 100, 0), nil},
		{"FAIL", floor(0.5), rate(0, 100, 0), nil},
		{"manual review", with(floor(0.7), review), rate(11, 15, 0), nil},
		{"count", count(0), rate(15, 15, 1), nil},
		{"nothing observed", floor(0.7), rate(0, 0, 5), nil},
		{"no case", floor(0.7), rate(0, 0, 0), nil},
		{"too many missing", with(floor(0.7), maxMissing(0.05)), rate(20, 20, 3), nil},

		{"estimate below the floor", floor(0.8), rate(11, 15, 0), &Planning{Reason: PlanPastThreshold}},
		{"estimate above the ceiling", ceiling(0.2), rate(5, 15, 0), &Planning{Reason: PlanPastThreshold}},
		{"estimate on the floor", floor(0.75), rate(15, 20, 0), &Planning{Reason: PlanAtThreshold}},
		{"too close to the floor", floor(0.79), rate(396, 500, 0), &Planning{Reason: PlanNotUpTo, UpTo: stats.MaxPlan}},
		{"missing decide", floor(0.8), rate(95, 95, 5), nil}, // PASS even with the missing at their worst
		{"missing could decide", floor(0.9), rate(95, 95, 5), &Planning{Reason: PlanResolveMissing, Reach: ptr(stats.Rate(100, 100, 0, level).Lower)}},
		{"missing could decide a ceiling", ceiling(0.1), rate(0, 95, 5), &Planning{Reason: PlanResolveMissing, Reach: ptr(stats.Rate(0, 100, 0, level).Upper)}},
		{"missing share", floor(0.8), rate(12, 13, 2), &Planning{Reason: PlanMissingShare}},

		{"mean", floor(0.6), scores(0, ndcg...), &Planning{Total: 23, More: 10}},
		{"mean past the floor", floor(0.9), scores(0, ndcg...), &Planning{Reason: PlanPastThreshold}},
		{"mean with missing cases", floor(0.6), scores(1, ndcg...), nil},
		{"mean, ceiling", ceiling(0.2), scores(0, times(10, 0)...), &Planning{Total: 25, More: 15}},

		{"too few for an upper limit", ceiling(500), latency(0.95, 0, times(15, 100)...), &Planning{Total: 72, More: 57}},
		{"quantile past the ceiling", ceiling(50), latency(0.5, 0, 10, 60, 70), &Planning{Reason: PlanPastThreshold}},
		{"quantile with missing cases", ceiling(500), latency(0.95, 1, times(15, 100)...), nil},
		{"floor on a quantile", floor(50), latency(0.5, 0, 60, 70, 80), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Run(blockAll(tt.rule), []measure.Metric{tt.metric}, evidence.Complete).Decisions[0]
			if diff := cmp.Diff(tt.want, d.Planning); diff != "" {
				t.Errorf("planning of a rule that is %s (-want +got):\n%s", d.State, diff)
			}
		})
	}
}

func TestPlanningOfAMeanWithoutARange(t *testing.T) {
	m := scores(0, 0.2, 0.9)
	m.Spec.Range = [2]float64{}
	d := Run(blockAll(floor(0.5)), []measure.Metric{m}, evidence.Complete).Decisions[0]
	if d.State != policy.InsufficientEvidence || d.Planning != nil {
		t.Errorf("state %s with planning %+v, want INSUFFICIENT_EVIDENCE without", d.State, d.Planning)
	}
}
