package stream

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// The value that grows while frames come: *object, *list, *text, or an
// evidence.Value of which nothing has to be known. Numbers so keep their digits
// and objects their order.
type node = any

type object struct {
	members []member
	places  map[string]int // of members by name, once there are many
}

// many is how many members are looked through one by one: whoever sends an object
// with a million keys shall not be paid in squares.
const many = 16

type member struct {
	name  string
	value node
}

type list struct{ items []node }

type text struct{ s []byte }

// objectOf opens a JSON object, one level deep. The frame that v stands in may
// be overwritten. It is empty when v is no object.
func objectOf(v evidence.Value) *object {
	o := &object{}
	for name, value := range evidence.Members(v) {
		o.set(name, value.Clone())
	}
	return o
}

func listOf(v evidence.Value) *list {
	l := &list{}
	for item := range evidence.Elements(v) {
		l.items = append(l.items, item.Clone())
	}
	return l
}

// open makes an object or a list of a value that is one, so that it can grow.
func open(n node) node {
	v, ok := n.(evidence.Value)
	if !ok {
		return n
	}
	switch v.Kind() {
	case '{':
		return objectOf(v)
	case '[':
		return listOf(v)
	}
	return n
}

func (o *object) at(name string) int {
	if o.places != nil {
		if i, ok := o.places[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

func (o *object) get(name string) node {
	if i := o.at(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

func (o *object) set(name string, value node) {
	if i := o.at(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{name, value})
	switch {
	case o.places != nil:
		o.places[name] = len(o.members) - 1
	case len(o.members) > many:
		o.places = make(map[string]int, 2*many)
		for i, m := range o.members {
			o.places[m.name] = i
		}
	}
}

// take sets the members of v, which is an object, but for those named.
func (o *object) take(v evidence.Value, but ...string) {
	for name, value := range evidence.Members(v) {
		if !slices.Contains(but, name) {
			o.set(name, value.Clone())
		}
	}
}

// object returns the object under a name, which is made when there is none.
func (o *object) object(name string) *object {
	if inner, ok := open(o.get(name)).(*object); ok {
		o.set(name, inner)
		return inner
	}
	inner := &object{}
	o.set(name, inner)
	return inner
}

// list returns the list under a name, which is made when there is none.
func (o *object) list(name string) *list {
	if inner, ok := open(o.get(name)).(*list); ok {
		o.set(name, inner)
		return inner
	}
	inner := &list{}
	o.set(name, inner)
	return inner
}

// append adds to the text under a name; null and what is no text is replaced.
func (o *object) append(name, s string) {
	switch old := o.get(name).(type) {
	case *text:
		old.s = append(old.s, s...)
	case evidence.Value:
		before, _ := evidence.Text(old)
		o.set(name, &text{append([]byte(before), s...)})
	default:
		o.set(name, &text{[]byte(s)})
	}
}

func (o *object) setText(name, s string) { o.set(name, &text{[]byte(s)}) }

// object returns the object at a place, at most one behind the end.
func (l *list) object(i int) *object {
	if i == len(l.items) {
		l.items = append(l.items, &object{})
	}
	inner, ok := open(l.items[i]).(*object)
	if !ok {
		inner = &object{}
	}
	l.items[i] = inner
	return inner
}

// add appends the elements of v, or v itself when it is no list.
func (l *list) add(v evidence.Value) {
	if v.Kind() == '[' {
		l.items = append(l.items, listOf(v).items...)
		return
	}
	l.items = append(l.items, v.Clone())
}

// encode appends a value as JSON. Texts that are not UTF-8 cannot occur: they
// are put together of whole JSON strings.
func encode(dst []byte, n node) []byte {
	switch n := n.(type) {
	case *object:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(quote(dst, m.name), ':')
			dst = encode(dst, m.value)
		}
		return append(dst, '}')
	case *list:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = encode(dst, item)
		}
		return append(dst, ']')
	case *text:
		return quote(dst, n.s)
	case evidence.Value:
		if len(n) > 0 {
			return append(dst, n...)
		}
	}
	return append(dst, "null"...)
}

func quote[T ~string | ~[]byte](dst []byte, s T) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // not UTF-8
		return append(dst, `""`...)
	}
	return out
}

// at returns what stands at a dotted path of v, or nil.
func at(v evidence.Value, path string) evidence.Value {
	found, err := evidence.Lookup(v, path)
	if err != nil {
		return nil
	}
	return found
}

// textAt returns the text at a dotted path of v, or "".
func textAt(v evidence.Value, path string) string {
	s, _ := evidence.Text(at(v, path))
	return s
}

// isTrue reports whether v is JSON true.
func isTrue(v evidence.Value) bool { return len(v) > 0 && v.Kind() == 't' }
