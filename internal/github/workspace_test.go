package github

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/redact"
)

func workspace(t *testing.T) *Workspace {
	t.Helper()
	w, err := OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// aRun is the files of a run, whose cases are lines of JSON.
func aRun(t *testing.T, judgments, cases string) fstest.MapFS {
	t.Helper()
	m := evidence.Manifest{ID: "run_1", Files: []evidence.File{
		{Name: "judgments.jsonl", SHA256: digest(judgments), Bytes: int64(len(judgments))},
		{Name: "cases.jsonl", SHA256: digest(cases), Bytes: int64(len(cases))},
	}}
	raw, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"run.json": {Data: raw}, "judgments.jsonl": {Data: []byte(judgments)}, "cases.jsonl": {Data: []byte(cases)}, "journal": {Data: []byte("x")}}
}

func TestPathsStayInTheWorkspace(t *testing.T) {
	w := workspace(t)
	for _, tt := range []struct{ base, path, want string }{
		{".", "oloproof-out", "oloproof-out"},
		{"sub", "oloproof-out/", "sub/oloproof-out"},
		{"sub", "../x", "x"},
		{".", w.Dir() + "/a/b", "a/b"},
		{"sub", w.Dir(), "."},
		{".", "../x", ""},
		{"sub", "../../x", ""},
		{".", "/etc", ""},
		{".", w.Dir() + "x", ""},
		{".", "/home/runner/work/r/r/out", ""},
	} {
		got, err := w.Rel(tt.base, tt.path)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Rel(%q, %q) = %q, %v, want %q", tt.base, tt.path, got, err, tt.want)
		}
	}
	if _, err := w.Rel(".", "/home/runner/work/r/r/out"); !strings.Contains(err.Error(), "github.workspace") {
		t.Errorf("no hint: %v", err)
	}
}

// TestOutputDirectoryIsNotHidden: upload-artifact leaves out what starts with a dot.
func TestOutputDirectoryIsNotHidden(t *testing.T) {
	if strings.HasPrefix(DefaultOutputDir, ".") {
		t.Error(DefaultOutputDir)
	}
	w := workspace(t)
	for _, dir := range []string{".", ".out", "a/.git/b"} {
		if o, err := w.output(dir); err == nil {
			o.close()
			t.Errorf("%s was accepted", dir)
		}
	}
	if len(names(t, w.Dir())) != 0 {
		t.Error("something was created")
	}
}

func TestOutputDirectory(t *testing.T) {
	w := workspace(t)
	old := aMask(t)
	o, err := w.output("a/out")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.write("run.json", func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }); err != nil {
		t.Fatal(err)
	}
	o.close()
	old()
	for path, mode := range map[string]fs.FileMode{"a": 0o755, "a/out": 0o755, "a/out/run.json": 0o644} {
		info, err := os.Stat(filepath.Join(w.Dir(), path))
		if err != nil || info.Mode().Perm() != mode && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	// A second run replaces the files of the first.
	put(t, filepath.Join(w.Dir(), "a/out/cases.jsonl"), "from before")
	if o, err = w.output("a/out"); err != nil {
		t.Fatal(err)
	}
	o.close()
	if left := names(t, filepath.Join(w.Dir(), "a/out")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestDirectoriesOfOthersAreKept(t *testing.T) {
	for name, files := range map[string][]string{
		"a project":  {"cases.jsonl", "oloproof.yaml"},
		"a data set": {"cases.jsonl"},
		"more":       {"run.json", "main.go"},
		"nested":     {"run.json", "cases.jsonl/x"},
		"reports":    {"junit.xml"},
	} {
		w := workspace(t)
		for _, f := range files {
			put(t, filepath.Join(w.Dir(), "dir", f), "x")
		}
		before := names(t, filepath.Join(w.Dir(), "dir"))
		if o, err := w.output("dir"); err == nil {
			o.close()
			t.Errorf("%s was taken over", name)
		}
		if diff := cmp.Diff(before, names(t, filepath.Join(w.Dir(), "dir"))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestLinksOfAChangeUnderReview: a link in the repository leads no file astray.
func TestLinksOfAChangeUnderReview(t *testing.T) {
	outside := t.TempDir()
	w := workspace(t)
	put(t, filepath.Join(w.Dir(), "inside/run.json"), "mine")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(w.Dir(), name)); err != nil {
			t.Skip(err)
		}
	}
	link(outside, "out")
	link("inside", "other")
	for _, dir := range []string{"out", "other", "out/deeper"} {
		if o, err := w.output(dir); err == nil {
			o.close()
			t.Errorf("%s was followed", dir)
		}
	}
	put(t, filepath.Join(w.Dir(), "real/gate.json"), "{}")
	put(t, filepath.Join(outside, "victim"), "untouched")
	link(filepath.Join(outside, "victim"), "real/run.json")
	o, err := w.output("real")
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	if err := o.write("run.json", func(w io.Writer) error { _, err := io.WriteString(w, "ours"); return err }); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "victim")); string(b) != "untouched" || len(names(t, outside)) != 1 {
		t.Errorf("%s, %v", b, names(t, outside))
	}
	if b, _ := os.ReadFile(filepath.Join(w.Dir(), "inside/run.json")); string(b) != "mine" {
		t.Errorf("%s", b)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	w := workspace(t)
	o, err := w.output("out")
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	broken := errors.New("broken")
	if err := o.write("run.json", func(w io.Writer) error { io.WriteString(w, "half"); return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if left := names(t, filepath.Join(w.Dir(), "out")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestBundle(t *testing.T) {
	judgments, cases := `{"id":"a"}`+"\n"+`{"id":"b"}`+"\n", `{"input":"a question"}`+"\n"
	for _, content := range []bool{false, true} {
		w := workspace(t)
		o, err := w.output("out")
		if err != nil {
			t.Fatal(err)
		}
		if err := o.bundle(aRun(t, judgments, cases), content, redact.New([]string{"not there"})); err != nil {
			t.Fatal(err)
		}
		o.close()
		want := []string{"cases.jsonl", "judgments.jsonl", "run.json"}
		if !content {
			want = want[1:]
		}
		if diff := cmp.Diff(want, names(t, filepath.Join(w.Dir(), "out"))); diff != "" {
			t.Errorf("content %v: %s", content, diff)
		}
		if b, _ := os.ReadFile(filepath.Join(w.Dir(), "out/judgments.jsonl")); string(b) != judgments {
			t.Errorf("%q", b)
		}
	}
}

// TestRedactedBundleIsWhole: the manifest states the digests of the files as
// they are uploaded.
func TestRedactedBundleIsWhole(t *testing.T) {
	const secret = "the-secret-of-the-day"
	judgments := `{"id":"a","slices":["` + secret + `"]}` + "\n" + `{"id":"b"}`
	w := workspace(t)
	o, err := w.output("out")
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	if err := o.bundle(aRun(t, judgments, `{"x":1}`), true, redact.New([]string{secret})); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(w.Dir(), "out", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(read("run.json")), &m); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		text := read(f.Name)
		if strings.Contains(text, secret) || digest(text) != f.SHA256 || int64(len(text)) != f.Bytes {
			t.Errorf("%s: %+v, %s", f.Name, f, text)
		}
	}
	if !strings.Contains(read("judgments.jsonl"), redact.Marker) {
		t.Error("nothing was redacted")
	}
}

func TestUnfinishedRun(t *testing.T) {
	w := workspace(t)
	o, err := w.output("out")
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	run := aRun(t, "", "")
	delete(run, "cases.jsonl")
	delete(run, "judgments.jsonl")
	if err := o.bundle(run, true, nil); err != nil {
		t.Error(err)
	}
	if err := o.bundle(fstest.MapFS{}, true, nil); err == nil {
		t.Error("a bundle without a manifest was written")
	}
}

func TestOwnFilesAreAllNames(t *testing.T) {
	for _, name := range []string{manifestFile, judgmentsFile, casesFile, documentFile, HTMLFile, JUnitFile, CommentFile} {
		if !slices.Contains(ownFiles(), name) {
			t.Errorf("%s would make the directory another's", name)
		}
	}
}
