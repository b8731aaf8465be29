package evaluate

import (
	"fmt"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// fields says what an evaluator of text compares.
type fields struct {
	field    *string // path into the output; nil is the whole output
	expected *string // path into expected; nil: field when expected is an object, else all of it
}

// actual returns what stands at the field of the output.
func (f fields) actual(e *evidence.Execution) (evidence.Value, *evidence.Judgment) {
	if f.field == nil {
		return e.Output, nil
	}
	v, err := evidence.Lookup(e.Output, *f.field)
	if err != nil {
		j := missing(evidence.ReasonMissingField, "output: "+err.Error())
		return nil, &j
	}
	return v, nil
}

// want returns what the case expects, with the path in it; ok is false when
// the case expects nothing there. A null at a path is something expected.
func (f fields) want(c *evidence.Case) (v evidence.Value, path string, ok bool) {
	if evidence.IsNull(c.Expected) {
		return nil, "", false
	}
	at := f.expected
	if at == nil && c.Expected.Kind() == '{' {
		at = f.field
	}
	if at == nil {
		return c.Expected, "", true
	}
	v, err := evidence.Lookup(c.Expected, *at)
	return v, *at, err == nil
}

// Applicable implements [Evaluator]: the case must expect something.
func (f fields) Applicable(c *evidence.Case) string {
	if _, _, ok := f.want(c); !ok {
		return evidence.ReasonNoExpected
	}
	return ""
}

// contains passes when the text of the expected value occurs in that of the
// output: case-sensitive, no trimming, no Unicode normalisation.
type contains struct{ fields }

func newContains(o *suite.Evaluator) (Evaluator, error) {
	return contains{fields{o.Field, o.ExpectedField}}, nil
}

// checkCase refuses expected objects and lists, which are no text to look for.
func (e contains) checkCase(c *evidence.Case) []string {
	want, path, ok := e.want(c)
	if !ok || want.Kind() != '{' && want.Kind() != '[' {
		return nil
	}
	what, fix := "an object", "point expected_field at a text inside it, or compare objects with exact_match"
	if want.Kind() == '[' {
		what = "a list"
	}
	if path != "" {
		path = "." + path
	}
	return []string{fmt.Sprintf("expected%s is %s, and contains looks for a text: %s", path, what, fix)}
}

// Judge implements [Evaluator].
func (e contains) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	want, _, _ := e.want(c)
	if strings.Contains(pythonText(actual), pythonText(want)) {
		return passed()
	}
	return failed(fmt.Sprintf("want %s in %s", evidence.Shorten(want, shown), evidence.Shorten(actual, shown)))
}

// shown is how many characters of a value a judgment's detail quotes.
const shown = 160

// exactMatch passes when two texts are equal, or two other values equal as
// JSON with Python's rules.
type exactMatch struct {
	fields
	strip, casefold bool
}

func newExactMatch(o *suite.Evaluator) (Evaluator, error) {
	return exactMatch{fields{o.Field, o.ExpectedField}, o.Strip, o.CaseFold}, nil
}

// Judge implements [Evaluator].
func (e exactMatch) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	want, _, _ := e.want(c)
	if e.equal(want, actual) {
		return passed()
	}
	return failed(fmt.Sprintf("want %s, found %s", evidence.Shorten(want, shown), evidence.Shorten(actual, shown)))
}

func (e exactMatch) equal(want, actual evidence.Value) bool {
	a, okA := evidence.Text(want)
	b, okB := evidence.Text(actual)
	if !okA || !okB {
		return pythonEqual(want, actual)
	}
	if e.strip {
		a, b = strings.TrimFunc(a, isSpace), strings.TrimFunc(b, isSpace)
	}
	if e.casefold {
		a, b = casefold(a), casefold(b)
	}
	return a == b
}
