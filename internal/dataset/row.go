package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// knownFields are the fields that a case may have.
var knownFields = []string{"id", "input", "expected", "metadata", "group_id", "time_order", "initial_state"}

// rowFault is what is wrong with a line.
type rowFault struct {
	offset  int // in the line, from 0; -1 when the whole line is meant
	message string
}

// row is a line that is read.
type row struct {
	evidence.Case
	read    bool     // the line holds an object
	hasID   bool     // the line names its id
	unknown []string // fields that are not read
	// refused are the fields of the line that are valid but not supported yet,
	// with their offsets.
	refused []refusedField
}

type refusedField struct {
	name   string
	offset int
}

// parseCase reads a line that was found valid before.
func parseCase(text []byte) (*evidence.Case, *rowFault) {
	r, faults := parseRow(text)
	if len(faults) > 0 {
		return nil, &faults[0]
	}
	return &r.Case, nil
}

// parseRow reads a line and returns everything that is wrong with it. The id is
// "" when the line has none. The values share text.
func parseRow(text []byte) (row, []rowFault) {
	v, err := evidence.ParseJSON(text)
	if err != nil {
		fault, ok := err.(*evidence.SyntaxError)
		if !ok {
			return row{}, []rowFault{{-1, err.Error()}}
		}
		return row{}, []rowFault{{fault.Offset, fault.Message}}
	}
	if v.Kind() != '{' {
		return row{}, []rowFault{{offset(text, v), "want one JSON object a line, found " + typeName(v)}}
	}
	r := row{read: true}
	var faults []rowFault
	for name, value := range evidence.Members(v) {
		if message := r.set(name, value, text); message != "" {
			faults = append(faults, rowFault{offset(text, value), message})
		}
	}
	if r.Input == nil && !slices.ContainsFunc(faults, func(f rowFault) bool { return strings.HasPrefix(f.message, "input") }) {
		faults = append(faults, rowFault{-1, missingInput(r.unknown)})
	}
	return r, faults
}

// set takes one field and returns what is wrong with it, or "".
func (r *row) set(name string, v evidence.Value, text []byte) string {
	switch name {
	case "id":
		message := setName(&r.ID, "id", v)
		r.hasID = r.ID != ""
		return message
	case "input":
		if evidence.IsNull(v) {
			return "input is null, want any other JSON value"
		}
		r.Input = v
	case "expected":
		if !evidence.IsNull(v) {
			r.Expected = v
		}
	case "metadata":
		if v.Kind() != '{' {
			return "metadata is " + typeName(v) + ", want an object (leave it out when there is none)"
		}
		r.Metadata = v
	case "group_id":
		if message := setName(&r.GroupID, "group_id", v); message != "" {
			return message
		}
		r.refuse(name, v, text)
	case "time_order":
		var ignored string
		if message := setName(&ignored, "time_order", v); message != "" {
			return message
		}
		r.refuse(name, v, text)
	case "initial_state":
		if v.Kind() != '{' && !evidence.IsNull(v) {
			return "initial_state is " + typeName(v) + ", want an object"
		}
		r.refuse(name, v, text)
	default:
		r.unknown = append(r.unknown, name)
	}
	return ""
}

func (r *row) refuse(name string, v evidence.Value, text []byte) {
	if !evidence.IsNull(v) {
		r.refused = append(r.refused, refusedField{name, offset(text, v)})
	}
}

// setName reads a string that is not empty or an integer, which becomes its
// decimal text. Null counts as absent.
func setName(into *string, field string, v evidence.Value) string {
	switch v.Kind() {
	case 'n':
		return ""
	case '"':
		if *into, _ = evidence.Text(v); *into == "" {
			return field + " is empty, want a text or an integer"
		}
		return ""
	case '0':
		if strings.ContainsAny(string(v), ".eE") {
			return fmt.Sprintf("%s is %s, want a text or an integer: write it as \"%s\"", field, evidence.Shorten(v, 40), evidence.Shorten(v, 40))
		}
		*into = evidence.NumberText(v)
		return ""
	}
	return fmt.Sprintf("%s is %s, want a text or an integer", field, typeName(v))
}

func missingInput(unknown []string) string {
	for _, name := range unknown {
		if problem.Nearest(name, []string{"input"}) != "" {
			return fmt.Sprintf("no input: is %q meant as \"input\"?", name)
		}
	}
	return "no input: each case needs what is sent to the system"
}

// offset returns where part, which ends inside text's memory, starts in text.
func offset(text, part []byte) int { return cap(text) - cap(part) }

func typeName(v evidence.Value) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}
