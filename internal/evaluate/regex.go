package evaluate

import (
	"fmt"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// regex passes when a pattern is found in the text of the output, or, turned
// round, when it is not.
type regex struct {
	fields
	pattern *pattern
	noMatch bool // pass when nothing is found
}

func newRegex(o *suite.Evaluator) (Evaluator, error) {
	p, err := compilePattern(o.Pattern)
	if err != nil {
		return nil, &optionError{"pattern", "pattern: " + err.Error()}
	}
	return regex{fields{field: o.Field}, p, o.PassIfNoMatch}, nil
}

// Applicable implements [Evaluator]: nothing is expected of the case.
func (regex) Applicable(*evidence.Case) string { return "" }

// Judge implements [Evaluator].
func (e regex) Judge(_ *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	switch match := e.pattern.MatchString(pythonText(actual)); {
	case match != e.noMatch:
		return passed()
	case match:
		return failed(fmt.Sprintf("found in %s", evidence.Shorten(actual, shown)))
	}
	return failed(fmt.Sprintf("not found in %s", evidence.Shorten(actual, shown)))
}
