package strictyaml

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/oloproof/oloproof-go/internal/problem"
)

var update = flag.Bool("update", false, "write the goldens anew")

// sample is a file with one key of each type.
type sample struct {
	Name    string
	Mode    string
	On      bool
	K       int
	Share   *float64
	Wait    time.Duration
	Free    jsontext.Value
	Tags    []string
	Headers []entry
	Parts   []part
	Inner   inner
	InnerAt Position
}

type entry struct {
	Name, Value string
	At          Position
}

type inner struct{ A, B string }

type part struct {
	Kind string
	X, Y int
}

func (s *sample) table() Type {
	return Mapping(Table{
		{Key: "version", Type: Const(1, "no other is known"), Doc: "Version."},
		{Key: "name", Type: String(Into(&s.Name)), Required: true, Doc: "Name."},
		{Key: "mode", Type: Enum(Into(&s.Mode), "fast", "slow").Refuse("not supported yet", "odd").Default("fast"), Doc: "Mode."},
		{Key: "on", Type: Bool(Into(&s.On)).Default(true), Doc: "Switch."},
		{Key: "k", Type: Int(Into(&s.K)).Min(1).Default(5), Doc: "Depth."},
		{Key: "share", Type: Number(Opt(&s.Share)).Above(0).Below(1).Hint(AsShare), Null: true, Doc: "Share."},
		{Key: "wait_s", Type: Seconds(Into(&s.Wait)).Default(30), Doc: "Wait."},
		{Key: "free", Type: JSON(Into(&s.Free)), Doc: "Anything."},
		{Key: "tags", Type: List(Into(&s.Tags), func(t *string) Type { return String(Into(t)) }).Min(1).Unique(), Doc: "Tags."},
		{Key: "headers", Type: Entries(Into(&s.Headers), `^[a-z]+$`, "a word", func(name string, at Position, e *entry) Type {
			e.Name, e.At = name, at
			return String(Into(&e.Value)).Empty()
		}), Doc: "Headers."},
		{Key: "parts", Type: List(Into(&s.Parts), (*part).table), Doc: "Parts."},
		{Key: "inner", Type: Either(String(Into(&s.Inner.A)), Mapping(Table{
			{Key: "a", Type: String(Into(&s.Inner.A)), Required: true, Doc: "A."},
			{Key: "b", Type: String(Into(&s.Inner.B)).Default("b"), Doc: "B."},
		}).At(Into(&s.InnerAt))), Doc: "Inner."},
		Refused("old", "not supported by this tool"),
	})
}

func (p *part) table() Type {
	return Variants("type", "part", Into(&p.Kind),
		Variant{Name: "point", Doc: "A point.", Table: Table{
			{Key: "x", Type: Int(Into(&p.X)).Default(1), Doc: "X."},
			{Key: "y", Type: Int(Into(&p.Y)).Default(2), Doc: "Y."},
		}},
		Variant{Name: "line", Doc: "A line.", Table: Table{{Key: "x", Type: Int(Into(&p.X)).Default(9), Doc: "X."}}},
	).Refuse("not supported yet", "plane")
}

func read(t *testing.T, text string) (sample, error) {
	t.Helper()
	var s sample
	f, err := Parse("f.yaml", []byte(text), s.table())
	if err == nil {
		err = f.Err()
	}
	return s, err
}

func TestReadsEveryType(t *testing.T) {
	got, err := read(t, `# a comment
version: 1
name: 2024-05-01
mode: slow
on: no
k: 7
share: 0.5
wait_s: 1.5
free: {a: [1, 1.50, 99999999999999999999, "yes", null, true], b: 0x1F}
tags: [x, y]
headers: {b: "", a: é}
parts:
  - {type: line}
  - {type: point, y: 4}
inner: {a: z}
`)
	if err != nil {
		t.Fatal(err)
	}
	half := 0.5
	want := sample{
		Name: "2024-05-01", Mode: "slow", K: 7, Share: &half, Wait: 1500 * time.Millisecond,
		Free: jsontext.Value(`{"a":[1,1.50,99999999999999999999,"yes",null,true],"b":31}`),
		Tags: []string{"x", "y"}, Headers: []entry{{"b", "", Position{Line: 11, Column: 14}}, {"a", "é", Position{Line: 11, Column: 21}}},
		Parts: []part{{Kind: "line", X: 9}, {Kind: "point", X: 1, Y: 4}},
		Inner: inner{"z", "b"}, InnerAt: Position{Line: 15, Column: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsHoldForAbsentKeys(t *testing.T) {
	got, err := read(t, "name: x\nshare: null\n")
	if err != nil {
		t.Fatal(err)
	}
	want := sample{Name: "x", Mode: "fast", On: true, K: 5, Wait: 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeKeysAndAliases(t *testing.T) {
	got, err := read(t, `name: &n x
parts:
  - &p {type: point, x: 3}
  - {<<: *p, y: 7}
  - {y: 8, <<: [{y: 1, x: 5}, *p]}
inner: *n
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []part{{"point", 3, 2}, {"point", 3, 7}, {"point", 5, 8}}
	if diff := cmp.Diff(want, got.Parts); diff != "" {
		t.Error(diff)
	}
	if got.Inner.A != "x" {
		t.Errorf("alias: got %q", got.Inner.A)
	}
}

// TestProblems compares every message with a golden: testdata/NAME.yaml is the
// file, testdata/NAME.txt what is said of it.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = read(t, string(data))
			if err == nil {
				t.Fatal("no problem found")
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, readErr := os.ReadFile(golden)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSyntaxErrorsNameTheRightLine holds the lines that a person would point at,
// where the YAML parser itself names another.
func TestSyntaxErrorsNameTheRightLine(t *testing.T) {
	for _, test := range []struct {
		text  string
		place string
		says  string
	}{
		{"a: 1\nb:\n  c: 2\n d: 3\ne: 4\n", "f.yaml:4:2", "indent"},
		{"a: 1\nb:\n\tc: 2\ne: 4\n", "f.yaml:3:1", "tab"},
		{"a:\n  b: 1\n  \tc: 2\nd: 3\n", "f.yaml:3:3", "tab"},
		{"a: 1\nb: c: d\ne: 4\n", "f.yaml:2:1", "colon"},
		{"a: 1\nb: \"abc\ne: 4\nf: 5\n", "f.yaml:2:4", "quote"},
		{"a: 1\nb: \"abc\n# it says \"x\"\ne: 4\nf: 5\n", "f.yaml:2:4", "quote"},
		{"a: \"two\n  lines\"\nb: c: d\n", "f.yaml:3:1", "colon"},
		{"a: 1\nb: [1, 2\ne: 4\nf: 5\n", "f.yaml:2:1", "bracket"},
		{"a: 1\nb: {x: 2}}\ne: 4\nf: 5\n", "f.yaml:2:1", "bracket"},
		{"a: 1\nfoo\ne: 4\nf: 5\n", "f.yaml:2:1", "without a colon"},
		{"a: 1\nb: \"x\\q\"\ne: 4\nf: 5\n", "f.yaml:2:1", "escape"},
		{"a: 1\nb: 'it's'\ne: 4\nf: 5\n", "f.yaml:2:1", "quote"},
		{"a: 1\nb: @x\ne: 4\nf: 5\n", "f.yaml:2:1", "@"},
		{"a: 1\nb: *x\ne: 4\nf: 5\n", "f.yaml:2:4", "anchor"},
		{"a:\n  - x\n  y: 2\nf: 5\n", "f.yaml:3:3", "indent"},
		{"a:\n  - x\n - y\nf: 5\n", "f.yaml:3:2", "indent"},
		{"s: {\n  a: 1,\n  b: 2\n}\nx:\n  c: d: e\n", "f.yaml:6:3", "colon"},
		{"s: {\n  a: 1,\n  b: 2\n  c: 3\n}\ny: 1\n", "f.yaml:3:3", "comma"},
		{"v: 1\ne:\n  - {t: c, k: 1\n  - {t: r}\ns: []\n", "f.yaml:3:3", "bracket"},
		{"a: \"x\u2028y\"\nb: c: d\n", "f.yaml:2:1", "colon"},
		{"a: 1\r\nb: c: d\r\n", "f.yaml:2:1", "colon"},
		{strings.Repeat("#\n", 3000) + "b: [\n" + strings.Repeat("x: 1\n", 3000), "f.yaml:3002:1", "bracket"},
	} {
		_, err := read(t, test.text)
		l, ok := errors.AsType[problem.List](err)
		if !ok || len(l) != 1 || l[0].Place() != test.place || !strings.Contains(l[0].Message, test.says) {
			t.Errorf("%.60q: got\n%v\nwant %s at %s", test.text, err, test.says, test.place)
		}
	}
}

func TestEncodings(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"UTF-16 with a mark", "\xff\xfen\x00:\x00", "UTF-16"},
		{"UTF-16 without a mark", "n\x00:\x00 \x00x\x00", "UTF-16"},
		{"big-endian UTF-16", "\x00n\x00:\x00 \x00x", "UTF-16"},
		{"UTF-32", "\xff\xfe\x00\x00n\x00\x00\x00", "UTF-32"},
		{"Latin-1", "name: caf\xe9\n", "f.yaml:1:10"},
		{"control character", "name: x\x1b[2J\n", "U+001B"},
		{"too large", strings.Repeat("#", MaxBytes+1), "larger than 1 MiB"},
	} {
		_, err := read(t, test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		} else if strings.ContainsRune(err.Error(), 0x1b) || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: the message may not hold raw bytes: %q", test.name, err)
		}
	}
	for _, data := range []string{"\xef\xbb\xbfname: x\n", "name: x\r\nk: 2\r\n", "name: x\rk: 2\r", "name: x", "---\nname: x\n...\n"} {
		if _, err := read(t, data); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestBombsEnd(t *testing.T) {
	bomb := "name: x\nfree:\n  a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for _, test := range []struct{ text, want string }{
		{bomb, "more than 100000 values"},
		{"name: x\nfree: &a [*a]\n", "inside the value it names"},
		{"name: x\nfree: &a {b: {c: *a}}\n", "inside the value it names"},
		{"name: x\nfree: &a {<<: *a}\n", "inside the value it names"},
		{"name: x\nfree: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "nested more than 64 deep"},
		{strings.Repeat("a", 1000) + ": 1\nname: x\n", "unknown key"},
	} {
		_, err := read(t, test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: got %.300v, want %s", test.text, err, test.want)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%.40q: a message of %d bytes", test.text, len(err.Error()))
		}
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	var b strings.Builder
	for i := range 250 {
		fmt.Fprintf(&b, "u%d: 1\n", i)
	}
	_, err := read(t, b.String()+"name: x\n")
	if l, _ := errors.AsType[problem.List](err); len(l) != 201 || !strings.Contains(l[200].Message, "50 more problems") {
		t.Errorf("got %d problems, the last %q", len(l), l[len(l)-1].Message)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "absent.yaml"): "does not exist",
		dir:                               "is a directory",
	} {
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func TestAsShare(t *testing.T) {
	for v, want := range map[float64]string{70: "0.70", 72.5: "0.725", 5: "0.05", 100: "1.00", 1.5: "0.015", 0.5: "", 1: "", 101: "", -3: ""} {
		if want != "" {
			want = "did you mean " + want + "?"
		}
		if got := AsShare(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte("name: x\nparts: [{<<: {type: point}, x: 1}]\nfree: {a: [1, ~, 1e3, 0b1]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sample
		file, err := Parse("f.yaml", data, s.table())
		if err == nil {
			err = file.Err()
		}
		if err != nil {
			l, ok := errors.AsType[problem.List](err)
			if !ok || len(l) == 0 {
				t.Fatalf("not a list of problems: %v", err)
			}
			for _, p := range l {
				checkPlace(t, p, data)
			}
			return
		}
		if s.Name == "" || s.K < 1 || s.Mode != "fast" && s.Mode != "slow" || s.Share != nil && !(*s.Share > 0 && *s.Share < 1) {
			t.Fatalf("read without a problem: %+v", s)
		}
		if s.Free != nil && !s.Free.IsValid() {
			t.Fatalf("no JSON: %s", s.Free)
		}
	})
}

// checkPlace asks that a problem lie in its file and show the line it names.
func checkPlace(t *testing.T, p problem.Problem, data []byte) {
	t.Helper()
	if p.Message == "" || !utf8.ValidString(p.Message) || strings.ContainsAny(p.Message, "\n\x1b") {
		t.Fatalf("message %q", p.Message)
	}
	src, _, _ := newSource(data)
	if p.Line < 0 || p.Line > len(src.lines)+1 || p.Line == 0 && p.Column != 0 {
		t.Fatalf("%s lies outside of %d lines", p.Place(), len(src.lines))
	}
	if p.Line > 0 && p.Column > utf8.RuneCountInString(src.line(p.Line))+1 {
		t.Fatalf("%s lies outside of its line %q", p.Place(), src.line(p.Line))
	}
}
