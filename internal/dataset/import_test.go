package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/internal/dataset/foreign"
	"github.com/oloproof/oloproof-go/internal/evidence"
)

func table(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A foreign data set has the digest of the same cases in our own form, and knows
// where each case stands.
func TestOpenForeign(t *testing.T) {
	d, err := OpenForeign(table(t, "c.csv", "id,question,answer\na,\"two\nlines\",x\nb,B?,y\n"), foreign.Spec{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	own, err := Open(table(t, "c.jsonl", `{"id":"a","input":{"question":"two\nlines"},"expected":{"answer":"x"}}`+"\n"+`{"id":"b","input":{"question":"B?"},"expected":{"answer":"y"}}`+"\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	c, err := d.Case(1)
	if err != nil || c.ID != "b" || c.Line != 4 || d.Line(1) != 4 || string(c.Input) != `{"question":"B?"}` {
		t.Errorf("the second case: %+v, %v", c, err)
	}
	if d.Digest() != own.Digest() || d.Len() != 2 {
		t.Errorf("digest %s of %d cases, want %s", d.Digest(), d.Len(), own.Digest())
	}
	if notes := strings.Join(d.Notes(), "\n"); !strings.Contains(notes, "the data set is read as csv: 2 cases") {
		t.Errorf("notes %q", notes)
	}
}

func TestOpenForeignNamesEveryRow(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"t.json", "[\n{\"id\": \"a\", \"question\": \"A?\"},\n{\"id\": \"a\", \"question\": \"B?\"},\n{\"answer\": \"x\"}\n]", `row 3: nothing to ask`},
		{"t.json", "[\n{\"id\": \"a\", \"question\": \"A?\"},\n{\"id\": \"a\", \"question\": \"B?\"},\n{\"answer\": \"x\"}\n]", `row 2: duplicate id "a": row 1 has it too`},
		{"t.json", "[\n{\"id\": \"a\", \"input\": 1},\n{\"id\": \"b\", \"input\": null}\n]", "row 2: input is null"},
		{"t.json", "[\n{\"id\": \"a\", \"input\": 1, \"group_id\": 7}\n]", "row 1: group_id is not supported yet"},
		{"t.json", "[{\"a\": 1}]", "row 1: nothing to ask"},
		{"t.csv", "question\n", "the data set holds no case"},
		{"t.csv", "id,question,metadata.topic\n1,A?,x\n", ""},
	} {
		d, err := OpenForeign(table(t, c.name, c.content), foreign.Spec{}, Options{Slices: []string{"metadata.topic"}, Visit: func(*evidence.Case) []string { return nil }})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.content, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.content, err, c.want)
		}
		if d != nil {
			d.Close()
		}
	}
}

// 100,000 rows of a table, 25 MB, are held in less than 200 MB.
func TestManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 25 MB")
	}
	path := filepath.Join(t.TempDir(), "many.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "id,question,answer,metadata.topic,relevant")
	for i := range 100_000 {
		fmt.Fprintf(f, "case-%06d,\"%s?\",%s,billing,doc-%d|doc-%d\n", i, strings.Repeat("how many seats ", 8), strings.Repeat("five seats ", 8), i, i+1)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := OpenForeign(path, foreign.Spec{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if d.Len() != 100_000 || m.HeapAlloc > 200<<20 {
		t.Errorf("%d cases in %d MB", d.Len(), m.HeapAlloc>>20)
	}
	t.Logf("%d MB in use, %d MB taken from the system", m.HeapAlloc>>20, m.Sys>>20)
}

func TestPages(t *testing.T) {
	var p pages
	text := strings.Repeat("0123456789abcdef-", pageSize/6)
	for i := 0; i < len(text); i += 1000 {
		p.add([]byte(text[i:min(len(text), i+1000)]))
	}
	got := make([]byte, len(text))
	if n, err := p.ReadAt(got, 0); n != len(text) || err != nil || string(got) != text || p.size != int64(len(text)) {
		t.Errorf("%d of %d bytes, %v", n, len(text), err)
	}
	part := make([]byte, 100)
	if n, err := p.ReadAt(part, pageSize-50); n != 100 || err != nil || string(part) != text[pageSize-50:pageSize+50] {
		t.Errorf("over the border of two pages: %d, %v", n, err)
	}
	if n, err := p.ReadAt(part, int64(len(text))-10); n != 10 || err == nil {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if _, err := p.ReadAt(part, int64(len(text))+pageSize); err == nil {
		t.Error("behind the end")
	}
}
