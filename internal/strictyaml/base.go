package strictyaml

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// Base is text that stands under a mapping: its keys hold unless the mapping
// says otherwise, key by key. Problems of it name it and its own lines.
type Base struct {
	Name string // as problems name it, such as "preset dify"
	Text []byte // a YAML mapping
	Key  string // of Text: its value is what stands under the mapping
}

// baseType is a mapping that may name a base.
type baseType struct {
	*MapType
	key   string
	open  func(name string) (Base, bool)
	names func() []string
	apart [][]string
}

// Over lets a mapping name a base under key, which must be one of its table.
// open returns the base of a name; names lists them all. apart holds groups of
// keys of which only one is meant: a base's gives way to another that is
// written, and with it, below the mapping, the whole of what it stands in.
func (t *MapType) Over(key string, open func(name string) (Base, bool), names func() []string, apart ...[]string) Type {
	return &baseType{t, key, open, names, apart}
}

func (t *baseType) read(f *File, v value) {
	n := f.resolve(v.node)
	if n.Kind != yaml.MappingNode {
		t.MapType.read(f, v)
		return
	}
	if base := t.base(f, v, n); base != nil {
		v.node = f.overlay(base, n, v.path, t.apart, true)
	}
	t.MapType.read(f, v)
}

// base returns the mapping that stands under n, or nil.
func (t *baseType) base(f *File, v value, n *yaml.Node) *yaml.Node {
	for _, p := range f.pairs(n, v.path, false) {
		if f.resolve(p.key).Value != t.key {
			continue
		}
		name := f.resolve(p.value)
		if name.Kind != yaml.ScalarNode || name.Tag != "!!str" || name.Value == "" {
			return nil // the table says what is wrong
		}
		b, ok := t.open(name.Value)
		if !ok {
			f.problem(f.at(p.value), "%s", unknown("name", join(v.path, t.key), name.Value, t.names()))
			return nil
		}
		return f.addBase(b)
	}
	return nil
}

// addBase parses a base and remembers that its nodes are of another text.
func (f *File) addBase(b Base) *yaml.Node {
	src, at, fault := newSource(b.Text)
	at.In = b.Name
	if f.bases == nil {
		f.bases, f.foreign = map[string]source{}, map[*yaml.Node]string{}
	}
	f.bases[b.Name] = src
	if fault != "" {
		f.problem(at, "%s", fault)
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(src.text, &document); err != nil || len(document.Content) != 1 {
		f.problem(Position{Line: 1, Column: 1, In: b.Name}, "not valid YAML: %v", err)
		return nil
	}
	f.own(&document, b.Name)
	for _, p := range f.pairs(document.Content[0], "", true) {
		if p.key.Value == b.Key && f.resolve(p.value).Kind == yaml.MappingNode {
			return f.resolve(p.value)
		}
	}
	return nil
}

func (f *File) own(n *yaml.Node, name string) {
	f.foreign[n] = name
	for _, child := range n.Content {
		f.own(child, name)
	}
}

// overlay returns a mapping with the keys of base and those of own over them. A
// mapping over a mapping is laid over it in turn; anything else takes the place
// of what is below; null takes it away.
func (f *File) overlay(base, own *yaml.Node, path string, apart [][]string, top bool) *yaml.Node {
	under, over := f.pairs(base, path, false), f.pairs(own, path, true)
	has := func(pairs []pair, key string) bool {
		return slices.ContainsFunc(pairs, func(p pair) bool { return f.resolve(p.key).Value == key })
	}
	gone := map[string]bool{}
	for _, group := range apart {
		written := slices.ContainsFunc(group, func(key string) bool { return has(over, key) })
		for _, key := range group {
			if !written || has(over, key) || !has(under, key) {
				continue
			}
			if !top {
				return own
			}
			gone[key] = true
		}
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: own.Line, Column: own.Column}
	if name, ok := f.foreign[own]; ok {
		f.foreign[out] = name
	}
	for _, p := range under {
		key := f.resolve(p.key).Value
		i := slices.IndexFunc(over, func(o pair) bool { return f.resolve(o.key).Value == key })
		switch {
		case gone[key]:
		case i < 0:
			out.Content = append(out.Content, p.key, p.value)
		default:
			if v := f.laid(p.value, over[i].value, join(path, key), apart); v != nil {
				out.Content = append(out.Content, over[i].key, v)
			}
		}
	}
	for _, p := range over {
		if !has(under, f.resolve(p.key).Value) {
			out.Content = append(out.Content, p.key, p.value)
		}
	}
	return out
}

// laid returns what becomes of a value of a base that another is laid over; nil
// is nothing.
func (f *File) laid(base, own *yaml.Node, path string, apart [][]string) *yaml.Node {
	under, over := f.resolve(base), f.resolve(own)
	switch {
	case over.Kind == yaml.ScalarNode && over.Tag == "!!null":
		return nil
	case under.Kind == yaml.MappingNode && over.Kind == yaml.MappingNode:
		return f.overlay(under, over, path, apart, false)
	}
	return own
}
