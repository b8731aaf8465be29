package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oloproof/oloproof-go/presets"
)

func withPreset(name, more string) string {
	return "project: p\ndataset: c.jsonl\nsystem:\n  name: s\n  version: \"1\"\n  http:\n    preset: " + name + "\n    url: http://h.test/x\n" + more +
		"evaluators:\n  - {type: contains, criterion: a, expected_field: answer}\n"
}

// Every preset can be read, and a suite of nothing but its name and a url stands.
func TestPresets(t *testing.T) {
	for _, name := range presets.Names() {
		p, err := OpenPreset(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Body)+len(p.Frames) == 0 {
			t.Errorf("%s: nothing tells that a body is of this service", name)
		}
		for _, more := range []string{"", p.Streaming} {
			text := withPreset(name, indent(more))
			if _, err := Parse("oloproof.yaml", []byte(text), nil); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprint(&b, "    ", strings.TrimRight(line, "\n"), "\n")
	}
	return b.String()
}

// A key of the suite is laid over that of the preset, one by one; null takes it
// away, and another form of a value takes its place.
func TestOverPreset(t *testing.T) {
	parse := func(more string) *HTTP {
		t.Helper()
		s, err := Parse("oloproof.yaml", []byte(withPreset("dify", indent(more))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.System.HTTP
	}
	h := parse("")
	if h.Preset != "dify" || h.Spec.Depth.N != 4 || h.Spec.OK == nil || len(h.Artifacts) != 2 {
		t.Errorf("preset alone: %+v", h)
	}
	h = parse("depth: 9\nok: null\nrequest: {body: {user: me, inputs: null}}\nartifacts: {retrieval/v1: {fields: {doc_id: document_name}}}")
	if h.Spec.Depth.N != 9 || h.Spec.OK != nil {
		t.Errorf("depth %d, ok %v", h.Spec.Depth.N, h.Spec.OK)
	}
	if got, want := string(h.Calls.Main.Body), `{"query":"{{case.input.question}}","user":"me","response_mode":"blocking","conversation_id":""}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	m := h.Artifacts[0].Mapped
	if m.Items.JQ == "" || len(m.Fields) != 4 {
		t.Errorf("artifact %+v", m)
	}
	h = parse("output_path: answer\nartifacts: {retrieval/v1: {jq: '[]'}}")
	if h.Spec.Output.Value.Paths[0] != "answer" || h.Artifacts[0].Mapped.Items != nil || h.Artifacts[0].Mapped.Value.JQ != "[]" {
		t.Errorf("other forms: %+v", h.Artifacts[0].Mapped)
	}
}

// The digest of a system is that of what the preset says, not of its name.
func TestPresetDigest(t *testing.T) {
	p, err := OpenPreset("verba")
	if err != nil {
		t.Fatal(err)
	}
	digest := func(text string) string {
		s, err := Parse("oloproof.yaml", []byte(text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(s.SystemDigest())
	}
	named := withPreset("verba", "")
	written := strings.Replace(named, "    preset: verba\n", indent(p.HTTP), 1)
	if digest(named) != digest(written) {
		t.Error("a preset and its keys, written out, are two systems")
	}
	if digest(named) == digest(withPreset("verba", "    depth: 3\n")) {
		t.Error("a key over a preset changes nothing")
	}
}

// A problem says where it lies: in the suite, or in the preset below it.
func TestPresetPlaces(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"depht: 3\n", "oloproof.yaml:9:5"},
		{"depth: none\n", "oloproof.yaml:9:12"},
		{"artifacts: {retrieval/v1: {markers: \"[1]\", items: x}}\n", "oloproof.yaml:9"},
		{"artifacts: {retrieval/v1: {path: x}}\n", ""},
		{"method: GET\nrequest: {method: PUT}\n", "oloproof.yaml:9"},
		{"artifacts: {retrieval/v1: {fields: {dok_id: x}}}\n", "did you mean doc_id"},
		{"artifacts: {retrieval/v1: {items: null}}\n", "oloproof.yaml:9:31"},
	} {
		_, err := Parse("oloproof.yaml", []byte(withPreset("dify", indent(c.more))), nil)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.more, err, c.want)
		}
	}
	_, err := Parse("oloproof.yaml", []byte(withPreset("diffy", "")), nil)
	if err == nil || !strings.Contains(err.Error(), "did you mean dify?") || !strings.Contains(err.Error(), "oloproof.yaml:7:13") {
		t.Errorf("an unknown preset: %v", err)
	}
}
