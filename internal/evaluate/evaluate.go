// Package evaluate judges executions. An evaluator is a function from a case
// and its execution to a judgment: no network, disk, clock or environment.
package evaluate

import "github.com/oloproof/oloproof-go/internal/evidence"

// Evaluator judges one criterion. Implementations are safe for concurrent use.
type Evaluator interface {
	// Judge is called for every case whose execution is OK. What the evaluator
	// cannot judge is a judgment that is Missing or NotApplicable.
	Judge(c *evidence.Case, e *evidence.Execution) evidence.Judgment
	// Applicable returns "" when the case's own data allow a judgment, else the
	// reason code of its exclusion. It needs no execution, so that failed
	// executions of excluded cases are excluded too, and `check` can count.
	Applicable(c *evidence.Case) string
}
