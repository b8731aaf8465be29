package dataset

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// OpenForeign reads the data set at path as spec says, turns every row into a
// case and indexes the cases as [Open] does; they stay in memory. A row that
// cannot be taken is a problem, so that no case is missing without a word.
func OpenForeign(path string, spec foreign.Spec, opt Options) (*Dataset, error) {
	d := &Dataset{path: path, seed: maphash.MakeSeed()}
	var text bytes.Buffer
	var problems problem.List
	more := 0
	result, err := foreign.Read(path, spec, func(row foreign.Row) error {
		text.Write(row.Case)
		text.WriteByte('\n')
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
	d.source, d.size = bytes.NewReader(text.Bytes()), int64(text.Len())
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
