package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandWords(t *testing.T) {
	for line, want := range map[string][]string{
		"node rerank.mjs":           {"node", "rerank.mjs"},
		"  a\t b\n":                 {"a", "b"},
		`a 'b c' "d e"`:             {"a", "b c", "d e"},
		`a b'c d'e`:                 {"a", "bc de"},
		`a '' ""`:                   {"a", "", ""},
		`a\ b c\'d`:                 {"a b", "c'd"},
		`a '\' "\""`:                {"a", `\`, `"`},
		`${OLOPROOF_BIN} $HOME *.x`: {"${OLOPROOF_BIN}", "$HOME", "*.x"},
	} {
		got, err := commandWords(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("commandWords(%q) = %q, %v, want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]string{
		"": "no program", "  ": "no program", "''": "no program", `a "b`: "is not closed", "a 'b": "is not closed", `a \`: "backslash",
	} {
		if _, err := commandWords(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("commandWords(%q): %v, want %s", line, err, want)
		}
	}
}

// Words that are quoted are read back as they were.
func FuzzCommandWords(f *testing.F) {
	f.Add("node rerank.mjs", "x")
	f.Add(`'a b' "c`, `\`)
	f.Fuzz(func(t *testing.T, a, b string) {
		_, _ = commandWords(a) // does not fail
		quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		if a == "" {
			return
		}
		got, err := commandWords(quoted(a) + " " + quoted(b))
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Fatalf("%q %q became %q, %v", a, b, got, err)
		}
	})
}
