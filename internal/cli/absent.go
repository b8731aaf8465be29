package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// absent reports whether a file that the user named is not there.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// noSuite is the error for a suite that is not there.
func noSuite(path string) error {
	if path == "" {
		return problem.Errorf("--config is empty: name the suite's file")
	}
	if above := higher(path); above != "" {
		return problem.Errorf("there is no suite %s here; did you mean --config %s?", path, shellWord(above))
	}
	if near := meant(path); near != "" {
		return problem.Errorf("there is no suite %s%s (--config names a suite, oloproof init writes one)", path, near)
	}
	return problem.Errorf("there is no suite %s: oloproof init writes one, --config names another", path)
}

// higher looks for a file in the directories above the present one; "" when none
// has it.
func higher(name string) string {
	here, err := filepath.Abs(".")
	if err != nil || filepath.Base(name) != name {
		return ""
	}
	for up := ""; filepath.Dir(here) != here; here = filepath.Dir(here) {
		up += "../"
		if !absent(up + name) {
			return up + name
		}
	}
	return ""
}

// noPolicy is the error for a policy that is not there; config is the suite,
// beside which it may lie.
func noPolicy(path, config string) error {
	if beside := filepath.Join(filepath.Dir(config), path); !filepath.IsAbs(path) && !absent(beside) {
		return problem.Errorf("there is no policy %s; did you mean %s, beside the suite? The path starts at the present directory", path, filepath.ToSlash(beside))
	}
	return problem.Errorf("there is no policy %s%s", path, meant(path))
}

// meant asks for the YAML file of the directory whose name is nearest, as the
// end of a sentence; "" when there is none.
func meant(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, e.Name())
		}
	}
	near := problem.Nearest(filepath.Base(path), names)
	if near == "" {
		return ""
	}
	return "; did you mean " + filepath.ToSlash(filepath.Join(filepath.Dir(path), near)) + "?"
}
