package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// A mark is what a metric says of a case of the baseline, and then of the pair
// that the case becomes, in one number.
type mark = uint32

// Of a case.
const (
	markFailed mark = iota
	markPassed
	markScore // neither
	markOut   // a measurement outside of the range that was declared for it
)

// Of a pair.
const (
	markObserved mark = iota // without a flip
	markWin
	markLoss
	markOutside // observed, with a measurement outside of its range
)

// markReasons and the marks above it are places among the reasons why a case,
// or a pair, does not count.
const markReasons mark = 4

// reason is why a case is missing or excluded.
type reason struct {
	state evidence.JudgmentState
	code  string
}

// reasons numbers reasons in the order in which they come.
type reasons struct {
	all   []reason
	marks map[reason]mark
}

func (r *reasons) of(j evidence.Judgment) (mark, error) {
	// Reasons are codes of evaluators, a handful; a run with many is none of ours.
	const most = 1000
	why := reason{j.State, j.Reason}
	m, known := r.marks[why]
	if !known {
		if len(r.all) == most {
			return 0, fmt.Errorf("more than %d different reason codes", most)
		}
		m = markReasons + mark(len(r.all))
		r.marks[why] = m
		r.all = append(r.all, why)
	}
	return m, nil
}

// excluded reports whether a mark is a reason that puts a case outside the
// denominator.
func (r *reasons) excluded(m mark) bool {
	return m >= markReasons && r.all[m-markReasons].state == evidence.NotApplicable
}

// column holds what one metric says of each case of the baseline, in the order
// in which they came, and, once a case is paired, what it says of the pair.
type column struct {
	spec            evidence.MetricSpec // of the difference
	candidate, base sided
	marks           []mark
	values          []float64 // of scores and measurements; nil for verdicts
}

// sided is the metric in one of the runs.
type sided struct {
	spec  evidence.MetricSpec
	place int // among the judgments of an outcome; -1 for quantiles
}

func (s sided) judgment(o *evidence.Outcome) (evidence.Judgment, error) {
	return measure.Judgment(s.spec, s.place, o)
}

// newColumn returns a column without cases. A metric that is a rate in one run
// and a mean in the other is compared as a rate: where one of the data sets
// makes every judgment a verdict, so are those of its cases in the other.
func newColumn(candidate, baseline evidence.MetricSpec, place, basePlace int) column {
	c := column{spec: candidate, candidate: sided{candidate, place}, base: sided{baseline, basePlace}}
	if baseline.Kind == evidence.Rate {
		c.spec.Kind = evidence.Rate
	}
	return c
}

// grow makes room for n cases.
func (c *column) grow(n int) {
	c.marks = slices.Grow(c.marks, n)
	if !c.verdicts() {
		c.values = slices.Grow(c.values, n)
	}
}

func (c *column) verdicts() bool { return c.spec.Kind == evidence.Rate }

// keep adds what the metric says of a case of the baseline.
func (c *column) keep(o *evidence.Outcome, r *reasons) error {
	j, err := c.base.judgment(o)
	if err != nil {
		return c.fault(err)
	}
	m := verdict(j.Value)
	if c.out(j.Value) {
		m = markOut
	}
	if j.State != evidence.Judged {
		if m, err = r.of(j); err != nil {
			return c.fault(err)
		}
	}
	c.marks = append(c.marks, m)
	if !c.verdicts() {
		c.values = append(c.values, j.Value)
	}
	return nil
}

// pair turns what the metric says of the baseline's case in a row into what it
// says of the pair with the candidate's. Excluded on either side is excluded,
// else missing on either side is missing; the candidate's reason goes first.
func (c *column) pair(row int32, o *evidence.Outcome, r *reasons) error {
	j, err := c.candidate.judgment(o)
	if err != nil {
		return c.fault(err)
	}
	was := c.marks[row]
	switch {
	case j.State == evidence.NotApplicable, j.State == evidence.Missing && !r.excluded(was):
		if c.marks[row], err = r.of(j); err != nil {
			return c.fault(err)
		}
	case was >= markReasons: // the baseline's reason holds
	case c.verdicts():
		if c.marks[row], err = flip(was, verdict(j.Value)); err != nil {
			return c.fault(err)
		}
	default:
		c.marks[row] = markObserved
		if was == markOut || c.out(j.Value) {
			c.marks[row] = markOutside
		}
		c.values[row] = j.Value - c.values[row] + 0 // -0 is 0
	}
	return nil
}

// out reports whether a measurement lies outside of the range of its mean.
func (c *column) out(value float64) bool {
	s := &c.spec
	return s.Kind == evidence.Mean && s.Bounded() && (value < s.Range[0] || value > s.Range[1])
}

// verdict is the mark of a judgment with this value.
func verdict(value float64) mark {
	switch value {
	case 0:
		return markFailed
	case 1:
		return markPassed
	}
	return markScore
}

// flip is the mark of a pair of verdicts.
func flip(was, now mark) (mark, error) {
	switch {
	case was == markScore || now == markScore:
		return 0, errors.New("a rate in one run, and a score between 0 and 1 in the other: the same case cannot be both")
	case was == now:
		return markObserved, nil
	case now == markPassed:
		return markWin, nil
	}
	return markLoss, nil
}

func (c *column) fault(err error) error { return fmt.Errorf("metric %s: %w", c.spec.ID, err) }
