package store

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

func TestResolve(t *testing.T) {
	s := openTest(t)
	_, err := s.Resolve("latest")
	wantError(t, err, "holds no run yet")
	_, err = s.Resolve("run_01")
	wantError(t, err, `no run is named "run_01"`, "holds no run yet")

	a, b, c := "run_01KAAAAAAAAAAAAAAAAAAAAAA1", "run_01KBBBBBBBBBBBBBBBBBBBBBB2", "run_01KBCCCCCCCCCCCCCCCCCCCCC3"
	for _, id := range []string{b, c, a} { // newest is by id, not by what was written last
		storeRun(t, s, id, 1)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	r := must[*Run](t)(s.Resolve(b))
	check(t, s.Export(r, bundle))
	zipped := filepath.Join(t.TempDir(), "b.zip")
	writeZip(t, zipped, dirEntries(t, bundle, ""))
	artifact := filepath.Join(t.TempDir(), "artifact") // by content, not by name
	writeZip(t, artifact, dirEntries(t, bundle, "top/"))

	for _, tt := range []struct {
		name, want string
		err        []string
	}{
		{name: "latest", want: c},
		{name: "LATEST", want: c},
		{name: "latest~0", want: c},
		{name: "latest~1", want: b},
		{name: "latest~2", want: a},
		{name: "latest~3", err: []string{"holds 3 runs", "no latest~3"}},
		{name: "latest~-1", err: []string{"no run is named"}},
		{name: "latest~", err: []string{"no run is named"}},
		{name: "latest1", err: []string{"no run is named"}},
		{name: b, want: b},
		{name: strings.ToLower(b), want: b},
		{name: "01KBBBBBBBBBBBBBBBBBBBBBB2", want: b},
		{name: "run_01KA", want: a},
		{name: "01ka", want: a},
		{name: "run_01KB", err: []string{`"run_01KB" stands for more than one run`, b, c}},
		{name: "01K", err: []string{"more than one run", a, b, c}},
		{name: "C3", want: c},
		{name: "bb2", want: b},
		{name: "run_C3", err: []string{`no run is named "run_C3"`, "the newest", c, b, a}},
		{name: "", err: []string{`no run is named ""`}},
		{name: "run_", err: []string{`no run is named "run_"`}},
		{name: "nightly", err: []string{`no run is named "nightly"`, "latest~1", "path of a bundle"}},
		{name: bundle, want: b},
		{name: filepath.Join(bundle, "run.json"), want: b},
		{name: zipped, want: b},
		{name: artifact, want: b},
		{name: s.runDir(a), want: a},
		{name: "./nothing", err: []string{"no bundle lies at ./nothing"}},
		{name: "nothing.zip", err: []string{"no bundle lies at nothing.zip"}},
		{name: s.Dir(), err: []string{"holds no run.json", "no bundle"}},
		{name: filepath.Join(bundle, "cases.jsonl"), err: []string{"neither a zip nor the directory of a bundle"}},
	} {
		r, err := s.Resolve(tt.name)
		if tt.err != nil {
			wantError(t, err, tt.err...)
			continue
		}
		if err != nil {
			t.Errorf("Resolve(%q): %v", tt.name, err)
			continue
		}
		if r.Manifest.ID != tt.want {
			t.Errorf("Resolve(%q) = %s, want %s", tt.name, r.Manifest.ID, tt.want)
		}
		if got := len(outcomes(t, r)); got != 1 {
			t.Errorf("%s has %d outcomes", tt.name, got)
		}
		line := must[evidence.CaseLine](t)(r.CaseLine("case_000000"))
		if line.Case.ID != "case_000000" {
			t.Errorf("%s: case %q", tt.name, line.Case.ID)
		}
		check(t, r.Close())
	}
}

// A bundle with a bare name is found where the command is typed, and never
// stands in for a stored run.
func TestResolveBareName(t *testing.T) {
	s := openTest(t)
	storeRun(t, s, testID, 1)
	dir := t.TempDir()
	t.Chdir(dir)
	r := must[*Run](t)(s.Resolve(testID))
	check(t, s.Export(r, "base"))
	r = must[*Run](t)(s.Resolve("base"))
	if r.Place() != "base" {
		t.Errorf("place %q", r.Place())
	}
	check(t, os.Rename("base", testID))
	r = must[*Run](t)(s.Resolve(testID))
	if r.Place() != s.runDir(testID) {
		t.Errorf("place %q", r.Place())
	}
	r = must[*Run](t)(s.Resolve("./" + testID))
	if r.Place() != "./"+testID {
		t.Errorf("place %q", r.Place())
	}
}

func TestAmbiguousNamesListFew(t *testing.T) {
	s := openTest(t)
	for i := range 9 {
		check(t, os.MkdirAll(s.runDir(fmt.Sprintf("run_01KBC4W2ZV9XJ8QH5N3T7R6M1%d", i)), 0o755))
	}
	_, err := s.Resolve("01")
	wantError(t, err, "M18", "M14", "and 4 older ones")
	if strings.Contains(err.Error(), "M13") {
		t.Errorf("%v", err)
	}
	_, err = s.Resolve("x1")
	wantError(t, err, "M18", "M14")
	if strings.Contains(err.Error(), "M13") {
		t.Errorf("%v", err)
	}
}

// bundleOf returns the directory of a bundle of a run of n cases.
func bundleOf(t testing.TB, n int) (s *Store, dir string) {
	t.Helper()
	s = openTest(t)
	storeRun(t, s, testID, n)
	dir = filepath.Join(t.TempDir(), "bundle")
	check(t, s.Export(must[*Run](t)(s.Resolve(testID)), dir))
	return s, dir
}

func readAll(r *Run) error {
	return errors.Join(
		r.Outcomes(func(int, *evidence.Outcome) error { return nil }),
		r.CaseLines(func(evidence.CaseLine) error { return nil }),
	)
}

func TestTamperedBundle(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				panic(old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	for _, tt := range []struct {
		name, file string
		change     func(string) string
		err        []string
	}{
		{"verdict", judgmentsFile, replace(`"value":1`, `"value":0`), []string{judgmentsFile, "does not match its digest in run.json"}},
		{"cut off", judgmentsFile, func(s string) string { return s[:len(s)/2] }, []string{judgmentsFile, "does not match its digest"}},
		{"no line break", judgmentsFile, func(s string) string { return s[:len(s)-1] }, []string{judgmentsFile, "does not match its digest"}},
		{"emptied", judgmentsFile, func(string) string { return "" }, []string{judgmentsFile, "does not match its digest"}},
		{"garbage", judgmentsFile, func(string) string { return "\x00\xff" }, []string{judgmentsFile, "does not match its digest"}},
		{"answer", casesFile, replace("what is 3", "what is 4"), []string{casesFile, "does not match its digest"}},
		{"removed", judgmentsFile, nil, []string{judgmentsFile}},
		{"no cases", casesFile, nil, []string{casesFile, "left out of this bundle"}},
		{"fewer cases", manifestFile, replace(`"cases": 9`, `"cases": 8`), []string{"has 9 lines, run.json says 8 cases"}},
		{"newer", manifestFile, replace("oloproof/run/v1", "oloproof/run/v2"), []string{manifestFile, `schema "oloproof/run/v2"`, "newer", "update oloproof"}},
		{"other schema", manifestFile, replace("oloproof/run/v1", "other/v1"), []string{`schema "other/v1" is not that of a run`}},
		{"no schema", manifestFile, func(string) string { return "{}" }, []string{"it has no schema"}},
		{"no JSON", manifestFile, func(string) string { return "<html>" }, []string{manifestFile, "damaged"}},
		{"array", manifestFile, func(string) string { return "[]" }, []string{manifestFile, "damaged"}},
		{"empty", manifestFile, func(string) string { return "" }, []string{manifestFile, "damaged"}},
		{"id with a path", manifestFile, replace(testID, "run_../../../../../../etc/passwd"), []string{"is no run id"}},
		{"file outside", manifestFile, replace(`"name": "judgments.jsonl"`, `"name": "../judgments.jsonl"`), []string{`files names "../judgments.jsonl"`}},
		{"no digest", manifestFile, replace(`"sha256": "`, `"sha256": "00`), []string{"is no SHA-256"}},
		{"no files", manifestFile, func(s string) string { return s[:strings.Index(s, `"files"`)] + `"files": []}` }, []string{"names no files"}},
		{"no cases at all", manifestFile, replace(`"cases": 9`, `"cases": 0`), []string{"dataset.cases is 0"}},
		{"too many cases", manifestFile, replace(`"cases": 9`, `"cases": 9000000000`), []string{"dataset.cases is 9000000000"}},
		{"metric of no kind", manifestFile, replace(`"kind": "rate"`, `"kind": "guess"`), []string{`kind "guess"`}},
		{"quantile of something else", manifestFile, replace(`"source": "latency_ms"`, `"source": "cost_usd"`), []string{`metric "latency_p95" is the quantile of "cost_usd" in "ms"`, "does not read"}},
		{"many slices", manifestFile, replace(`"metadata.topic"`, `"metadata.topic"`+manyNames(300)), []string{"301 slices, at most", "256"}},
		{"many metrics", manifestFile, replace(`"metrics": [`, `"metrics": [`+strings.Repeat(`{"id": "x"},`, 1001)), []string{"1006 metrics", "at most 1000"}},
		{"options twice", manifestFile, replace(`"id": "recall_at_2",`, `"id": "recall_at_2", "options": {"a": 1, "a": 2},`), []string{"damaged"}},
		{"metric twice", manifestFile, replace(`"id": "recall_at_2"`, `"id": "hit_rate_at_2"`), []string{`metric "hit_rate_at_2"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := bundleOf(t, 9)
			path := filepath.Join(dir, tt.file)
			if tt.change == nil {
				check(t, os.Remove(path))
			} else {
				text := string(must[[]byte](t)(os.ReadFile(path)))
				check(t, os.WriteFile(path, []byte(tt.change(text)), 0o644))
			}
			zipped := filepath.Join(t.TempDir(), "b.zip")
			writeZip(t, zipped, dirEntries(t, dir, ""))
			for _, name := range []string{dir, zipped} {
				r, err := s.Resolve(name)
				if err == nil {
					err = readAll(r)
					if tt.file == casesFile {
						check(t, r.Outcomes(func(int, *evidence.Outcome) error { return nil }))
					}
				}
				wantError(t, err, append(tt.err, name)...)
				if r != nil {
					if tt.change != nil && tt.file != manifestFile {
						wantError(t, s.Export(r, filepath.Join(t.TempDir(), "copy")), tt.err[len(tt.err)-1])
					}
					r.Close()
				}
			}
		})
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, "metadata.%d"`, i)
	}
	return b.String()
}

// forge changes a file of a bundle and puts its new digest into run.json, as
// someone who makes a bundle up would.
func forge(t testing.TB, dir, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(dir, name)
	old := string(must[[]byte](t)(os.ReadFile(path)))
	text := change(old)
	check(t, os.WriteFile(path, []byte(text), 0o644))
	manifest := string(must[[]byte](t)(os.ReadFile(filepath.Join(dir, manifestFile))))
	if !strings.Contains(manifest, hexSum(old)) {
		t.Fatalf("run.json does not hold the digest of %s", name)
	}
	manifest = strings.Replace(manifest, hexSum(old), hexSum(text), 1)
	check(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(manifest), 0o644))
}

// Bundles whose digests match and that no run wrote.
func TestForgedBundle(t *testing.T) {
	replaceAll := func(old, new string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, old, new) }
	}
	reversed := func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		lines = lines[:len(lines)-1]
		slices.Reverse(lines)
		return strings.Join(lines, "")
	}
	judgment := `"hit_rate_at_2":{"state":"observed","value":0}`
	for _, tt := range []struct {
		name, file string
		change     func(string) string
		err        []string // none: it is read
	}{
		{"id twice", judgmentsFile, replaceAll("case_000004", "case_000002"), []string{judgmentsFile, `the case id "case_000002" stands twice, in lines 3 and 5`}},
		{"id twice in the cases", casesFile, replaceAll("case_000004", "case_000002"), []string{casesFile, `the case id "case_000002" stands twice, in lines 3 and 5`}},
		{"one more", judgmentsFile, func(s string) string {
			return s + strings.Replace(s[:strings.Index(s, "\n")+1], "case_000000", "case_x", 1)
		}, []string{"has 10 lines, run.json says 9 cases"}},
		{"one less", judgmentsFile, func(s string) string { return s[strings.Index(s, "\n")+1:] }, []string{judgmentsFile, "has 8 lines, run.json says 9 cases"}},
		{"one less of the cases", casesFile, func(s string) string { return s[strings.Index(s, "\n")+1:] }, []string{casesFile, "has 8 lines, run.json says 9 cases"}},
		{"none", judgmentsFile, func(string) string { return "" }, []string{"has 0 lines, run.json says 9 cases"}},
		{"no judgment", judgmentsFile, replaceAll(judgment+",", ""), []string{judgmentsFile, "line 1", `no judgment of "hit_rate_at_2"`}},
		{"judgment twice", judgmentsFile, replaceAll(judgment, judgment+","+judgment), []string{"line 1", `criterion "hit_rate_at_2" stands twice`}},
		{"judgment of something else", judgmentsFile, replaceAll(`"hit_rate_at_2"`, `"hit_rate_at_3"`), []string{"line 1", `criterion "hit_rate_at_3" is not one of the run`}},
		{"value of no rate", judgmentsFile, replaceAll(`"value":1`, `"value":2`), []string{"line 2", "value 2 of a rate"}},
		{"reason with a control character", judgmentsFile, replaceAll("no_relevance_labels", `no\u001b[2Jlabels`), []string{"line 1", "is no code"}},
		{"no digest", judgmentsFile, replaceAll(`"digest":"sha256:`, `"digest":"sha256:0`), []string{"line 1", "digest"}},
		{"a null line", judgmentsFile, func(s string) string { return "null\n" + s }, []string{"line 1", "want an object"}},
		{"a blank line", judgmentsFile, func(s string) string { return "\n" + s }, []string{"line 1"}},
		// The order of cases and of judgments says nothing: both have names.
		{"cases in another order", judgmentsFile, reversed, nil},
		{"judgments in another order", judgmentsFile, func(s string) string {
			a, b := `"answer_correct":{"state":"observed","value":0}`, judgment
			return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, a, "#"), b, a), "#", b)
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := bundleOf(t, 9)
			want := map[string]evidence.Outcome{}
			for _, o := range outcomes(t, must[*Run](t)(s.Resolve(dir))) {
				want[o.ID] = o
			}
			forge(t, dir, tt.file, tt.change)
			zipped := filepath.Join(t.TempDir(), "b.zip")
			writeZip(t, zipped, dirEntries(t, dir, ""))
			for _, name := range []string{dir, zipped} {
				r := must[*Run](t)(s.Resolve(name))
				defer r.Close()
				if tt.err != nil {
					wantError(t, readAll(r), append(tt.err, name)...)
					continue
				}
				got := map[string]evidence.Outcome{}
				for _, o := range outcomes(t, r) {
					got[o.ID] = o
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// What cannot be decoded although the digest matches names its line.
func TestUndecodableLine(t *testing.T) {
	s, dir := bundleOf(t, 3)
	path := filepath.Join(dir, judgmentsFile)
	forge(t, dir, judgmentsFile, func(text string) string { return strings.Replace(text, `"id":"case_000001"`, `"id":""`, 1) })
	r := must[*Run](t)(s.Resolve(dir))
	n := 0
	err := r.Outcomes(func(int, *evidence.Outcome) error { n++; return nil })
	wantError(t, err, path, "line 2", "no id")
	if n != 1 {
		t.Errorf("%d outcomes before the fault", n)
	}
}

// entryOf is one entry of a zip that a test writes.
type entryOf struct {
	name, text string
	mode       fs.FileMode
}

func dirEntries(t testing.TB, dir, under string) []entryOf {
	t.Helper()
	var all []entryOf
	for _, name := range names(contents(t, dir)) {
		all = append(all, entryOf{name: under + name, text: contents(t, dir)[name]})
	}
	return all
}

func writeZip(t testing.TB, path string, entries []entryOf) {
	t.Helper()
	check(t, os.WriteFile(path, zipBytes(t, entries), 0o644))
}

func zipBytes(t testing.TB, entries []entryOf) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode | 0o644)
		w := must[io.Writer](t)(z.CreateHeader(h))
		_, err := io.WriteString(w, e.text)
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

func TestHostileZip(t *testing.T) {
	s, dir := bundleOf(t, 2)
	bundle := dirEntries(t, dir, "")
	in := func(under string) []entryOf { return dirEntries(t, dir, under) }
	with := func(more ...entryOf) []entryOf { return append(append([]entryOf{}, bundle...), more...) }
	var many []entryOf
	for i := range 1001 {
		many = append(many, entryOf{name: fmt.Sprint(i)})
	}
	for _, tt := range []struct {
		name    string
		entries []entryOf
		err     []string
	}{
		{"at the top", bundle, nil},
		{"in a directory", in("oloproof-out/"), nil},
		{"with directories", append([]entryOf{{name: "x/", mode: fs.ModeDir}}, in("x/")...), nil},
		{"beside other files", with(entryOf{name: "report.html"}, entryOf{name: "a/b/run.json"}), nil},
		{"empty", nil, []string{"no run.json"}},
		{"too deep", in("a/b/"), []string{"no run.json"}},
		{"two bundles", append(in("a/"), in("b/")...), []string{"more than one run.json"}},
		{"twice", with(bundle[0]), []string{`"cases.jsonl" twice`}},
		{"parent", with(entryOf{name: "../run.json"}), []string{`"../run.json"`, "may lead outside"}},
		{"parent within", with(entryOf{name: "a/../../x"}), []string{"may lead outside"}},
		{"absolute", with(entryOf{name: "/etc/passwd"}), []string{"may lead outside"}},
		{"backslash", with(entryOf{name: `..\run.json`}), []string{"may lead outside"}},
		{"drive", with(entryOf{name: `C:x`}), []string{"may lead outside"}},
		{"nul", with(entryOf{name: "run.json\x00"}), []string{"may lead outside"}},
		{"no name", with(entryOf{name: ""}), []string{"may lead outside"}},
		{"link", []entryOf{{name: "run.json", text: "/etc/passwd", mode: fs.ModeSymlink}}, []string{`"run.json", which is a link`}},
		{"device", with(entryOf{name: "dev", mode: fs.ModeDevice}), []string{`"dev", which is a link or no regular file`}},
		{"many", append(many, bundle...), []string{"entries, at most 1000"}},
		{"manifest too large", []entryOf{{name: "run.json", text: strings.Repeat(" ", maxManifest+1)}}, []string{"run.json inflates to more than is read"}},
		{"bomb", append([]entryOf{{name: "judgments.jsonl", text: strings.Repeat("\n", ratioFrom+1)}}, bundle[2:]...), []string{"inflates to more"}},
		{"one long line", append([]entryOf{{name: "judgments.jsonl", text: strings.Repeat(" ", 3*maxOutcomeLine)}}, bundle[2:]...), []string{"does not match its digest"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "b.zip")
			writeZip(t, path, tt.entries)
			r, err := s.Resolve(path)
			if err == nil {
				defer r.Close()
				err = r.Outcomes(func(int, *evidence.Outcome) error { return nil })
			}
			if tt.err == nil {
				check(t, err)
				return
			}
			wantError(t, err, append(tt.err, path)...)
		})
	}
	t.Run("cut off", func(t *testing.T) {
		whole := zipBytes(t, bundle)
		path := filepath.Join(t.TempDir(), "b.zip")
		check(t, os.WriteFile(path, whole[:len(whole)-30], 0o644))
		_, err := s.Resolve(path)
		wantError(t, err, path+" is cut off, or not a zip: fetch it again")
	})
	t.Run("flipped", func(t *testing.T) {
		whole := zipBytes(t, bundle)
		whole[60] ^= 0x55
		path := filepath.Join(t.TempDir(), "b.zip")
		check(t, os.WriteFile(path, whole, 0o644))
		r, err := s.Resolve(path)
		if err == nil {
			err = readAll(r)
		}
		wantError(t, err, path)
	})
}

// A zip is anybody's bytes: reading it may fail and does nothing else.
func FuzzZip(f *testing.F) {
	s, dir := bundleOf(f, 2)
	f.Add(zipBytes(f, dirEntries(f, dir, "")))
	f.Add(zipBytes(f, dirEntries(f, dir, "top/")))
	f.Add(zipBytes(f, []entryOf{{name: "../run.json", text: "{}"}}))
	scratch := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(scratch, fmt.Sprintf("%d.zip", os.Getpid()))
		check(t, os.WriteFile(path, b, 0o644))
		r, err := s.Resolve(path)
		if err != nil {
			return
		}
		defer r.Close()
		if !validID(r.Manifest.ID) {
			t.Fatalf("id %q", r.Manifest.ID)
		}
		if readAll(r) == nil {
			var raw [2][]byte
			for i, name := range []string{judgmentsFile, casesFile} {
				raw[i] = must[[]byte](t)(readSmall(r.src, name, 1<<30))
				want, _ := r.file(name)
				if hexSum(string(raw[i])) != want.SHA256 {
					t.Fatalf("%s was read and does not match its digest", name)
				}
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	_, dir := bundleOf(f, 2)
	f.Add(must[[]byte](f)(os.ReadFile(filepath.Join(dir, manifestFile))))
	f.Add([]byte(`{"schema":"oloproof/run/v2"}`))
	f.Add([]byte(`{"schema_version":"v1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err != nil {
			return
		}
		target := t.TempDir()
		check(t, writeManifest(target, m))
		again := must[*evidence.Manifest](t)(parseManifest(must[[]byte](t)(os.ReadFile(filepath.Join(target, manifestFile)))))
		if diff := cmp.Diff(m.ID, again.ID); diff != "" {
			t.Fatal(diff)
		}
	})
}
