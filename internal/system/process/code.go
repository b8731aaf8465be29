package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what code_paths may name, so that a directory of data or an
// environment that was named by mistake is told and not read for minutes.
const (
	maxFiles = 20_000
	maxBytes = 4 << 30
)

// Code returns the SHA-256 of every file that paths name, by its path from dir
// with slashes. A path is a file, a directory, which stands for all files below
// it, or a pattern of package path with ** for any directories. Version control,
// caches and what Python compiles are left out of directories and patterns.
func Code(dir string, paths []string) (map[string]string, error) {
	c := code{dir: dir, files: map[string]string{}}
	for _, name := range paths {
		if err := c.add(filepath.ToSlash(name)); err != nil {
			return nil, err
		}
	}
	return c.files, nil
}

type code struct {
	dir   string
	files map[string]string
	bytes int64
}

// PathError says which entry of code_paths is wrong.
type PathError struct {
	Path string // the entry
	Err  error
}

// Error implements error.
func (e *PathError) Error() string { return fmt.Sprintf("code_paths: %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

func (c *code) add(name string) error {
	fail := func(err error) error { return &PathError{name, err} }
	if strings.ContainsAny(name, "*?[") {
		return c.match(name)
	}
	full := c.full(name)
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(errors.New("does not exist (paths start at the suite's directory)"))
	case err != nil:
		return fail(plain(err))
	case info.IsDir():
		n, err := c.below(name, func(string) bool { return true })
		if err == nil && n == 0 {
			err = errors.New("holds no file")
		}
		if err != nil {
			return fail(err)
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("is neither a file nor a directory"))
	}
	if err := c.hash(path.Clean(name), full); err != nil {
		return fail(plain(err))
	}
	return nil
}

func (c *code) full(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, filepath.FromSlash(name))
}

// match adds the files that a pattern names.
func (c *code) match(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return &PathError{pattern, errors.New("is no pattern that can be read: * and ? stand for characters, [ab] for one of them, ** for directories")}
	}
	root, rest := ".", path.Clean(pattern)
	for { // the directories before the first special character
		first, more, ok := strings.Cut(rest, "/")
		if !ok || strings.ContainsAny(first, "*?[") {
			break
		}
		root, rest = path.Join(root, first), more
		if first == "" {
			root = "/"
		}
	}
	parts := strings.Split(rest, "/")
	n, err := c.below(root, func(rel string) bool { return matches(parts, strings.Split(rel, "/")) })
	if err == nil && n == 0 {
		err = errors.New("matches no file")
	}
	if err != nil {
		return &PathError{pattern, err}
	}
	return nil
}

// matches reports whether a path fits a pattern, both in parts.
func matches(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == "**":
		return matches(pattern[1:], name) || len(name) > 0 && matches(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return err == nil && ok && matches(pattern[1:], name[1:])
}

// skipped names directories that hold no code of a project.
var skipped = []string{".git", ".hg", ".svn", ".oloproof", "__pycache__", ".venv", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox"}

// below adds the files below a directory that want says yes to, by their path
// from it. A link to a directory is one, unless it leads to where it lies in.
func (c *code) below(name string, want func(rel string) bool) (int, error) {
	root, n := c.full(name), 0
	var walk func(rel string, above []string) error
	walk = func(rel string, above []string) error {
		full := filepath.Join(root, filepath.FromSlash(rel))
		real, err := filepath.EvalSymlinks(full)
		if err != nil || slices.Contains(above, real) {
			return below(rel, err)
		}
		entries, err := os.ReadDir(full)
		if err != nil {
			return below(rel, err)
		}
		above = append(above[:len(above):len(above)], real)
		for _, entry := range entries {
			rel := path.Join(rel, entry.Name())
			full := filepath.Join(full, entry.Name())
			info, err := os.Stat(full)
			switch {
			case slices.Contains(skipped, entry.Name()) && (err != nil || info.IsDir()), strings.HasSuffix(rel, ".pyc"):
			case err == nil && info.IsDir():
				if err := walk(rel, above); err != nil {
					return err
				}
			case !want(rel):
			case err != nil: // a link that leads nowhere
				return below(rel, err)
			case info.Mode().IsRegular(): // a socket is no code
				n++
				if err := c.hash(path.Join(name, rel), full); err != nil {
					return below(rel, err)
				}
			}
		}
		return nil
	}
	return n, walk("", nil)
}

// below names the file of an error that lies below the entry.
func below(rel string, err error) error {
	var on *fs.PathError
	if rel != "" && errors.As(err, &on) {
		return fmt.Errorf("%s: %w", rel, on.Err)
	}
	return plain(err)
}

func (c *code) hash(name, full string) error {
	if _, ok := c.files[name]; ok {
		return nil
	}
	if len(c.files) >= maxFiles {
		return fmt.Errorf("names more than %d files: name the code only", maxFiles)
	}
	sum, n, err := sum(full)
	if err != nil {
		return err
	}
	if c.bytes += n; c.bytes > maxBytes {
		return fmt.Errorf("names more than %d bytes: name the code only", int64(maxBytes))
	}
	c.files[name] = sum
	return nil
}

func sum(name string) (string, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// plain drops the words around an error that the file's name says already.
func plain(err error) error {
	var on *fs.PathError
	if errors.As(err, &on) {
		return on.Err
	}
	return err
}

// Executable returns the SHA-256 of the file that a command starts in a directory.
func Executable(command, dir string) (string, error) {
	if filepath.Base(command) != command { // else it is looked for on PATH
		var err error
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		if command, err = filepath.Abs(command); err != nil { // ./program is no name on PATH
			return "", err
		}
	}
	file, err := exec.LookPath(command)
	if err != nil {
		return "", err
	}
	digest, _, err := sum(file)
	return digest, err
}
