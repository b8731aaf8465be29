package github

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

// Names in the output directory.
const (
	manifestFile  = "run.json"
	judgmentsFile = "judgments.jsonl"
	casesFile     = "cases.jsonl"
	documentFile  = "gate.json"
	HTMLFile      = "report.html"
	JUnitFile     = "junit.xml"
	CommentFile   = "comment.md" // the comment's text, for other forges
)

// ownFiles are all files of the output directory.
func ownFiles() []string {
	return []string{manifestFile, judgmentsFile, casesFile, documentFile, HTMLFile, JUnitFile, CommentFile}
}

// Workspace is the directory that a job works in. Nothing is written outside of
// it, and what a container writes as root belongs to the workspace's owner.
type Workspace struct {
	dir   string
	root  *os.Root
	owner owner
}

// owner is whom new files are given to.
type owner struct {
	uid, gid int
	change   bool // false where that is not needed, or not possible
}

// OpenWorkspace opens a directory. Close it after use.
func OpenWorkspace(dir string) (*Workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the workspace: %w", err), root.Close())
	}
	return &Workspace{dir: dir, root: root, owner: ownerOf(info)}, nil
}

// Close releases the workspace.
func (w *Workspace) Close() error { return w.root.Close() }

// Dir returns the workspace's absolute path.
func (w *Workspace) Dir() string { return w.dir }

// Rel returns a path as it is named from the workspace, with slashes. A
// relative path starts in the directory base of the workspace. It is an error
// when the path leaves the workspace.
func (w *Workspace) Rel(base, name string) (string, error) {
	rel := filepath.Join(filepath.FromSlash(base), filepath.FromSlash(name))
	if filepath.IsAbs(name) {
		var err error
		if rel, err = filepath.Rel(w.dir, name); err != nil {
			rel = ".."
		}
	}
	if !filepath.IsLocal(rel) {
		hint := ""
		if filepath.IsAbs(name) {
			hint = ": name it from the workspace (a path of the runner, such as ${{ github.workspace }}, does not exist in a container)"
		}
		return "", fmt.Errorf("%s lies outside of the workspace %s%s", name, w.dir, hint)
	}
	return filepath.ToSlash(filepath.Clean(rel)), nil
}

// Read reads a file of at most limit bytes, named from the workspace. A link that
// leads outside of it, and anything but a regular file, is refused.
func (w *Workspace) Read(name string, limit int64) ([]byte, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return b, err
}

// CheckOutputDir refuses what upload-artifact would leave out or what holds
// more than we write: rel is a path from the workspace.
func CheckOutputDir(rel string) error {
	if rel == "." {
		return errors.New("it is the workspace itself, all of which would be uploaded: name a directory in it, such as " + DefaultOutputDir)
	}
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(part, ".") {
			return fmt.Errorf("it is %s, and upload-artifact leaves out what starts with a dot: name another directory, such as %s", rel, DefaultOutputDir)
		}
	}
	return nil
}

// outputDir is the directory of results.
type outputDir struct {
	root  *os.Root
	owner owner
}

// output opens the directory rel, which it creates, and removes from it the
// files of an earlier run: what the repository put there must not pass for
// ours. Symbolic links are refused: a change under review may bring one.
func (w *Workspace) output(rel string) (*outputDir, error) {
	if err := CheckOutputDir(rel); err != nil {
		return nil, err
	}
	at := ""
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		if err := w.directory(at); err != nil {
			return nil, err
		}
	}
	root, err := w.root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	o := &outputDir{root: root, owner: w.owner}
	if err := o.clear(rel); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return o, nil
}

// clear removes the files of an earlier run. A directory that holds anything
// else, such as a project whose data set is called cases.jsonl too, is refused:
// it would be uploaded, or lost.
func (o *outputDir) clear(rel string) error {
	entries, err := fs.ReadDir(o.root.FS(), ".")
	if err != nil || len(entries) == 0 {
		return err
	}
	ours := false
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), temporarySuffix)
		if !slices.Contains(ownFiles(), name) || e.IsDir() {
			return fmt.Errorf("%s holds %s, which is none of our files: name a directory of its own as output-dir", rel, e.Name())
		}
		ours = ours || name == manifestFile || name == judgmentsFile || name == documentFile || name == CommentFile
	}
	if !ours {
		return fmt.Errorf("%s holds %s and no earlier result: name a directory of its own as output-dir", rel, entries[0].Name())
	}
	for _, e := range entries {
		if err := o.root.Remove(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

const temporarySuffix = ".tmp"

// directory makes sure that rel is a directory.
func (w *Workspace) directory(rel string) error {
	err := w.root.Mkdir(rel, 0o755)
	if err == nil {
		if err := w.root.Chmod(rel, 0o755); err != nil { // whatever the umask
			return err
		}
		return w.owner.give(w.root, rel)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := w.root.Lstat(rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory: remove it, or name another output-dir", rel)
	}
	return nil
}

// give makes a file of root belong to the owner.
func (o owner) give(root *os.Root, name string) error {
	if !o.change {
		return nil
	}
	return root.Lchown(name, o.uid, o.gid)
}

// Give makes a file or directory of the workspace, with all below it, belong to
// the workspace's owner, when we are root and the owner is not: what is left
// behind, such as the store of runs, would stop the next job's clean-up on a
// runner that is kept. A path that does not exist is none to give.
func (w *Workspace) Give(rel string) error {
	if !w.owner.change {
		return nil
	}
	err := fs.WalkDir(w.root.FS(), rel, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return w.owner.give(w.root, name)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (o *outputDir) close() error { return o.root.Close() }

// write writes a file under a temporary name and renames it.
func (o *outputDir) write(name string, content func(io.Writer) error) error {
	temporary := name + temporarySuffix
	f, err := o.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	err = content(b)
	err = errors.Join(err, b.Flush(), f.Close())
	if err == nil {
		err = errors.Join(o.root.Chmod(temporary, 0o644), o.owner.give(o.root, temporary))
	}
	if err == nil {
		err = o.root.Rename(temporary, name)
	}
	if err != nil {
		o.root.Remove(temporary)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// rendered writes a file that a renderer makes, redacted as a whole.
func (o *outputDir) rendered(name string, secrets *redact.Redactor, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return o.write(name, func(w io.Writer) error {
		_, err := w.Write(secrets.Bytes(b.Bytes()))
		return err
	})
}

// bundle writes the files of a run. cases.jsonl, which holds the questions and
// answers, is written only with content. The manifest comes last; when a secret
// had to be taken out of a file, it states the new digest.
func (o *outputDir) bundle(from fs.FS, content bool, secrets *redact.Redactor) error {
	raw, err := fs.ReadFile(from, manifestFile)
	if err != nil {
		return err
	}
	var changed []evidence.File
	for _, name := range []string{judgmentsFile, casesFile} {
		if name == casesFile && !content {
			continue
		}
		file, redacted, err := o.copyLines(from, name, secrets)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an unfinished run, or one that was kept without content
		}
		if err != nil {
			return err
		}
		if redacted {
			changed = append(changed, file)
		}
	}
	if raw, err = withDigests(raw, changed); err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	raw = secrets.JSON(raw)
	return o.write(manifestFile, func(w io.Writer) error {
		_, err := w.Write(append(bytes.TrimSpace(raw), '\n'))
		return err
	})
}

// copyLines copies a file of JSON lines without secrets. It describes the copy
// and reports whether it differs.
func (o *outputDir) copyLines(from fs.FS, name string, secrets *redact.Redactor) (f evidence.File, redacted bool, err error) {
	in, err := from.Open(name)
	if err != nil {
		return f, false, err
	}
	defer in.Close()
	sum := sha256.New()
	f.Name = name
	err = o.write(name, func(w io.Writer) error {
		lines := bufio.NewReaderSize(in, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			clean := line
			if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
				if safe := secrets.JSON(text); !bytes.Equal(safe, text) {
					redacted, clean = true, append(slices.Clone(safe), '\n')
				}
			}
			sum.Write(clean)
			f.Bytes += int64(len(clean))
			if _, err := w.Write(clean); err != nil {
				return err
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, redacted, err
}

// withDigests replaces the entries of a manifest's files that changed.
func withDigests(raw []byte, changed []evidence.File) ([]byte, error) {
	if len(changed) == 0 {
		return raw, nil
	}
	var m evidence.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	for _, c := range changed {
		for i := range m.Files {
			if m.Files[i].Name == c.Name {
				m.Files[i] = c
			}
		}
	}
	return json.Marshal(&m, json.Deterministic(true), jsontext.WithIndent("  "))
}
