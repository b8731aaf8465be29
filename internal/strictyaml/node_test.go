package strictyaml

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestNode(t *testing.T) {
	for text, want := range map[string]string{
		"a: yes\nb: 012\nc: 1.10\nd: 1e3\ne: 12\nf: -0.5\ng: true\nh: ~\ni: 2026-11-30\nj: 0x1f\nk: 1_000\nl: .inf\nm: '7'\nn: 007": `{"a":"yes","b":"012","c":"1.10","d":"1e3","e":12,"f":-0.5,"g":true,"h":null,"i":"2026-11-30","j":"0x1f","k":"1_000","l":".inf","m":"7","n":"007"}`,
		"- &x {a: 1}\n- *x\n- {<<: *x, b: 2}": `[{"a":1},{"a":1},{"b":2,"a":1}]`,
		"a: |\n  x\n  y\n":                    `{"a":"x\ny\n"}`,
		"a: 1\na: 2":                          `{"a":1}`,
	} {
		n, err := ReadNode("f.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := string(n.JSON()); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"a: [": "f.yaml:1", "": "the file is empty", "&a [*a]": "inside the value it names", "a: 1\n---\nb: 2": "second YAML document"} {
		if _, err := ReadNode("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	n, _ := ReadNode("f.yaml", []byte("tests:\n  - vars: {q: x}\n  - vars: {q: y}\n"))
	tests, ok := n.Get("tests")
	if _, none := n.Get("other"); !ok || none || !tests.IsList() || tests.Elements()[1].Line() != 3 || tests.Elements()[0].IsList() {
		t.Errorf("tests: %v, line %d", ok, tests.Elements()[1].Line())
	}
}

func FuzzNode(f *testing.F) {
	f.Add("a: [1, {b: yes}]\nc: &x 012\nd: *x")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ReadNode("f.yaml", []byte(text))
		if err == nil && !jsontext.Value(n.JSON()).IsValid() {
			t.Errorf("%q gives %s", text, n.JSON())
		}
	})
}
