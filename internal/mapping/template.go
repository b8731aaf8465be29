package mapping

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// Scope is what a template may name.
type Scope struct {
	Case    *evidence.Case
	Docs    *Documents // the answers so far; nil is none
	UUID    string     // of the attempt
	Attempt int        // from 1
	Depth   int        // 0 when the suite names none
}

// reference is one {{…}} of a template.
type reference struct {
	source string // as written, without braces
	name   string // case.id, case.input, case.metadata, uuid, attempt, depth, or of a document
	path   string // into it
	tojson bool
}

// part is a piece of a template: text, or a reference.
type part struct {
	text string
	ref  *reference
}

// Text is a template of text.
type Text struct{ parts []part }

// compileText parses a template. documents are those that it may name. expand
// replaces what of the text outside of references comes from the environment;
// nil keeps it.
func compileText(source string, documents []string, expand func(string) string) (*Text, error) {
	if expand == nil {
		expand = func(text string) string { return text }
	}
	t := &Text{}
	for rest := source; rest != ""; {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			t.parts = append(t.parts, part{text: expand(text)})
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, errors.New("a {{ without its closing }}")
		}
		if text, ok := literalText(inside); ok {
			t.parts, rest = append(t.parts, part{text: text}), behind
			continue
		}
		ref, err := parseReference(inside, documents)
		if err != nil {
			return nil, err
		}
		t.parts, rest = append(t.parts, part{ref: ref}), behind
	}
	return t, nil
}

// literalText returns the text in {{"…"}}, which is how braces are written.
func literalText(inside string) (string, bool) {
	source := evidence.Value(strings.TrimSpace(inside))
	if !strings.HasPrefix(string(source), `"`) || !source.IsValid() {
		return "", false
	}
	return evidence.Text(source)
}

func parseReference(inside string, documents []string) (*reference, error) {
	source := strings.TrimSpace(inside)
	name, filter, filtered := strings.Cut(source, "|")
	name, filter = strings.TrimSpace(name), strings.TrimSpace(filter)
	r := &reference{source: source, tojson: filter == "tojson"}
	if filtered && filter != "tojson" {
		return nil, fmt.Errorf("{{%s}} has the filter %q: there is only tojson", shorten(source, 60), shorten(filter, 40))
	}
	first, path, _ := strings.Cut(name, ".")
	switch {
	case first == "case":
		second, below, _ := strings.Cut(path, ".")
		switch second {
		case "id":
			r.name, r.path = "case.id", below
		case "input", "metadata":
			r.name, r.path = "case."+second, below
		case "expected":
			return nil, fmt.Errorf("{{%s}}: what is expected of a case is not sent to the system", shorten(source, 60))
		default:
			return nil, fmt.Errorf("{{%s}}: a case has no %s%s (there are case.id, case.input and case.metadata)", shorten(source, 60),
				choose(second == "", "field without a name", second), didYouMean(second, []string{"id", "input", "metadata"}))
		}
	case slices.Contains([]string{"uuid", "attempt", "depth"}, first), slices.Contains(documents, first):
		r.name, r.path = first, path
	default:
		all := slices.Concat([]string{"case", "uuid", "attempt", "depth"}, documents)
		return nil, fmt.Errorf("unknown name {{%s}}%s (there are %s)", shorten(source, 60), didYouMean(first, all), strings.Join(all, ", "))
	}
	if slices.Contains([]string{"case.id", "uuid", "attempt", "depth"}, r.name) && r.path != "" {
		return nil, fmt.Errorf("{{%s}}: %s has no parts", shorten(source, 60), r.name)
	}
	if r.path != "" && slices.Contains(strings.Split(r.path, "."), "") || strings.HasSuffix(name, ".") {
		return nil, fmt.Errorf("{{%s}} has an empty part between its dots", shorten(source, 60))
	}
	return r, nil
}

// value returns what a reference stands for.
func (r *reference) value(s *Scope) (evidence.Value, error) {
	switch r.name {
	case "case.id":
		return quote(s.Case.ID), nil
	case "uuid":
		return quote(s.UUID), nil
	case "attempt":
		return strconv.AppendInt(nil, int64(s.Attempt), 10), nil
	case "depth":
		if s.Depth == 0 {
			return nil, fmt.Errorf("{{%s}}: the suite names no system.http.depth", r.source)
		}
		return strconv.AppendInt(nil, int64(s.Depth), 10), nil
	}
	var base evidence.Value
	switch r.name {
	case "case.input":
		base = s.Case.Input
	case "case.metadata":
		base = s.Case.Metadata
	default:
		if s.Docs != nil {
			base = s.Docs.get(r.name)
		}
	}
	if base == nil {
		return nil, fmt.Errorf("{{%s}}: there is no %s", r.source, r.name)
	}
	v, err := evidence.Lookup(base, r.path)
	if err != nil {
		return nil, fmt.Errorf("{{%s}}: %w", r.source, err)
	}
	return v, nil
}

// text returns what a reference stands for inside of text.
func (r *reference) text(s *Scope) (string, error) {
	v, err := r.value(s)
	if err != nil {
		return "", err
	}
	if r.tojson {
		compact := v.Clone()
		err := compact.Compact()
		return string(compact), err
	}
	switch v.Kind() {
	case '"', '0':
		text, _ := asText(v)
		return text, nil
	case 't', 'f':
		return string(v), nil
	case 'n':
		return "", fmt.Errorf("{{%s}} is null, where text is needed", r.source)
	}
	return "", fmt.Errorf("{{%s}} is %s, where text is needed: write {{%s | tojson}}", r.source, kindOf(v), r.source)
}

// Render returns the text with its references filled in.
func (t *Text) Render(s *Scope) (string, error) { return t.render(s, nil) }

func (t *Text) render(s *Scope, escape func(string) string) (string, error) {
	if len(t.parts) == 1 && t.parts[0].ref == nil {
		return t.parts[0].text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.ref == nil {
			b.WriteString(p.text)
			continue
		}
		text, err := p.ref.text(s)
		if err != nil {
			return "", err
		}
		if escape != nil {
			text = escape(text)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// lone returns the reference that is all of a template, or nil.
func (t *Text) lone() *reference {
	if len(t.parts) == 1 {
		return t.parts[0].ref
	}
	return nil
}

// body is a template of JSON: raw JSON, and templates of texts in between.
type body struct{ parts []bodyPart }

type bodyPart struct {
	raw  []byte
	text *Text
}

// compileBody parses the texts of a JSON value as templates, its names left out.
// It tells every text that is none.
func compileBody(v evidence.Value, documents []string, expand func(string) string, wrong func(error)) *body {
	b := &body{}
	raw := []byte{}
	var walk func(v evidence.Value)
	walk = func(v evidence.Value) {
		switch v.Kind() {
		case '"':
			source, _ := evidence.Text(v)
			t, err := compileText(source, documents, expand)
			if err != nil {
				wrong(err)
				return
			}
			if !slices.ContainsFunc(t.parts, func(p part) bool { return p.ref != nil }) {
				text, _ := t.render(nil, nil)
				raw = append(raw, quote(text)...)
				return
			}
			b.parts = append(b.parts, bodyPart{raw: raw}, bodyPart{text: t})
			raw = nil
		case '[':
			raw = append(raw, '[')
			first := true
			for element := range evidence.Elements(v) {
				if !first {
					raw = append(raw, ',')
				}
				first = false
				walk(element)
			}
			raw = append(raw, ']')
		case '{':
			raw = append(raw, '{')
			first := true
			for name, member := range evidence.Members(v) {
				if !first {
					raw = append(raw, ',')
				}
				first = false
				raw = append(append(raw, quote(name)...), ':')
				walk(member)
			}
			raw = append(raw, '}')
		default:
			raw = append(raw, v...)
		}
	}
	walk(v)
	b.parts = append(b.parts, bodyPart{raw: raw})
	return b
}

// render returns the JSON with its references filled in.
func (b *body) render(s *Scope) ([]byte, error) {
	out := []byte{}
	for _, p := range b.parts {
		if p.text == nil {
			out = append(out, p.raw...)
			continue
		}
		if ref := p.text.lone(); ref != nil && !ref.tojson {
			v, err := ref.value(s)
			if err != nil {
				return nil, err
			}
			compact := v.Clone()
			if err := compact.Compact(); err != nil {
				return nil, err
			}
			out = append(out, compact...)
			continue
		}
		text, err := p.text.Render(s)
		if err != nil {
			return nil, err
		}
		out = append(out, quote(text)...)
	}
	return out, nil
}

// text compiles a template and keeps what is wrong with it.
func (c *compiler) text(source, key string, documents []string) *Text {
	return c.expanded(source, key, documents, nil)
}

func (c *compiler) expanded(source, key string, documents []string, expand func(string) string) *Text {
	t, err := compileText(source, documents, expand)
	if err != nil {
		c.problem(key, "%v", err)
		return &Text{}
	}
	return t
}

// segment escapes a value as one segment of a path.
func segment(text string) string { return url.PathEscape(text) }
