package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/suite"
)

// jsonSchema passes when the output is valid under a JSON Schema of draft
// 2020-12, whatever $schema it names. Formats are not asserted.
type jsonSchema struct {
	fields
	schema *jsonschema.Schema
}

// schemaURL is what references inside a schema start from. Nothing is there.
const schemaURL = "suite:///schema.json"

func newJSONSchema(o *suite.Evaluator) (Evaluator, error) {
	document, err := decodeJSON(o.Schema)
	if err != nil {
		return nil, &optionError{"schema", err.Error()}
	}
	if root, ok := document.(map[string]any); ok {
		delete(root, "$schema")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return compilePattern(pattern) })
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, &optionError{"schema", "schema: " + oneLine(err)}
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, &optionError{"schema", "schema: " + schemaFault(err)}
	}
	return jsonSchema{fields{field: o.Field}, schema}, nil
}

// noLoader refuses references to other documents: a schema is judged as it
// stands in the suite, and nothing is fetched.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, and only references inside the schema (#/…) are followed", strings.TrimPrefix(url, "suite:///"))
}

// schemaFault says why a schema does not compile.
func schemaFault(err error) string {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return oneLine(load.Err)
	}
	var invalid *jsonschema.SchemaValidationError
	var faults *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &faults) {
		return strings.Join(firstFaults(faults), "; ")
	}
	return strings.ReplaceAll(oneLine(err), schemaURL, "")
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Applicable implements [Evaluator]: nothing is expected of the case.
func (jsonSchema) Applicable(*evidence.Case) string { return "" }

// Judge implements [Evaluator].
func (e jsonSchema) Judge(_ *evidence.Case, x *evidence.Execution) evidence.Judgment {
	actual, trouble := e.actual(x)
	if trouble != nil {
		return *trouble
	}
	document, err := decodeJSON(actual)
	if err != nil {
		return missing(evidence.ReasonEvaluatorError, "output: "+err.Error())
	}
	err = e.schema.Validate(document)
	var faults *jsonschema.ValidationError
	switch {
	case err == nil:
		return passed()
	case errors.As(err, &faults):
		return failed(strings.Join(firstFaults(faults), "; "))
	}
	return missing(evidence.ReasonEvaluatorError, oneLine(err))
}

// firstFaults returns the first three faults in the order of their text: the
// validator finds them in no fixed order.
func firstFaults(e *jsonschema.ValidationError) []string {
	const most = 3
	var all []string
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if extra, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
			slices.Sort(extra.Properties)
		}
		text := e.ErrorKind.LocalizedString(printer)
		if len(text) > 2*shown {
			text = strings.ToValidUTF8(text[:2*shown], "") + "…"
		}
		all = append(all, "at /"+strings.Join(e.InstanceLocation, "/")+": "+text)
	}
	walk(e)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(most, len(all))]
}

// maxDigits is the longest integer that is compared exactly, as in Python.
const maxDigits = 4300

// decodeJSON decodes v as the validator wants it: objects as maps, numbers as
// text. Numbers with a fraction or exponent are those of their double.
func decodeJSON(v evidence.Value) (any, error) {
	switch v.Kind() {
	case '"':
		s, _ := evidence.Text(v)
		return s, nil
	case 't', 'f':
		return v.Kind() == 't', nil
	case '0':
		return decodeNumber(v)
	case '[':
		list := []any{}
		for element := range evidence.Elements(v) {
			one, err := decodeJSON(element)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	case '{':
		object := map[string]any{}
		for name, member := range evidence.Members(v) {
			one, err := decodeJSON(member)
			if err != nil {
				return nil, err
			}
			object[name] = one
		}
		return object, nil
	}
	return nil, nil
}

func decodeNumber(v evidence.Value) (any, error) {
	digits, whole := integerText(v)
	if whole {
		if len(digits) > maxDigits {
			return nil, fmt.Errorf("an integer of %d digits is too long, want at most %d", len(digits), maxDigits)
		}
		return json.Number(digits), nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return nil, fmt.Errorf("number %s does not fit a double", evidence.Shorten(v, 40))
	}
	return json.Number(strconv.FormatFloat(f, 'e', -1, 64)), nil
}
