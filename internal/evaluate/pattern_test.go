package evaluate

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

type regexGolden struct {
	Texts   []string
	Rows    [][2]string // pattern, one digit per text
	Invalid []string
	Refused [][2]string // pattern, construct
}

func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// Matches computed with re.search of Python 3.11 (testdata/regex.json).
func TestPatternMatchesAsPython(t *testing.T) {
	var golden regexGolden
	readGolden(t, "regex.json", &golden)
	for _, row := range golden.Rows {
		p, err := compilePattern(row[0])
		if err != nil {
			t.Errorf("%q: %v", row[0], err)
			continue
		}
		for i, text := range golden.Texts {
			want := row[1][i] == '1'
			if got := p.MatchString(text); got != want {
				t.Errorf("%q in %q: %v, want %v", row[0], text, got, want)
			}
			if p.exact != nil && p.exact.match(text) != want {
				t.Errorf("%q in %q by the machine: want %v", row[0], text, want)
			}
		}
	}
	for _, pattern := range golden.Invalid {
		if _, err := compilePattern(pattern); err == nil || strings.Contains(err.Error(), "error parsing regexp") {
			t.Errorf("%q: %v, want our own refusal", pattern, err)
		}
	}
	for _, row := range golden.Refused {
		if _, err := compilePattern(row[0]); err == nil || !strings.Contains(err.Error(), row[1]) {
			t.Errorf("%.40q: %v, want it to name %q", row[0], err, row[1])
		}
	}
}

func TestPatternErrorsNameThePlace(t *testing.T) {
	for pattern, want := range map[string]string{
		"ab(c":       "missing ), the group does not end at position 2",
		"é(?=b)":     "a lookahead (?=…) at position 1 is not supported",
		`x\q`:        `unknown escape \q at position 1`,
		"a{1,2000}b": "a repeat of {1,2000} at position 1 is not supported",
		"[z-a]":      "bad character range z-a at position 1",
	} {
		if _, err := compilePattern(pattern); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// FuzzPattern checks that the translator and both engines agree with
// themselves on whatever they accept.
func FuzzPattern(f *testing.F) {
	var golden regexGolden
	readGolden(f, "regex.json", &golden)
	for i, row := range golden.Rows {
		f.Add(row[0], golden.Texts[i%len(golden.Texts)])
	}
	for _, pattern := range golden.Invalid {
		f.Add(pattern, "a")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if !utf8.ValidString(source) || !utf8.ValidString(text) || len(source) > 200 || len(text) > 1000 {
			return
		}
		p, err := compilePattern(source)
		if err != nil {
			if strings.Contains(err.Error(), "error parsing regexp") {
				t.Fatalf("%q: %v is not our own", source, err)
			}
			return
		}
		got := p.MatchString(text)
		if p.exact != nil && p.exact.match(text) != got {
			t.Fatalf("%q in %q: %v, and the machine says otherwise", source, text, got)
		}
	})
}

// A long id is cut with a mark, by which the rest of a secret in it is found.
func TestLongIDIsCutWithAMark(t *testing.T) {
	got := quoteSome([]string{"a", strings.Repeat("ä", 2*shown)})
	if want := `"a", "` + strings.Repeat("ä", shown-1) + `…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
