package github

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/github/githubtest"
)

// TestFile: what lies at a path at a commit.
func TestFile(t *testing.T) {
	b := newBench(t, nil)
	b.commits("tip")
	large := []byte(strings.Repeat("x", 2000))
	files := map[string]githubtest.File{
		"base:release.yaml": {Content: []byte("version: 1\n")}, "tip:release.yaml": {Content: []byte("version: 1 # changed\n")},
		"base:a b/ü#?%.yaml": {Content: []byte("odd")}, "base:empty": {}, "base:large": {Content: large},
		"base:dir": {Kind: "dir"}, "base:link": {Kind: "symlink"}, "base:sub": {Kind: "submodule"},
		"base:cases.jsonl": {Content: []byte(lfsPointer + "\noid sha256:00\n")},
		"base:data.json":   {Content: []byte(`[{"type":"file"}]`)},
	}
	b.Do(func(w *githubtest.World) { w.Files = files })
	l := b.lookup("push", nil)
	at := githubtest.SHA("base")
	for path, want := range map[string]string{"release.yaml": "version: 1\n", "a b/ü#?%.yaml": "odd", "empty": "", "data.json": `[{"type":"file"}]`} {
		if got, err := l.File(t.Context(), at, path, 1000); err != nil || string(got) != want {
			t.Errorf("File(%q) = %q, %v", path, got, err)
		}
	}
	if got, err := l.File(t.Context(), githubtest.SHA("tip"), "release.yaml", 1000); err != nil || !strings.Contains(string(got), "changed") {
		t.Errorf("at another commit: %q, %v", got, err)
	}
	for _, path := range []string{"dir", "link", "sub", "cases.jsonl"} {
		if got, err := l.File(t.Context(), at, path, 1000); !errors.Is(err, ErrNotAFile) {
			t.Errorf("File(%q) = %q, %v, want ErrNotAFile", path, got, err)
		}
	}
	if got, err := l.File(t.Context(), at, "large", 1999); err == nil || got != nil {
		t.Errorf("a file over the limit gives %d bytes", len(got))
	}
	if got, err := l.File(t.Context(), at, "large", 2000); err != nil || len(got) != 2000 {
		t.Errorf("a file at the limit: %d bytes, %v", len(got), err)
	}
	if _, err := l.File(t.Context(), at, "gone.yaml", 1000); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	before := b.client.Requests()
	for _, path := range []string{"", ".", "..", "../x", "a/../b", "/etc/passwd", "a//b", "./a", `a\b`, "a\x00b", "a/"} {
		if got, err := l.File(t.Context(), at, path, 1000); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%q) = %q, %v", path, got, err)
		}
	}
	if _, err := l.File(t.Context(), "main", "release.yaml", 1000); err == nil {
		t.Error("a branch is taken for a commit")
	}
	if n := b.client.Requests(); n != before {
		t.Errorf("%d requests for paths that are none", n-before)
	}
}

// TestFileUnreadable: a token that may not read contents gets 404 for every
// file, which is not "no such file".
func TestFileUnreadable(t *testing.T) {
	b := newBench(t, nil)
	b.Fail(githubtest.Fault{Path: "/contents/", Status: 404, Body: `{"message":"Not Found"}`})
	b.Fail(githubtest.Fault{Path: "/commits/", Status: 404, Body: `{"message":"Not Found"}`})
	_, err := b.lookup("push", nil).File(t.Context(), githubtest.SHA("base"), "release.yaml", 1000)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that nobody could look", err)
	}
}
