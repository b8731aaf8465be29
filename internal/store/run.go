package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// Run is a stored run: of the store, of a bundle's directory or of a zip of
// one. Of a bundle of the Python tool the manifest says what its two files say,
// in our words, and notes what it leaves out. Close it in the end.
type Run struct {
	Manifest *evidence.Manifest

	src    source
	dir    string     // "" for a zip
	raw    []byte     // run.json as it stands; nil for a bundle of the Python tool
	python *pythonRun // nil unless the Python tool exported it
}

// openRun opens the run whose files src holds. It closes src when it fails.
func openRun(src source, dir string) (*Run, error) {
	r := &Run{src: src, dir: dir}
	if err := r.readManifest(); err != nil {
		src.Close()
		return nil, err
	}
	return r, nil
}

func (r *Run) readManifest() error {
	b, whole, err := readStart(r.src, manifestFile, maxManifest)
	switch {
	case err != nil:
		return fmt.Errorf("read the run: %w", err)
	case isPython(b):
		return r.readPython()
	case !whole:
		return fmt.Errorf("read the run: %w", tooLarge(r.src, manifestFile, maxManifest))
	}
	r.raw = b
	if r.Manifest, err = parseManifest(b); err != nil {
		return fmt.Errorf("%s: %w", r.src.place(manifestFile), err)
	}
	return nil
}

// Close lets go of the files.
func (r *Run) Close() error { return r.src.Close() }

// Place says where the run lies: a directory or a zip.
func (r *Run) Place() string {
	if z, ok := r.src.(*zipSource); ok {
		return z.path
	}
	return r.dir
}

// HasCases reports whether the run carries its evidence, cases.jsonl. A bundle
// may come without it, since it holds questions and answers.
func (r *Run) HasCases() bool {
	if !r.src.missing(casesFile) {
		return true
	}
	journal, err := r.openJournal()
	if err != nil || journal == nil {
		return false
	}
	defer journal.Close()
	carries := true
	_ = r.eachEntry(journal, func(_ entry, l journalLine) error {
		carries = len(l.body) > 0
		return errNoCases // the first line tells
	})
	return carries
}

// errNoCases says that a run carries no evidence.
var errNoCases = errors.New("carries no " + casesFile + ": questions, answers and passages were left out of this bundle")

// file returns the description of a file in the manifest.
func (r *Run) file(name string) (f evidence.File, ok bool) {
	for _, f := range r.Manifest.Files {
		if f.Name == name {
			return f, true
		}
	}
	return f, false
}

// Outcomes gives what judgments.jsonl keeps of each case, in data set order, i
// from 0. Of an unfinished run it gives the cases that are stored so far. o is
// valid during the call. When the error says that the file does not match its
// digest, what was given before is not to be used.
func (r *Run) Outcomes(visit func(i int, o *evidence.Outcome) error) error {
	visit = withoutTwins(visit)
	if r.python != nil {
		return readLines(r, casesFile, maxLine, r.python.decodeOutcome, visit)
	}
	journal, err := r.openJournal()
	if err != nil {
		return err
	}
	decode := func(line []byte, o *evidence.Outcome) error { return evidence.DecodeOutcome(line, r.Manifest, o) }
	if journal != nil {
		defer journal.Close()
		var o evidence.Outcome
		n := 0
		return r.eachEntry(journal, func(_ entry, l journalLine) error {
			if err := decode(l.outcome, &o); err != nil {
				return err
			}
			n++
			return visit(n-1, &o)
		})
	}
	n := 0
	err = readLines(r, judgmentsFile, maxOutcomeLine, decode, func(i int, o *evidence.Outcome) error {
		n++
		return visit(i, o)
	})
	if err != nil {
		return err
	}
	return r.checkLines(judgmentsFile, n)
}

// twins holds the ids of the cases so far with their lines, from 0.
type twins map[string]int

// add refuses an id that stands twice: cases are paired and looked up by it.
func (t twins) add(i int, id string) error {
	if first, known := t[id]; known {
		return &twinError{id, first + 1, i + 1}
	}
	t[id] = i
	return nil
}

// twinError is a case id that stands twice.
type twinError struct {
	id            string
	first, second int // lines, from 1
}

func (e *twinError) Error() string {
	return fmt.Sprintf("the case id %q stands twice, in lines %d and %d", e.id, e.first, e.second)
}

// withoutTwins passes outcomes on until an id stands twice.
func withoutTwins(visit func(i int, o *evidence.Outcome) error) func(i int, o *evidence.Outcome) error {
	seen := twins{}
	return func(i int, o *evidence.Outcome) error {
		if err := seen.add(i, o.ID); err != nil {
			return err
		}
		return visit(i, o)
	}
}

// CaseLines gives each case with all that was recorded, in data set order. Of
// an unfinished run it gives the cases that are stored so far. When the error
// says that the file does not match its digest, what was given before is not to
// be used.
func (r *Run) CaseLines(visit func(line evidence.CaseLine) error) error {
	journal, err := r.openJournal()
	if err != nil {
		return err
	}
	if journal != nil {
		defer journal.Close()
		return r.eachEntry(journal, func(e entry, l journalLine) error {
			line, err := r.decodeCase(bytes.Clone(l.body))
			if err != nil {
				return err
			}
			line.Case.Index = int(e.index)
			return visit(line)
		})
	}
	decode := func(b []byte, line *evidence.CaseLine) (err error) {
		*line, err = r.decodeCase(b)
		return err
	}
	seen := twins{}
	n := 0
	err = readLines(r, casesFile, maxLine, decode, func(i int, line *evidence.CaseLine) error {
		n++
		if err := seen.add(i, line.Case.ID); err != nil {
			return err
		}
		line.Case.Index = i
		return visit(*line)
	})
	if err != nil {
		return err
	}
	return r.checkLines(casesFile, n)
}

// checkLines asks a complete run for as many lines in a file as it has cases.
func (r *Run) checkLines(name string, n int) error {
	if want := r.Manifest.Dataset.Cases; finished(r.Manifest) && n != want {
		return fmt.Errorf("%s has %d lines, run.json says %d cases", r.src.place(name), n, want)
	}
	return nil
}

// decodeCase reads a line of cases.jsonl.
func (r *Run) decodeCase(b []byte) (evidence.CaseLine, error) {
	switch {
	case r.python != nil:
		return r.python.caseLine(b)
	case len(b) == 0:
		return evidence.CaseLine{}, fmt.Errorf("%s %w", r.Place(), errNoCases)
	}
	return evidence.DecodeCaseLine(b)
}

// CaseLine returns one case with all that was recorded.
func (r *Run) CaseLine(id string) (evidence.CaseLine, error) {
	quoted, err := jsontext.AppendQuote(nil, id)
	if err != nil {
		return evidence.CaseLine{}, fmt.Errorf("case id %q: %w", id, err)
	}
	var found evidence.CaseLine
	look := func(i int, b []byte) error {
		if found.Case.ID != "" || !bytes.Contains(b, quoted) {
			return nil
		}
		line, err := r.decodeCase(bytes.Clone(b))
		if err != nil {
			return err
		}
		if line.Case.ID == id {
			line.Case.Index = i
			found = line
		}
		return nil
	}
	if err := r.eachRaw(look); err != nil {
		return evidence.CaseLine{}, err
	}
	if found.Case.ID == "" {
		return evidence.CaseLine{}, r.noCase(id)
	}
	return found, nil
}

// eachRaw gives each line of cases.jsonl, undecoded and valid during the call.
func (r *Run) eachRaw(visit func(i int, line []byte) error) error {
	journal, err := r.openJournal()
	if err != nil {
		return err
	}
	if journal != nil {
		defer journal.Close()
		return r.eachEntry(journal, func(e entry, l journalLine) error { return visit(int(e.index), l.body) })
	}
	keep := func(line []byte, into *[]byte) error { *into = line; return nil }
	return readLines(r, casesFile, maxLine, keep, func(i int, line *[]byte) error { return visit(i, *line) })
}

// noCase says that a case is not there and names the nearest that is.
func (r *Run) noCase(id string) error {
	var ids []string
	if err := r.Outcomes(func(_ int, o *evidence.Outcome) error {
		ids = append(ids, o.ID)
		return nil
	}); err != nil {
		return err
	}
	what := fmt.Sprintf("%s has no case %q among its %d", r.Manifest.ID, id, len(ids))
	if !finished(r.Manifest) {
		what = fmt.Sprintf("%s did not finish, and %q is not among the %d cases stored", r.Manifest.ID, id, len(ids))
	}
	if near := problem.Nearest(id, ids); near != "" {
		what += fmt.Sprintf(", did you mean %q?", near)
	}
	return errors.New(what)
}

// openJournal opens the journal of an unfinished run. It is nil when the run's
// lines are in its files, and when nothing was stored yet.
func (r *Run) openJournal() (*os.File, error) {
	if len(r.Manifest.Files) > 0 {
		return nil, nil
	}
	if r.dir == "" {
		return nil, fmt.Errorf("%s: the run did not finish and no file of it is in the zip: export it, then zip what export writes", r.Place())
	}
	path := filepath.Join(r.dir, journalFile)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	// Its writer may have finished the run since run.json was read.
	if err := r.readManifest(); err != nil {
		return nil, err
	}
	if len(r.Manifest.Files) > 0 {
		return nil, nil
	}
	return os.Open(os.DevNull)
}

// eachEntry gives the lines of a journal in data set order, valid during the
// call.
func (r *Run) eachEntry(journal *os.File, visit func(entry, journalLine) error) error {
	entries, _, err := indexJournal(journal, r.Manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Manifest.ID, err)
	}
	var buf []byte
	for _, e := range entries {
		var l journalLine
		if l, buf, err = readEntry(journal, e, buf); err != nil {
			return fmt.Errorf("%s: %w", r.Manifest.ID, err)
		}
		if err := visit(e, l); err != nil {
			return err
		}
	}
	return nil
}

// checked is a file of a run that is being read, with its digest so far.
type checked struct {
	io.ReadCloser
	want evidence.File
	name string
	sum  hash.Hash
	n    int64 // bytes
	own  bool  // want is not of run.json, but what was read before
}

// openChecked opens a file that the manifest describes.
func (r *Run) openChecked(name string) (*checked, error) {
	want, ok := r.file(name)
	switch {
	case !ok && name == casesFile:
		return nil, fmt.Errorf("%s %w", r.Place(), errNoCases)
	case !ok:
		return nil, fmt.Errorf("run.json of %s names no %s", r.Place(), name)
	}
	f, err := r.src.open(name)
	if errors.Is(err, fs.ErrNotExist) && name == casesFile {
		return nil, fmt.Errorf("%s %w", r.Place(), errNoCases)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there, and run.json names it: take the whole bundle", r.src.place(name))
	}
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	c := newChecked(f, want, r.src.place(name))
	c.own = r.python != nil
	return c, nil
}

func newChecked(f io.ReadCloser, want evidence.File, place string) *checked {
	return &checked{ReadCloser: f, want: want, name: place, sum: sha256.New()}
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	return n, err
}

// verify reads what is left and compares the digest.
func (c *checked) verify() error {
	if _, err := io.Copy(io.Discard, c); err != nil {
		return err
	}
	got := c.digest()
	switch {
	case got == c.want.SHA256:
		return nil
	case c.own:
		return fmt.Errorf("%s changed while it was being read", c.name)
	default:
		return fmt.Errorf("%s does not match its digest in run.json: it was changed or cut off since the run was stored (sha256 %s, want %s)",
			c.name, got, c.want.SHA256)
	}
}

func (c *checked) digest() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// readLines decodes the lines of a file of the run and checks its digest.
func readLines[T any](r *Run, name string, limit int, decode func([]byte, *T) error, visit func(int, *T) error) error {
	f, err := r.openChecked(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var stopped error
	err = decodeLines(f, limit, decode, func(i int, v *T) error {
		stopped = visit(i, v)
		return stopped
	})
	var twin *twinError
	if stopped != nil && !errors.As(stopped, &twin) {
		return stopped
	}
	// A changed file explains a line that cannot be decoded or stands twice.
	if err := f.verify(); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// Document returns gate.json: the decision that is stored with a complete run.
// It is nil when there is none.
func (r *Run) Document() ([]byte, error) {
	if !finished(r.Manifest) || r.python != nil {
		return nil, nil
	}
	b, err := readSmall(r.src, documentFile, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// SaveDocument replaces gate.json of a complete run.
func (r *Run) SaveDocument(write func(io.Writer) error) error {
	if r.dir == "" {
		return fmt.Errorf("%s is a zip: its decision is stored when it is unpacked, or export the run first", r.Place())
	}
	if r.python != nil {
		return fmt.Errorf("%s is a bundle of the Python tool: export it, and the decision is stored with the copy", r.Place())
	}
	if !finished(r.Manifest) {
		return fmt.Errorf("%s is not complete, and a decision is stored with a complete run only", r.Manifest.ID)
	}
	return replaceFile(filepath.Join(r.dir, documentFile), write)
}
