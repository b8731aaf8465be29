package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// relaxations compares two data sets; the files are named old and new.
func relaxations(t testing.TB, before, after string, slices ...string) []string {
	t.Helper()
	old, faults := open(t, before, Options{})
	new, more := open(t, after, Options{})
	if len(faults)+len(more) > 0 {
		t.Fatal(faults, more)
	}
	found, err := Relaxations(old, new, slices)
	if err != nil {
		t.Fatal(err)
	}
	name := map[string]string{old.path: "old", new.path: "new"}
	var all []string
	for _, r := range found {
		all = append(all, fmt.Sprintf("%s:%d: %s", name[r.File], r.Line, r.Text))
	}
	return all
}

func TestRelaxations(t *testing.T) {
	const one = `{"id": "a", "input": {"q": 1}, "expected": {"answer": "x", "relevant": [{"doc_id": "d"}, {"doc_id": "e", "chunk_id": "2", "grade": 2}]}, "metadata": {"topic": "t", "plan": 1}}`
	edited := func(from, to string) string {
		if strings.Count(one, from) != 1 {
			t.Fatalf("%q stands %d times in the case", from, strings.Count(one, from))
		}
		return strings.Replace(one, from, to, 1)
	}
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"the same", one, one, nil},
		{"another layout", one, edited(`{"q": 1}`, `{ "q" : 1.0 }`), nil},
		{"a case more", one, `{"id": "b", "input": 1}` + "\n" + one, nil},
		{"another order", one + "\n" + `{"id": "b", "input": 1}`, `{"id": "b", "input": 1}` + "\n" + one, nil},
		{"removed", "\n" + one + "\n" + `{"id": "b", "input": 1}`, one, []string{"old:3: case b removed (line of the old file)"}},
		{"renamed", one, "\n" + edited(`"id": "a"`, `"id": "z"`), []string{"new:2: case a renamed to z: it is not paired with a run of before"}},
		{"input", one, edited(`"q": 1`, `"q": 2`), []string{"new:1: case a: input edited"}},
		{"answer", one, edited(`"x"`, `""`), []string{"new:1: case a: expected.answer edited"}},
		{"answer removed", one, edited(`"answer": "x", `, ``), []string{"new:1: case a: expected.answer removed"}},
		{"something more expected", one, edited(`"answer": "x"`, `"answer": "x", "more": 1`), []string{"new:1: case a: expected.more added"}},
		{"nothing expected", one, `{"id": "a", "input": {"q": 1}, "metadata": {"topic": "t", "plan": 1}}`, []string{"new:1: case a: labels dropped: d, e#2; expected edited"}},
		{"a text expected", `{"id": "a", "input": 1, "expected": "x"}`, `{"id": "a", "input": 1, "expected": "y"}`, []string{"new:1: case a: expected edited"}},
		{"a label dropped", one, edited(`{"doc_id": "d"}, `, ``), []string{"new:1: case a: labels dropped: d"}},
		{"labels dropped", one, edited(`, "relevant": [{"doc_id": "d"}, {"doc_id": "e", "chunk_id": "2", "grade": 2}]`, ``), []string{"new:1: case a: labels dropped: d, e#2"}},
		{"a label without a grade", one, edited(`"grade": 2`, `"grade": 0.0`), []string{"new:1: case a: labels dropped: e#2"}},
		{"another grade", one, edited(`"grade": 2`, `"grade": 1`), []string{"new:1: case a: expected.relevant edited"}},
		{"a label more", one, edited(`{"doc_id": "d"}`, `{"doc_id": "d"}, {"doc_id": "f"}`), []string{"new:1: case a: expected.relevant edited"}},
		{"slice", one, edited(`"t"`, `"u"`), []string{"new:1: case a: metadata.topic changed from t to u"}},
		{"out of its slice", one, edited(`"topic": "t", `, ``), []string{"new:1: case a: metadata.topic changed from t to none"}},
		{"other metadata", one, edited(`"plan": 1`, `"plan": 2`), []string{"new:1: case a: metadata edited: it is not paired with a run of before"}},
		{"no metadata", `{"id": "a", "input": 1, "metadata": {}}`, `{"id": "a", "input": 2}`, []string{"new:1: case a: input edited"}},
		{"everything", one, `{"id": "a", "input": 2, "expected": {"answer": "y"}, "metadata": {"topic": "u"}}`,
			[]string{"new:1: case a: input edited; labels dropped: d, e#2; expected.answer edited; metadata.topic changed from t to u"}},
		{"one of two alike", `{"id": "a", "input": 1}` + "\n" + `{"id": "b", "input": 1}`, `{"id": "c", "input": 1}`,
			[]string{"new:1: case a renamed to c: it is not paired with a run of before", "old:2: case b removed (line of the old file)"}},
		{"hostile labels", `{"id": "a", "input": 1, "expected": {"relevant": "d"}}`, `{"id": "a", "input": 1, "expected": {"relevant": [1, {"doc_id": 2}]}}`,
			[]string{"new:1: case a: expected.relevant edited"}},
	} {
		if d := cmp.Diff(test.want, relaxations(t, test.before+"\n", test.after+"\n", "metadata.topic")); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
}

// TestRelaxationsAreAllChanges: a case of before is reported exactly when the
// new data set has none of its id and content.
func TestRelaxationsAreAllChanges(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) string {
			ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID[string]).Draw(rt, label)
			text := ""
			for _, id := range ids {
				text += fmt.Sprintf(`{"id": %q, "input": %d, "expected": %d, "metadata": {"x": %d}}`+"\n", id,
					rapid.IntRange(0, 1).Draw(rt, "input"), rapid.IntRange(0, 1).Draw(rt, "expected"), rapid.IntRange(0, 1).Draw(rt, "metadata"))
			}
			return text
		}
		n++
		file := func(name, text string) *Dataset {
			path := filepath.Join(dir, fmt.Sprint(n, name))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				rt.Fatal(err)
			}
			d, err := Open(path, Options{})
			if err != nil {
				rt.Fatal(err)
			}
			return d
		}
		old, new := file("old", draw("old")), file("new", draw("new"))
		defer old.Close()
		defer new.Close()
		found, err := Relaxations(old, new, nil)
		if err != nil {
			rt.Fatal(err)
		}
		kept := 0
		for i := range old.Len() {
			for j := range new.Len() {
				if old.ID(i) == new.ID(j) && old.CaseDigest(i) == new.CaseDigest(j) {
					kept++
				}
			}
		}
		if len(found) != old.Len()-kept {
			rt.Fatalf("%d of %d cases are kept, and reported are %+v", kept, old.Len(), found)
		}
	})
}
