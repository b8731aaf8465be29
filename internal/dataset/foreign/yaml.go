package foreign

import (
	"io"
	"slices"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/strictyaml"
)

// readYAML reads a list of rows, or a mapping that holds one.
func (r *reader) readYAML(f *text) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return unreadable(r.path, err)
	}
	root, err := strictyaml.ReadNode(r.path, data)
	if err != nil {
		return err
	}
	rows, defaults := root, strictyaml.Node{}
	if root.IsMapping() {
		name := ""
		for _, e := range root.Entries() {
			if e.Value.IsList() && slices.Contains(listKeys, e.Key) {
				name, rows = e.Key, e.Value
				break
			}
		}
		if name == "" {
			if tests, ok := root.Get("tests"); ok {
				return r.fail("the tests stand in another file (%s): name that file", shorten(tests.Text()))
			}
			return r.fail("the file holds no list of rows: want a list, or one under tests or cases")
		}
		for _, e := range root.Entries() {
			switch e.Key {
			case name:
			case "defaultTest":
				if defaults = e.Value; !defaults.IsMapping() && defaults.Text() != "" {
					return r.fail("defaultTest stands in another file (%s): put its text here", shorten(defaults.Text()))
				}
			default:
				if r.spec.ForSuite { // it lists them
					continue
				}
				r.note(1, "the rows stand under \""+name+"\"; \""+shorten(e.Key)+"\" beside them is not taken")
			}
		}
	}
	if !rows.IsList() {
		return r.fail("the file holds no list of rows: want a list, or one under tests or cases")
	}
	base := r.defaultRow(defaults)
	for i, row := range rows.Elements() {
		v := withDefaults(base, evidence.Value(row.JSON()))
		if err := r.value(i+1, row.Line(), v); err != nil {
			return err
		}
	}
	return nil
}

// defaultRow is what every test of promptfoo begins with; nil without one.
func (r *reader) defaultRow(n strictyaml.Node) evidence.Value {
	if !n.IsMapping() {
		return nil
	}
	row := evidence.Value(n.JSON())
	asserts, ok := evidence.Member(row, "assert")
	if !ok || !r.spec.ForSuite {
		return row
	}
	var kept []evidence.Value
	for a := range evidence.Elements(asserts) {
		kind, _ := evidence.Member(a, "type")
		if name, _ := evidence.Text(kind); perCase(name) {
			kept = append(kept, a)
		}
	}
	var all node
	all.value = row
	all.at([]string{"assert"}).value = append(join([]byte{'['}, kept), ']')
	return all.append(nil)
}

// withDefaults puts a test over the default one: variables and metadata key by
// key, assertions after those of the default.
func withDefaults(base, v evidence.Value) evidence.Value {
	if base == nil || v.Kind() != '{' {
		return v
	}
	var n node
	n.value = base
	n.open()
	for name, member := range evidence.Members(v) {
		there := n.at([]string{name})
		switch {
		case (name == "vars" || name == "metadata") && there.value.Kind() == '{' && member.Kind() == '{':
			there.open()
			for key, value := range evidence.Members(member) {
				there.at([]string{key}).value = value
			}
		case name == "assert" && there.value.Kind() == '[' && member.Kind() == '[':
			var all []evidence.Value
			for a := range evidence.Elements(there.value) {
				all = append(all, a)
			}
			for a := range evidence.Elements(member) {
				all = append(all, a)
			}
			there.value = append(join([]byte{'['}, all), ']')
		default:
			there.value = member
		}
	}
	return n.append(nil)
}
