package runnertest

import (
	"strings"
	"testing"
)

// FuzzParseEnvFile checks that values which a parse gives, written in either
// form of the grammar, are read again as they are.
func FuzzParseEnvFile(f *testing.F) {
	for _, s := range []string{"a=1\n", "a<<E\nx\nE\n", "a<<E\nx", "\ufeffa=b", "=\n", "<<\n", "a<<=\n=\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, _ := ParseEnvFile(text)
		var b strings.Builder
		var want []Pair
		for i, p := range pairs {
			if p.Name == "" || strings.ContainsAny(p.Name, "\n=<") {
				continue
			}
			delimiter := strings.Repeat("E", len(p.Value)+1)
			if i%2 == 0 || strings.Contains(p.Value, "\n") {
				b.WriteString(p.Name + "<<" + delimiter + "\n" + p.Value + "\n" + delimiter + "\n")
			} else {
				b.WriteString(p.Name + "=" + p.Value + "\n")
			}
			want = append(want, p)
		}
		got, err := ParseEnvFile("x=\n" + b.String())
		if err != nil || len(got) != len(want)+1 {
			t.Fatalf("%q: %v, %v", b.String(), got, err)
		}
		for i := range want {
			if got[i+1] != want[i] {
				t.Fatalf("%+v is read as %+v", want[i], got[i+1])
			}
		}
	})
}

// FuzzParseCommand checks that a command which a parse gives has a registered
// name, and that the line holds what tells commands from text.
func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"::error a=b,c=d::x", "##[add-mask]x", "\u3000::GROUP::", "::error ::", "##[error a;b=]%5D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := ParseCommand(line)
		if !ok {
			return
		}
		known := false
		for _, name := range commandNames() {
			known = known || name == c.Name
		}
		starts := strings.HasPrefix(strings.TrimLeftFunc(line, IsWhiteSpace), "::")
		if !known || !starts && !strings.Contains(line, "##[") {
			t.Errorf("%q became %+v", line, c)
		}
	})
}
