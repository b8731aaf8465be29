package dataset

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"io"
	"os"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// OpenForeign reads the data set at path as spec says, turns every row into a
// case and indexes the cases as [Open] does; many of them lie in a
// temporary file until Close. A row that
// cannot be taken is a problem, so that no case is missing without a word.
func OpenForeign(path string, spec foreign.Spec, opt Options) (*Dataset, error) {
	d := &Dataset{path: path, seed: maphash.MakeSeed()}
	var text spool
	defer func() { // a data set that is not given back closes nothing
		if d.source == nil {
			text.close()
		}
	}()
	var problems problem.List
	more := 0
	result, err := foreign.Read(path, spec, func(row foreign.Row) error {
		if err := text.add(append(row.Case, '\n')); err != nil {
			return fmt.Errorf("keep the cases of %s: %w", path, err)
		}
		d.places = append(d.places, place{row.Number, row.Line})
		return nil
	}, func(r foreign.Refusal) {
		if len(problems) >= maxProblems {
			more++
			return
		}
		problems.Add(r.Problem())
	})
	if err != nil {
		return nil, err
	}
	source, err := text.done()
	if err != nil {
		return nil, fmt.Errorf("keep the cases of %s: %w", path, err)
	}
	d.size = text.size
	d.source = source
	err = d.index(opt)
	if err != nil || len(problems) > 0 {
		defer text.close()
	} else {
		d.spool = &text
	}
	if list, ok := err.(problem.List); ok && len(problems) > 0 {
		if d.Len() == 0 && len(d.places) == 0 { // that there is no case follows from the refusals
			list = nil
		}
		problems = append(problems, list...)
	} else if ok {
		return nil, list
	} else if err != nil {
		return nil, err
	}
	if more > 0 {
		problems.Add(problem.Problem{File: path, Message: fmt.Sprintf("and %d more rows that cannot be taken", more)})
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	d.notes = append([]string{fmt.Sprintf("the data set is read as %s: %s", result.Format, cases(d.Len()))}, append(result.Notes, d.notes...)...)
	return d, nil
}

// spool keeps text: in memory, and in a temporary file once there is much of it.
type spool struct {
	pages
	file *os.File // nil while all is in memory
	w    *bufio.Writer
}

// mostInMemory is how much of a data set stays in memory.
const mostInMemory = 8 << 20

func (s *spool) add(text []byte) error {
	if s.file == nil && s.size+int64(len(text)) > mostInMemory {
		file, err := os.CreateTemp("", "oloproof-cases-*")
		if err != nil {
			s.pages.add(text) // nowhere to write: memory has to do
			return nil
		}
		// Where an open file can be removed nothing stays behind, whatever happens.
		_ = os.Remove(file.Name())
		s.file, s.w = file, bufio.NewWriterSize(file, pageSize)
		for _, page := range s.all {
			if _, err := s.w.Write(page); err != nil {
				return err
			}
		}
		s.all = nil
	}
	if s.file == nil {
		s.pages.add(text)
		return nil
	}
	s.size += int64(len(text))
	_, err := s.w.Write(text)
	return err
}

// done returns what was kept.
func (s *spool) done() (io.ReaderAt, error) {
	if s.file == nil {
		return &s.pages, nil
	}
	return s.file, s.w.Flush()
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // it is removed
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}

// pages hold text that grows, without a copy of it when it does.
type pages struct {
	all  [][]byte
	size int64
}

const pageSize = 1 << 20

func (p *pages) add(text []byte) {
	p.size += int64(len(text))
	for len(text) > 0 {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == pageSize {
			p.all = append(p.all, make([]byte, 0, pageSize))
			last++
		}
		n := min(len(text), pageSize-len(p.all[last]))
		p.all[last] = append(p.all[last], text[:n]...)
		text = text[n:]
	}
}

// ReadAt implements [io.ReaderAt].
func (p *pages) ReadAt(into []byte, at int64) (n int, err error) {
	for n < len(into) {
		page := int((at + int64(n)) / pageSize)
		if page >= len(p.all) {
			return n, io.EOF
		}
		from := int((at + int64(n)) % pageSize)
		if from >= len(p.all[page]) {
			return n, io.EOF
		}
		n += copy(into[n:], p.all[page][from:])
	}
	return n, nil
}

// place is where a case stands in the file it was read from.
type place struct {
	row  int // from 1
	line int // 0 when it is not known
}

// CheckCase says what is wrong with a case by itself, given as one line of the
// data set's form, and what its id and its digest are; the id is "" without one.
func CheckCase(line []byte) (id string, digest evidence.Digest, faults []string) {
	r, found := parseRow(line)
	for _, f := range found {
		faults = append(faults, f.message)
	}
	for _, f := range r.refused {
		faults = append(faults, f.name+" is not supported yet: remove it")
	}
	if len(faults) > 0 {
		return "", "", faults
	}
	digest, err := evidence.CaseDigest(&r.Case)
	if err != nil {
		return "", "", []string{err.Error()}
	}
	return r.ID, digest, nil
}
