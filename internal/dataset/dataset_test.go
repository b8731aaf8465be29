package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
)

// write puts a data set into a new file and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a data set and returns its problems as "LINE:COLUMN message".
func open(t testing.TB, text string, opt Options) (*Dataset, []string) {
	t.Helper()
	d, err := Open(write(t, text), opt)
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
		return d, nil
	}
	list, ok := err.(problem.List)
	if !ok || len(list) == 0 {
		t.Fatalf("Open: %#v, want a list of problems", err)
	}
	var all []string
	for _, p := range list {
		all = append(all, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message))
	}
	return d, all
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"0:0 the data set holds no case"}},
		{"blank lines", "\n \t\r\n\n", []string{"0:0 the data set holds no case"}},
		{"only a mark", "\xef\xbb\xbf", []string{"0:0 the data set holds no case"}},
		{"bad JSON in two lines", "{\"id\":\"a\",\"input\":1}\n{bad\n{\"id\":\"b\",\"input\":}\n", []string{"2:2 invalid character 'b'", "3:19 missing value"}},
		{"column in characters", "{\"id\":\"é😀\",\"input\":x}", []string{"1:20 invalid character 'x'"}},
		{"not UTF-8", "{\"id\":\"a\",\"input\":\"\xff\"}\n", []string{"1:20 byte 0xff is not UTF-8"}},
		{"a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", []string{"1:0 the file is a pointer of Git LFS: fetch the file first (git lfs pull, or lfs: true of actions/checkout)"}},
		{"a packed file", "\x1f\x8b\x08\x00", []string{"1:0 the file is compressed with gzip: unpack it first (gunzip)"}},
		{"UTF-16 with a mark", "\xff\xfe{\x00", []string{"1:0 the file is UTF-16, want UTF-8"}},
		{"UTF-16 big endian", "\x00{\x00\"", []string{"1:0 the file is UTF-16, want UTF-8"}},
		{"UTF-16 little endian", "{\x00\"\x00", []string{"1:0 the file is UTF-16, want UTF-8"}},
		{"NaN", `{"id":"a","input":{"x":NaN}}`, []string{"1:24 NaN is not JSON"}},
		{"infinite", `{"id":"a","input":-1e999}`, []string{"1:19 number \"-1e999\" does not fit a double"}},
		{"lone surrogate", `{"id":"a","input":"\ud800"}`, []string{`1:20 lone surrogate "\\ud800"`}},
		{"key twice", `{"id":"a","input":{"q":1,"q":2}}`, []string{`1:26 key "q" stands twice`}},
		{"field twice", `{"id":"a","input":1,"input":2}`, []string{`1:21 key "input" stands twice`}},
		{"two objects", `{"id":"a","input":1} {"id":"b","input":1}`, []string{"1:22 more text after the JSON value"}},
		{"JSON array", "\n[{\"id\":\"a\",\"input\":1},\n{}]", []string{"2:0 the file is a JSON array, want one object a line (JSON Lines): say dataset"}},
		{"object over lines", "{\n\"id\":\"a\"\n}\n", []string{"1:0 the object does not end on its line"}},
		{"list later", "{\"id\":\"a\",\"input\":1}\n [1]", []string{"2:2 want one JSON object a line, found a list"}},
		{"string", `"x"`, []string{"1:1 want one JSON object a line, found a string"}},
		{"no input", "{\"id\":\"a\"}\n{\"id\":\"b\",\"inputs\":1}", []string{"1:0 no input: each case", `2:0 no input: is "inputs" meant as "input"?`}},
		{"null input", `{"id":"a","input":null}`, []string{"1:19 input is null"}},
		{"id of a wrong type", "{\"id\":true,\"input\":1}\n{\"id\":1.5,\"input\":1}\n{\"id\":1e2,\"input\":1}\n{\"id\":[],\"input\":1}\n{\"id\":\"\",\"input\":1}",
			[]string{"1:7 id is a boolean", `2:7 id is 1.5, want a text or an integer: write it as "1.5"`, "3:7 id is 1e2", "4:7 id is a list", "5:7 id is empty"}},
		{"duplicate id", "{\"id\":\"a\",\"input\":1}\n\n{\"id\":\"a\",\"input\":2}", []string{`3:0 duplicate id "a": line 1 has it too`}},
		{"number and text", "{\"id\":7,\"input\":1}\n{\"id\":\"7\",\"input\":2}", []string{`2:0 duplicate id "7": line 1 has it too (7 and "7" are one id)`}},
		{"equal without id", "{\"input\":1}\n{\"input\":1.0}", []string{"2:0 the case equals that of line 1 and neither has an id"}},
		{"metadata", "{\"id\":\"a\",\"input\":1,\"metadata\":null}\n{\"id\":\"b\",\"input\":1,\"metadata\":[1]}", []string{"1:32 metadata is null, want an object", "2:32 metadata is a list"}},
		{"several in one line", `{"id":1.5,"input":null,"metadata":"x"}`, []string{"1:7 id is 1.5", "1:19 input is null", "1:35 metadata is a string"}},
		{"group on all", "{\"id\":\"a\",\"input\":1,\"group_id\":\"g\"}\n{\"id\":\"b\",\"input\":1,\"group_id\":7}", []string{"1:32 group_id is not supported yet: remove it"}},
		{"group on some", "{\"id\":\"a\",\"input\":1}\n{\"id\":\"b\",\"input\":1,\"group_id\":\"g\"}", []string{"2:32 1 of 2 cases have group_id: all cases have it or none"}},
		{"group empty", `{"id":"a","input":1,"group_id":""}`, []string{"1:32 group_id is empty"}},
		{"time order", `{"id":"a","input":1,"time_order":3,"initial_state":{}}`, []string{"1:34 time_order is not supported yet", "1:52 initial_state is not supported yet"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := open(t, c.text, Options{})
			if len(got) != len(c.want) {
				t.Fatalf("problems %q; want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("problem %q; want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestOpenFileProblems(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none.jsonl"), Options{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("directory: %v", err)
	}
}

func TestProblemsAreCapped(t *testing.T) {
	_, got := open(t, strings.Repeat("{bad\n", 60), Options{})
	if len(got) != maxProblems+1 || got[maxProblems] != "0:0 and 10 more problems" {
		t.Errorf("%d problems, the last %q", len(got), got[len(got)-1])
	}
}

func TestSourceIsBounded(t *testing.T) {
	_, err := Open(write(t, `{"id":"`+strings.Repeat("é", 1<<20)+"\xff"), Options{})
	list := err.(problem.List)
	if n := len(list[0].Source); n > maxSource+3 || list[0].Column != 8+1<<20 {
		t.Errorf("source of %d bytes, column %d", n, list[0].Column)
	}
}

func TestOpen(t *testing.T) {
	text := "\xef\xbb\xbf{\"id\":\"a\",\"input\":{\"q\": \"x\u2028y\"},\"expected\":{\"answer\":\"42\"},\"metadata\":{\"topic\":\"é\"}}\r\n" +
		"\n  \t\r\n" +
		`{"id":7,"input":0,"expected":null,"group_id":null,"time_order":null,"initial_state":null}` + "\n" +
		`{"input":12345678901234567890123,"expcted":1,"tags":[]}` + "\n" +
		`  {"id":"last","input":false,"expected":"42"}  `
	var seen []string
	d, problems := open(t, text, Options{Visit: func(c *evidence.Case) []string {
		seen = append(seen, fmt.Sprintf("%d %d %s", c.Index, c.Line, c.ID))
		return nil
	}})
	if problems != nil {
		t.Fatal(problems)
	}
	derived, _ := evidence.CaseDigest(&evidence.Case{Input: evidence.Value("12345678901234567890123")})
	want := []evidence.Case{
		{ID: "a", Line: 1, Input: evidence.Value("{\"q\": \"x\u2028y\"}"), Expected: evidence.Value(`{"answer":"42"}`), Metadata: evidence.Value(`{"topic":"é"}`)},
		{ID: "7", Index: 1, Line: 4, Input: evidence.Value("0")},
		{ID: derived.Hex()[:16], Index: 2, Line: 5, Input: evidence.Value("12345678901234567890123")},
		{ID: "last", Index: 3, Line: 6, Input: evidence.Value("false"), Expected: evidence.Value(`"42"`)},
	}
	if diff := cmp.Diff([]string{"0 1 a", "1 4 7", "2 5 " + want[2].ID, "3 6 last"}, seen); diff != "" {
		t.Errorf("visited (-want +got):\n%s", diff)
	}
	if d.Len() != len(want) {
		t.Fatalf("%d cases, want %d", d.Len(), len(want))
	}
	for i := range want {
		want[i].Digest, _ = evidence.CaseDigest(&want[i])
		got, err := d.Case(i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want[i], got); diff != "" {
			t.Errorf("case %d (-want +got):\n%s", i, diff)
		}
		if d.ID(i) != want[i].ID || d.CaseDigest(i) != want[i].Digest || d.Line(i) != want[i].Line {
			t.Errorf("case %d: %s %s %d", i, d.ID(i), d.CaseDigest(i), d.Line(i))
		}
	}
	notes := []string{
		`field "expcted" of 1 case is not read: is "expected" meant?`,
		`field "tags" of 1 case is not read`,
		`1 case has no id (first: line 5): 16 digits of the digest stand in, and change whenever the case changes`,
	}
	if diff := cmp.Diff(notes, d.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestRepeatedInputs(t *testing.T) {
	d, problems := open(t, `{"id":"a","input":{"p":1,"q":2}}
{"id":"b","input":2}
{"id":"c","input":{"q":2.0,"p":1},"expected":"x"}
{"id":"d","input":2}`, Options{})
	want := []string{`2 cases have the input of an earlier case, such as "c" (line 3) that of "a" (line 1): each is executed and counted by itself`}
	if problems != nil || cmp.Diff(want, d.Notes()) != "" {
		t.Errorf("%v; notes %q", problems, d.Notes())
	}
}

func TestDigestIgnoresOrderAndSpelling(t *testing.T) {
	first, _ := open(t, "{\"id\":\"a\",\"input\":{\"x\":1,\"y\":2}}\n{\"id\":\"b\",\"input\":2}\n", Options{})
	second, _ := open(t, "\n{\"input\":2.0,\"id\":\"b\",\"metadata\":{}}\n{\"id\":\"a\",\"input\":{\"y\":2,\"x\":1},\"expected\":null,\"tags\":1}", Options{})
	third, _ := open(t, "{\"id\":\"a\",\"input\":{\"x\":1,\"y\":2}}\n{\"id\":\"c\",\"input\":2}\n", Options{})
	if first.Digest() != second.Digest() || first.Digest() == third.Digest() {
		t.Errorf("digests %s %s %s: want the first two equal", first.Digest(), second.Digest(), third.Digest())
	}
}

func TestVisitMessagesAreProblems(t *testing.T) {
	_, got := open(t, "{\"id\":\"a\",\"input\":1}\n{bad\n{\"id\":\"b\",\"input\":1}\n", Options{
		Visit: func(c *evidence.Case) []string { return []string{"about " + c.ID, "more of " + c.ID} },
	})
	want := []string{"1:0 about a", "1:0 more of a", "2:2 ", "3:0 about b", "3:0 more of b"}
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("problems %q; want %q", got, want)
		}
	}
}

func TestCaseDetectsChanges(t *testing.T) {
	text := "{\"id\":\"a\",\"input\":1}\n{\"id\":\"b\",\"input\":2}\n"
	for _, changed := range []string{
		"{\"id\":\"a\",\"input\":1}\n{\"id\":\"b\",\"input\":3}\n", // other content
		"{\"id\":\"a\",\"input\":1}\n{\"id\":\"c\",\"input\":2}\n", // other id
		"{\"id\":\"a\",\"input\":1}\n{\"id\":\"b\"",                // shorter
		"{\"id\":\"a\",\"input\":1}\nXXXXXXXXXXXXXXXXXXXX\n",       // no JSON
		"",
	} {
		path := write(t, text)
		d, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := d.Case(1); err == nil || !strings.Contains(err.Error(), ":2: case \"b\" changed") {
			t.Errorf("%q: %v, %v", changed, c, err)
		}
		_ = d.Close()
	}
}

func TestCaseIsSafeForConcurrentUse(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "{\"id\":\"c%d\",\"input\":{\"n\":%d}}\n", i, i)
	}
	d, problems := open(t, text.String(), Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := range d.Len() {
				at := (i*7 + g) % d.Len()
				if c, err := d.Case(at); err != nil || c.ID != fmt.Sprintf("c%d", at) || string(c.Input) != fmt.Sprintf("{\"n\":%d}", at) {
					t.Errorf("case %d: %+v, %v", at, c, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 50<<20)
	d, problems := open(t, "{\"id\":\"a\",\"input\":1}\n{\"id\":\"b\",\"input\":\""+long+"\"}\n{\"id\":\"c\",\"input\":3}\n", Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	for i, want := range []int{1, len(long) + 2, 1} {
		if c, err := d.Case(i); err != nil || len(c.Input) != want {
			t.Errorf("case %d: %v, want an input of %d bytes", i, err, want)
		}
	}
}

// Values of slices, tried with Oloproof 0.1.0a20 (PyPI).
func TestSliceValue(t *testing.T) {
	c := &evidence.Case{Metadata: evidence.Value(`{"t":true,"n":null,"i":3,"f":3.0,"big":1e22,"small":0.0000001,"long":12345678901234567890123,
		"s":"\u00e9","e":"","a.b":"flat","a":{"b":"nested"},"l":[1]}`)}
	for name, want := range map[string]string{
		"metadata.t": "true", "metadata.n": evidence.NoSlice, "metadata.none": evidence.NoSlice, "metadata.i": "3", "metadata.f": "3.0",
		"metadata.big": "1e+22", "metadata.small": "1e-07", "metadata.long": "12345678901234567890123", "metadata.s": "é", "metadata.e": "",
		"metadata.a.b": "flat", "other": evidence.NoSlice,
	} {
		if got := SliceValue(c, name); got != want {
			t.Errorf("SliceValue(%s) = %q, want %q", name, got, want)
		}
	}
	if got := SliceValue(&evidence.Case{}, "metadata.t"); got != evidence.NoSlice {
		t.Errorf("without metadata: %q", got)
	}
	_, problems := open(t, `{"id":"a","input":1,"metadata":{"x":{"y":1},"z":[1],"ok":1}}`, Options{Slices: []string{"metadata.x", "metadata.z", "metadata.ok"}})
	want := []string{"1:0 metadata.x is an object, so it cannot name a slice: want a string, a number or a boolean", "1:0 metadata.z is a list, so it cannot name a slice: want a string, a number or a boolean"}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func BenchmarkOpen(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"id":"case_%06d","input":{"question":"What does plan number %d include, and since when? %s"},"expected":{"answer":"five seats","relevant":[{"doc_id":"kb-03"}]},"metadata":{"topic":"billing","lang":"en"}}`+"\n", i, i, strings.Repeat("x", 80))
	}
	path := write(b, text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		_ = d.Close()
	}
}

func BenchmarkCase(b *testing.B) {
	d, problems := open(b, `{"id":"a","input":{"question":"What does the plan include, and since when?"},"expected":{"answer":"five seats","relevant":[{"doc_id":"kb-03"}]},"metadata":{"topic":"billing"}}`, Options{})
	if problems != nil {
		b.Fatal(problems)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Case(0); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzOpen checks that whatever is accepted can be read again as it was indexed.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"id\":\"a\",\"input\":1}\n\n{\"input\":{\"x\":[1.0]},\"metadata\":{\"a\":1}}\r\n"))
	f.Add([]byte("\xef\xbb\xbf{\"id\":7,\"input\":\"\u2028\"}"))
	f.Add([]byte("[1]"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, fmt.Sprint(os.Getpid()))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		visited := 0
		d, err := Open(path, Options{Slices: []string{"metadata.a"}, Visit: func(*evidence.Case) []string { visited++; return nil }})
		if err != nil {
			if list, ok := err.(problem.List); !ok || len(list) == 0 || len(list) > maxProblems+4 {
				t.Fatalf("%#v", err)
			}
			return
		}
		defer func() { _ = d.Close() }()
		if d.Len() == 0 || visited != d.Len() {
			t.Fatalf("%d cases, %d visited", d.Len(), visited)
		}
		for i := range d.Len() {
			c, err := d.Case(i)
			if err != nil || c.ID == "" || c.ID != d.ID(i) || c.Digest != d.CaseDigest(i) {
				t.Fatalf("case %d: %+v, %v", i, c, err)
			}
		}
	})
}
