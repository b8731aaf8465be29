package strictyaml

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Type says which values a key may have, reads one into a variable, and
// describes itself as JSON Schema.
type Type interface {
	want() string // such as "a whole number of at least 1"
	read(f *File, v value)
	schema() Schema
	defaults()              // sets what holds when the key is absent
	rows(path string) []Row // of the keys below it, for the reference
}

// Schema is a JSON Schema (draft 7).
type Schema = map[string]any

// value is a place in the file that is read.
type value struct {
	node *yaml.Node
	path string // dotted path of keys; "" for the whole file
}

func (v value) name() string {
	if v.path == "" {
		return "the file"
	}
	return v.path
}

// Into returns a function that sets *p.
func Into[T any](p *T) func(T) { return func(v T) { *p = v } }

// Opt returns a function that makes *p point to a value; nil is absent.
func Opt[T any](p **T) func(T) { return func(v T) { *p = &v } }

// wrong reports a value of the wrong type or range.
func (f *File) wrong(v value, want, fix string) {
	if fix != "" {
		fix = ": " + fix
	}
	f.problem(f.at(v.node), "%s must be %s, found %s%s", v.name(), want, f.found(v.node), fix)
}

// leaf is embedded by the types that have no keys below them.
type leaf struct{}

func (leaf) rows(string) []Row { return nil }
func (leaf) defaults()         {}

// preset sets a default, if there is one.
func preset[T any](set func(T), def *T) {
	if def != nil {
		set(*def)
	}
}

// --- strings

// StringType is text, not empty unless [StringType.Empty] is called.
type StringType struct {
	leaf
	set     func(string)
	phrase  string
	pattern string
	shown   string // pattern of the schema only
	empty   bool
	longest int // in characters; 0 is no bound
	secret  bool
	check   []func(string) string
	at      func(Position)
	def     *string
}

// String is text. Numbers and booleans without quotes are refused, since YAML
// readers disagree on how they are spelled; dates are taken as written.
func String(set func(string)) *StringType { return &StringType{set: set, phrase: "text"} }

// maxName is the most characters of a name.
const maxName = 200

// Name is text of one line and at most 200 characters, to be shown in tables.
func Name(set func(string)) *StringType {
	t := String(set).Check(oneLine)
	t.longest = maxName
	return t
}

func oneLine(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "KEY holds a line break or another control character: write it in one line"
	}
	return ""
}

// Want names the text in messages, such as "a path".
func (t *StringType) Want(phrase string) *StringType { t.phrase = phrase; return t }

// Empty allows the empty text.
func (t *StringType) Empty() *StringType { t.empty = true; return t }

// Pattern asks that the whole text match a regular expression that means the
// same in RE2 and ECMAScript; phrase names what it allows.
func (t *StringType) Pattern(pattern, phrase string) *StringType {
	t.pattern, t.phrase = pattern, phrase
	return t
}

// SchemaPattern tells the schema what a check asks for, where the check says
// more than that a pattern does not match.
func (t *StringType) SchemaPattern(pattern string) *StringType { t.shown = pattern; return t }

// At is given the place of the text.
func (t *StringType) At(set func(Position)) *StringType { t.at = set; return t }

// Secret keeps the value out of messages, with the line that it stands in.
func (t *StringType) Secret() *StringType { t.secret = true; return t }

// Check adds a function that returns what is wrong with a text, or "". KEY at
// its beginning becomes the path of the key.
func (t *StringType) Check(check func(string) string) *StringType {
	t.check = append(t.check, check)
	return t
}

// Default sets the text that holds when the key is absent.
func (t *StringType) Default(s string) *StringType { t.def = &s; return t }

func (t *StringType) defaults() { preset(t.set, t.def) }

func (t *StringType) want() string { return t.phrase }

func (t *StringType) schema() Schema {
	s := Schema{"type": "string"}
	if !t.empty {
		s["minLength"] = 1
	}
	if t.longest > 0 {
		s["maxLength"] = t.longest
	}
	if pattern := cmp.Or(t.pattern, t.shown); pattern != "" {
		s["pattern"] = pattern
	}
	if t.def != nil {
		s["default"] = *t.def
	}
	return s
}

func (t *StringType) read(f *File, v value) {
	if n := f.resolve(v.node); t.secret {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			f.hide(f.at(v.node))
			f.problem(f.at(v.node), "%s must be %s", v.name(), t.phrase)
			return
		}
	}
	s, ok := f.text(v, t.phrase)
	if t.at != nil {
		t.at(f.at(v.node))
	}
	switch {
	case !ok:
	case s == "" && !t.empty:
		f.problem(f.at(v.node), "%s is empty: it must be %s", v.name(), t.phrase)
	case t.longest > 0 && utf8.RuneCountInString(s) > t.longest:
		f.problem(f.at(v.node), "%s is longer than %d characters", v.name(), t.longest)
	case t.pattern != "" && !regexp.MustCompile(t.pattern).MatchString(s):
		f.wrong(v, t.phrase, "")
	default:
		for _, check := range t.check {
			if fault := check(s); fault != "" {
				if rest, ok := strings.CutPrefix(fault, "KEY "); ok {
					fault = v.name() + " " + rest
				}
				if t.secret {
					f.hide(f.at(v.node))
				}
				f.problem(f.at(v.node), "%s", fault)
				return
			}
		}
		t.set(s)
	}
}

// text returns a scalar that is text.
func (f *File) text(v value, want string) (string, bool) {
	n := f.resolve(v.node)
	if n.Kind == yaml.ScalarNode {
		switch n.Tag {
		case "!!str", "!!timestamp", "!!merge":
			return n.Value, true
		case "!!int", "!!float", "!!bool":
			f.wrong(v, want, fmt.Sprintf("write it in quotes, %q", shorten(n.Value)))
			return "", false
		}
	}
	f.wrong(v, want, "")
	return "", false
}

// EnumType is one of several words.
type EnumType struct {
	leaf
	set     func(string)
	words   []string
	refused map[string]string
	def     *string
}

// Enum is one of several words, written exactly.
func Enum(set func(string), words ...string) *EnumType { return &EnumType{set: set, words: words} }

// Refuse names words that are known but not taken, with the reason.
func (t *EnumType) Refuse(why string, words ...string) *EnumType {
	if t.refused == nil {
		t.refused = map[string]string{}
	}
	for _, w := range words {
		t.refused[w] = why
	}
	return t
}

// Default sets the word that holds when the key is absent.
func (t *EnumType) Default(s string) *EnumType { t.def = &s; return t }

func (t *EnumType) defaults() { preset(t.set, t.def) }

func (t *EnumType) want() string { return list(t.words, "or") }

func (t *EnumType) schema() Schema {
	s := Schema{"enum": t.words}
	if t.def != nil {
		s["default"] = *t.def
	}
	return s
}

func (t *EnumType) read(f *File, v value) {
	s, ok := f.text(v, t.want())
	switch why := t.refused[s]; {
	case !ok:
	case why != "":
		f.problem(f.at(v.node), "%s: %s is %s", v.name(), s, why)
	case !slices.Contains(t.words, s):
		fix := ""
		if near := nearest(s, t.words); near != "" {
			fix = "did you mean " + near + "?"
		}
		f.wrong(v, t.want(), fix)
	default:
		t.set(s)
	}
}

// --- booleans

// BoolType is true or false.
type BoolType struct {
	leaf
	set func(bool)
	def *bool
}

// Bool is true or false; yes, no, on and off without quotes are read as YAML 1.1 does.
func Bool(set func(bool)) *BoolType { return &BoolType{set: set} }

// Default sets the value that holds when the key is absent.
func (t *BoolType) Default(b bool) *BoolType { t.def = &b; return t }

func (t *BoolType) defaults() { preset(t.set, t.def) }

func (t *BoolType) want() string { return "true or false" }

func (t *BoolType) schema() Schema {
	s := Schema{"type": "boolean"}
	if t.def != nil {
		s["default"] = *t.def
	}
	return s
}

func (t *BoolType) read(f *File, v value) {
	n := f.resolve(v.node)
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!bool" || plainYesNo(n)) {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on":
			t.set(true)
		default:
			t.set(false)
		}
		return
	}
	f.wrong(v, t.want(), unquote(n, func(s string) bool { return s == "true" || s == "false" }))
}

// plainYesNo reports whether a scalar is a word that YAML 1.1 takes for a
// boolean and YAML 1.2 for text.
func plainYesNo(n *yaml.Node) bool {
	if n.Tag != "!!str" || n.Style != 0 {
		return false
	}
	switch strings.ToLower(n.Value) {
	case "yes", "no", "on", "off":
		return true
	}
	return false
}

// unquote advises to remove quotes when what they hold would fit.
func unquote(n *yaml.Node, fits func(string) bool) string {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && fits(n.Value) {
		return "remove the quotes"
	}
	return ""
}

// --- numbers

// NumberType is a number within bounds.
type NumberType struct {
	leaf
	set                func(float64)
	whole              bool
	lower, upper       *float64
	lowerOpen, upperOp bool
	unit               string
	hint               func(float64) string
	def                *float64
}

// Number is a finite number.
func Number(set func(float64)) *NumberType { return &NumberType{set: set} }

// Int is a whole number that fits 32 bits with its sign.
func Int(set func(int)) *NumberType {
	return &NumberType{set: func(v float64) { set(int(v)) }, whole: true}
}

// Seconds is a time of at least a millisecond and at most a day.
func Seconds(set func(time.Duration)) *NumberType {
	t := Number(func(v float64) { set(time.Duration(math.Round(v * float64(time.Second)))) })
	t.unit = " of seconds"
	return t.Min(0.001).Max(24 * 60 * 60)
}

// Min sets the least value allowed.
func (t *NumberType) Min(v float64) *NumberType { t.lower = &v; return t }

// Max sets the largest value allowed.
func (t *NumberType) Max(v float64) *NumberType { t.upper = &v; return t }

// Above sets a value that must be exceeded.
func (t *NumberType) Above(v float64) *NumberType { t.lower, t.lowerOpen = &v, true; return t }

// Below sets a value that must not be reached.
func (t *NumberType) Below(v float64) *NumberType { t.upper, t.upperOp = &v, true; return t }

// Hint adds a function that proposes a fix for a number out of bounds, or "".
func (t *NumberType) Hint(hint func(float64) string) *NumberType { t.hint = hint; return t }

// Default sets the number that holds when the key is absent.
func (t *NumberType) Default(v float64) *NumberType { t.def = &v; return t }

func (t *NumberType) defaults() { preset(t.set, t.def) }

func (t *NumberType) want() string {
	s := "a number" + t.unit
	if t.whole {
		s = "a whole number" + t.unit
	}
	switch {
	case t.lower != nil && t.upper != nil && t.lowerOpen && t.upperOp:
		return fmt.Sprintf("%s between %s and %s, both excluded", s, plain(*t.lower), plain(*t.upper))
	case t.lower != nil && t.upper != nil && !t.lowerOpen && !t.upperOp:
		return fmt.Sprintf("%s from %s to %s", s, plain(*t.lower), plain(*t.upper))
	}
	var bounds []string
	switch {
	case t.lower != nil && t.lowerOpen:
		bounds = append(bounds, "above "+plain(*t.lower))
	case t.lower != nil:
		bounds = append(bounds, "of at least "+plain(*t.lower))
	}
	switch {
	case t.upper != nil && t.upperOp:
		bounds = append(bounds, "below "+plain(*t.upper))
	case t.upper != nil:
		bounds = append(bounds, "of at most "+plain(*t.upper))
	}
	return strings.TrimSpace(s + " " + strings.Join(bounds, " and "))
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (t *NumberType) schema() Schema {
	s := Schema{"type": "number"}
	if t.whole {
		s["type"] = "integer"
	}
	bound := func(closed, open string, v *float64, isOpen bool) {
		switch {
		case v != nil && isOpen:
			s[open] = *v
		case v != nil:
			s[closed] = *v
		}
	}
	bound("minimum", "exclusiveMinimum", t.lower, t.lowerOpen)
	bound("maximum", "exclusiveMaximum", t.upper, t.upperOp)
	if t.def != nil {
		s["default"] = *t.def
	}
	return s
}

func (t *NumberType) inside(v float64) bool {
	switch {
	case t.lower != nil && (v < *t.lower || t.lowerOpen && v == *t.lower):
		return false
	case t.upper != nil && (v > *t.upper || t.upperOp && v == *t.upper):
		return false
	}
	return !t.whole || v == math.Trunc(v) && math.Abs(v) <= math.MaxInt32
}

func (t *NumberType) read(f *File, v value) {
	n := f.resolve(v.node)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
		f.wrong(v, t.want(), unquote(n, func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }))
		return
	}
	x, fault := number(n)
	switch {
	case fault != "":
		f.problem(f.at(v.node), "%s: %s", v.name(), fault)
	case !t.inside(x):
		fix := ""
		if t.hint != nil {
			fix = t.hint(x)
		}
		f.wrong(v, t.want(), fix)
	default:
		t.set(x)
	}
}

// number returns the value of a numeric scalar and what is wrong with it, or "".
func number(n *yaml.Node) (float64, string) {
	digits := strings.TrimLeft(n.Value, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0, fmt.Sprintf("%s begins with a zero, which some YAML readers take for octal: write it without the zero, or in quotes if it is text", shorten(n.Value))
	}
	var x float64
	if err := n.Decode(&x); err != nil {
		return 0, fmt.Sprintf("%s is not a number that can be read", shorten(n.Value))
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Sprintf("%s is not a finite number", shorten(n.Value))
	}
	return x, ""
}

// AsShare asks whether a percentage was meant as a share: "did you mean
// 0.80?" for 80. It returns "" for a number that is no percentage.
func AsShare(v float64) string {
	if !(v > 1 && v <= 100) {
		return ""
	}
	s := strconv.FormatFloat(v/100, 'f', -1, 64)
	if whole, fraction, _ := strings.Cut(s, "."); len(fraction) < 2 {
		s = whole + "." + (fraction + "00")[:2]
	}
	return "did you mean " + s + "?"
}

// --- constants and refusals

// ConstType is one value only.
type ConstType struct {
	leaf
	value any
	why   string
}

// Const is a key that may only have one value, which is also what holds when it
// is absent; why says so of every other value, such as "not supported yet".
func Const(value any, why string) *ConstType { return &ConstType{value: value, why: why} }

func (t *ConstType) want() string { return fmt.Sprint(t.value) }

func (t *ConstType) schema() Schema {
	if t.why == "" {
		return Schema{"const": t.value}
	}
	return Schema{"const": t.value, "default": t.value}
}

func (t *ConstType) read(f *File, v value) {
	n := f.resolve(v.node)
	var ok bool
	switch want := t.value.(type) {
	case int:
		x, fault := number(n)
		ok = (n.Tag == "!!int" || n.Tag == "!!float") && fault == "" && x == float64(want)
	case bool:
		ok = n.Tag == "!!bool" && strings.EqualFold(n.Value, strconv.FormatBool(want))
	}
	if !ok {
		f.problem(f.at(v.node), "%s must be %v, found %s: %s", v.name(), t.value, f.found(v.node), t.why)
	}
}

type refusedType struct {
	leaf
	why string
}

// Refused is a key that is known and not taken. It is no part of the schema.
func Refused(key, why string) Field { return Field{Key: key, Type: refusedType{why: why}} }

func (t refusedType) want() string          { return "absent" }
func (t refusedType) schema() Schema        { return nil }
func (t refusedType) read(f *File, v value) { f.problem(f.at(v.node), "%s is %s", v.path, t.why) }

// IgnoredType is any value.
type IgnoredType struct {
	leaf
	set func(Position)
}

// Ignored is a value that is taken and has no effect; set is given its place.
func Ignored(set func(Position)) *IgnoredType { return &IgnoredType{set: set} }

func (t *IgnoredType) want() string          { return "any value" }
func (t *IgnoredType) schema() Schema        { return Schema{} }
func (t *IgnoredType) read(f *File, v value) { t.set(f.at(v.node)) }

// --- mappings

// Field is one key of a mapping.
type Field struct {
	Key      string
	Type     Type
	Required bool
	Null     bool   // null means absent
	Doc      string // a sentence for the schema and the reference
}

// Table lists the keys of a mapping in the order of the reference.
type Table []Field

// MapType is a mapping with the keys of a table.
type MapType struct {
	table Table
	at    []func(Position)
	keys  func(map[string]Position)
	oneOf []string
	extra Schema
}

// Mapping is a mapping with the keys of a table.
func Mapping(table Table) *MapType { return &MapType{table: table} }

// At is given the place of the mapping.
func (t *MapType) At(set func(Position)) *MapType { t.at = append(t.at, set); return t }

// Keys is given the place of the value of each key that is written, a null that
// means absent left out.
func (t *MapType) Keys(set func(map[string]Position)) *MapType { t.keys = set; return t }

// OneOf asks for exactly one of several keys.
func (t *MapType) OneOf(keys ...string) *MapType { t.oneOf = keys; return t }

// Schema adds keywords to the JSON Schema, for what a check across keys finds.
func (t *MapType) Schema(extra Schema) *MapType { t.extra = extra; return t }

func (t *MapType) want() string {
	names := t.allowed()
	if len(names) > 4 {
		return "a mapping of keys to values"
	}
	return "a mapping with the keys " + list(names, "and")
}

func (f Field) known() bool {
	_, refused := f.Type.(refusedType)
	return !refused
}

func (t *MapType) schema() Schema {
	properties := Schema{}
	var required []string
	for _, field := range t.table {
		if !field.known() {
			continue
		}
		properties[field.Key] = field.schema()
		if field.Required {
			required = append(required, field.Key)
		}
	}
	s := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	if len(t.oneOf) > 0 {
		var each []any
		for _, key := range t.oneOf {
			each = append(each, Schema{"required": []string{key}})
		}
		s["oneOf"] = each
	}
	maps.Copy(s, t.extra)
	return s
}

func (f Field) schema() Schema {
	s := f.Type.schema()
	if f.Null {
		s = nullable(s)
	}
	if f.Doc != "" {
		s["description"] = f.Doc
	}
	return s
}

// nullable also allows null.
func nullable(s Schema) Schema {
	if kind, ok := s["type"].(string); ok {
		s["type"] = []string{kind, "null"}
		return s
	}
	return Schema{"anyOf": []any{s, Schema{"type": "null"}}}
}

func (t *MapType) defaults() {
	for _, field := range t.table {
		field.Type.defaults()
	}
}

func (t *MapType) read(f *File, v value) {
	t.defaults()
	n := f.resolve(v.node)
	if n.Kind != yaml.MappingNode {
		f.wrong(v, t.want(), "")
		return
	}
	for _, set := range t.at {
		set(f.at(v.node))
	}
	places := map[string]Position{}
	refused := false
	for _, p := range f.pairs(n, v.path, true) {
		key := f.resolve(p.key).Value
		i := slices.IndexFunc(t.table, func(field Field) bool { return field.Key == key })
		if i < 0 {
			f.problem(f.at(p.key), "%s", unknown("key", v.path, key, t.allowed()))
			continue
		}
		field := t.table[i]
		if !field.known() {
			refused = true
			field.Type.read(f, value{p.key, join(v.path, key)})
			continue
		}
		if target := f.resolve(p.value); field.Null && target.Kind == yaml.ScalarNode && target.Tag == "!!null" {
			continue
		}
		places[key] = f.at(p.value)
		field.Type.read(f, value{p.value, join(v.path, key)})
	}
	for _, field := range t.table {
		// A refused key may stand for the one that is missing: one problem is enough.
		if _, ok := places[field.Key]; field.Required && !ok && !refused {
			f.problem(f.at(v.node), "%s is missing: it must be %s", join(v.path, field.Key), field.Type.want())
		}
	}
	t.checkOneOf(f, v, places, refused)
	if t.keys != nil {
		t.keys(places)
	}
}

// checkOneOf reports that none of the keys is there of which one has to be, or
// each one after the first.
func (t *MapType) checkOneOf(f *File, v value, places map[string]Position, refused bool) {
	first := ""
	for _, key := range t.oneOf {
		switch at, ok := places[key]; {
		case !ok:
		case first == "":
			first = key
		default:
			f.problem(at, "%s: %s and %s exclude each other, keep one", v.name(), first, key)
		}
	}
	if len(t.oneOf) > 0 && first == "" && !refused {
		f.problem(f.at(v.node), "%s needs one of the keys %s", v.name(), list(t.oneOf, "or"))
	}
}

// allowed lists the keys that may be written.
func (t *MapType) allowed() []string {
	var names []string
	for _, field := range t.table {
		if field.known() {
			names = append(names, field.Key)
		}
	}
	return names
}

// EntriesType is a mapping with keys of the user's own.
type EntriesType struct {
	read1   func(f *File, v value)
	item    func() Type
	pattern string
	keys    string
}

// Entries is a mapping with keys of the user's own, read into a list in the
// order of the file. item returns the type of one value and is given the key
// and the place of its value. Keys match pattern, which phrase names.
func Entries[T any](set func([]T), pattern, phrase string, item func(key string, at Position, into *T) Type) *EntriesType {
	return &EntriesType{
		pattern: pattern, keys: phrase,
		item: func() Type { return item("", Position{}, new(T)) },
		read1: func(f *File, v value) {
			var all []T
			match := regexp.MustCompile(pattern)
			for _, p := range f.pairs(f.resolve(v.node), v.path, true) {
				key := f.resolve(p.key).Value
				if !match.MatchString(key) {
					f.problem(f.at(p.key), "%s: the key %q must be %s", v.name(), shorten(key), phrase)
					continue
				}
				var one T
				item(key, f.at(p.value), &one).read(f, value{p.value, join(v.path, key)})
				all = append(all, one)
			}
			set(all)
		},
	}
}

func (t *EntriesType) defaults() {}

func (t *EntriesType) want() string { return "a mapping" }

func (t *EntriesType) schema() Schema {
	return Schema{
		"type": "object", "propertyNames": Schema{"pattern": t.pattern}, "additionalProperties": t.item().schema(),
	}
}

func (t *EntriesType) rows(path string) []Row { return t.item().rows(path + ".NAME") }

func (t *EntriesType) read(f *File, v value) {
	if f.resolve(v.node).Kind != yaml.MappingNode {
		f.wrong(v, t.want(), "")
		return
	}
	t.read1(f, v)
}

// --- lists

// ListType is a list.
type ListType struct {
	read1  func(f *File, v value)
	item   func() Type
	least  int
	unique bool
	def    any
}

// List is a list, read into a slice; item returns the type of one element.
func List[T any](set func([]T), item func(into *T) Type) *ListType {
	return &ListType{
		item: func() Type { return item(new(T)) },
		read1: func(f *File, v value) {
			n := f.resolve(v.node)
			all := make([]T, 0, len(n.Content))
			for i, child := range n.Content {
				var one T
				item(&one).read(f, value{child, fmt.Sprintf("%s[%d]", v.path, i)})
				all = append(all, one)
			}
			set(all)
		},
	}
}

// Min sets the least number of elements.
func (t *ListType) Min(n int) *ListType { t.least = n; return t }

// Unique refuses a text that stands twice.
func (t *ListType) Unique() *ListType { t.unique = true; return t }

// Shown is what holds when the key is absent, for the schema and the reference.
func (t *ListType) Shown(def any) *ListType { t.def = def; return t }

func (t *ListType) defaults() {}

func (t *ListType) want() string {
	if t.least > 0 {
		if t.least > 1 {
			return fmt.Sprintf("a list with at least %d elements", t.least)
		}
		return "a list with at least 1 element"
	}
	return "a list"
}

func (t *ListType) schema() Schema {
	s := Schema{"type": "array", "items": t.item().schema()}
	if t.least > 0 {
		s["minItems"] = t.least
	}
	if t.unique {
		s["uniqueItems"] = true
	}
	if t.def != nil {
		s["default"] = t.def
	}
	return s
}

func (t *ListType) read(f *File, v value) {
	n := f.resolve(v.node)
	if n.Kind != yaml.SequenceNode {
		fix := ""
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			fix = "write [" + shorten(n.Value) + "]"
		}
		f.wrong(v, t.want(), fix)
		return
	}
	if len(n.Content) < t.least {
		f.problem(f.at(v.node), "%s must be %s, found %d", v.name(), t.want(), len(n.Content))
	}
	if t.unique {
		f.repeated(v, n)
	}
	t.read1(f, v)
}

func (f *File) repeated(v value, n *yaml.Node) {
	seen := map[string]bool{}
	for _, child := range n.Content {
		item := f.resolve(child)
		if item.Kind != yaml.ScalarNode {
			continue
		}
		if seen[item.Value] {
			f.problem(f.at(child), "%s lists %s twice: remove one", v.name(), shorten(item.Value))
		}
		seen[item.Value] = true
	}
}

// --- unions

// Variant is a mapping with a name of its own.
type Variant struct {
	Name  string
	Table Table
	Doc   string
}

// VariantsType is a mapping of one of several kinds, told by one key.
type VariantsType struct {
	key      string
	what     string
	set      func(string)
	variants []Variant
	refused  map[string]string
	at       func(Position)
	keys     func(map[string]Position)
}

// Variants is a mapping whose other keys depend on the word under one key; what
// names it in messages, such as "evaluator".
func Variants(key, what string, set func(string), variants ...Variant) *VariantsType {
	return &VariantsType{key: key, what: what, set: set, variants: variants}
}

// Refuse names kinds that are known and not taken, with the reason.
func (t *VariantsType) Refuse(why string, names ...string) *VariantsType {
	if t.refused == nil {
		t.refused = map[string]string{}
	}
	for _, n := range names {
		t.refused[n] = why
	}
	return t
}

// At is given the place of the mapping.
func (t *VariantsType) At(set func(Position)) *VariantsType { t.at = set; return t }

// Keys is given the place of each key's value.
func (t *VariantsType) Keys(set func(map[string]Position)) *VariantsType { t.keys = set; return t }

func (t *VariantsType) names() []string {
	var all []string
	for _, v := range t.variants {
		all = append(all, v.Name)
	}
	return all
}

func (t *VariantsType) defaults() {} // those of the variant chosen are set when it is read

func (t *VariantsType) want() string { return "a mapping with the key " + t.key }

func (t *VariantsType) mapping(v Variant) *MapType {
	return Mapping(append(Table{{Key: t.key, Type: Const(v.Name, ""), Required: true, Doc: v.Doc}}, v.Table...))
}

func (t *VariantsType) schema() Schema {
	var all []any
	for _, v := range t.variants {
		all = append(all, t.mapping(v).schema())
	}
	return Schema{"oneOf": all}
}

func (t *VariantsType) read(f *File, v value) {
	n := f.resolve(v.node)
	if n.Kind != yaml.MappingNode {
		f.wrong(v, t.want(), "")
		return
	}
	if t.at != nil {
		t.at(f.at(v.node))
	}
	pairs := f.pairs(n, v.path, false)
	i := slices.IndexFunc(pairs, func(p pair) bool { return f.resolve(p.key).Value == t.key })
	if i < 0 {
		f.problem(f.at(v.node), "%s is missing: it must be %s", join(v.path, t.key), list(t.names(), "or"))
		return
	}
	place := value{pairs[i].value, join(v.path, t.key)}
	name, ok := f.text(place, list(t.names(), "or"))
	if !ok {
		return
	}
	if why := t.refused[name]; why != "" {
		f.problem(f.at(place.node), "%s: the %s %s is %s", place.path, t.what, name, why)
		return
	}
	chosen := slices.IndexFunc(t.variants, func(v Variant) bool { return v.Name == name })
	if chosen < 0 {
		f.problem(f.at(place.node), "%s: %s", place.path, unknown(t.what, "", name, t.names()))
		return
	}
	t.set(name)
	table := append(Table{{Key: t.key, Type: Ignored(func(Position) {})}}, t.variants[chosen].Table...)
	m := Mapping(table)
	m.keys = t.keys
	m.read(f, v)
}

// EitherType is a scalar or something else.
type EitherType struct{ scalar, other Type }

// Either reads a scalar by one type and a list or mapping by another.
func Either(scalar, other Type) *EitherType { return &EitherType{scalar, other} }

func (t *EitherType) defaults() {}

func (t *EitherType) want() string { return t.scalar.want() + ", or " + t.other.want() }

func (t *EitherType) schema() Schema {
	return Schema{"anyOf": []any{t.scalar.schema(), t.other.schema()}}
}

func (t *EitherType) rows(path string) []Row {
	return append(t.scalar.rows(path), t.other.rows(path)...)
}

func (t *EitherType) read(f *File, v value) {
	n := f.resolve(v.node)
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		f.wrong(v, t.want(), "")
	case n.Kind == yaml.ScalarNode:
		t.scalar.read(f, v)
	default:
		t.other.read(f, v)
	}
}

// ShapeType is a scalar, a list or a mapping.
type ShapeType struct{ scalar, list, mapping Type }

// Shape reads a scalar, a list and a mapping by a type each.
func Shape(scalar, list, mapping Type) *ShapeType { return &ShapeType{scalar, list, mapping} }

func (t *ShapeType) defaults() {}

func (t *ShapeType) want() string {
	return t.scalar.want() + ", " + t.list.want() + ", or " + t.mapping.want()
}

func (t *ShapeType) schema() Schema {
	return Schema{"anyOf": []any{t.scalar.schema(), t.list.schema(), t.mapping.schema()}}
}

func (t *ShapeType) rows(path string) []Row {
	return slices.Concat(t.scalar.rows(path), t.list.rows(path), t.mapping.rows(path))
}

func (t *ShapeType) read(f *File, v value) {
	switch n := f.resolve(v.node); {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		f.wrong(v, t.want(), "")
	case n.Kind == yaml.ScalarNode:
		t.scalar.read(f, v)
	case n.Kind == yaml.SequenceNode:
		t.list.read(f, v)
	default:
		t.mapping.read(f, v)
	}
}

// placedType is a type whose places are told.
type placedType struct {
	Type
	at func(Position)
}

// At is t with a function that is given the place of each value that is read,
// before it is read.
func At(at func(Position), t Type) Type { return placedType{t, at} }

func (t placedType) read(f *File, v value) {
	t.at(f.at(v.node))
	t.Type.read(f, v)
}
