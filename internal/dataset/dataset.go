// Package dataset reads the cases of a suite: a JSON Lines file that is checked
// and indexed in one pass and then read case by case, so that memory stays
// small however large the file is.
package dataset

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// Options says what to do with each case while the file is indexed.
type Options struct {
	// Slices are the names of the suite's slices; a case whose metadata holds an
	// object or a list there is a problem.
	Slices []string
	// Visit is called in order for each case that is valid by itself, which it
	// may use during the call only. Each message that it returns becomes a
	// problem at the line of the case.
	Visit func(*evidence.Case) []string
}

// Dataset is an indexed file of cases. It is safe for concurrent use.
type Dataset struct {
	path    string
	source  io.ReaderAt
	size    int64    // bytes of source that are indexed
	file    *os.File // nil when the cases are in memory
	spool   *spool   // where the cases of a foreign file are kept; nil
	places  []place  // of the rows that the lines of source come from; nil when they are the file's own
	entries []entry
	digest  evidence.Digest
	notes   []string
	seed    maphash.Seed
}

// entry is what is kept of a case in memory.
type entry struct {
	id     string
	sum    [32]byte // digest of the case
	offset int64    // of its line in the file
	length int      // of its line, without the line feed
	line   int      // 1-based
	seen   uint64   // hash of the line, to notice an edit; means something in this process only
}

// Open checks every line of the file at path and indexes it. The error is a
// [problem.List] with every problem found, up to a limit.
func Open(path string, opt Options) (*Dataset, error) {
	file, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, problem.At(path, "the data set does not exist")
		}
		return nil, problem.At(path, "cannot open the data set: %v", reason(err))
	}
	d := &Dataset{path: path, file: file, source: file, size: math.MaxInt64, seed: maphash.MakeSeed()}
	if err = d.checkKind(); err == nil {
		err = d.index(opt)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return d, nil
}

// checkKind refuses what cannot be read at an offset.
func (d *Dataset) checkKind() error {
	info, err := d.file.Stat()
	switch {
	case err != nil:
		return problem.At(d.path, "cannot read the data set: %v", reason(err))
	case info.IsDir():
		return problem.At(d.path, "the data set is a directory, want a JSON Lines file")
	case !info.Mode().IsRegular():
		return problem.At(d.path, "the data set is no regular file, and it is read more than once: save it to a file first")
	}
	return nil
}

// reason is the cause of a file error, without the path that it repeats.
func reason(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Len returns the number of cases.
func (d *Dataset) Len() int { return len(d.entries) }

// ID returns the id of case i, counted from 0 in the order of the file.
func (d *Dataset) ID(i int) string { return d.entries[i].id }

// CaseDigest returns the content id of case i.
func (d *Dataset) CaseDigest(i int) evidence.Digest { return evidence.DigestOf(d.entries[i].sum) }

// Line returns the line of case i, from 1.
func (d *Dataset) Line(i int) int { return d.lineOf(d.entries[i].line) }

// lineOf is the line in the file that a line of the source comes from.
func (d *Dataset) lineOf(line int) int {
	if d.places != nil {
		return d.places[line-1].line
	}
	return line
}

// Digest returns the content id of the data set: over the sorted ids and
// digests of its cases.
func (d *Dataset) Digest() evidence.Digest { return d.digest }

// Notes returns what a person should know although it is no problem.
func (d *Dataset) Notes() []string { return d.notes }

// Case reads case i from the file. The error says that the file changed since
// it was indexed, or cannot be read any more.
func (d *Dataset) Case(i int) (*evidence.Case, error) {
	e := &d.entries[i]
	text := make([]byte, e.length)
	if _, err := d.source.ReadAt(text, e.offset); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s:%d: %w", d.path, e.line, reason(err))
	} else if err == io.EOF {
		return nil, d.changed(e)
	}
	if maphash.Bytes(d.seed, text) != e.seen {
		return nil, d.changed(e)
	}
	c, fault := parseCase(text)
	if fault != nil {
		return nil, d.changed(e)
	}
	c.ID, c.Index, c.Line, c.Digest = e.id, i, d.lineOf(e.line), evidence.DigestOf(e.sum)
	return c, nil
}

func (d *Dataset) changed(e *entry) error {
	return fmt.Errorf("%s:%d: case %q changed while it was in use: the file was edited after it had been checked", d.path, e.line, e.id)
}

// Close closes the file.
func (d *Dataset) Close() error {
	if d.spool != nil {
		d.spool.close()
	}
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
