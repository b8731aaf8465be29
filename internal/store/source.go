package store

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Limits on what is read from a bundle that someone else may have made.
const (
	maxZipEntries  = 1_000
	maxInflated    = 4 << 30  // bytes of one file of a zip
	ratioFrom      = 16 << 20 // inflated bytes from which the ratio counts
	maxRatio       = 200      // inflated to packed bytes
	maxManifest    = 16 << 20 // bytes of run.json
	maxDocument    = 64 << 20 // bytes of gate.json
	maxOutcomeLine = 4 << 20  // bytes of one line of judgments.jsonl
	maxMetrics     = 1_000    // of a run
	maxSlices      = 256      // of a run; every case has room for a value of each
)

// bundleFiles are the files of a bundle. Nothing else of one is read or written.
var bundleFiles = [...]string{manifestFile, judgmentsFile, casesFile, documentFile, signoffsFile}

func isBundleFile(name string) bool {
	for _, f := range bundleFiles {
		if f == name {
			return true
		}
	}
	return false
}

// source is where the files of a run are read from.
type source interface {
	// open opens one of bundleFiles. The error is fs.ErrNotExist when there is
	// no such file.
	open(name string) (io.ReadCloser, error)
	// missing reports whether there is no such file.
	missing(name string) bool
	// place names the file for messages.
	place(name string) string
	io.Closer
}

// dirSource is a directory.
type dirSource string

func (d dirSource) open(name string) (io.ReadCloser, error) {
	path := filepath.Join(string(d), name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.Open(path)
}

func (d dirSource) missing(name string) bool {
	_, err := os.Stat(filepath.Join(string(d), name))
	return errors.Is(err, fs.ErrNotExist)
}

func (d dirSource) place(name string) string { return filepath.Join(string(d), name) }

func (d dirSource) Close() error { return nil }

// zipSource is a zip of a bundle. Its entries are looked up by name and never
// extracted.
type zipSource struct {
	path  string
	zip   *zip.ReadCloser
	files map[string]*zip.File // by name in bundleFiles
}

// openZip checks the table of a zip and finds the files of the bundle: at its
// top, or all in one directory.
func openZip(path string) (*zipSource, error) {
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s is cut off, or not a zip: fetch it again", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &zipSource{path: path, zip: z}
	if s.files, err = findBundle(z.File); err != nil {
		z.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// findBundle returns the files of the one bundle among the entries of a zip.
func findBundle(entries []*zip.File) (map[string]*zip.File, error) {
	if len(entries) > maxZipEntries {
		return nil, fmt.Errorf("the zip has %d entries, at most %d are read", len(entries), maxZipEntries)
	}
	seen := map[string]bool{}
	bundles := map[string]map[string]*zip.File{} // by directory
	for _, e := range entries {
		if err := checkEntry(e, seen); err != nil {
			return nil, err
		}
		dir, name := "", e.Name
		if i := strings.LastIndexByte(e.Name, '/'); i >= 0 {
			dir, name = e.Name[:i], e.Name[i+1:]
		}
		if !isBundleFile(name) || strings.Contains(dir, "/") {
			continue
		}
		if bundles[dir] == nil {
			bundles[dir] = map[string]*zip.File{}
		}
		bundles[dir][name] = e
	}
	var found map[string]*zip.File
	for _, files := range bundles {
		if files[manifestFile] == nil {
			continue
		}
		if found != nil {
			return nil, errors.New("the zip holds more than one run.json: name a zip of one bundle")
		}
		found = files
	}
	if found == nil {
		return nil, errors.New("the zip has no run.json at its top or in one directory: it is no bundle")
	}
	return found, nil
}

// checkEntry refuses what no honest zip of a bundle has.
func checkEntry(e *zip.File, seen map[string]bool) error {
	name := e.Name
	switch mode := e.Mode(); {
	case seen[name]:
		return fmt.Errorf("the zip has the entry %q twice", name)
	case strings.ContainsAny(name, "\\:\x00") || !fs.ValidPath(strings.TrimSuffix(name, "/")) || name == "./":
		return fmt.Errorf("the zip has the entry %q, whose path may lead outside", name)
	case !mode.IsRegular() && !mode.IsDir():
		return fmt.Errorf("the zip has the entry %q, which is a link or no regular file", name)
	case isBundleFile(name[strings.LastIndexByte(name, '/')+1:]) && e.UncompressedSize64 > maxInflated:
		return fmt.Errorf("the zip has the entry %q of %d bytes, at most %d are read", name, e.UncompressedSize64, int64(maxInflated))
	}
	seen[name] = true
	return nil
}

func (s *zipSource) open(name string) (io.ReadCloser, error) {
	e := s.files[name]
	if e == nil {
		return nil, &fs.PathError{Op: "open", Path: s.place(name), Err: fs.ErrNotExist}
	}
	r, err := e.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.place(name), err)
	}
	return &inflated{ReadCloser: r, place: s.place(name), limit: inflateLimit(e.CompressedSize64)}, nil
}

// inflateLimit returns how many bytes an entry may come to. Sizes that a zip
// declares are its maker's text, so the bytes themselves are counted too.
func inflateLimit(packed uint64) int64 {
	if packed > math.MaxInt64/maxRatio {
		return maxInflated
	}
	return min(maxInflated, max(ratioFrom, int64(packed)*maxRatio))
}

func (s *zipSource) missing(name string) bool { return s.files[name] == nil }

func (s *zipSource) place(name string) string { return s.path + ":" + name }

func (s *zipSource) Close() error { return s.zip.Close() }

// inflated bounds what comes out of a zip.
type inflated struct {
	io.ReadCloser
	place string
	limit int64
}

func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.limit -= int64(n); r.limit < 0 {
		return 0, fmt.Errorf("%s inflates to more than is read from a zip", r.place)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", r.place, err)
	}
	return n, err
}

// readSmall reads a whole file of at most limit bytes.
func readSmall(s source, name string, limit int64) ([]byte, error) {
	b, whole, err := readStart(s, name, limit)
	if err == nil && !whole {
		return nil, tooLarge(s, name, limit)
	}
	return b, err
}

// readStart reads a file up to limit bytes and reports whether that is all.
func readStart(s source, name string, limit int64) (b []byte, whole bool, err error) {
	r, err := s.open(name)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	if b, err = io.ReadAll(io.LimitReader(r, limit+1)); err != nil {
		return nil, false, err
	}
	return b, int64(len(b)) <= limit, nil
}

func tooLarge(s source, name string, limit int64) error {
	return fmt.Errorf("%s is larger than %d bytes", s.place(name), limit)
}
