// Package measure turns judgments into metrics and slices. It is pure.
package measure

import "github.com/oloproof/oloproof-go/internal/evidence"

// Interval is a two-sided confidence interval.
type Interval struct {
	Lower  *float64 // nil: no bound
	Upper  *float64 // nil: no bound
	Level  float64  // confidence level asked for, in (0,1)
	Method string   // method id, such as clopper_pearson_missing_bounded@1
}

// Cases counts the cases of a metric.
type Cases struct {
	Observed int `json:"observed"`
	Missing  int `json:"missing"`
	Excluded int `json:"excluded"`
}

// Eligible is the denominator: observed and missing.
func (c Cases) Eligible() int { return c.Observed + c.Missing }

// ReasonCount counts cases with one reason code.
type ReasonCount struct {
	Reason string `json:"reason"`
	Cases  int    `json:"cases"`
}

// Metric is a criterion over cases.
type Metric struct {
	Spec       evidence.MetricSpec
	Estimate   *float64  // nil when nothing was observed
	Interval   *Interval // nil when there is no case to count
	Cases      Cases
	Passed     int           // rates: observed passes
	Exclusions []ReasonCount // sorted by reason
	Missing    []ReasonCount // sorted by reason
	// Values are the observed values in ascending order: scores of a mean,
	// measurements of a quantile; nil for rates. Planning reads them.
	Values []float64
}

// Outside counts the observed values of a mean below and above the range that
// was declared for it; none when there is no range.
func (m *Metric) Outside() (below, above int) {
	if m.Spec.Kind != evidence.Mean || !m.Spec.Bounded() {
		return 0, 0
	}
	for _, v := range m.Values {
		switch {
		case v < m.Spec.Range[0]:
			below++
		case v > m.Spec.Range[1]:
			above++
		}
	}
	return below, above
}

// Slice is one metric over the cases that share a declared value.
type Slice struct {
	Name    string // such as metadata.topic
	Value   string
	Metric  Metric   // Interval is nil when the support is below min_slice_support
	Support int      // eligible cases
	PValue  *float64 // rates only: see Slices
	Marked  bool     // Benjamini-Yekutieli at false discovery rate 0.1
}
