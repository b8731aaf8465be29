package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	documentSuffix = ".json"
	digestPrefix   = "sha256:"
)

// Shelf is where documents of one kind are kept, each under its content id.
type Shelf struct{ dir, word string }

// Word is what a document of the shelf is called.
func (s Shelf) Word() string { return s.word }

// The shelves of a store.
var (
	ComparisonShelf = Shelf{"comparisons", "comparison"}
	DiagnosisShelf  = Shelf{"diagnoses", "diagnosis"}
)

// Stored names a document of the store.
type Stored struct {
	ID    evidence.Digest
	Shelf Shelf
	At    time.Time // when it was stored
}

// SaveComparison stores the comparison with a content id, as write writes it. A
// comparison that is stored already stays as it is, and write is not called: its
// id stands for what it says.
func (s *Store) SaveComparison(id evidence.Digest, write func(io.Writer) error) error {
	path, err := s.shelved(ComparisonShelf, id)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() > 0 { // a power cut may have left nothing
		return nil
	}
	return s.shelve(ComparisonShelf, path, write)
}

// SaveDiagnosis stores the diagnosis with a content id, as write writes it. One
// that is stored already is replaced: it says the same, and names the runs that
// were made last.
func (s *Store) SaveDiagnosis(id evidence.Digest, write func(io.Writer) error) error {
	path, err := s.shelved(DiagnosisShelf, id)
	if err != nil {
		return err
	}
	return s.shelve(DiagnosisShelf, path, write)
}

// shelved returns where the document with a content id lies.
func (s *Store) shelved(shelf Shelf, id evidence.Digest) (string, error) {
	name := id.Hex()
	if !isDigest(name) || string(id) != digestPrefix+name {
		return "", fmt.Errorf("%q is no content id, want sha256: and 64 hex digits", id)
	}
	return filepath.Join(s.dir, shelf.dir, name+documentSuffix), nil
}

func (s *Store) shelve(shelf Shelf, path string, write func(io.Writer) error) error {
	if err := s.ensure(shelf.dir); err != nil {
		return err
	}
	if err := replaceFile(path, write); err != nil {
		return fmt.Errorf("store the %s: %w", shelf.word, err)
	}
	return nil
}

// isDigest reports whether a name is that of a document: a file's name is made
// of it, so nothing else is.
func isDigest(hex string) bool { return len(hex) == 64 && isHex(hex) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// Find returns the document of the shelves that a name stands for: its content
// id or a unique start of it, with or without sha256:, in either case.
func (s *Store) Find(prefix string, shelves ...Shelf) (Stored, error) {
	var all, found []Stored
	words := make([]string, len(shelves))
	for i, shelf := range shelves {
		some, err := s.Shelved(shelf)
		if err != nil {
			return Stored{}, err
		}
		all, words[i] = append(all, some...), shelf.word
	}
	newestFirst(all)
	what := strings.Join(words, " or ")
	digits := strings.TrimPrefix(strings.ToLower(prefix), digestPrefix)
	for _, c := range all {
		if digits != "" && isHex(digits) && strings.HasPrefix(c.ID.Hex(), digits) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Stored{}, fmt.Errorf("%q stands for more than one %s, give more of the id:%s", prefix, what, newest(found))
	case len(all) == 0:
		return Stored{}, fmt.Errorf("no %s is named %q: %s holds none yet", what, prefix, s.dir)
	}
	return Stored{}, fmt.Errorf("no %s is named %q; the newest in %s:%s", what, prefix, s.dir, newest(all))
}

// newest lists the first documents, one a line.
func newest(all []Stored) string {
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = string(c.ID)
	}
	if len(ids) <= shown {
		return lines(ids)
	}
	return fmt.Sprintf("%s\n  and %d older ones", lines(ids[:shown]), len(ids)-shown)
}

// Read returns a document.
func (s *Store) Read(c Stored) ([]byte, error) {
	return readSmall(dirSource(filepath.Join(s.dir, c.Shelf.dir)), c.ID.Hex()+documentSuffix, maxDocument)
}

// Shelved returns the documents of a shelf, newest first. What else lies among
// them is passed over.
func (s *Store) Shelved(shelf Shelf) ([]Stored, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, shelf.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a %s: %w", shelf.word, err)
	}
	var all []Stored
	for _, e := range entries {
		hex, ok := strings.CutSuffix(e.Name(), documentSuffix)
		if !ok || !isDigest(hex) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil { // removed since
			continue
		}
		all = append(all, Stored{ID: evidence.Digest(digestPrefix + hex), Shelf: shelf, At: info.ModTime()})
	}
	newestFirst(all)
	return all, nil
}

func newestFirst(all []Stored) {
	slices.SortFunc(all, func(a, b Stored) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID))
	})
}
