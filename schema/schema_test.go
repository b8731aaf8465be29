package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/oloproof/oloproof-go/internal/policy"
	"github.com/oloproof/oloproof-go/internal/problem"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/internal/suite"
	"github.com/oloproof/oloproof-go/policies"
	"github.com/oloproof/oloproof-go/schema"
)

var update = flag.Bool("update", false, "write the schemas anew")

const base = "https://github.com/oloproof/oloproof-go/schema/"

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, s := range []struct {
		name, title, description string
		table                    strictyaml.Type
	}{
		{"suite.schema.json", "oloproof suite", "oloproof.yaml: which cases are asked of which system, and how the answers are judged.", suite.Key()},
		{"policy.schema.json", "oloproof policy", "release.yaml and compare.yaml: what has to be shown before the gate opens.", policy.Key()},
	} {
		text, err := strictyaml.JSONSchema(s.table, base+s.name, s.title, s.description)
		if err != nil {
			t.Fatal(err)
		}
		all[s.name] = text
	}
	return all
}

// TestSchemasAreThoseOfTheTables fails when a table of keys changed and the
// schema did not.
func TestSchemasAreThoseOfTheTables(t *testing.T) {
	for name, text := range generated(t) {
		if *update {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue // what is embedded is still the former one
		}
		stored, err := schema.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(stored)); diff != "" {
			t.Errorf("%s differs from the table; run go test ./schema -update\n%s", name, diff)
		}
	}
}

// TestEverySchemaCompiles also holds for the document's.
func TestEverySchemaCompiles(t *testing.T) {
	files, err := filepath.Glob("*.schema.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d schemas: %v", len(files), err)
	}
	for _, file := range files {
		compile(t, file)
	}
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, ok := generated(t)[name]
	if !ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate returns what a schema says of a YAML text. ok is false for a text
// that is no YAML file a schema could be asked about.
func validate(s *jsonschema.Schema, text string) (err error, ok bool) {
	var value jsontext.Value
	f, err := strictyaml.Parse("f.yaml", []byte(text), strictyaml.JSON(strictyaml.Into(&value)))
	if err != nil || f.Err() != nil {
		return nil, false
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err, true
	}
	return s.Validate(instance), true
}

func TestExamplesAreValid(t *testing.T) {
	suiteSchema, policySchema := compile(t, "suite.schema.json"), compile(t, "policy.schema.json")
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := policySchema
		if strings.HasPrefix(filepath.Base(file), "oloproof") {
			s = suiteSchema
		}
		if err, ok := validate(s, string(data)); err != nil || !ok {
			t.Errorf("%s: %v", file, err)
		}
	}
	// The parts of suites of docs/endpoints.md.
	page, err := os.ReadFile("../docs/endpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```yaml\nhttp:\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		text := "project: p\ndataset: d.jsonl\nevaluators: [{type: contains, criterion: c}]\nsystem:\n  name: s\n  version: v\n  http:\n" +
			regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSuffix(block[1], "\n"), "  ")
		if err, ok := validate(suiteSchema, text); err != nil || !ok {
			t.Errorf("docs/endpoints.md: %v\nin\n%s", err, text)
		}
	}
	for _, name := range policies.Names() {
		data, err := policies.FS.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err, ok := validate(policySchema, string(data)); err != nil || !ok {
			t.Errorf("builtin:%s: %v", name, err)
		}
	}
}

// TestSchemasAgreeWithReading asks the schemas about every row of the
// validation goldens: what loads must be valid, and what does not load must be
// invalid, but for what a schema cannot see.
func TestSchemasAgreeWithReading(t *testing.T) {
	for _, test := range []struct {
		rows, file, schema string
		load               func(text string) error
		unseen             []string // rows whose fault lies between keys or in a value's meaning
	}{
		{
			"../internal/suite/testdata/validation_config.json", "oloproof.yaml", "suite.schema.json",
			func(text string) error {
				_, err := suite.Parse("oloproof.yaml", []byte(text), os.ReadFile)
				return err
			},
			[]string{"http no version", "http header bad env", "http url no scheme", "evaluator needs artifact not recorded", "duplicate criterion", "slice relevant_position on callable"},
		},
		{
			"../internal/policy/testdata/validation_policy.json", "release.yaml", "policy.schema.json",
			func(text string) error {
				_, err := policy.Parse("release.yaml", []byte(text))
				return err
			},
			[]string{"dup rule id", "family of run rule"},
		},
	} {
		s := compile(t, test.schema)
		data, err := os.ReadFile(test.rows)
		if err != nil {
			t.Fatal(err)
		}
		var rows struct{ Rows []map[string]any }
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, row := range rows.Rows {
			text, ok := row[test.file].(string)
			if !ok {
				continue
			}
			schemaErr, ok := validate(s, text)
			if !ok {
				continue // no YAML mapping, or a key twice
			}
			asked++
			name, loadErr := row["name"].(string), test.load(text)
			switch unseen := slices.Contains(test.unseen, name); {
			case loadErr == nil && schemaErr != nil:
				t.Errorf("%s: it loads, and the schema says %v", name, schemaErr)
			case loadErr != nil && schemaErr == nil && !unseen:
				t.Errorf("%s: the schema finds nothing, reading says %v", name, loadErr)
			case unseen && schemaErr != nil:
				t.Errorf("%s: the schema sees it: %v", name, schemaErr)
			}
			if _, isList := errors.AsType[problem.List](loadErr); loadErr != nil && !isList {
				t.Errorf("%s: not a list of problems: %v", name, loadErr)
			}
		}
		if asked < 20 {
			t.Errorf("%s: only %d rows were asked about", test.rows, asked)
		}
	}
}
