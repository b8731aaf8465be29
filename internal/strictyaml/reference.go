package strictyaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Row describes one key for the reference of a file.
type Row struct {
	Path     string // such as system.http.url, evaluators[contains].field
	Want     string // what its value may be
	Default  string // as YAML; "" when there is none
	Required bool
	Doc      string
}

// Reference lists every key of a file in the order of its tables.
func Reference(t Type) []Row { return t.rows("") }

// JSONSchema returns the JSON Schema of a file as indented JSON text.
func JSONSchema(t Type, id, title, description string) ([]byte, error) {
	s := t.schema()
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["$id"] = id
	s["title"] = title
	s["description"] = description
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(s)
	return b.Bytes(), err
}

func (t *MapType) rows(path string) []Row {
	var all []Row
	for _, field := range t.table {
		if !field.known() {
			continue
		}
		key := join(path, field.Key)
		row := Row{Path: key, Want: field.Type.want(), Required: field.Required, Doc: field.Doc}
		if def, ok := field.Type.schema()["default"]; ok {
			row.Default = yamlText(def)
		}
		all = append(append(all, row), field.Type.rows(key)...)
	}
	return all
}

func (t *ListType) rows(path string) []Row { return t.item().rows(path + "[]") }

func (t *VariantsType) rows(path string) []Row {
	var all []Row
	for _, v := range t.variants {
		all = append(all, t.mapping(v).rows(strings.TrimSuffix(path, "[]")+"["+v.Name+"]")...)
	}
	return all
}

// yamlText writes a default as it would stand in the file.
func yamlText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	}
	return strings.TrimSuffix(fmt.Sprint(v), ".0")
}
