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
	comparisonsDir   = "comparisons"
	comparisonSuffix = ".json"
	digestPrefix     = "sha256:"
)

// StoredComparison names a comparison of the store.
type StoredComparison struct {
	ID evidence.Digest
	At time.Time // when it was stored
}

// SaveComparison stores the comparison with a content id, as write writes it. A
// comparison that is stored already stays as it is, and write is not called: its
// id stands for what it says.
func (s *Store) SaveComparison(id evidence.Digest, write func(io.Writer) error) error {
	name := id.Hex()
	if !isDigest(name) || string(id) != digestPrefix+name {
		return fmt.Errorf("%q is no content id, want sha256: and 64 hex digits", id)
	}
	path := s.comparison(name)
	if info, err := os.Lstat(path); err == nil && info.Size() > 0 { // a power cut may have left nothing
		return nil
	}
	if err := s.ensure(comparisonsDir); err != nil {
		return err
	}
	if err := replaceFile(path, write); err != nil {
		return fmt.Errorf("store the comparison: %w", err)
	}
	return nil
}

func (s *Store) comparison(hex string) string {
	return filepath.Join(s.dir, comparisonsDir, hex+comparisonSuffix)
}

// isDigest reports whether a name is that of a comparison: a file's name is made
// of it, so nothing else is.
func isDigest(hex string) bool { return len(hex) == 64 && isHex(hex) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// Comparison returns the stored comparison that a name stands for: its content
// id or a unique start of it, with or without sha256:, in either case.
func (s *Store) Comparison(prefix string) ([]byte, error) {
	all, err := s.Comparisons()
	if err != nil {
		return nil, err
	}
	id, err := s.findComparison(all, prefix)
	if err != nil {
		return nil, err
	}
	return readSmall(dirSource(filepath.Join(s.dir, comparisonsDir)), id.Hex()+comparisonSuffix, maxDocument)
}

func (s *Store) findComparison(all []StoredComparison, prefix string) (evidence.Digest, error) {
	digits := strings.TrimPrefix(strings.ToLower(prefix), digestPrefix)
	var found []string
	for _, c := range all {
		if digits != "" && isHex(digits) && strings.HasPrefix(c.ID.Hex(), digits) {
			found = append(found, string(c.ID))
		}
	}
	switch {
	case len(found) == 1:
		return evidence.Digest(found[0]), nil
	case len(found) > 1:
		return "", fmt.Errorf("%q stands for more than one comparison, give more of the id:%s", prefix, newest(found))
	case len(all) == 0:
		return "", fmt.Errorf("no comparison is named %q: %s holds none yet", prefix, s.dir)
	}
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = string(c.ID)
	}
	return "", fmt.Errorf("no comparison is named %q; the newest in %s:%s", prefix, s.dir, newest(ids))
}

// newest lists the first ids, one a line.
func newest(ids []string) string {
	if len(ids) <= shown {
		return lines(ids)
	}
	return fmt.Sprintf("%s\n  and %d older ones", lines(ids[:shown]), len(ids)-shown)
}

// Comparisons returns the comparisons of the store, newest first. What else lies
// among them is passed over.
func (s *Store) Comparisons() ([]StoredComparison, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, comparisonsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the comparisons: %w", err)
	}
	var all []StoredComparison
	for _, e := range entries {
		hex, ok := strings.CutSuffix(e.Name(), comparisonSuffix)
		if !ok || !isDigest(hex) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil { // removed since
			continue
		}
		all = append(all, StoredComparison{ID: evidence.Digest(digestPrefix + hex), At: info.ModTime()})
	}
	slices.SortFunc(all, func(a, b StoredComparison) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}
