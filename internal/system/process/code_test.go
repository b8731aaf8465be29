package process

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCode(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"app.py", "lib/a.py", "lib/deep/b.py", "lib/deep/c.txt", "lib/__pycache__/a.pyc", "node_modules/x/y.js", ".git/config", "data/corpus.jsonl"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ paths, want string }{
		{"app.py", "app.py"},
		{"./app.py app.py", "app.py"},
		{"lib", "lib/a.py lib/deep/b.py lib/deep/c.txt"},
		{"lib/*.py", "lib/a.py"},
		{"lib/**/*.py", "lib/a.py lib/deep/b.py"},
		{"**/*.py", "app.py lib/a.py lib/deep/b.py"},
		{"*", "app.py"},
		{".", "app.py data/corpus.jsonl lib/a.py lib/deep/b.py lib/deep/c.txt"},
		{"lib/d[e]ep/? lib/deep/b.??", ""},
	} {
		files, err := Code(dir, strings.Fields(tt.paths))
		if tt.want == "" {
			if err == nil || err.Error() != "code_paths: lib/d[e]ep/?: matches no file" {
				t.Errorf("%s: %v", tt.paths, err)
			}
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(files)), " "); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.paths, got, err, tt.want)
		}
	}
	for path, want := range map[string]string{
		"absent.py": "code_paths: absent.py: does not exist (paths start at the suite's directory)",
		"nothing/*": "code_paths: nothing/*: no such file or directory",
		"[":         "code_paths: [: is no pattern that can be read: * and ? stand for characters, [ab] for one of them, ** for directories",
	} {
		if _, err := Code(dir, []string{path}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// A link is what it leads to, a directory as well as a file, and one that leads in a
// circle is gone round once.
func TestCodeBehindLinks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "project")
	for name, text := range map[string]string{"project/lib/a.py": "a", "elsewhere/b.py": "b", "elsewhere/deep/c.py": "c", "project/node_modules/x.js": "x"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip(err)
		}
	}
	link("../../elsewhere", "lib/linked")
	link("..", "lib/linked/deep/circle")
	link("../lib/a.py", "lib/same.py")
	link("../node_modules", "lib/node_modules")
	for entry, want := range map[string]string{
		"lib":               "lib/a.py lib/linked/b.py lib/linked/deep/c.py lib/same.py",
		"lib/linked":        "lib/linked/b.py lib/linked/deep/c.py",
		"lib/linked/*":      "lib/linked/b.py",
		"lib/**/deep/*":     "lib/linked/deep/c.py",
		"lib/*/b.py":        "lib/linked/b.py",
		"../elsewhere/b.py": "../elsewhere/b.py",
	} {
		files, err := Code(dir, []string{entry})
		if got := strings.Join(slices.Sorted(maps.Keys(files)), " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", entry, got, err, want)
		}
	}
	link("nowhere", "lib/linked/gone.py")
	link("lib/.", "lib/linked/other")
	for entry, want := range map[string]string{
		"lib":       "code_paths: lib: linked/gone.py: no such file or directory",
		"/dev/null": "code_paths: /dev/null: is neither a file nor a directory",
	} {
		if _, err := Code(dir, []string{entry}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
}
