package process

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// The kinds of Python code that are called.
const (
	PythonCallable = "callable" // a function that answers cases
	PythonRAG      = "rag"      // a class with retrieve and generate
	PythonReranker = "rerank"   // a function that reorders candidates
)

//go:embed python/*.py python/oloproof/*.py
var pythonFiles embed.FS

// Python is an interpreter, with the files that call Python code.
type Python struct {
	Interpreter string // its path
	dir         string // of the files; removed by Close
}

// FindPython finds the interpreter, named or the usual one, and puts the files
// into a temporary directory. Close removes them.
func FindPython(named string) (*Python, error) {
	p := &Python{}
	names := []string{"python3", "python"}
	if named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil || errors.Is(err, exec.ErrDot) {
			p.Interpreter = path
			break
		}
	}
	switch {
	case p.Interpreter == "" && named != "":
		return nil, fmt.Errorf("no Python: OLOPROOF_PYTHON names %s, which is no program that can be run", named)
	case p.Interpreter == "":
		return nil, errors.New("no Python: neither python3 nor python is on PATH. Install Python 3.9 or later or name one in OLOPROOF_PYTHON; code in another language is a program (system.command), and a service an endpoint (system.http)")
	}
	var err error
	if p.Interpreter, err = filepath.Abs(p.Interpreter); err != nil { // it is started in the project's directory
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "oloproof-python-"); err != nil {
		return nil, err
	}
	if err := p.unpack(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Python) unpack() error {
	return fs.WalkDir(pythonFiles, "python", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("python", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		target := filepath.Join(p.dir, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := pythonFiles.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}

// Command is the command that calls the code of a kind that target names as
// MODULE:NAME, in the directory project. versioned says that the suite declares a
// version, which code that holds more than its text needs.
func (p *Python) Command(kind, target, project string, concurrency int, versioned bool) []string {
	word := "unversioned"
	if versioned {
		word = "versioned"
	}
	return []string{p.Interpreter, filepath.Join(p.dir, "oloproof_start.py"), kind, target, project, strconv.Itoa(max(1, concurrency)), word}
}

// Called names the interpreter to people.
func (p *Python) Called() string { return "Python (" + p.Interpreter + ")" }

// Close removes the files.
func (p *Python) Close() { _ = os.RemoveAll(p.dir) }
