package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/stats"
)

// A mark is what a judgment comes to in one number: judged, passed, or one of
// the reasons why a case does not count.
const (
	markJudged uint32 = iota // a failure or a score
	markPassed
	markReasons // and above: a place among the reasons
)

// marks numbers the reasons in the order in which they came.
type marks struct {
	reasons []reason
	ids     map[reason]uint32
}

// reason is why a case is missing or excluded.
type reason struct {
	state evidence.JudgmentState
	code  string
}

func newMarks() marks { return marks{ids: map[reason]uint32{}} }

// of returns the mark of a judgment.
func (m *marks) of(j evidence.Judgment, kind evidence.Kind) (uint32, error) {
	if j.State == evidence.Judged {
		if kind == evidence.Rate && j.Value == 1 {
			return markPassed, nil
		}
		return markJudged, nil
	}
	// Reasons are codes of evaluators, a handful; a file with many is none of ours.
	const most = 1000
	r := reason{j.State, j.Reason}
	id, known := m.ids[r]
	if !known {
		if len(m.reasons) == most {
			return 0, fmt.Errorf("more than %d different reason codes", most)
		}
		id = markReasons + uint32(len(m.reasons))
		m.ids[r] = id
		m.reasons = append(m.reasons, r)
	}
	return id, nil
}

// tally counts some cases of one metric.
type tally struct {
	passed, observed int
	values           []float64   // as they came; nil for rates
	reasons          []markCount // few, in the order in which they came
}

// markCount counts cases with one reason.
type markCount struct {
	mark  uint32
	cases int
}

// reason counts a case that does not count.
func (t *tally) reason(mark uint32) {
	for i := range t.reasons {
		if t.reasons[i].mark == mark {
			t.reasons[i].cases++
			return
		}
	}
	t.reasons = append(t.reasons, markCount{mark, 1})
}

// metric returns the metric of the counted cases, without an interval.
func (t *tally) metric(spec evidence.MetricSpec, m *marks) Metric {
	slices.Sort(t.values)
	result := Metric{Spec: spec, Passed: t.passed, Values: t.values}
	result.Cases.Observed = t.observed
	for _, r := range t.reasons {
		why := m.reasons[r.mark-markReasons]
		count := ReasonCount{Reason: why.code, Cases: r.cases}
		if why.state == evidence.Missing {
			result.Missing = append(result.Missing, count)
			result.Cases.Missing += r.cases
		} else {
			result.Exclusions = append(result.Exclusions, count)
			result.Cases.Excluded += r.cases
		}
	}
	byReason := func(a, b ReasonCount) int { return cmp.Compare(a.Reason, b.Reason) }
	slices.SortFunc(result.Missing, byReason)
	slices.SortFunc(result.Exclusions, byReason)
	result.Estimate = estimate(&result)
	return result
}

// estimate returns the estimate of a metric, nil when nothing was observed.
func estimate(m *Metric) *float64 {
	if m.Cases.Observed == 0 {
		return nil
	}
	var e float64
	switch m.Spec.Kind {
	case evidence.Rate:
		return rate(m.Passed, m.Cases.Observed)
	case evidence.Mean:
		e = stats.Estimate(m.Values)
	case evidence.Quantile:
		e = stats.QuantileEstimate(m.Values, m.Spec.Quantile)
	}
	return &e
}

// seen is the set of the places that were added: one bit for each.
type seen []uint64

// add puts a place, from 0, into the set, in which it must not be.
func (s *seen) add(place int) error {
	if place < 0 || place > math.MaxInt32 {
		return fmt.Errorf("there is no place %d in a data set", place)
	}
	word, bit := place/64, uint64(1)<<(place%64)
	if more := word + 1 - len(*s); more > 0 {
		*s = append(*s, make([]uint64, more)...)
	}
	if (*s)[word]&bit != 0 {
		return fmt.Errorf("place %d of the data set was counted before", place)
	}
	(*s)[word] |= bit
	return nil
}
