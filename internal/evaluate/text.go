package evaluate

import (
	"fmt"
	"slices"
	"strconv"
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

// contains passes when the expected texts occur in the text of the output:
// case-sensitive, no trimming, no Unicode normalisation unless asked for.
type contains struct {
	fields
	normal normal
	// any and all are texts that do not depend on the case, in their form.
	any, all []string
	list     string // what a list in expected means: any_of, all_of, or "" for an error
}

func newContains(o *suite.Evaluator) (Evaluator, error) {
	e := contains{fields: fields{o.Field, o.ExpectedField}, normal: newNormal(o), list: o.ExpectedList}
	for _, list := range []struct {
		key   string
		texts []string
		into  *[]string
	}{{"any_of", o.AnyOf, &e.any}, {"all_of", o.AllOf, &e.all}} {
		for _, text := range list.texts {
			form := e.normal.text(text)
			if form == "" {
				return nil, &optionError{list.key, fmt.Sprintf("%s: nothing is left of %q when it is normalised, and every answer contains nothing", list.key, text)}
			}
			*list.into = append(*list.into, form)
		}
	}
	if e.fixed() && (o.ExpectedField != nil || o.ExpectedList != "") {
		key := "expected_field"
		if o.ExpectedField == nil {
			key = "expected_list"
		}
		return nil, &optionError{key, key + " has no effect beside any_of and all_of, which take the place of what a case expects: remove it"}
	}
	return e, nil
}

// fixed reports whether the texts do not depend on the case.
func (e contains) fixed() bool { return len(e.any)+len(e.all) > 0 }

// Applicable implements [Evaluator].
func (e contains) Applicable(c *evidence.Case) string {
	if e.fixed() {
		return ""
	}
	return e.fields.Applicable(c)
}

// wanted are the texts of which one, and those of which all must occur, in
// their form.
func (e contains) wanted(want evidence.Value) (any, all []string) {
	texts := func(list evidence.Value) (texts []string) {
		for v := range evidence.Elements(list) {
			texts = append(texts, e.normal.text(pythonText(v)))
		}
		return texts
	}
	switch {
	case e.fixed():
		return e.any, e.all
	case want.Kind() == '[' && e.list == "all_of":
		return nil, texts(want)
	case want.Kind() == '[':
		return texts(want), nil
	case want.Kind() == '{':
		anyOf, _ := evidence.Member(want, "any_of")
		allOf, _ := evidence.Member(want, "all_of")
		return texts(anyOf), texts(allOf)
	}
	return nil, []string{e.normal.text(pythonText(want))}
}

// checkCase refuses what is no text to look for.
func (e contains) checkCase(c *evidence.Case) []string {
	want, path, ok := e.want(c)
	if !ok || e.fixed() {
		return nil
	}
	if path != "" {
		path = "." + path
	}
	if fault := e.fault(want); fault != "" {
		return []string{"expected" + path + fault}
	}
	if kind := want.Kind(); len(e.emptied(want)) > 0 && (kind == '{' || kind == '[' || pythonText(want) != "") {
		return []string{fmt.Sprintf("expected%s: nothing is left of %q when it is normalised, and every answer contains nothing", path, e.emptied(want)[0])}
	}
	return nil
}

// vacuous reports whether a case expects a text that every answer contains.
func (e contains) vacuous(c *evidence.Case) bool {
	want, _, ok := e.want(c)
	kind := want.Kind()
	return ok && !e.fixed() && kind != '[' && kind != '{' && pythonText(want) == ""
}

// emptied lists the texts of a case of which nothing is left.
func (e contains) emptied(want evidence.Value) (all []string) {
	look := func(v evidence.Value) {
		if text := pythonText(v); e.normal.text(text) == "" {
			all = append(all, text)
		}
	}
	switch want.Kind() {
	case '[':
		for v := range evidence.Elements(want) {
			look(v)
		}
	case '{':
		for _, list := range evidence.Members(want) {
			for v := range evidence.Elements(list) {
				look(v)
			}
		}
	default:
		look(want)
	}
	return all
}

// fault says why an expected value cannot be looked for, or "".
func (e contains) fault(want evidence.Value) string {
	const fix = "point expected_field at a text inside it, or compare objects with exact_match"
	switch want.Kind() {
	case '[':
		if e.list == "" {
			return " is a list, and contains looks for a text: add expected_list: any_of to the evaluator where one of its texts must occur, all_of where all must"
		}
		return listFault("", want)
	case '{':
		lists := 0
		for name, list := range evidence.Members(want) {
			if name != "any_of" && name != "all_of" {
				return " is an object, and contains looks for a text: " + fix + "; several texts stand in {\"any_of\": […]} or {\"all_of\": […]}"
			}
			if fault := listFault("."+name, list); fault != "" {
				return fault
			}
			lists++
		}
		if lists == 0 {
			return " is an object, and contains looks for a text: " + fix
		}
	}
	return ""
}

// listFault says what is wrong with a list of texts to look for.
func listFault(at string, list evidence.Value) string {
	if list.Kind() != '[' {
		return at + ": want a list of texts, found " + evidence.Shorten(list, 60)
	}
	n := 0
	for v := range evidence.Elements(list) {
		if kind := v.Kind(); kind == '{' || kind == '[' || kind == 'n' {
			return fmt.Sprintf("%s[%d]: want a text, found %s", at, n, evidence.Shorten(v, 60))
		}
		n++
	}
	if n == 0 {
		return at + " is an empty list, which no answer can meet: leave it out when nothing is expected"
	}
	return ""
}

// Judge implements [Evaluator].
func (e contains) Judge(c *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	want, _, _ := e.want(c)
	found := e.normal.text(pythonText(actual))
	any, all := e.wanted(want)
	for _, text := range all {
		if !strings.Contains(found, text) {
			if len(all) == 1 && !e.fixed() {
				return failed(fmt.Sprintf("want %s in %s", evidence.Shorten(want, shown), evidence.Shorten(actual, shown)))
			}
			return failed(fmt.Sprintf("want %s in %s", cut(text), evidence.Shorten(actual, shown)))
		}
	}
	if len(any) > 0 && !slices.ContainsFunc(any, func(text string) bool { return strings.Contains(found, text) }) {
		return failed(fmt.Sprintf("want one of %s in %s", quoteSome(any), evidence.Shorten(actual, shown)))
	}
	return passed()
}

// cut quotes a text for a judgment's detail.
func cut(text string) string {
	if r := []rune(text); len(r) > shown {
		text = string(r[:shown-1]) + "…"
	}
	return strconv.Quote(text)
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
