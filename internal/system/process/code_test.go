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
