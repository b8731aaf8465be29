package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// maxSignoffs is the most bytes of signoffs.jsonl that are read.
const maxSignoffs = 4 << 20

// signoffBytes is signoffs.jsonl; nil when there is none.
func (r *Run) signoffBytes() ([]byte, error) {
	if r.python != nil {
		return nil, nil
	}
	data, err := readSmall(r.src, signoffsFile, maxSignoffs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Signoffs returns what people signed off of the run, in the order in which they
// did. The error names the line that cannot be read.
func (r *Run) Signoffs() ([]evidence.Signoff, error) {
	data, err := r.signoffBytes()
	if err != nil {
		return nil, err
	}
	var all []evidence.Signoff
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var s evidence.Signoff
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("%s:%d: not a signoff: %w", r.src.place(signoffsFile), i+1, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Sign adds a signoff to a complete run.
func (r *Run) Sign(s evidence.Signoff) error {
	if r.dir == "" {
		return fmt.Errorf("%s is a zip: unpack it, or export the run first", r.Place())
	}
	if r.python != nil {
		return fmt.Errorf("%s is a bundle of the Python tool: export it, and sign the copy", r.Place())
	}
	if !finished(r.Manifest) {
		return fmt.Errorf("%s is not complete, and only a complete run is signed off", r.Manifest.ID)
	}
	all, err := r.Signoffs()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, one := range append(all, s) {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(r.dir, signoffsFile), writes(b.Bytes()))
}

// JudgmentsSum is the SHA-256 of judgments.jsonl, hex, as the manifest has it.
func (r *Run) JudgmentsSum() string {
	f, _ := r.file(judgmentsFile)
	return f.SHA256
}
