package probe

import (
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// node is a JSON value, its members in the order of the body.
type node struct {
	kind  byte   // { [ " 0 t n, as [evidence.Value.Kind] says; t stands for false too
	text  string // of a string; as written for a number or a boolean
	keys  []string
	value map[string]*node
	items []*node
	inner *node // the object or list that a string holds as JSON text
}

// maxInner is how deep JSON text inside JSON text is read.
const maxInner = 2

func parse(v evidence.Value, depth int) *node {
	n := &node{kind: byte(v.Kind())}
	switch n.kind {
	case '{':
		n.value = map[string]*node{}
		for key, member := range evidence.Members(v) {
			n.keys = append(n.keys, key)
			n.value[key] = parse(member, depth)
		}
	case '[':
		for item := range evidence.Elements(v) {
			n.items = append(n.items, parse(item, depth))
		}
	case '"':
		n.text, _ = evidence.Text(v)
		if s := strings.TrimSpace(n.text); depth < maxInner && len(s) > 1 && (s[0] == '{' || s[0] == '[') {
			if inner, err := evidence.ParseJSON([]byte(s)); err == nil {
				n.inner = parse(inner, depth+1)
			}
		}
	case 't', 'f':
		n.kind, n.text = 't', string(v)
	default:
		n.text = string(v)
	}
	return n
}

// step leads from a value to a part of it.
type step struct {
	key   string // of an object
	each  bool   // every element of a list
	json  bool   // the JSON that a string holds
	index int    // of a list, when one element is meant
	one   bool   // index is meant
	on    string // each: only elements whose member of this name
	is    string // is this text
	many  bool   // each: the list held more than one element, or may
}

// place is where values of the same meaning stand in a body: one, or one for
// each element of the lists on the way.
type place struct {
	path  []step
	nodes []*node
	up    []int // for each node, the index of the element that it came from in parent
	from  *place
}

func (p *place) add(s step) []step { return append(p.path[:len(p.path):len(p.path)], s) }

// kind returns the kind that all values have but for nulls; 0 when they differ.
func (p *place) kind() byte {
	var kind byte
	for _, n := range p.nodes {
		switch {
		case n.kind == 'n':
		case kind == 0:
			kind = n.kind
		case kind != n.kind:
			return 0
		}
	}
	return kind
}

// discriminators are the names of members that tell apart the elements of a list.
var discriminators = []string{"role", "type", "author", "messageType", "event", "kind", "name"}

// maxKinds is how many kinds of element a list may have to be told apart.
const maxKinds = 8

// maxPlaces and maxSteps bound the places that are looked at and how deep they
// lie: kinds of kinds of elements could be without end.
const (
	maxPlaces = 20_000
	maxSteps  = 24
)

// walk returns the places below p, p included. Lists are gone through as a
// whole, and once more for each kind of element they hold.
func walk(p *place) []*place {
	var all []*place
	visit(p, func(p *place) bool {
		all = append(all, p)
		return len(all) < maxPlaces
	})
	return all
}

func visit(p *place, yield func(*place) bool) bool {
	if !yield(p) {
		return false
	}
	if len(p.path) > maxSteps {
		return true
	}
	byKind := map[byte][]int{}
	for i, n := range p.nodes {
		byKind[n.kind] = append(byKind[n.kind], i)
	}
	if some := byKind['{']; len(some) > 0 {
		seen := map[string]bool{}
		for _, i := range some {
			for _, key := range p.nodes[i].keys {
				if seen[key] {
					continue
				}
				seen[key] = true
				child := &place{path: p.add(step{key: key}), from: p}
				for _, j := range some {
					if v, ok := p.nodes[j].value[key]; ok {
						child.nodes, child.up = append(child.nodes, v), append(child.up, j)
					}
				}
				if !visit(child, yield) {
					return false
				}
			}
		}
	}
	if some := byKind['[']; len(some) > 0 && !visitList(p, some, yield) {
		return false
	}
	child := &place{path: p.add(step{json: true}), from: p}
	for _, i := range byKind['"'] {
		if inner := p.nodes[i].inner; inner != nil {
			child.nodes, child.up = append(child.nodes, inner), append(child.up, i)
		}
	}
	return len(child.nodes) == 0 || visit(child, yield)
}

func visitList(p *place, lists []int, yield func(*place) bool) bool {
	all := &place{from: p}
	many := false
	for _, i := range lists {
		many = many || len(p.nodes[i].items) > 1
		for _, item := range p.nodes[i].items {
			all.nodes, all.up = append(all.nodes, item), append(all.up, i)
		}
	}
	all.path = p.add(step{each: true, many: many})
	if len(all.nodes) == 0 {
		return true
	}
	if !visit(all, yield) {
		return false
	}
	for _, name := range discriminators {
		for _, is := range kindsOf(all.nodes, name) {
			some := &place{path: p.add(step{each: true, many: many, on: name, is: is}), from: p}
			for i, n := range all.nodes {
				if v := n.value[name]; v != nil && v.kind == '"' && v.text == is {
					some.nodes, some.up = append(some.nodes, n), append(some.up, all.up[i])
				}
			}
			if !visit(some, yield) {
				return false
			}
		}
	}
	return true
}

// kindsOf returns the kinds of element that a member tells apart: the texts
// that it has when it has several, or when the one is a role.
func kindsOf(elements []*node, name string) []string {
	var kinds []string
	seen := map[string]bool{}
	for _, n := range elements {
		v := n.value[name]
		if v == nil || v.kind != '"' || len(v.text) > 40 || strings.ContainsAny(v.text, " \n./") {
			return nil
		}
		if !seen[v.text] {
			seen[v.text] = true
			kinds = append(kinds, v.text)
		}
	}
	if len(kinds) > maxKinds || name == "name" && len(kinds) == len(elements) {
		return nil
	}
	if len(kinds) == 1 && !isSpeaker(kinds[0]) && !isTextBlock(kinds[0]) {
		return nil
	}
	return kinds
}

// last returns the last key of a path, the one of the list when it ends in one.
func lastKey(path []step) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].key != "" {
			return path[i].key
		}
	}
	return ""
}

// dotted returns a path as the suite writes it; ok is false when it needs jq.
// A list of one element is taken for its first.
func dotted(path []step) (text string, ok bool) {
	var parts []string
	for _, s := range path {
		switch {
		case s.json || s.each && s.on != "" || s.each && s.many && !s.one:
			return "", false
		case s.each && s.one:
			parts = append(parts, strconv.Itoa(s.index))
		case s.each:
			parts = append(parts, "0")
		case strings.Contains(s.key, ".") || s.key == "":
			return "", false
		default:
			parts = append(parts, s.key)
		}
	}
	return strings.Join(parts, "."), true
}

// jq returns the expression that yields the values of a path.
func jq(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case s.json && optional(path, i):
			b.WriteString(" | fromjson?")
		case s.json:
			b.WriteString(" | fromjson")
		case s.each && s.one:
			if i == 0 {
				b.WriteByte('.')
			}
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.each:
			if i > 0 && (path[i-1].json || path[i-1].on != "") {
				b.WriteString(" | .")
			} else if i == 0 || path[i-1].each {
				b.WriteByte('.')
			}
			b.WriteString("[]")
			if optional(path, i) {
				b.WriteByte('?')
			}
			if s.on != "" {
				b.WriteString(" | select(" + jqKey(s.on) + " == " + strconv.Quote(s.is) + ")")
			}
		default:
			if i > 0 && (path[i-1].json || path[i-1].on != "") {
				b.WriteString(" | ")
			}
			b.WriteString(jqKey(s.key))
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return strings.TrimPrefix(b.String(), " | ")
}

// optional reports whether a list on the way may be absent: one inside the
// elements of another.
func optional(path []step, i int) bool {
	for _, s := range path[:i] {
		if s.each {
			return true
		}
	}
	return false
}

func jqKey(key string) string {
	if key == "" {
		return `.[""]`
	}
	for i, r := range key {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return ".[" + strconv.Quote(key) + "]"
		}
	}
	return "." + key
}
