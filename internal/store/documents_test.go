package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// comparisonID returns a content id that begins with some hex digits.
func comparisonID(start string) evidence.Digest {
	return evidence.Digest("sha256:" + start + strings.Repeat("0", 64-len(start)))
}

func shelvedAt(t *testing.T, s *Store, id evidence.Digest) string {
	t.Helper()
	return must[string](t)(s.shelved(ComparisonShelf, id))
}

// read returns a comparison.
func (s *Store) read(name string) ([]byte, error) {
	c, err := s.Find(name, ComparisonShelf)
	if err != nil {
		return nil, err
	}
	return s.Read(c)
}

func TestComparisons(t *testing.T) {
	s := openTest(t)
	_, err := s.Find("sha256:ab", ComparisonShelf)
	wantError(t, err, `no comparison is named "sha256:ab"`, "holds none yet")
	if all := must[[]Stored](t)(s.Shelved(ComparisonShelf)); len(all) != 0 {
		t.Errorf("%v", all)
	}
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("reading created the store")
	}
	starts := []string{"ab1", "ab2", "c", "0123456789abcdef"}
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	for i, start := range starts {
		check(t, s.SaveComparison(comparisonID(start), writes([]byte(start))))
		check(t, os.Chtimes(shelvedAt(t, s, comparisonID(start)), at, at.Add(time.Duration(i)*time.Minute)))
	}
	// What else lies there is none.
	dir := filepath.Join(s.Dir(), ComparisonShelf.dir)
	check(t, os.WriteFile(filepath.Join(dir, "notes.json"), nil, 0o644))
	check(t, os.WriteFile(filepath.Join(dir, strings.Repeat("A", 64)+".json"), nil, 0o644))
	check(t, os.WriteFile(filepath.Join(dir, strings.Repeat("d", 64)+".json.tmp"), nil, 0o644))
	check(t, os.Mkdir(filepath.Join(dir, strings.Repeat("e", 64)+".json"), 0o755))

	var got []string
	for _, c := range must[[]Stored](t)(s.Shelved(ComparisonShelf)) {
		got = append(got, fmt.Sprintf("%.23s %s", c.ID, c.At.UTC().Format("15:04")))
	}
	want := []string{"sha256:0123456789abcdef 10:03", "sha256:c000000000000000 10:02", "sha256:ab20000000000000 10:01", "sha256:ab10000000000000 10:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name, want string
		err        []string
	}{
		{name: string(comparisonID("ab1")), want: "ab1"},
		{name: "sha256:ab2", want: "ab2"},
		{name: "SHA256:AB2", want: "ab2"},
		{name: "c", want: "c"},
		{name: comparisonID("c").Hex(), want: "c"},
		{name: "sha256:ab", err: []string{`"sha256:ab" stands for more than one comparison`, string(comparisonID("ab2")) + "\n  " + string(comparisonID("ab1"))}},
		{name: "sha256:", err: []string{`no comparison is named "sha256:"`, "the newest in", string(comparisonID("c"))}},
		{name: "", err: []string{`no comparison is named ""`}},
		{name: "sha256:ff", err: []string{`no comparison is named "sha256:ff"`}},
		{name: "e", err: []string{"no comparison"}},
		{name: "../runs", err: []string{"no comparison"}},
		{name: string(comparisonID("c")) + "0", err: []string{"no comparison"}},
	} {
		b, err := s.read(tt.name)
		if tt.err != nil {
			wantError(t, err, tt.err...)
			continue
		}
		if err != nil || string(b) != tt.want {
			t.Errorf("Comparison(%q) = %q, %v, want %q", tt.name, b, err, tt.want)
		}
	}
}

func TestComparisonIsStoredOnce(t *testing.T) {
	s := openTest(t)
	id := comparisonID("1")
	wantError(t, s.SaveComparison(id, func(w io.Writer) error {
		io.WriteString(w, "half")
		return errors.New("no words")
	}), "store the comparison", "no words")
	if all := must[[]Stored](t)(s.Shelved(ComparisonShelf)); len(all) != 0 {
		t.Errorf("a failed one is stored: %v", all)
	}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			if err := s.SaveComparison(id, writes([]byte("first"))); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	check(t, s.SaveComparison(id, func(io.Writer) error { return errors.New("written again") }))
	if b := must[[]byte](t)(s.read("1")); string(b) != "first" {
		t.Errorf("%q", b)
	}
	check(t, os.Truncate(shelvedAt(t, s, id), 0))
	check(t, s.SaveComparison(id, writes([]byte("second"))))
	if b := must[[]byte](t)(s.read("1")); string(b) != "second" {
		t.Errorf("%q", b)
	}
	entries := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(s.Dir(), ComparisonShelf.dir)))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	for _, id := range []evidence.Digest{"", "sha256:", "sha256:12", evidence.Digest(id.Hex()), id + "0",
		evidence.Digest("sha256:" + strings.Repeat("A", 64)), evidence.Digest("sha256:../../" + strings.Repeat("0", 58))} {
		wantError(t, s.SaveComparison(id, writes(nil)), "is no content id")
	}
}

func TestManyComparisons(t *testing.T) {
	s := openTest(t)
	for i := range 8 {
		check(t, s.SaveComparison(comparisonID(fmt.Sprintf("a%d", i)), writes(nil)))
	}
	_, err := s.read("a")
	wantError(t, err, "more than one", "and 3 older ones")
	_, err = s.read("b")
	wantError(t, err, "no comparison", "and 3 older ones")
}

// A diagnosis that is stored again is replaced: it names other runs. Names are
// looked up on the shelves that are asked for.
func TestDiagnoses(t *testing.T) {
	s := openTest(t)
	check(t, s.SaveComparison(comparisonID("ab"), writes([]byte("compared"))))
	for _, text := range []string{"first", "second"} {
		check(t, s.SaveDiagnosis(comparisonID("ac"), writes([]byte(text))))
	}
	for name, want := range map[string]string{"sha256:ab": "compared", "sha256:ac": "second"} {
		c := must[Stored](t)(s.Find(name, ComparisonShelf, DiagnosisShelf))
		if b := must[[]byte](t)(s.Read(c)); string(b) != want {
			t.Errorf("%s: %s, want %s", name, b, want)
		}
	}
	_, err := s.Find("sha256:a", ComparisonShelf, DiagnosisShelf)
	wantError(t, err, `"sha256:a" stands for more than one comparison or diagnosis`)
	_, err = s.Find("sha256:ac", ComparisonShelf)
	wantError(t, err, `no comparison is named "sha256:ac"`)
	wantError(t, s.SaveDiagnosis("sha256:12", writes(nil)), "is no content id")
}
