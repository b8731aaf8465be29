package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	// jqDeadline bounds one run of an expression. A usual one takes microseconds.
	jqDeadline = time.Second
	// maxGrown is the most bytes of a text and elements of a list that + and *
	// may make: what a deadline comes too late for.
	maxGrown = 16 << 20
)

// program is a jq expression that is ready to run. It is safe for concurrent use.
type program struct {
	source    string
	code      *gojq.Code
	variables []string // names of documents, without $
	used      []bool   // which of them the expression names
}

// compileJQ compiles an expression that may name these documents as variables.
// The error says what is wrong in words for the user.
func compileJQ(source string, documents []string) (*program, error) {
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, parseFault(source, err)
	}
	if err := checkCalls(query); err != nil {
		return nil, err
	}
	p := &program{source: source}
	names := variablesOf(query)
	for _, name := range documents {
		p.variables = append(p.variables, "$"+name)
		p.used = append(p.used, slices.Contains(names, "$"+name))
	}
	if err := bound(query); err != nil {
		return nil, err
	}
	p.code, err = gojq.Compile(query, gojq.WithVariables(p.variables),
		gojq.WithFunction("_grows", 2, 2, grows))
	if err != nil {
		return nil, compileFault(err, p.variables)
	}
	return p, p.dryRun()
}

// parseFault says where an expression is no jq.
func parseFault(source string, err error) error {
	var e *gojq.ParseError
	if !errors.As(err, &e) {
		return fmt.Errorf("no jq: %v", err)
	}
	if e.Token == "" {
		return errors.New("no jq: it ends too early")
	}
	column := len([]rune(source[:min(max(e.Offset-len(e.Token), 0), len(source))])) + 1
	return fmt.Errorf("no jq: %s is not expected at character %d", strconv.Quote(shorten(e.Token, 40)), column)
}

// compileFault puts a complaint of the compiler in our words.
func compileFault(err error, variables []string) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "variable not defined: "); ok {
		return fmt.Errorf("unknown variable %s (documents are %s)", name, strings.Join(variables, ", "))
	}
	if name, ok := strings.CutPrefix(text, "function not defined: "); ok {
		return fmt.Errorf("unknown jq function %s", name)
	}
	return fmt.Errorf("jq: %s", text)
}

// refusedCalls are functions that a mapping must not call, with the reason.
var refusedCalls = map[string]string{
	"env": "a mapping does not see the environment", "$ENV": "a mapping does not see the environment",
	"now": "what an answer means does not depend on the time", "localtime": "what an answer means does not depend on the time zone",
	"strflocaltime": "what an answer means does not depend on the time zone",
	"input":         "there is one answer only", "inputs": "there is one answer only",
	"debug": "a mapping prints nothing", "stderr": "a mapping prints nothing",
	"halt": "an expression gives a value", "halt_error": "an expression gives a value",
	"input_filename": "there is no file", "input_line_number": "there is no file",
}

// formats are those of jq that there are here.
var formats = []string{"@text", "@json", "@html", "@uri", "@urid", "@csv", "@tsv", "@sh", "@base64", "@base64d"}

// checkCalls finds calls that are refused and regular expressions that cannot
// run, which jq itself would find with an answer at hand only.
func checkCalls(query *gojq.Query) (err error) {
	walk(reflect.ValueOf(query), func(node any) {
		if t, ok := node.(*gojq.Term); ok && err == nil {
			if format := t.Format; format != "" && !slices.Contains(formats, format) {
				err = fmt.Errorf("jq: unknown format %s%s (there are %s)", format, didYouMean(format, formats), strings.Join(formats, ", "))
			}
		}
		f, ok := node.(*gojq.Func)
		if !ok || err != nil {
			return
		}
		if why, refused := refusedCalls[f.Name]; refused {
			err = fmt.Errorf("jq: %s is not allowed: %s", f.Name, why)
			return
		}
		at := slices.Index([]string{"test", "match", "capture", "scan", "splits", "sub", "gsub"}, f.Name)
		if at < 0 && !(f.Name == "split" && len(f.Args) == 2) || len(f.Args) == 0 {
			return
		}
		if pattern, ok := literal(f.Args[0]); ok {
			if _, fault := regexp.Compile(pattern); fault != nil {
				err = fmt.Errorf("jq: the pattern of %s is %s", f.Name, regexFault(fault))
			}
		}
	})
	return err
}

// literal returns the text of a query that is only a string.
func literal(q *gojq.Query) (string, bool) {
	if q.Term == nil || q.Term.Str == nil || q.Term.Str.Queries != nil || len(q.Term.SuffixList) > 0 {
		return "", false
	}
	return q.Term.Str.Str, true
}

// variablesOf lists the variables that a query names, $ included.
func variablesOf(query *gojq.Query) (names []string) {
	walk(reflect.ValueOf(query), func(node any) {
		switch n := node.(type) {
		case *gojq.Func:
			names = append(names, n.Name)
		case *gojq.ObjectKeyVal:
			names = append(names, n.Key) // {$main}
		}
	})
	return names
}

// walk calls visit with every node of a syntax tree, children first.
func walk(v reflect.Value, visit func(node any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), visit)
			visit(v.Interface())
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	}
}

// prelude defines sums and products that refuse to grow beyond all measure.
const prelude = `
def _plus(f; g): g as $g | f as $f | if _grows($f; $g) then error("it makes a value that is too large") else $f + $g end;
def _times(f; g): g as $g | f as $f | if _grows([$f]; $g) then error("it makes a value that is too large") else $f * $g end;
`

// bound replaces the operators + and * by functions that are bounded.
func bound(query *gojq.Query) error {
	defs, err := gojq.Parse(prelude + ".")
	if err != nil {
		return err
	}
	walk(reflect.ValueOf(query), func(node any) {
		q, ok := node.(*gojq.Query)
		if !ok {
			return
		}
		var name string
		switch q.Op {
		case gojq.OpAdd:
			name = "_plus"
		case gojq.OpMul:
			name = "_times"
		case gojq.OpUpdateAdd, gojq.OpUpdateMul:
			// l += r is r as $x | l |= . + $x, with a variable that nobody else has.
			name = choose(q.Op == gojq.OpUpdateAdd, "_plus", "_times")
			q.Left, q.Right, q.Op = q.Right, &gojq.Query{
				Left: q.Left, Op: gojq.OpModify, Right: call(name, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}, call("$__operand")),
			}, gojq.OpPipe
			q.Patterns = []*gojq.Pattern{{Name: "$__operand"}}
			return
		default:
			return
		}
		*q = gojq.Query{Meta: q.Meta, Imports: q.Imports, FuncDefs: q.FuncDefs, Term: call(name, q.Left, q.Right).Term}
	})
	query.FuncDefs = append(defs.FuncDefs, query.FuncDefs...)
	return nil
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func choose[T any](b bool, yes, no T) T {
	if b {
		return yes
	}
	return no
}

// grows reports whether a sum, or the product of a value in a list and another,
// is too large.
func grows(_ any, args []any) any {
	if one, ok := args[0].([]any); ok && len(one) == 1 {
		if text, ok := one[0].(string); ok {
			return product(text, args[1])
		}
		if text, ok := args[1].(string); ok {
			return product(text, one[0])
		}
		return false
	}
	return size(args[0])+size(args[1]) > maxGrown
}

func product(text string, by any) bool {
	n, ok := gojq.ToFloat64(by)
	return ok && float64(len(text))*n > maxGrown
}

func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// dryRun runs the expression over nothing, to find what never ends. That it has
// no value there says nothing.
func (p *program) dryRun() error {
	values := make([]any, len(p.variables))
	_, err := p.run(nil, values)
	var endless *endlessError
	if errors.As(err, &endless) {
		return err
	}
	return nil
}

// endlessError says that an expression does not end, or takes more than there is.
type endlessError struct{ message string }

func (e *endlessError) Error() string { return e.message }

// run returns the one value of the expression.
func (p *program) run(input any, variables []any) (evidence.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jqDeadline)
	defer cancel()
	iter := p.code.RunWithContext(ctx, input, variables...)
	first, ok := iter.Next()
	if !ok {
		return nil, errors.New("jq gives no value, want exactly one (such as with // null)")
	}
	if err, failed := first.(error); failed {
		return nil, p.fault(err)
	}
	if second, more := iter.Next(); more {
		if err, failed := second.(error); failed {
			return nil, p.fault(err)
		}
		return nil, errors.New("jq gives more than one value, want exactly one: put [ and ] around it for a list, or take first(…)")
	}
	out, err := gojq.Marshal(first)
	return out, err
}

// fault puts an error of a run in our words.
func (p *program) fault(err error) error {
	var halt *gojq.HaltError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &endlessError{fmt.Sprintf("jq does not end within %s", jqDeadline)}
	case strings.Contains(err.Error(), "it makes a value that is too large"):
		return &endlessError{"jq makes a value that is too large"}
	case errors.As(err, &halt):
		return errors.New("jq stopped")
	}
	return fmt.Errorf("jq: %s", shorten(err.Error(), 300))
}

// decode returns JSON in the types of jq, numbers with their digits.
func decode(v evidence.Value) any {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	out, err := decodeNext(d)
	if err != nil {
		return nil // what was parsed is JSON
	}
	return out
}

func decodeNext(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		text := token.String()
		if n, err := strconv.Atoi(text); err == nil && text != "-0" {
			return n, nil
		}
		return json.Number(text), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			element, err := decodeNext(d)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err = d.ReadToken()
		return list, err
	case '{':
		object := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if object[key], err = decodeNext(d); err != nil {
				return nil, err
			}
		}
		_, err = d.ReadToken()
		return object, err
	}
	return nil, nil
}
