package dataset

import (
	"fmt"
	"hash/maphash"
	"io"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// OpenForeign reads the data set at path as spec says, turns every row into a
// case and indexes the cases as [Open] does; they stay in memory. A row that
// cannot be taken is a problem, so that no case is missing without a word.
func OpenForeign(path string, spec foreign.Spec, opt Options) (*Dataset, error) {
	d := &Dataset{path: path, seed: maphash.MakeSeed()}
	var text pages
	var problems problem.List
	more := 0
	result, err := foreign.Read(path, spec, func(row foreign.Row) error {
		text.add(row.Case)
		text.add([]byte{'\n'})
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
	d.source, d.size = &text, text.size
	err = d.index(opt)
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
