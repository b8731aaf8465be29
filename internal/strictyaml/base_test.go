package strictyaml

import (
	"fmt"
	"strings"
	"testing"
)

type laid struct {
	A, B string
	M    map[string]string
	At   map[string]Position
}

func (l *laid) table() Type {
	l.M = map[string]string{}
	inner := func(name string) Field {
		return Field{Key: name, Type: String(func(s string) { l.M[name] = s })}
	}
	return Mapping(Table{
		{Key: "base", Type: String(func(string) {})},
		{Key: "a", Type: String(Into(&l.A))},
		{Key: "b", Type: String(Into(&l.B))},
		{Key: "m", Type: Mapping(Table{inner("x"), inner("y"), inner("z")})},
	}).Keys(Into(&l.At)).Over("base", func(name string) (Base, bool) {
		texts := map[string]string{
			"one":   "about: this\nhttp:\n  a: one\n  m: {x: one, y: one}\n",
			"wrong": "http:\n  a: 1\n  m: {w: one}\n",
		}
		text, ok := texts[name]
		return Base{Name: "base " + name, Text: []byte(text), Key: "http"}, ok
	}, func() []string { return []string{"one", "wrong"} }, []string{"a", "b"}, []string{"x", "z"})
}

// A mapping is laid over its base key by key.
func TestOver(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"base: one\n", "one  map[x:one y:one]"},
		{"base: one\na: two\nm: {y: two}\n", "two  map[x:one y:two]"},
		{"base: one\na: null\nm: {x: null}\n", "  map[y:one]"},
		{"base: one\nm: null\n", "one  map[]"},
		{"base: one\nb: two\n", " two map[x:one y:one]"}, // a and b exclude each other
		{"base: one\nm: {z: two}\n", "one  map[z:two]"},  // another form: all of the base's goes
		{"base: one\nm: &k {y: two}\n", "one  map[x:one y:two]"},
		{"a: two\n", "two  map[]"},
	} {
		var l laid
		f, err := Parse("f.yaml", []byte(c.text), l.table())
		if err == nil {
			err = f.Err()
		}
		if got := fmt.Sprint(l.A, " ", l.B, " ", l.M); err != nil || got != c.want {
			t.Errorf("%q: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

// Places and problems are those of the text that a value stands in.
func TestOverPlaces(t *testing.T) {
	var l laid
	if _, err := Parse("f.yaml", []byte("b: x\nbase: one\n"), l.table()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(l.At["b"], l.At["m"]), "{1 4 } {4 6 base one}"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"base: wrong\n", []string{"at base wrong:2:6\n  |   a: 1", "at base wrong:3:7", "unknown key m.w"}},
		{"base: wrong\na: two\nm: {q: 1}\n", []string{"at base wrong:3:7", "at f.yaml:3:5"}},
		{"base: onne\n", []string{"did you mean one?", "at f.yaml:1:7"}},
		{"base: one\na: 1\na: 2\n", []string{"written twice"}},
		{"base: one\nm: {y: a, y: b}\n", []string{"m.y is written twice", "at f.yaml:2:11"}},
		{"base: [one]\n", []string{"base must be text, found a list"}},
	} {
		var l laid
		f, err := Parse("f.yaml", []byte(c.text), l.table())
		if err == nil {
			err = f.Err()
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v\nwant %s", c.text, err, want)
			}
		}
	}
}
