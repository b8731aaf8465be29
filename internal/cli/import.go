package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/oloproof/oloproof-go/internal/dataset"
	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evaluate"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

type importFlags struct {
	to          string
	fields      []string
	spec        foreign.Spec
	skip, force bool
}

func newImport(env *Env) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "convert a data set of another tool, or a configuration of promptfoo",
		Long: `import reads a data set in another form and writes the cases that this tool
runs, one a line. The form is told from the file, or named with --format:
` + strings.Join(foreign.Formats(), ", ") + `.

Every row that cannot be taken is reported with its number and the reason. Then
nothing is written and the exit code is 2; --skip-invalid writes the others.
A promptfooconfig.yaml becomes a suite when --to names a directory: what has a
counterpart is converted, and the rest is listed.`,
		Example: `  oloproof import goldens.json --to data/cases.jsonl
  oloproof import questions.csv --to data/cases.jsonl --field input.question=Frage --field expected.answer=Antwort --id Nr
  oloproof import data/scifact --format beir --split test --to data/cases.jsonl
  oloproof import promptfooconfig.yaml --to my-rag`,
		Args: args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to == "" {
				return usageError{errors.New("--to is missing: name the file of cases to write, such as data/cases.jsonl")}
			}
			if err := f.parse(); err != nil {
				return err
			}
			return env.importCases(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "`file` of cases to write, or the directory of a new suite")
	cmd.Flags().StringVar(&f.spec.Format, "format", "", "`name` of the form, when the file does not tell it")
	cmd.Flags().StringArrayVar(&f.fields, "field", nil, "what a part of the case is, as `PART=FIELD`, such as input.question=query or expected.relevant=docs:labels; repeatable")
	cmd.Flags().StringVar(&f.spec.ID, "id", "", "`field` that names the case")
	cmd.Flags().StringVar(&f.spec.Split, "split", "", "for beir: `name` of the judgments to take (default test)")
	cmd.Flags().StringVar(&f.spec.Qrels, "qrels", "", "`file` of relevance judgments of TREC or BEIR, joined by id")
	cmd.Flags().BoolVar(&f.skip, "skip-invalid", false, "write the other rows when some cannot be taken")
	cmd.Flags().BoolVar(&f.force, "force", false, "write over a file that is there")
	return cmd
}

// parse reads --field.
func (f *importFlags) parse() error {
	for _, text := range f.fields {
		target, source, ok := strings.Cut(text, "=")
		if fault := foreign.CheckTarget(target); !ok || source == "" || fault != "" {
			if fault == "" {
				fault = "want PART=FIELD, such as input.question=query"
			}
			return usageError{fmt.Errorf("--field %q: %s", text, fault)}
		}
		field := foreign.Field{Target: target, Sources: []string{source}}
		if at := strings.LastIndex(source, ":"); at > 0 && slices.Contains(foreign.Kinds, source[at+1:]) {
			field.Sources[0], field.As = source[:at], source[at+1:]
		}
		f.spec.Fields = append(f.spec.Fields, field)
	}
	return nil
}

// writable refuses to write where something else stands.
func (f *importFlags) writable(from string) error {
	there, err := os.Stat(f.to)
	if _, dangling := os.Lstat(f.to); dangling != nil { // nothing, not even a link to nothing
		return nil
	}
	to := filepath.ToSlash(f.to)
	if err == nil {
		if source, err := os.Stat(from); err == nil && os.SameFile(source, there) {
			return problem.Errorf("--to names %s itself, whose rows would be lost: name another file", to)
		}
		if there.IsDir() {
			return problem.Errorf("%s is a directory: name a file in it, such as %s/cases.jsonl", to, to)
		}
	}
	if !f.force {
		return problem.Errorf("%s is there already: name another file, or write over it with --force", to)
	}
	return nil
}

// imported is what an import makes of a file.
type imported struct {
	ctx     context.Context // until when rows are taken
	path    string
	cases   io.Writer
	n       int
	ids     map[string]int    // to rows
	alike   map[string]string // ids without case, blanks and Unicode form
	similar []string          // ids that differ by these only
	refused []foreign.Refusal
	expects map[string]bool // keys of expected
}

// take checks a case by itself and among the others.
func (im *imported) take(row foreign.Row) error {
	if im.ctx.Err() != nil {
		return context.Cause(im.ctx)
	}
	refuse := func(message string) error {
		im.refuse(foreign.Refusal{File: im.path, Number: row.Number, Line: row.Line, Message: message, Source: evidence.Shorten(row.Case, 200)})
		return nil
	}
	id, digest, faults := dataset.CheckCase(row.Case)
	if len(faults) > 0 {
		return refuse(strings.Join(faults, "; "))
	}
	line := row.Case
	if id == "" {
		id = digest.Hex()[:16]
		line = withID(line, id)
		if earlier, twice := im.ids[id]; twice {
			return refuse(fmt.Sprintf("the case equals that of row %d and neither has an id", earlier))
		}
	}
	if earlier, twice := im.ids[id]; twice {
		return refuse(fmt.Sprintf("duplicate id %q: row %d has it too", id, earlier))
	}
	im.ids[id] = row.Number
	plain := strings.Join(strings.Fields(cases.Fold().String(norm.NFKC.String(id))), "")
	if other, ok := im.alike[plain]; ok {
		im.similar = append(im.similar, fmt.Sprintf("%q and %q", other, id))
	} else {
		im.alike[plain] = id
	}
	expected, _ := evidence.Member(line, "expected")
	for key := range evidence.Members(expected) {
		im.expects[strings.Clone(key)] = true
	}
	im.n++
	_, err := im.cases.Write(append(line, '\n'))
	return err
}

func (im *imported) refuse(r foreign.Refusal) { im.refused = append(im.refused, r) }

// withID puts an id in front of a case without one.
func withID(line []byte, id string) []byte {
	dst, err := jsontext.AppendQuote([]byte(`{"id":`), id)
	if err != nil { // hexadecimal digits
		panic(err)
	}
	return append(append(dst, ','), line[1:]...)
}

// importCases converts a file.
func (e *Env) importCases(ctx context.Context, path string, f importFlags) error {
	config, err := foreign.OpenPromptfoo(path)
	if err != nil {
		return err
	}
	suite := config != nil && !strings.HasSuffix(f.to, ".jsonl")
	f.spec.ForSuite = suite
	if !suite {
		if err := f.writable(path); err != nil {
			return err
		}
	}
	im := &imported{ctx: ctx, path: path, ids: map[string]int{}, alike: map[string]string{}, expects: map[string]bool{}}
	if suite {
		var cases bytes.Buffer
		im.cases = &cases
		if err := e.convert(im, f); err != nil {
			return err
		}
		return e.writeSuite(config, im, cases.Bytes(), f.to)
	}
	_, absent := os.Stat(filepath.Dir(f.to))
	if err := os.MkdirAll(filepath.Dir(f.to), 0o755); err != nil {
		return err
	}
	var fault error
	err = writeFile(f.to, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		im.cases = buffered
		if fault = e.convert(im, f); fault != nil {
			return fault // nothing takes the place of the file
		}
		return buffered.Flush()
	})
	if fault != nil {
		if absent != nil {
			_ = os.Remove(filepath.Dir(f.to)) // it was made for nothing
		}
		return fault
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "Wrote %s: %s.\n\nNext: name it in oloproof.yaml (dataset: %s), then oloproof check\n", filepath.ToSlash(f.to), countCases(im.n), filepath.ToSlash(f.to))
	return err
}

// convert reads the file and says what became of its rows. The error is that
// nothing is to be written.
func (e *Env) convert(im *imported, f importFlags) error {
	path := im.path
	result, err := foreign.Read(path, f.spec, im.take, im.refuse)
	if err != nil {
		return err
	}
	form := ""
	if result.Format != "" { // "" when no row could be read
		form = " as " + result.Format
	}
	fmt.Fprintf(e.Stdout, "Read %s%s: %s.\n", filepath.ToSlash(path), form, countOf(result.Rows, "row"))
	for _, note := range result.Notes {
		fmt.Fprintf(e.Stdout, "  %s\n", note)
	}
	if len(im.similar) > 0 {
		fmt.Fprintf(e.Stdout, "  ids that differ only by case, blanks or the form of characters: %s\n", strings.Join(im.similar[:min(5, len(im.similar))], ", "))
	}
	if err := e.refusals(im, f.skip); err != nil {
		return err
	}
	if im.n == 0 {
		return problem.At(path, "no row became a case: nothing was written")
	}
	return nil
}

// refusals reports every row that was not taken. Unless they are to be skipped
// they are an error, and nothing is written.
func (e *Env) refusals(im *imported, skip bool) error {
	if len(im.refused) == 0 {
		return nil
	}
	if skip {
		for _, r := range im.refused {
			p := r.Problem()
			fmt.Fprintf(e.Stderr, "left out: %s\n  at %s\n", p.Message, p.Place())
		}
		fmt.Fprintf(e.Stdout, "Left out %s that cannot be taken; they are listed on standard error.\n", countOf(len(im.refused), "row"))
		return nil
	}
	var problems problem.List
	for _, r := range im.refused {
		problems.Add(r.Problem())
	}
	problems.Add(problem.Problem{Message: fmt.Sprintf("%s cannot be taken, so nothing was written: correct them, or leave them out with --skip-invalid", countOf(len(im.refused), "row"))})
	return problems.Err()
}

// writeSuite writes the suite that a configuration of promptfoo becomes.
func (e *Env) writeSuite(config *foreign.Promptfoo, im *imported, cases []byte, dir string) error {
	suite, listed := config.Suite(projectName(dir), "data/cases.jsonl", slices.Sorted(maps.Keys(im.expects)), evaluate.CheckPattern)
	written, err := writeNew(dir, fstest.MapFS{
		"oloproof.yaml":    {Data: suite},
		"data/cases.jsonl": {Data: cases},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Wrote %s to %s: %s.\n", strings.Join(written, ", "), filepath.ToSlash(dir), countCases(im.n))
	if len(listed) > 0 {
		fmt.Fprintf(e.Stdout, "\nWithout a counterpart, or to be completed by hand:\n")
		for _, line := range listed {
			fmt.Fprintf(e.Stdout, "  %s\n", line)
		}
	}
	flag := given{configFlags: configFlags{config: filepath.Join(dir, "oloproof.yaml")}}.flags(false, false)
	_, err = fmt.Fprintf(e.Stdout, "\nNext: oloproof check%s\n      oloproof run%s\n", flag, flag)
	return err
}
