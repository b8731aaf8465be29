// Package store keeps .oloproof/: runs as plain files, caches in SQLite.
//
// A run on its way is a manifest that says RUNNING and one journal, appended to
// as cases finish. A finished run is the manifest and two files in data set
// order whose SHA-256 the manifest states. The manifest is replaced last, by
// rename, so nothing that says it is complete is ever partial: kill -9 at any
// moment costs at most the cases in flight. Files are not forced to the disk's
// own memory; after a power cut the digests show what was lost.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Names inside the store.
const (
	runsDir    = "runs"
	bundlesDir = "bundles"
	cacheFile  = "cache.sqlite"
)

// Names inside a run or bundle.
const (
	manifestFile  = "run.json"
	judgmentsFile = "judgments.jsonl"
	casesFile     = "cases.jsonl"
	documentFile  = "gate.json"
	signoffsFile  = "signoffs.jsonl"
	journalFile   = "journal" // of an unfinished run; never part of a bundle
)

// Store is the directory .oloproof/.
type Store struct {
	dir string
}

// Open returns the store in dir. Nothing is read or created before it is
// needed. It is an error when dir is something else than a directory.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("the directory of the store is empty")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open the store: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("open the store: %s is a file, want a directory: move it away, or name another place with OLOPROOF_HOME", dir)
	}
	return &Store{dir: dir}, nil
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// BundleDir returns where a run is exported to when no place is named.
func (s *Store) BundleDir(id string) string { return filepath.Join(s.dir, bundlesDir, id) }

func (s *Store) runDir(id string) string { return filepath.Join(s.dir, runsDir, id) }

// ensure creates a directory of the store, and the store with its .gitignore.
func (s *Store) ensure(sub string) error {
	err := os.MkdirAll(filepath.Join(s.dir, sub), 0o755)
	if err == nil {
		err = s.ignore()
	}
	if err != nil {
		return s.notWritten("create the store", err)
	}
	return nil
}

// notWritten says where else the store may lie.
func (s *Store) notWritten(what string, err error) error {
	return fmt.Errorf("%s: %w; runs are kept in %s, and OLOPROOF_HOME names another place", what, err, s.dir)
}

// ignore keeps the store out of version control. A .gitignore that is there
// already is the user's.
func (s *Store) ignore() error {
	f, err := os.OpenFile(filepath.Join(s.dir, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// Record is one finished case on its way to disk.
type Record struct {
	Case      *evidence.Case
	Execution evidence.Execution
	Judgments []evidence.Judgment // one per judged metric of the manifest, in its order
	Slices    []string            // value per slice of the manifest
}

// Outcome returns what judgments.jsonl keeps of the record. It shares Slices
// and Judgments.
func (r *Record) Outcome() evidence.Outcome {
	return evidence.OutcomeOf(r.Case, &r.Execution, r.Slices, r.Judgments)
}
