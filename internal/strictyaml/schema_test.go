package strictyaml

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaAgreesWithReading compiles the schema of the sample and asks it
// about texts: what is read must be valid, and what a schema can see must not.
func TestSchemaAgreesWithReading(t *testing.T) {
	text, err := JSONSchema(new(sample).table(), "https://example.com/sample.json", "Sample", "A sample.")
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("sample.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sample.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"name: x\n", "name: x\nshare: null\n", "name: x\nk: 2.0\n", "name: x\nparts: [{type: line, x: 1}]\ninner: z\n",
		"name: x\ninner: {a: b}\ntags: [a, b]\nheaders: {a: ''}\nfree: [1]\nversion: 1\n",
		"{}\n", "name: ''\n", "name: 1\n", "name: x\nmode: odd\n", "name: x\nk: 0\n", "name: x\nk: 1.5\n", "name: x\nshare: 1\n",
		"name: x\nk: null\n", "name: x\nwait_s: 0\n", "name: x\ntags: []\n", "name: x\ntags: [a, a]\n", "name: x\nheaders: {A: b}\n",
		"name: x\nparts: [{type: plane}]\n", "name: x\nparts: [{type: line, y: 1}]\n", "name: x\nparts: [{x: 1}]\n",
		"name: x\ninner: {b: c}\n", "name: x\nold: 1\n", "name: x\nfoo: 1\n", "name: x\nversion: 2\n", "name: x\non: 3\n",
	} {
		var value jsontext.Value
		f, err := Parse("f.yaml", []byte(text), JSON(Into(&value)))
		if err != nil || f.Err() != nil {
			t.Fatalf("%q: %v %v", text, err, f.Err())
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(value)))
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := read(t, text)
		schemaErr := schema.Validate(instance)
		if (readErr == nil) != (schemaErr == nil) {
			t.Errorf("%q: reading says %v, the schema says %v", text, readErr, schemaErr)
		}
	}
}

func TestSchemaHoldsDefaultsAndDocs(t *testing.T) {
	text, err := JSONSchema(new(sample).table(), "id", "Sample", "A sample.")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]struct {
			Default     any
			Description string
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, row := range Reference(new(sample).table()) {
		if row.Doc == "" {
			t.Errorf("%s has no sentence", row.Path)
		}
	}
	if k := s.Properties["k"]; k.Default != 5.0 || k.Description != "Depth." {
		t.Errorf("k: %+v", k)
	}
	if _, ok := s.Properties["old"]; ok {
		t.Error("a refused key is in the schema")
	}
}

func TestReference(t *testing.T) {
	var paths []string
	for _, row := range Reference(new(sample).table()) {
		paths = append(paths, row.Path+" "+row.Default)
	}
	want := []string{
		"version 1", "name ", "mode fast", "on true", "k 5", "share ", "wait_s 30", "free ", "tags ", "headers ", "parts ",
		"parts[point].type ", "parts[point].x 1", "parts[point].y 2", "parts[line].type ", "parts[line].x 9", "inner ", "inner.a ", "inner.b b",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}
