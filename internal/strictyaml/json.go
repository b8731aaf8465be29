package strictyaml

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// JSONType is any value that JSON can hold.
type JSONType struct {
	leaf
	set    func(jsontext.Value)
	object bool
}

// JSON is any value, turned into JSON text. Numbers that JSON can spell keep
// their digits. yes, no, on and off without quotes are refused: YAML readers
// disagree whether they are booleans or text.
func JSON(set func(jsontext.Value)) *JSONType { return &JSONType{set: set} }

// Object allows only a mapping.
func (t *JSONType) Object() *JSONType { t.object = true; return t }

func (t *JSONType) want() string {
	if t.object {
		return "a mapping"
	}
	return "any value"
}

func (t *JSONType) schema() Schema {
	if t.object {
		return Schema{"type": "object"}
	}
	return Schema{}
}

func (t *JSONType) read(f *File, v value) {
	if t.object && f.resolve(v.node).Kind != yaml.MappingNode {
		f.wrong(v, t.want(), "")
		return
	}
	if b, ok := f.appendJSON(nil, v); ok {
		t.set(b)
	}
}

// appendJSON appends the JSON text of a value and reports whether it has one.
func (f *File) appendJSON(b []byte, v value) ([]byte, bool) {
	n := f.resolve(v.node)
	good := true
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i, p := range f.pairs(n, v.path, true) {
			if i > 0 {
				b = append(b, ',')
			}
			key := f.resolve(p.key).Value
			b = appendText(b, key)
			b = append(b, ':')
			var ok bool
			b, ok = f.appendJSON(b, value{p.value, join(v.path, key)})
			good = good && ok
		}
		return append(b, '}'), good
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, child := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			var ok bool
			b, ok = f.appendJSON(b, value{child, fmt.Sprintf("%s[%d]", v.path, i)})
			good = good && ok
		}
		return append(b, ']'), good
	}
	return f.appendScalar(b, n, v)
}

func (f *File) appendScalar(b []byte, n *yaml.Node, v value) ([]byte, bool) {
	switch n.Tag {
	case "!!null":
		return append(b, "null"...), true
	case "!!bool":
		return append(b, strings.ToLower(n.Value)...), true
	case "!!int", "!!float":
		if jsontext.Value(n.Value).IsValid() && jsontext.Value(n.Value).Kind() == '0' {
			if _, fault := number(n); fault == "" {
				return append(b, n.Value...), true
			}
		}
		x, fault := number(n)
		if fault != "" {
			f.problem(f.at(v.node), "%s: %s", v.name(), fault)
			return b, false
		}
		return strconv.AppendFloat(b, x, 'f', -1, 64), true
	case "!!str", "!!timestamp", "!!merge":
		if plainYesNo(n) {
			f.problem(f.at(v.node), "%s: %s without quotes is a boolean to some YAML readers and text to others: write true, false, or %q", v.name(), n.Value, n.Value)
			return b, false
		}
		return appendText(b, n.Value), true
	}
	f.wrong(v, "text, a number, true, false, null, a list or a mapping", "")
	return b, false
}

func appendText(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil { // only for text that is not UTF-8, which no file that was read holds
		return append(b, `""`...)
	}
	return b
}
