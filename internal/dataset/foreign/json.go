package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// listKeys are the members under which files hold their rows.
var listKeys = []string{"rows", "data", "cases", "examples", "samples", "goldens", "test_cases", "testCases", "tests", "questions", "items", "records", "dataset"}

// readJSON reads lines, a list, or values one after the other: data sets are
// called .jsonl and .json whatever they hold.
func (r *reader) readJSON(f *text) error {
	start, _ := f.Peek(1 << 10)
	trimmed := bytes.TrimLeft(start, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		if _, err := f.Peek(1); err == io.EOF {
			return r.fail("the data set is empty")
		}
		return r.fail("the data set holds nothing but white space")
	case trimmed[0] == '[':
		return r.readArray(f)
	case trimmed[0] != '{':
		return r.fail("the data set is no JSON: want objects, one a line, or a list of them")
	}
	return r.readObjects(f)
}

// readArray reads the elements of the list that the file holds.
func (r *reader) readArray(f *text) error {
	d := jsontext.NewDecoder(f)
	if _, err := d.ReadToken(); err != nil { // [
		return r.broken(f, d, err)
	}
	for n := 1; d.PeekKind() != ']'; n++ {
		more, err := r.element(f, d, n)
		if err != nil || !more {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil { // ]
		return r.broken(f, d, err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return r.fail("more text stands after the end of the list: the file must hold one list")
	}
	return nil
}

// element reads one element. After a syntax error there is no way to find the
// next one, so that the file as a whole is at fault.
func (r *reader) element(f *text, d *jsontext.Decoder, n int) (more bool, err error) {
	f.next()
	v, err := d.ReadValue()
	if err != nil {
		return false, r.broken(f, d, err)
	}
	line := f.lineAt(d.InputOffset() - int64(len(v)))
	return true, r.value(n, line, bytes.Clone(v))
}

// broken says where a file stops being JSON.
func (r *reader) broken(f *text, d *jsontext.Decoder, err error) error {
	if errors.Is(err, ErrLong) {
		return unreadable(r.path, ErrLong)
	}
	line := f.lineAt(d.InputOffset())
	what := strings.TrimPrefix(err.Error(), "jsontext: ")
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		what = "it ends in the middle of a value"
	}
	if i := strings.Index(what, " after offset"); i > 0 {
		what = what[:i]
	}
	return r.fail("not valid JSON, in row %d near line %d: %s", r.rows+1, line, what)
}

// value takes one parsed value.
func (r *reader) value(n, line int, text []byte) error {
	v, err := evidence.ParseJSON(text)
	if err != nil {
		r.bad(n, line, string(text), "%v", message(err))
		return nil
	}
	if v.Kind() != '{' {
		r.bad(n, line, string(text), "want an object, found %s", evidence.Shorten(v, 40))
		return nil
	}
	if !r.told {
		if byColumns(v) {
			return r.fail("the file holds columns, as pandas' to_json writes them, and no rows: write it with to_json(orient=\"records\")")
		}
		if err := r.recognise(names(v), false); err != nil {
			return err
		}
	}
	return r.row(n, line, v, false)
}

// byColumns reports whether an object holds columns: objects that number their
// values from 0.
func byColumns(v evidence.Value) bool {
	n := 0
	for _, column := range evidence.Members(v) {
		if _, numbered := evidence.Member(column, "0"); !numbered {
			return false
		}
		n++
	}
	return n > 1
}

func message(err error) string {
	if fault, ok := errors.AsType[*evidence.SyntaxError](err); ok {
		return fault.Message
	}
	return err.Error()
}

func names(v evidence.Value) []string {
	var all []string
	for name := range evidence.Members(v) {
		all = append(all, name)
	}
	return all
}

// readObjects reads objects, one a line or over several lines; a single object
// may be a frame around a list of rows.
func (r *reader) readObjects(f *text) error {
	first, line, err := nextLine(f, 1)
	if err != nil && err != io.EOF {
		return unreadable(r.path, err)
	}
	v, fault := evidence.ParseJSON(first)
	_, more := f.Peek(1)
	switch {
	case fault == nil && more == nil || fault == nil && !r.framed(v):
		return r.readLines(f, first, line)
	case fault == nil:
		return r.frame(line, v)
	case unfinished(first):
		return r.readSpread(f, first, line)
	}
	return r.readLines(f, first, line)
}

// unfinished reports whether a line is the beginning of a longer value.
func unfinished(text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	err := d.SkipValue()
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// nextLine returns the next line that is not blank, without its end, and its number.
func nextLine(f *text, line int) ([]byte, int, error) {
	for {
		f.next()
		text, err := f.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
			return trimmed, line, err
		}
		if err != nil {
			return nil, line, err
		}
		line++
	}
}

// readLines reads an object a line. A line that is none is refused alone.
func (r *reader) readLines(f *text, text []byte, line int) error {
	for n := 1; len(text) > 0; n++ {
		if err := r.value(n, line, text); err != nil {
			return err
		}
		var err error
		text, line, err = nextLine(f, line+1)
		if err != nil && err != io.EOF {
			return unreadable(r.path, err)
		}
	}
	return nil
}

// readSpread reads objects that span lines.
func (r *reader) readSpread(f *text, first []byte, line int) error {
	rest := io.MultiReader(bytes.NewReader(append(first, '\n')), f)
	d := jsontext.NewDecoder(rest)
	var values []evidence.Value // the first, until it is known whether there is another
	for n := 1; ; n++ {
		f.next()
		v, err := d.ReadValue()
		if err == io.EOF && n > 1 {
			if n == 2 && r.framed(values[0]) {
				return r.frame(line, values[0])
			}
			if n == 2 {
				return r.value(1, line, values[0])
			}
			return nil
		}
		if errors.Is(err, ErrLong) {
			return unreadable(r.path, ErrLong)
		}
		if err != nil {
			return r.fail("not valid JSON, in row %d: %s", n, strings.TrimPrefix(err.Error(), "jsontext: "))
		}
		if n == 1 {
			values = append(values, bytes.Clone(v))
			continue
		}
		if n == 2 {
			if err := r.value(1, line, values[0]); err != nil {
				return err
			}
		}
		if err := r.value(n, 0, bytes.Clone(v)); err != nil {
			return err
		}
	}
}

// framed reports whether an object holds the rows, and is not one itself.
func (r *reader) framed(v evidence.Value) bool {
	if r.spec.Format == "squad" || isSQuAD(v) {
		return true
	}
	_, rows := frameOf(v)
	return rows != nil
}

// frameOf returns the only member of an object that is a list of objects under a
// usual name.
func frameOf(v evidence.Value) (name string, rows evidence.Value) {
	for key, member := range evidence.Members(v) {
		if member.Kind() != '[' || !slices.Contains(listKeys, key) {
			continue
		}
		for element := range evidence.Elements(member) {
			if element.Kind() == '{' {
				if rows != nil {
					return "", nil
				}
				name, rows = key, member
			}
			break
		}
	}
	return name, rows
}

// frame reads the rows that stand in an object.
func (r *reader) frame(line int, v evidence.Value) error {
	if r.spec.Format == "squad" || isSQuAD(v) {
		return r.readSQuAD(v, line)
	}
	name, rows := frameOf(v)
	for other := range evidence.Members(v) {
		if other != name {
			r.note(1, fmt.Sprintf("the rows stand under %q; %q beside them is not taken", name, shorten(other)))
		}
	}
	n := 0
	for element := range evidence.Elements(rows) {
		n++
		if err := r.value(n, line, element); err != nil {
			return err
		}
	}
	return nil
}
