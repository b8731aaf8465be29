package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/examples"
)

func TestListNamesEveryDirectory(t *testing.T) {
	var listed []string
	for _, e := range examples.List() {
		listed = append(listed, e.Name)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(listed, e.Name()) {
			t.Errorf("directory %s is not listed", e.Name())
		}
	}
}

// What is copied out of the binary is the project of the repository, dot files
// of runs made in it apart.
func TestCopy(t *testing.T) {
	for _, e := range examples.List() {
		project, ok := examples.Open(e.Name)
		if !ok {
			t.Fatalf("%s is listed and cannot be opened", e.Name)
		}
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, project); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"README.md", "oloproof.yaml", "release.yaml", "compare.yaml"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		err := filepath.WalkDir(e.Name, func(path string, d fs.DirEntry, err error) error {
			switch hidden := strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__"; {
			case err != nil:
				return err
			case d.IsDir() && hidden:
				return filepath.SkipDir
			case d.IsDir() || hidden:
				return nil
			}
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(e.Name, path)
			if err != nil {
				return err
			}
			got, err := os.ReadFile(filepath.Join(dir, rel))
			if err == nil && string(got) != string(want) {
				t.Errorf("%s: the copy of %s differs", e.Name, rel)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestOpenUnknown(t *testing.T) {
	for _, name := range []string{"nope", "", ".", "../examples", "blackbox_rag/data"} {
		if _, ok := examples.Open(name); ok {
			t.Errorf("there is an example %q", name)
		}
	}
}
