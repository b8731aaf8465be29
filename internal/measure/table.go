package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// Table counts the outcomes of a run as they come, in any order. It keeps a
// few bytes for each case and metric, and neither ids nor reasons twice.
type Table struct {
	seen    seen
	columns []column
	groups  []group
	marks   marks
	row     []entry // of the outcome that is being added, by column
}

// entry is what one metric says of one case.
type entry struct {
	mark  uint32  // see marks
	value float64 // 0 where nothing was observed
}

// column holds what one metric says of each case, in the order of Add.
type column struct {
	spec   evidence.MetricSpec
	judged int // place among the judgments of an outcome; -1 for what is measured
	marks  []uint32
	values []float64 // nil for rates
}

// group holds the value of one slice for each case, in the order of Add.
type group struct {
	name   string
	values []string       // distinct values
	ids    map[string]int // their places in values
	cases  []int32        // place in values; -1: in no slice
}

// NewTable returns a table without cases for the metrics and the slices of a
// run. The specs of judged metrics stand in the order of the judgments of an
// outcome, and the slices in that of its slice values.
func NewTable(specs []evidence.MetricSpec, slices []string) *Table {
	t := &Table{marks: newMarks()}
	places := Places(specs)
	for i, s := range specs {
		t.columns = append(t.columns, column{spec: s, judged: places[i]})
	}
	t.row = make([]entry, len(t.columns))
	for _, name := range slices {
		t.groups = append(t.groups, group{name: name, ids: map[string]int{}})
	}
	return t
}

// Trust sets what labels say of the judges of the metrics, in their order.
func (t *Table) Trust(specs []evidence.MetricSpec) {
	for i := range t.columns {
		t.columns[i].spec.Trust = specs[i].Trust
	}
}

// Add counts the outcome of the case at an index of the data set, from 0. It
// counts nothing and returns an error when the index was added before, or when
// the outcome does not fit the metrics and slices of the table.
func (t *Table) Add(index int, o *evidence.Outcome) error {
	err := t.check(o)
	if err == nil {
		err = t.seen.add(index)
	}
	if err != nil {
		return fmt.Errorf("case %q: %w", o.ID, err)
	}
	for i := range t.columns {
		t.columns[i].add(t.row[i])
	}
	for i := range t.groups {
		t.groups[i].add(o.Slices[i])
	}
	return nil
}

// check reads an outcome into t.row, or says why it does not fit.
func (t *Table) check(o *evidence.Outcome) error {
	judged := 0
	for i, c := range t.columns {
		if c.judged >= 0 {
			judged++
		}
		if c.judged >= len(o.Judgments) {
			continue
		}
		j, err := c.judgment(o)
		if err == nil {
			t.row[i].value = j.Value + 0 // -0 is 0
			t.row[i].mark, err = t.marks.of(j, c.spec.Kind)
		}
		if err != nil {
			return fmt.Errorf("metric %s: %w", c.spec.ID, err)
		}
	}
	if len(o.Judgments) != judged {
		return fmt.Errorf("%d judgments for %d judged metrics", len(o.Judgments), judged)
	}
	if len(o.Slices) != len(t.groups) {
		return fmt.Errorf("%d slice values for %d slices", len(o.Slices), len(t.groups))
	}
	return nil
}

// judgment is what the metric of a column says of an outcome.
func (c *column) judgment(o *evidence.Outcome) (evidence.Judgment, error) {
	return Judgment(c.spec, c.judged, o)
}

// Places returns, for each metric of a run, its place among the judgments of an
// outcome; -1 for those that are measured.
func Places(specs []evidence.MetricSpec) []int {
	places := make([]int, len(specs))
	judged := 0
	for i, s := range specs {
		places[i] = -1
		if s.Judged() {
			places[i] = judged
			judged++
		}
	}
	return places
}

// Judgment is what a metric says of an outcome, without detail: the judgment at
// its place, which must be there, or what is measured of it. The error
// says that the outcome does not fit the metric.
func Judgment(spec evidence.MetricSpec, place int, o *evidence.Outcome) (evidence.Judgment, error) {
	if place < 0 {
		return measured(spec, o)
	}
	j := o.Judgments[place]
	switch {
	case j.State == evidence.Missing, j.State == evidence.NotApplicable:
		return evidence.Judgment{State: j.State, Reason: j.Reason}, nil
	case j.State != evidence.Judged:
		return j, fmt.Errorf("unknown state %d of a judgment", j.State)
	case spec.Kind == evidence.Rate && (j.Value == 0 || j.Value == 1):
		return j, nil
	case spec.Kind == evidence.Rate:
		return j, fmt.Errorf("%v is neither passed (1) nor failed (0)", j.Value)
	case spec.Kind != evidence.Mean:
		return j, fmt.Errorf("unknown kind %q", spec.Kind)
	case !(j.Value >= spec.Range[0] && j.Value <= spec.Range[1]):
		return j, fmt.Errorf("%v lies outside the range from %v to %v", j.Value, spec.Range[0], spec.Range[1])
	}
	return j, nil
}

// measured is what a metric that is not judged says of an outcome.
func measured(spec evidence.MetricSpec, o *evidence.Outcome) (evidence.Judgment, error) {
	if spec.Kind == evidence.Rate && spec.Source == evidence.SourceError {
		switch o.Status {
		case evidence.StatusNotRun:
			return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}, nil
		case evidence.StatusOK:
			return evidence.Judgment{State: evidence.Judged}, nil
		}
		return evidence.Judgment{State: evidence.Judged, Value: 1}, nil
	}
	value, known := quantity(spec.Source, o)
	if spec.Source == evidence.SourceCost {
		value = spec.Prices.Cost(o.Usage)
	}
	switch {
	case !known || spec.Kind == evidence.Rate:
		return evidence.Judgment{}, fmt.Errorf("a %s of %q is not measured", spec.Kind, spec.Source)
	case o.Status == evidence.StatusNotRun:
		return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRun}, nil
	case o.Status != evidence.StatusOK:
		return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonExecutionError}, nil
	case value == nil:
		return evidence.Judgment{State: evidence.Missing, Reason: evidence.ReasonNotRecorded}, nil
	case !(*value >= 0) || math.IsInf(*value, 0):
		return evidence.Judgment{}, fmt.Errorf("%s of %v", spec.Source, *value)
	}
	return evidence.Judgment{State: evidence.Judged, Value: *value}, nil
}

// quantity is a measured quantity of an outcome, nil where the system did not
// say it; known is false for what is no quantity.
func quantity(source string, o *evidence.Outcome) (value *float64, known bool) {
	if source == evidence.SourceLatency {
		return &o.LatencyMS, true
	}
	var u evidence.Usage
	if o.Usage != nil {
		u = *o.Usage
	}
	count := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		x := float64(*n)
		return &x
	}
	switch source {
	case evidence.SourceFirstToken:
		return u.FirstTokenMS, true
	case evidence.SourceInputTokens:
		return count(u.InputTokens), true
	case evidence.SourceOutputTokens:
		return count(u.OutputTokens), true
	case evidence.SourceCost:
		return u.CostUSD, true
	}
	return nil, false
}

func (c *column) add(e entry) {
	c.marks = append(c.marks, e.mark)
	if c.spec.Kind != evidence.Rate {
		c.values = append(c.values, e.value)
	}
}

func (g *group) add(value string) {
	id := -1
	if value != evidence.NoSlice {
		var known bool
		if id, known = g.ids[value]; !known {
			id = len(g.values)
			g.ids[value] = id
			g.values = append(g.values, value)
		}
	}
	g.cases = append(g.cases, int32(id))
}

// Metrics returns the metrics over all cases added so far, in the order of the
// specs, with intervals at a confidence level in (0, 1).
func (t *Table) Metrics(level float64) []Metric {
	metrics := make([]Metric, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		var all tally
		for k := range c.marks {
			c.count(&all, k)
		}
		metrics[i] = all.metric(c.spec, &t.marks)
		metrics[i].Interval = interval(&metrics[i], level)
	}
	return metrics
}

// Slices returns each metric over the cases of each slice: slices in the order
// they were declared, values as strings, metrics in the order of their specs.
// A slice with fewer eligible cases than minSupport has no interval.
//
// Rates have a p value: how compatible the slice is with the rate of the whole
// run, its own cases included. They are marked together, whatever their
// support, by the procedure of Benjamini and Yekutieli.
func (t *Table) Slices(level float64, minSupport int) []Slice {
	overall := make([]*float64, len(t.columns))
	for i := range t.columns {
		if c := &t.columns[i]; c.spec.Kind == evidence.Rate {
			overall[i] = c.rate()
		}
	}
	var all []Slice
	for g := range t.groups {
		all = append(all, t.groupSlices(&t.groups[g], overall, level, minSupport)...)
	}
	markSlices(all)
	return all
}

// groupSlices returns the slices of one name. overall holds the rates of the
// run by metric, nil where there is none.
func (t *Table) groupSlices(g *group, overall []*float64, level float64, minSupport int) []Slice {
	order := make([]int, len(g.values))
	for id := range order {
		order[id] = id
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(g.values[a], g.values[b]) })
	result := make([]Slice, len(order)*len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		tallies := make([]tally, len(g.values))
		for k, id := range g.cases {
			if id >= 0 {
				c.count(&tallies[id], k)
			}
		}
		for place, id := range order {
			m := tallies[id].metric(c.spec, &t.marks)
			s := Slice{Name: g.name, Value: g.values[id], Support: m.Cases.Eligible()}
			if s.Support >= minSupport {
				m.Interval = interval(&m, level)
			}
			if overall[i] != nil && m.Cases.Observed > 0 {
				p := stats.SlicePValue(m.Passed, m.Cases.Observed, m.Cases.Missing, *overall[i])
				s.PValue = &p
			}
			s.Metric = m
			result[place*len(t.columns)+i] = s
		}
	}
	return result
}

// markSlices marks the slices whose p values are small for so many of them.
func markSlices(all []Slice) {
	var tested []int
	var p []float64
	for i := range all {
		if all[i].PValue != nil {
			tested, p = append(tested, i), append(p, *all[i].PValue)
		}
	}
	for k, marked := range stats.Marks(p) {
		all[tested[k]].Marked = marked
	}
}

// rate returns the observed rate of a column of verdicts, nil when nothing was observed.
func (c *column) rate() *float64 {
	var all tally
	for k := range c.marks {
		c.count(&all, k)
	}
	return rate(all.passed, all.observed)
}

// count adds the k-th case of the column to a tally.
func (c *column) count(t *tally, k int) {
	switch mark := c.marks[k]; mark {
	case markPassed:
		t.passed++
		t.observed++
	case markJudged:
		t.observed++
		if c.values != nil {
			t.values = append(t.values, c.values[k])
		}
	default:
		t.reason(mark)
	}
}

// rate is passed of observed, nil when nothing was observed.
func rate(passed, observed int) *float64 {
	if observed == 0 {
		return nil
	}
	r := float64(passed) / float64(observed)
	return &r
}

// interval returns the interval of a metric at a level. It is nil when there is
// no case to count, and for a mean also when all of them are missing: with
// nothing observed its interval would only repeat the range.
func interval(m *Metric, level float64) *Interval {
	if m.Cases.Eligible() == 0 || m.Spec.Kind == evidence.Mean && m.Cases.Observed == 0 {
		return nil
	}
	var limits stats.Interval
	method := stats.MethodRate
	switch m.Spec.Kind {
	case evidence.Rate:
		limits = stats.Rate(m.Passed, m.Cases.Observed, m.Cases.Missing, level)
	case evidence.Mean:
		method, limits = mean(m, level)
	case evidence.Quantile:
		method = stats.MethodQuantile
		limits = stats.Quantile(m.Values, m.Cases.Missing, m.Spec.Quantile, level)
	}
	return &Interval{Lower: bound(limits.Lower), Upper: bound(limits.Upper), Level: level, Method: method}
}

// mean returns the interval of a mean. One without a declared range is of a
// quantity that is never negative, so it has a lower limit and no upper one: no
// number of values says anything about those that may come. A value outside of
// the range that was declared shows that the range does not hold on that side,
// so that the limit there is none.
func mean(m *Metric, level float64) (method string, limits stats.Interval) {
	if !m.Spec.Bounded() {
		return stats.MethodMeanAtLeast, stats.MeanAtLeast(m.Values, m.Cases.Missing, level)
	}
	lo, hi := m.Spec.Range[0], m.Spec.Range[1]
	below, above := m.Outside()
	values := m.Values
	if below+above > 0 {
		values = make([]float64, len(m.Values))
		for i, v := range m.Values {
			values[i] = min(max(v, lo), hi)
		}
	}
	limits = stats.Mean(values, m.Cases.Missing, lo, hi, level)
	if below > 0 {
		limits.Lower = math.Inf(-1)
	}
	if above > 0 {
		limits.Upper = math.Inf(1)
	}
	return stats.MethodMean, limits
}

// bound is nil where there is no bound.
func bound(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}
