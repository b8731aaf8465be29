// Package foreign reads the data sets of other tools, tables and hand-written
// lists as cases in our own form: one JSON object a line. What it cannot take it
// refuses by row, with the reason; nothing is left out without a word.
package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// Spec says how a data set is read.
type Spec struct {
	Format string  // one of [Formats]; "" to tell it from the file
	Fields []Field // what stands where, in place of what the format says
	ID     string  // field that names the case; "" for what the format says
	Split  string  // of BEIR: which judgments; test by default
	Qrels  string  // path of relevance judgments that are joined by the case's id; ""
	// ForSuite leaves out of the cases what [Promptfoo.Suite] judges for all of them.
	ForSuite bool
}

// Field says where in a row something of a case comes from.
type Field struct {
	Target  string   // id, input, input.KEY, expected, expected.KEY, metadata or metadata.KEY
	Sources []string // fields of the row, dotted paths allowed; the first that holds something counts
	As      string   // one of [Kinds], or "" for what the target asks for
	Split   string   // text between the elements of a list in one cell; ""
}

// Kinds are the ways to read a field.
var Kinds = []string{"text", "number", "boolean", "json", "list", "any_of", "all_of", "question", "answer", "labels", "passages"}

// Row is a row that became a case.
type Row struct {
	Number int    // from 1, header lines not counted
	Line   int    // in the file, from 1
	Case   []byte // JSON, without a line feed
}

// Refusal is a row that did not become a case.
type Refusal struct {
	File    string
	Number  int // 0 when it is no row of cases, such as one of judgments
	Line    int
	Message string
	Source  string // beginning of the row
}

// Result says what a file was taken for, and what else there is to know.
type Result struct {
	Format string
	Rows   int
	Notes  []string
}

// Read gives each row of the data set at path to take, or to refuse. The error
// is of the file as a whole, a [problem.List], or what take returned.
func Read(path string, spec Spec, take func(Row) error, refuse func(Refusal)) (*Result, error) {
	r := &reader{path: path, spec: spec, take: take, refuse: refuse, seen: map[string]bool{}, untaken: map[string]*tally{}, noted: map[string]*tally{}}
	r.own = slices.Clone(spec.Fields)
	if spec.ID != "" {
		r.own = append(r.own, Field{Target: "id", Sources: []string{spec.ID}})
	}
	err := r.read()
	r.result.Rows = r.rows
	r.result.Notes = r.notes()
	return &r.result, err
}

// reader is the state of one reading.
type reader struct {
	path   string
	spec   Spec
	take   func(Row) error
	refuse func(Refusal)
	format *format
	told   bool    // the format is that of the first row that could be read
	own    []Field // of the spec, its id included
	fields []Field // of the format and of the spec together
	qrels  *qrels
	result Result
	rows   int

	first []string        // fields of the first row that could be read
	seen  map[string]bool // targets of own of which a row has the field

	untaken map[string]*tally // fields of rows that no target reads
	noted   map[string]*tally // what happened to rows
	order   []string          // of noted
}

// tally counts rows.
type tally struct{ rows, first int }

func (t *tally) add(row int) {
	if t.rows++; t.rows == 1 {
		t.first = row
	}
}

// note counts a row under something worth knowing. %s stands for the rows.
func (r *reader) note(row int, format string) {
	t := r.noted[format]
	if t == nil {
		t = &tally{}
		r.noted[format] = t
		r.order = append(r.order, format)
	}
	t.add(row)
}

// mostUntaken is how many fields that are not taken are named.
const mostUntaken = 30

func (r *reader) notes() []string {
	var all []string
	for _, format := range r.order {
		all = append(all, strings.ReplaceAll(format, "%s", r.noted[format].String()))
	}
	names := slices.Sorted(maps.Keys(r.untaken))
	for i, name := range names {
		if i == mostUntaken && len(names) > mostUntaken {
			all = append(all, fmt.Sprintf("%s not taken either", count(len(names)-i, "more field is", "more fields are")))
			break
		}
		note := fmt.Sprintf("field %q of %s is not taken", shorten(name), r.untaken[name])
		if r.format != nil && slices.Contains(r.format.outputs, name) {
			note += ": it belongs to an answer, not to a case"
		}
		all = append(all, note)
	}
	return all
}

func (t *tally) String() string {
	if t.rows == 1 {
		return fmt.Sprintf("row %d", t.first)
	}
	return fmt.Sprintf("%d rows (first: row %d)", t.rows, t.first)
}

// count is a number with its noun and what follows it.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

func shorten(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// fail is a fault of the file as a whole.
func (r *reader) fail(format string, args ...any) error {
	return problem.At(r.path, format, args...)
}

func (r *reader) read() error {
	info, err := os.Stat(r.path)
	if err != nil {
		return unreadable(r.path, err)
	}
	if r.spec.Qrels != "" {
		if r.qrels, err = r.readQrels(r.spec.Qrels); err != nil {
			return err
		}
	}
	if info.IsDir() {
		if f := r.spec.Format; f != "" && f != "beir" {
			return r.fail("%s is a directory, and the format %s is one file: name the file", r.path, f)
		}
		return r.readBEIR()
	}
	if !info.Mode().IsRegular() {
		return r.fail("the data set is no regular file, and it is read more than once: save it to a file first")
	}
	if r.spec.Format == "beir" {
		return r.fail("the format beir is a directory with queries.jsonl and qrels/: name the directory")
	}
	return r.readFile()
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.At(path, "the data set does not exist")
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return problem.At(path, "cannot read the data set: %v", err)
}

// readFile reads one file, by its shape.
func (r *reader) readFile() error {
	if err := r.known(r.spec.Format); err != nil {
		return err
	}
	f, err := openText(r.path)
	if err != nil {
		return unreadable(r.path, err)
	}
	defer f.Close()
	shape := r.shape(f)
	switch shape {
	case "json":
		err = r.readJSON(f)
	case "yaml":
		err = r.readYAML(f)
	case "topics":
		err = r.readTopics(f)
	default:
		err = r.readTable(f, shape)
	}
	if err == nil {
		r.unjoined()
		err = r.unseen()
	}
	return err
}

// unseen refuses a field that was asked for by name and is in no row: what it
// was to give would be missing without a word.
func (r *reader) unseen() error {
	if !r.told {
		return nil
	}
	var problems problem.List
	for _, f := range r.own {
		if r.seen[f.Target] || slices.ContainsFunc(f.Sources, func(s string) bool { return slices.Contains(r.first, s) }) {
			continue
		}
		message := fmt.Sprintf("no row has the field %s, which is to be the %s", strings.Join(f.Sources, " or "), f.Target)
		if near := problem.Nearest(f.Sources[0], r.first); near != "" {
			message += ": is " + near + " meant?"
		} else if len(r.first) > 0 {
			message += ": the first row has " + shorten(strings.Join(r.first, ", "))
		}
		problems.Add(problem.Problem{File: r.path, Message: message})
	}
	return problems.Err()
}

// shape tells how the rows of a file are written: json, yaml, table or topics.
func (r *reader) shape(f *text) string {
	switch r.spec.Format {
	case "jsonl", "json", "squad", "langsmith_json":
		return "json"
	case "yaml":
		return "yaml"
	case "csv":
		return "table"
	case "tsv":
		return "tabs"
	case "trec":
		return "topics"
	}
	switch strings.ToLower(filepath.Ext(r.path)) {
	case ".jsonl", ".ndjson", ".json":
		return "json"
	case ".yaml", ".yml":
		return "yaml"
	case ".csv":
		return "table"
	case ".tsv", ".tab":
		return "tabs"
	}
	start, _ := f.Peek(512)
	switch trimmed := strings.TrimSpace(string(start)); {
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
		return "json"
	case strings.HasPrefix(trimmed, "<top>"):
		return "topics"
	case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "tests:"):
		return "yaml"
	}
	return "table"
}

// known sets the format of a name.
func (r *reader) known(name string) error {
	if name == "" {
		return nil
	}
	f, ok := formats()[name]
	if !ok {
		message := fmt.Sprintf("unknown format %q", name)
		if near := problem.Nearest(name, Formats()); near != "" {
			message += ", did you mean " + near + "?"
		}
		return problem.Errorf("%s (there are: %s)", message, strings.Join(Formats(), ", "))
	}
	return r.choose(f)
}

// choose takes a format and puts the fields of the spec over its own.
func (r *reader) choose(f *format) error {
	r.format, r.result.Format = f, f.name
	r.fields = slices.Clone(f.fields)
	for _, field := range r.own {
		r.fields = slices.DeleteFunc(r.fields, func(other Field) bool {
			return other.Target == field.Target || above(field.Target, other.Target) || above(other.Target, field.Target)
		})
	}
	r.fields = append(r.fields, r.own...)
	return nil
}

// above reports whether a target holds another one: input holds input.question.
func above(a, b string) bool { return strings.HasPrefix(b, a+".") }

// recognise chooses the format from the fields of the first row, unless it is that
// of a tool: of a table or a list the fields may still be those of one.
func (r *reader) recognise(names []string, table bool) error {
	r.told, r.first = true, names
	if r.format != nil && r.format.own == nil {
		return nil
	}
	if f := detect(names, table); f != nil && len(r.spec.Fields) == 0 {
		shape := ""
		if r.format != nil {
			shape = r.format.name + ", "
		}
		err := r.choose(f)
		r.result.Format = shape + f.name
		return err
	}
	if r.format != nil {
		return nil
	}
	if table {
		return r.choose(formats()["csv"])
	}
	return r.choose(formats()["json"])
}

// row takes one row.
func (r *reader) row(number, line int, v evidence.Value, table bool) error {
	r.rows++
	c, fault := r.convert(number, v, table)
	if fault != "" {
		r.refuse(Refusal{File: r.path, Number: number, Line: line, Message: fault, Source: evidence.Shorten(v, 200)})
		return nil
	}
	return r.take(Row{Number: number, Line: line, Case: c})
}

// bad refuses a row that could not be read.
func (r *reader) bad(number, line int, source, format string, args ...any) {
	r.rows++
	r.refuse(Refusal{File: r.path, Number: number, Line: line, Message: fmt.Sprintf(format, args...), Source: shorten(source)})
}

// Problem is the refusal as a problem of its file.
func (r Refusal) Problem() problem.Problem {
	p := problem.Problem{File: r.File, Line: r.Line, Message: r.Message, Source: r.Source}
	if r.Number > 0 {
		p.Message = fmt.Sprintf("row %d: %s", r.Number, r.Message)
	}
	return p
}

// Files lists the files that make up the data set at path, the judgments included.
func (s *Spec) Files(path string) []string {
	files := []string{path}
	if s.Format == "beir" {
		files = []string{path + "/queries.jsonl"}
		if s.Qrels == "" {
			files = append(files, path+"/qrels/"+cmp.Or(s.Split, "test")+".tsv")
		}
	}
	if s.Qrels != "" {
		files = append(files, s.Qrels)
	}
	return files
}
