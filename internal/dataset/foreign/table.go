package foreign

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// readTable reads a table whose first row names the columns.
func (r *reader) readTable(f *text, shape string) error {
	comma, skip := delimiter(f, shape)
	extra := 0
	if skip {
		if _, err := f.ReadBytes('\n'); err != nil {
			return r.fail("the data set holds no row")
		}
		extra = 1
	}
	c := csv.NewReader(f)
	c.Comma, c.FieldsPerRecord, c.ReuseRecord = comma, -1, true
	header, err := c.Read()
	if err != nil {
		if err == io.EOF {
			return r.fail("the data set is empty: want a first row that names the columns")
		}
		return r.fail("the first row, which names the columns, cannot be read: %v", cause(err))
	}
	columns, err := r.columns(header)
	if err != nil {
		return err
	}
	if err := r.recognise(columns, true); err != nil {
		return err
	}
	open := 0 // line of a quoted cell whose end was not found before the last row
	for n := 1; ; n++ {
		f.next()
		record, err := c.Read()
		if err == io.EOF && open > 0 {
			return r.fail("a quoted cell in the row at line %d does not end, so that no row behind it can be found: double the quotes inside a cell", open)
		}
		if err == io.EOF {
			return nil
		}
		open = 0
		if err != nil {
			var fault *csv.ParseError
			if !errors.As(err, &fault) {
				return unreadable(r.path, err)
			}
			if errors.Is(err, csv.ErrQuote) && fault.Line > fault.StartLine {
				open = fault.StartLine + extra
			}
			r.bad(n, fault.StartLine+extra, "", "the row cannot be read as a table: %v", cause(err))
			continue
		}
		line, _ := c.FieldPos(0)
		if err := r.record(n, line+extra, columns, record); err != nil {
			return err
		}
	}
}

// cause is an error of the table's parser in our words.
func cause(err error) string {
	switch {
	case errors.Is(err, csv.ErrQuote):
		return "a quoted cell does not end, or text follows its closing quote: double the quotes inside a cell"
	case errors.Is(err, csv.ErrBareQuote):
		return `a quote stands inside a cell without quotes: write "…" around the cell and double the quotes inside`
	}
	return err.Error()
}

// delimiter tells what separates the columns from the first line; skip is true
// for the line sep=; of spreadsheets.
func delimiter(f *text, shape string) (comma rune, skip bool) {
	start, _ := f.Peek(32 << 10)
	line, rest, _ := strings.Cut(string(start), "\n")
	line = strings.TrimSuffix(line, "\r")
	if sep, ok := strings.CutPrefix(line, "sep="); ok && len(sep) == 1 {
		return rune(sep[0]), true
	}
	if shape == "tabs" {
		return '\t', false
	}
	count := func(line string) map[rune]int {
		n, quoted := map[rune]int{}, false
		for _, c := range line {
			switch {
			case c == '"':
				quoted = !quoted
			case !quoted && strings.ContainsRune(",;\t|", c):
				n[c]++
			}
		}
		return n
	}
	here := count(line)
	next, _, _ := strings.Cut(rest, "\n")
	there := count(next)
	comma = ','
	for _, c := range ";\t|" {
		// Of equal ones the second line decides: a header such as a,b|c is rare.
		if here[c] > here[comma] || here[c] == here[comma] && here[c] > 0 && there[c] > there[comma] {
			comma = c
		}
	}
	return comma, false
}

// columns checks the names of the columns.
func (r *reader) columns(header []string) ([]string, error) {
	columns := make([]string, len(header))
	seen := map[string]int{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		columns[i] = strings.Clone(name)
		if name == "" {
			continue
		}
		if first, twice := seen[name]; twice {
			return nil, r.fail("the columns %d and %d are both named %q: rename one", first+1, i+1, name)
		}
		seen[name] = i
	}
	if len(seen) == 0 {
		return nil, r.fail("the first row names no column")
	}
	return columns, nil
}

// record takes one row of a table: an object of its cells. An empty cell is none.
func (r *reader) record(n, line int, columns, record []string) error {
	blank := true
	object := []byte{'{'}
	for i, cell := range record {
		if cell == "" {
			continue
		}
		blank = false
		if i >= len(columns) {
			r.bad(n, line, strings.Join(record, " "), "the row has %d cells and the table %d columns: quote cells that hold the separator", len(record), len(columns))
			return nil
		}
		if !utf8.ValidString(cell) {
			r.bad(n, line, "", "the cell %q holds bytes that are not UTF-8: save the file as UTF-8", columns[i])
			return nil
		}
		if columns[i] == "" {
			r.note(n, "a column without a name is not taken; it holds something in %s")
			continue
		}
		switch cell {
		case "NaN", "nan", "None", "<NA>", "NaT":
			r.note(n, fmt.Sprintf("the cell %q of %%s is %s, which is taken as that text: leave it empty where there is nothing", shorten(columns[i]), cell))
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(quote(object, columns[i]), ':')
		object = quote(object, cell)
	}
	if blank {
		return nil // a spreadsheet's empty rows
	}
	if len(record) < len(columns) { // perhaps a line end within a cell without quotes
		r.note(n, "%s with fewer cells than the table has columns: what is not there is taken as empty")
	}
	return r.row(n, line, evidence.Value(append(object, '}')), true)
}

// quote appends a text as JSON. Bytes that are no UTF-8 become U+FFFD.
func quote(dst []byte, s string) []byte {
	dst, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\ufffd"))
	if err != nil { // it is UTF-8 now
		panic(err)
	}
	return dst
}
