package stats

import "testing"

func TestSliceMarksGolden(t *testing.T) {
	type row struct {
		Globals []struct {
			Metric   string
			Estimate float64
		}
		Slices []struct {
			Metric, Scope string
			Successes     int
			NObserved     int     `json:"n_observed"`
			NMissing      int     `json:"n_missing"`
			PValue        float64 `json:"p_value"`
			Marked        bool
		}
	}
	g := golden[rows[row]](t, "h_slice_marks.json")
	if len(g.Rows) != 8 {
		t.Fatalf("%d rows, want 8", len(g.Rows))
	}
	tested, marked := 0, 0
	for _, r := range g.Rows {
		overall := map[string]float64{}
		for _, m := range r.Globals {
			overall[m.Metric] = m.Estimate
		}
		var ps []float64
		for _, s := range r.Slices {
			p := SlicePValue(s.Successes, s.NObserved, s.NMissing, overall[s.Metric])
			near(t, s.Scope+" "+s.Metric, p, s.PValue)
			ps = append(ps, p)
		}
		for i, m := range Marks(ps) {
			if m != r.Slices[i].Marked {
				t.Errorf("%s %s: marked %v, want %v", r.Slices[i].Scope, r.Slices[i].Metric, m, r.Slices[i].Marked)
			}
			tested++
			if m {
				marked++
			}
		}
	}
	if tested < 50 || marked == 0 {
		t.Errorf("%d tested, %d marked: the goldens show too little", tested, marked)
	}
}

func TestMarks(t *testing.T) {
	// H(4) = 25/12, so the thresholds are i * 0.1 / 4 * 12/25 = 0.012, 0.024, 0.036, 0.048.
	tests := []struct {
		p    []float64
		want []bool
	}{
		{nil, []bool{}},
		{[]float64{0.1}, []bool{true}},
		{[]float64{0.1001}, []bool{false}},
		{[]float64{0.05, 0.02, 0.9, 0.0119}, []bool{false, true, false, true}},
		{[]float64{0.05, 0.02, 0.9, 0.0121}, []bool{false, true, false, true}}, // the second carries the first
		{[]float64{0.035, 0.035, 0.035, 1}, []bool{true, true, true, false}},
		{[]float64{0.037, 0.037, 0.037, 1}, []bool{false, false, false, false}},
	}
	for _, tt := range tests {
		got := Marks(tt.p)
		if len(got) != len(tt.want) {
			t.Fatalf("Marks(%v) = %v", tt.p, got)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("Marks(%v) = %v, want %v", tt.p, got, tt.want)
				break
			}
		}
	}
}
