package strictyaml

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// Bounds of a file of another tool.
const (
	maxForeignBytes = 16 << 20
	maxForeignNodes = 2_000_000
)

// Node is a value in a YAML file that another tool reads too. Its keys are not
// known here, so that nothing in it can be wrong but the YAML itself.
type Node struct {
	f *File
	n *yaml.Node
}

// Entry is a member of a mapping.
type Entry struct {
	Key   string
	Value Node
}

// ReadNode reads data, the content of a YAML file of another tool at path. The
// error is a [problem.List].
func ReadNode(path string, data []byte) (Node, error) {
	f := &File{Path: path, emptyHint: "it must hold a list or a mapping", most: maxForeignNodes}
	src, at, fault := newSourceUpTo(data, maxForeignBytes)
	f.src, f.Lines = src, src.lines
	if fault != "" {
		f.problem(at, "%s", fault)
		return Node{}, f.Err()
	}
	root := f.parse()
	if root == nil || !f.bounded(root, 0, map[*yaml.Node]bool{}, new(int)) {
		return Node{}, f.Err()
	}
	return Node{f, root}, f.Err()
}

func (n Node) node() *yaml.Node { return n.f.resolve(n.n) }

// Line is where the value begins.
func (n Node) Line() int {
	if n.f == nil {
		return 0
	}
	return n.f.at(n.n).Line
}

// IsMapping and IsList say what the value is.
func (n Node) IsMapping() bool { return n.f != nil && n.node().Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (n Node) IsList() bool { return n.f != nil && n.node().Kind == yaml.SequenceNode }

// Elements are those of a list; none of another value.
func (n Node) Elements() []Node {
	if !n.IsList() {
		return nil
	}
	var all []Node
	for _, child := range n.node().Content {
		all = append(all, Node{n.f, child})
	}
	return all
}

// Entries are the members of a mapping, merged ones last. Of a key that is
// written twice the first counts.
func (n Node) Entries() []Entry {
	if !n.IsMapping() {
		return nil
	}
	var all []Entry
	for _, p := range n.f.pairs(n.node(), "", false) {
		all = append(all, Entry{n.f.resolve(p.key).Value, Node{n.f, p.value}})
	}
	return all
}

// Get is the member of a mapping with a key; ok is false without one.
func (n Node) Get(key string) (member Node, ok bool) {
	for _, e := range n.Entries() {
		if e.Key == key {
			return e.Value, true
		}
	}
	return Node{}, false
}

// Text is the value as it is written, for scalars.
func (n Node) Text() string {
	if n.f == nil || n.node().Kind != yaml.ScalarNode {
		return ""
	}
	return n.node().Value
}

// JSON is the value as JSON. Scalars that YAML readers take for different things
// or that lose digits as numbers stay the text that is written: yes, 012, 1.10,
// 1e3, 0x1f, 1_000, .inf and dates.
func (n Node) JSON() jsontext.Value {
	if n.f == nil {
		return jsontext.Value("null")
	}
	return n.append(nil)
}

func (n Node) append(b []byte) []byte {
	switch v := n.node(); v.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i, e := range n.Entries() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, e.Key), ':')
			b = e.Value.append(b)
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, e := range n.Elements() {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	default:
		plain := v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
		switch {
		case plain && v.Tag == "!!null":
			return append(b, "null"...)
		case plain && v.Tag == "!!bool":
			return append(b, strings.ToLower(v.Value)...)
		case plain && (v.Tag == "!!int" || v.Tag == "!!float") && plainNumber(v.Value):
			return append(b, v.Value...)
		}
		return appendText(b, v.Value)
	}
}

// plainNumber reports whether every reader takes a text for the same number, of
// which no digit is lost: 12 and -0.5, but not 012, 1.10 and 1e3.
func plainNumber(s string) bool {
	if v := jsontext.Value(s); !v.IsValid() || v.Kind() != '0' || strings.ContainsAny(s, "eE") || s == "-0" {
		return false
	}
	return !strings.Contains(s, ".") || !strings.HasSuffix(s, "0")
}
