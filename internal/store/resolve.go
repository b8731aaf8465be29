package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// shown is how many runs an error lists.
const shown = 5

// Resolve opens the run that a name stands for: an id, a unique start of one
// with or without run_, a unique end of one, latest, latest~N (the Nth before
// it; the runs that diagnoses made are passed over), the directory of a bundle, its run.json, or a zip of it; the bundle may be
// one that the Python tool exported. Ids are matched in either case.
func (s *Store) Resolve(name string) (*Run, error) {
	_, latest := parseLatest(name)
	if !latest && !s.has(name) && isPath(name) {
		return openPath(name)
	}
	id, err := s.storedID(name)
	if err != nil {
		return nil, err
	}
	return s.openStored(id)
}

// has reports whether a name is the whole id of a stored run: a place of the
// same name has to be written with a separator.
func (s *Store) has(name string) bool {
	if !validID(name) {
		return false
	}
	_, err := os.Stat(s.runDir(name))
	return err == nil
}

// Holds reports whether a run lies in the store, rather than in a bundle.
func (s *Store) Holds(r *Run) bool { return r.Place() == s.runDir(r.Manifest.ID) }

// openStored opens a run of the store.
func (s *Store) openStored(id string) (*Run, error) {
	dir := s.runDir(id)
	r, err := openRun(dirSource(dir), dir)
	if err != nil {
		return nil, err
	}
	if r.Manifest.ID != id {
		r.Close()
		return nil, fmt.Errorf("%s is the directory of another run, %s: give it its name back", dir, r.Manifest.ID)
	}
	return r, nil
}

// isPath reports whether a name can only be meant as a place: it has a
// separator, is that of a zip, or a bundle lies there.
func isPath(name string) bool {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) || name == "." || name == ".." {
		return true
	}
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		return true
	}
	_, err := os.Stat(filepath.Join(name, manifestFile))
	return name != "" && err == nil
}

// openPath opens a bundle.
func openPath(path string) (*Run, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no bundle lies at %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bundle: %w", err)
	}
	if info.IsDir() {
		return openDir(path)
	}
	if filepath.Base(path) == manifestFile {
		return openDir(filepath.Dir(path))
	}
	if zipped, err := isZip(path, info); err != nil {
		return nil, fmt.Errorf("open the bundle: %w", err)
	} else if !zipped {
		return nil, fmt.Errorf("%s is neither a zip nor the directory of a bundle", path)
	}
	z, err := openZip(path)
	if err != nil {
		return nil, err
	}
	return openRun(z, "")
}

func openDir(dir string) (*Run, error) {
	r, err := openRun(dirSource(dir), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s, so it is no bundle", dir, manifestFile)
	}
	return r, err
}

// isZip looks at the content, not at the name.
func isZip(path string, info fs.FileInfo) (bool, error) {
	if !info.Mode().IsRegular() {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var magic [4]byte
	n, _ := f.Read(magic[:])
	return n == 4 && (string(magic[:]) == "PK\x03\x04" || string(magic[:]) == "PK\x05\x06"), nil
}

// unknownError says that no run of the store has a name.
type unknownError struct {
	name  string
	dir   string
	known []string // newest first, at most shown
}

// noneYet ends what is said of a store without runs.
const noneYet = " holds no run yet; oloproof run makes one, and keeps it beside the suite that --config names"

func (e *unknownError) Error() string {
	if len(e.known) == 0 {
		return fmt.Sprintf("no run is named %q: %s%s", e.name, e.dir, noneYet)
	}
	return fmt.Sprintf("no run is named %q; the newest in %s:%s\nA name is an id, its start or end, latest, latest~1, or the path of a bundle",
		e.name, e.dir, lines(e.known))
}

func lines(ids []string) string { return "\n  " + strings.Join(ids, "\n  ") }

// storedID returns the id of the run in the store that a name stands for.
func (s *Store) storedID(name string) (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	if back, ok := parseLatest(name); ok {
		return s.latest(ids, name, back)
	}
	matches := match(ids, name)
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		what := ""
		if len(matches) > shown {
			what = fmt.Sprintf("\n  and %d older ones", len(matches)-shown)
			matches = matches[:shown]
		}
		return "", fmt.Errorf("%q stands for more than one run, give more of the id:%s%s", name, lines(matches), what)
	}
	return "", &unknownError{name: name, dir: s.dir, known: ids[:min(shown, len(ids))]}
}

// latest returns the id of the ordinary run that so many lie before. One that
// cannot be read is taken for ordinary, so that whoever opens it learns why.
func (s *Store) latest(ids []string, name string, back int) (string, error) {
	ordinary := 0
	for _, id := range ids {
		if r, err := s.openStored(id); err == nil {
			child := r.Manifest.Child != nil
			r.Close()
			if child {
				continue
			}
		}
		if ordinary == back {
			return id, nil
		}
		ordinary++
	}
	if ordinary == 0 {
		return "", fmt.Errorf("there is no %s: %s%s", name, s.dir, noneYet)
	}
	if ordinary == 1 {
		return "", fmt.Errorf("%s holds 1 run, so there is no %s", s.dir, name)
	}
	return "", fmt.Errorf("%s holds %d runs, so there is no %s", s.dir, ordinary, name)
}

// match returns the ids that begin or end with what a name says.
func match(ids []string, name string) []string {
	digits := strings.ToUpper(name)
	digits, prefixed := strings.CutPrefix(digits, strings.ToUpper(idPrefix))
	if digits == "" || !isCrockford(digits) {
		return nil
	}
	var all []string
	for _, id := range ids {
		ulid := id[len(idPrefix):]
		if strings.HasPrefix(ulid, digits) || !prefixed && strings.HasSuffix(ulid, digits) {
			all = append(all, id)
		}
	}
	return all
}

// parseLatest reads latest and latest~N.
func parseLatest(name string) (back int, ok bool) {
	rest, ok := strings.CutPrefix(strings.ToLower(name), "latest")
	if !ok || rest == "" {
		return 0, ok
	}
	number, ok := strings.CutPrefix(rest, "~")
	back, err := strconv.Atoi(number)
	return back, ok && err == nil && back >= 0 && number[0] != '+' && number[0] != '-'
}

// ids returns the ids of the runs, newest first. What else lies among them is
// passed over.
func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, runsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if validID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// List returns the newest runs, at most limit of them, or all for 0; those that
// diagnoses made are passed over. It reads their manifests only; those that
// cannot be read are returned as errors.
func (s *Store) List(limit int) (runs []*Run, damaged []error, err error) {
	return s.list(limit, func(m *evidence.Manifest) bool { return m.Child == nil })
}

// ListAll is [Store.List] with the runs that diagnoses made.
func (s *Store) ListAll(limit int) (runs []*Run, damaged []error, err error) {
	return s.list(limit, func(*evidence.Manifest) bool { return true })
}

func (s *Store) list(limit int, wanted func(*evidence.Manifest) bool) (runs []*Run, damaged []error, err error) {
	ids, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if limit > 0 && len(runs) == limit {
			break
		}
		r, err := s.openStored(id)
		switch {
		case err != nil:
			damaged = append(damaged, err)
		case !wanted(r.Manifest):
			r.Close()
		default:
			runs = append(runs, r)
		}
	}
	return runs, damaged, nil
}
