package store

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestExport(t *testing.T) {
	s := openTest(t)
	storeRun(t, s, testID, 5)
	r := must[*Run](t)(s.Resolve("latest"))
	check(t, r.SaveDocument(writes([]byte("{}"))))
	want := contents(t, s.runDir(testID))

	dir := s.BundleDir(testID)
	check(t, s.Export(r, dir))
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("bundle (-run +exported):\n%s", diff)
	}
	// A bundle is replaced, whatever it lacks or has more.
	check(t, os.Remove(s.runDir(testID)+"/"+documentFile))
	check(t, os.Remove(dir+"/"+casesFile))
	check(t, os.WriteFile(dir+"/"+judgmentsFile, []byte("old"), 0o644))
	check(t, s.Export(r, dir))
	delete(want, documentFile)
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("bundle (-run +exported):\n%s", diff)
	}
	// From a bundle, and from a zip of one without content.
	check(t, os.Remove(dir+"/"+casesFile))
	delete(want, casesFile)
	zipped := filepath.Join(t.TempDir(), "b.zip")
	writeZip(t, zipped, dirEntries(t, dir, ""))
	for _, name := range []string{dir, zipped} {
		from := must[*Run](t)(s.Resolve(name))
		to := filepath.Join(t.TempDir(), "new", "deeper")
		check(t, s.Export(from, to))
		if diff := cmp.Diff(want, contents(t, to)); diff != "" {
			t.Errorf("bundle of %s (-from +exported):\n%s", name, diff)
		}
		wantError(t, must[*Run](t)(s.Resolve(to)).CaseLines(nil), "left out of this bundle")
		check(t, from.Close())
	}
	check(t, s.Export(r, t.TempDir())) // an empty directory
}

func TestExportRefuses(t *testing.T) {
	s := openTest(t)
	storeRun(t, s, testID, 1)
	r := must[*Run](t)(s.Resolve("latest"))
	foreign := func(files ...string) string {
		dir := t.TempDir()
		for _, name := range files {
			check(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644))
		}
		return dir
	}
	file := filepath.Join(foreign("f"), "f")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.runDir(testID), link); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		dir string
		err []string
	}{
		{foreign("README.md"), []string{"holds README.md", "no file of a bundle"}},
		{foreign("cases.jsonl"), []string{"no bundle"}}, // a data set
		{foreign("cases.jsonl", "run.json"), []string{"no bundle"}},
		{file, []string{file}},
		{s.runDir(testID), []string{"where runs are kept"}},
		{filepath.Join(s.Dir(), runsDir), []string{"where runs are kept"}},
		{filepath.Join(s.Dir(), runsDir, "new"), []string{"where runs are kept"}},
		{link, []string{"where runs are kept"}},
	} {
		before := ""
		if files, err := os.ReadDir(tt.dir); err == nil && len(files) > 0 && !files[0].IsDir() {
			before = strings.Join(names(contents(t, tt.dir)), " ")
		}
		wantError(t, s.Export(r, tt.dir), append(tt.err, "export "+testID)...)
		if before != "" {
			if after := strings.Join(names(contents(t, tt.dir)), " "); after != before {
				t.Errorf("files of %s: %s, before %s", tt.dir, after, before)
			}
		}
	}
	bundle := filepath.Join(t.TempDir(), "b")
	check(t, s.Export(r, bundle))
	wantError(t, s.Export(must[*Run](t)(s.Resolve(bundle)), bundle), "is the run itself")
}

// A run whose files changed is not exported, and what lay there stays.
func TestExportOfADamagedRun(t *testing.T) {
	s := openTest(t)
	storeRun(t, s, testID, 3)
	r := must[*Run](t)(s.Resolve("latest"))
	bundle := filepath.Join(t.TempDir(), "b")
	check(t, s.Export(r, bundle))
	want := contents(t, bundle)
	check(t, os.WriteFile(filepath.Join(s.runDir(testID), casesFile), []byte("{}\n"), 0o644))
	wantError(t, s.Export(r, bundle), casesFile, "does not match its digest")
	if diff := cmp.Diff(want, contents(t, bundle)); diff != "" {
		t.Errorf("bundle (-before +after):\n%s", diff)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	wantError(t, s.Export(r, fresh), "does not match its digest")
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a failed export left its directory behind")
	}
}

func TestExportOfAnUnfinishedRun(t *testing.T) {
	s := openTest(t)
	m := testManifest(6)
	w := must[*Writer](t)(s.Create(m))
	addAll(t, w, []int{4, 1, 3}, 10, 1)
	for _, when := range []string{"running", "stopped"} {
		if when == "stopped" {
			check(t, w.Abort(ended(m, evidence.RunCanceled)))
		}
		dir := filepath.Join(t.TempDir(), "b")
		r := must[*Run](t)(s.Resolve("latest"))
		check(t, s.Export(r, dir))
		if got := names(contents(t, dir)); !slices.Equal(got, []string{casesFile, judgmentsFile, manifestFile}) {
			t.Errorf("%s: files %q", when, got)
		}
		bundle := must[*Run](t)(s.Resolve(dir))
		if diff := cmp.Diff(outcomes(t, r), outcomes(t, bundle)); diff != "" {
			t.Errorf("%s: outcomes (-run +bundle):\n%s", when, diff)
		}
		if bundle.Manifest.Completeness != evidence.Partial || bundle.Manifest.Status != r.Manifest.Status {
			t.Errorf("%s: bundle is %s/%s", when, bundle.Manifest.Status, bundle.Manifest.Completeness)
		}
		var ids []string
		check(t, bundle.CaseLines(func(line evidence.CaseLine) error { ids = append(ids, line.Case.ID); return nil }))
		if diff := cmp.Diff([]string{"case_000001", "case_000003", "case_000004"}, ids); diff != "" {
			t.Errorf("%s: cases (-want +got):\n%s", when, diff)
		}
	}
}
