package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

const (
	tempSuffix  = ".tmp"
	bufferBytes = 256 << 10
)

// replaceFile writes a file under a temporary name in its directory and renames
// it, so that a reader sees the old content or the new one.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// createTemp creates a file beside path with a name of its own. os.CreateTemp
// would make it unreadable for other users, such as the next step of a job that
// runs outside the container.
func createTemp(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	for n := 0; ; n++ {
		temp := filepath.Join(dir, fmt.Sprintf(".%s.%d.%d%s", name, os.Getpid(), n, tempSuffix))
		f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil || !errors.Is(err, fs.ErrExist) || n == 10_000 {
			return f, err
		}
	}
}

// writeManifest replaces run.json of a directory.
func writeManifest(dir string, m *evidence.Manifest) error {
	return replaceFile(filepath.Join(dir, manifestFile), func(w io.Writer) error {
		if err := json.MarshalWrite(w, m, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	})
}

// digestFile is a file that is written under a temporary name, with its digest.
type digestFile struct {
	path string // where it will lie
	f    *os.File
	b    *bufio.Writer
	sum  hash.Hash
	n    int64
}

// createDigestFile starts the file that will be path. What an earlier attempt
// left under the temporary name is overwritten.
func createDigestFile(path string) (*digestFile, error) {
	f, err := os.OpenFile(path+tempSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	d := &digestFile{path: path, f: f, sum: sha256.New()}
	d.b = bufio.NewWriterSize(teeHash{f, d.sum}, bufferBytes)
	return d, nil
}

// teeHash writes to a file and hashes at the same time.
type teeHash struct {
	f   *os.File
	sum hash.Hash
}

func (t teeHash) Write(p []byte) (int, error) {
	hashed := make(chan struct{})
	go func() {
		t.sum.Write(p) // never fails
		close(hashed)
	}()
	n, err := t.f.Write(p)
	<-hashed
	return n, err
}

// writeLine writes b and a newline.
func (d *digestFile) writeLine(b []byte) error {
	d.b.Write(b) // a bufio.Writer keeps its first error
	d.n += int64(len(b)) + 1
	return d.b.WriteByte('\n')
}

// file describes the content for a manifest.
func (d *digestFile) file() evidence.File {
	return evidence.File{Name: filepath.Base(d.path), SHA256: hex.EncodeToString(d.sum.Sum(nil)), Bytes: d.n}
}

// staged is files that wait, whole, for their names: what can fail for lack of
// room or rights has happened by then.
type staged []*digestFile

// create starts one more file.
func (s *staged) create(path string) (*digestFile, error) {
	d, err := createDigestFile(path)
	if err == nil {
		*s = append(*s, d)
	}
	return d, err
}

// drop leaves a file out.
func (s *staged) drop(d *digestFile) {
	d.f.Close()
	os.Remove(d.f.Name())
	*s = slices.DeleteFunc(*s, func(x *digestFile) bool { return x == d })
}

// close ends the writing of every file.
func (s staged) close() (err error) {
	for _, d := range s {
		err = errors.Join(err, d.b.Flush(), d.f.Close())
	}
	return err
}

// publish gives the closed files their names.
func (s staged) publish() error {
	for _, d := range s {
		if err := os.Rename(d.f.Name(), d.path); err != nil {
			s.discard()
			return err
		}
	}
	return nil
}

// discard removes the files that still have their temporary names.
func (s staged) discard() {
	for _, d := range s {
		d.f.Close()
		os.Remove(d.f.Name())
	}
}

// files describes the files for a manifest.
func (s staged) files() []evidence.File {
	all := make([]evidence.File, len(s))
	for i, d := range s {
		all[i] = d.file()
	}
	return all
}
