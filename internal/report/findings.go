package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/measure"
)

// Findings are what reports show of single cases, without any content of theirs.
type Findings struct {
	Failing   []FailingCase // in data set order
	Latencies measure.Latencies
}

// FailingCase is a case that failed a pass/fail criterion, whose execution or a
// judgment errored, or that did not finish.
type FailingCase struct {
	ID       string
	Problem  string // what became of a case without an answer, such as http_status 503; "" when answered
	Criteria []FailedCriterion
}

// FailedCriterion is a criterion that a case failed or that could not judge it.
type FailedCriterion struct {
	ID     string
	Reason string // why it could not judge; "" when it judged and the case failed
}

// Find goes through the outcomes of a run, those that are kept without content.
func Find(m *evidence.Manifest, outcomes func(visit func(index int, o *evidence.Outcome) error) error) (*Findings, error) {
	f := &Findings{}
	judged := make([]evidence.MetricSpec, 0, len(m.Metrics))
	for _, s := range m.Metrics {
		if s.Judged() {
			judged = append(judged, s)
		}
	}
	err := outcomes(func(_ int, o *evidence.Outcome) error {
		f.Latencies.Add(o)
		c := FailingCase{ID: o.ID}
		if o.Status != evidence.StatusOK {
			c.Problem = problemName(CaseProblem{Kind: cmp.Or(string(o.ErrorKind), strings.ToLower(string(o.Status))), Status: o.HTTPStatus})
		}
		for i, j := range o.Judgments {
			if i < len(judged) {
				c.add(judged[i], j)
			}
		}
		if c.Problem != "" || len(c.Criteria) > 0 {
			f.Failing = append(f.Failing, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// add notes a judgment that failed or errored. What the execution's own problem
// explains is not repeated.
func (c *FailingCase) add(s evidence.MetricSpec, j evidence.Judgment) {
	switch {
	case j.State == evidence.Missing && (j.Reason == evidence.ReasonExecutionError || j.Reason == evidence.ReasonNotRun):
	case j.State == evidence.Missing:
		c.Criteria = append(c.Criteria, FailedCriterion{ID: s.ID, Reason: j.Reason})
	case j.State == evidence.Judged && s.Kind == evidence.Rate && j.Value != 1:
		c.Criteria = append(c.Criteria, FailedCriterion{ID: s.ID})
	}
}

// words says in one line what is wrong with a case: its problem, the criteria
// that failed, those that errored and why.
func (c *FailingCase) words() string {
	var parts, failed []string
	if c.Problem != "" {
		parts = append(parts, c.Problem)
	}
	for _, x := range c.Criteria {
		if x.Reason == "" {
			failed = append(failed, x.ID)
		}
	}
	if len(failed) > 0 {
		parts = append(parts, "failed "+strings.Join(failed, ", "))
	}
	for _, x := range c.Criteria {
		if x.Reason != "" {
			parts = append(parts, fmt.Sprintf("%s errored (%s)", x.ID, x.Reason))
		}
	}
	return strings.Join(parts, "; ")
}
