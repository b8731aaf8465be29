package probe

import (
	"fmt"
	"strconv"
	"strings"
)

// YAML returns the proposal as the keys of system.http, for a body that was put
// together by s, or that is no stream when s is nil.
func (p *Proposal) YAML(s *Stream) string {
	var b strings.Builder
	if s != nil {
		fmt.Fprintf(&b, "stream: {format: %s, assemble: %s", s.Format, s.Assemble)
		if s.Text != "" {
			fmt.Fprintf(&b, ", text: %s", word(s.Text))
		}
		switch s.Done {
		case "":
		case "eof":
			b.WriteString(", done: eof")
		default:
			fmt.Fprintf(&b, ", done: {path: %s", word(s.Done))
			if s.Equals != nil {
				fmt.Fprintf(&b, ", equals: %s", s.Equals)
			}
			b.WriteString("}")
		}
		b.WriteString("}\n")
	}
	if p.OK != "" {
		fmt.Fprintf(&b, "ok: {jq: %s}\n", quoted(p.OK))
	}
	switch a := p.Answer; {
	case a == nil && p.Sources != nil && p.Sources.Items != "":
		fmt.Fprintf(&b, "output: {path: %s, type: list}   # there is no answer: judge the retrieval\n", word(p.Sources.Items))
	case a == nil && p.Sources != nil:
		fmt.Fprintf(&b, "output: {jq: %s, type: list}   # there is no answer: judge the retrieval\n", quoted(p.Sources.JQ))
	case a == nil:
	case a.JQ != "":
		fmt.Fprintf(&b, "output: {jq: %s}\n", quoted(a.JQ))
	case a.Path != "":
		fmt.Fprintf(&b, "output: %s\n", word(a.Path))
	}
	if p.Answer != nil && len(p.Answer.Strip) > 0 {
		var parts []string
		for _, x := range p.Answer.Strip {
			if x.Name != "" {
				parts = append(parts, x.Name)
			} else {
				parts = append(parts, "{regex: "+quoted(x.Regex)+"}")
			}
		}
		fmt.Fprintf(&b, "strip: [%s]\n", strings.Join(parts, ", "))
	}
	if p.Sources != nil {
		fmt.Fprintf(&b, "depth: %d   # how many sources the service is asked for; this many came\n", max(len(p.Sources.DocIDs), 1))
	}
	if p.Sources != nil || p.Citations != nil {
		b.WriteString("artifacts:\n")
	}
	if p.Sources != nil {
		b.WriteString(p.Sources.yaml())
	}
	if p.Citations != nil {
		b.WriteString(p.Citations.yaml(p.Sources != nil))
	}
	if u := p.Usage; u != nil {
		var parts []string
		if u.Input != "" {
			parts = append(parts, "input_tokens: "+word(u.Input))
		}
		if u.Output != "" {
			parts = append(parts, "output_tokens: "+word(u.Output))
		}
		fmt.Fprintf(&b, "usage: {%s}\n", strings.Join(parts, ", "))
	}
	return b.String()
}

func (s *Sources) yaml() string {
	var b strings.Builder
	b.WriteString("  retrieval/v1:\n")
	if s.JQ != "" {
		fmt.Fprintf(&b, "    jq: %s\n", quoted(s.JQ))
	} else {
		fmt.Fprintf(&b, "    items: %s\n    fields:\n", word(s.Items))
		for _, f := range []struct {
			name string
			Field
		}{{"doc_id", s.Doc}, {"chunk_id", s.Chunk}, {"score", s.Score}, {"text", s.Text}} {
			if value := f.yaml(); value != "" {
				fmt.Fprintf(&b, "      %s: %s\n", f.name, value)
			}
		}
	}
	fmt.Fprintf(&b, "    source: %s\n", s.Kind)
	return b.String()
}

func (f Field) yaml() string {
	if len(f.Paths) == 0 {
		return ""
	}
	path := word(f.Paths[0])
	if len(f.Paths) > 1 {
		var all []string
		for _, p := range f.Paths {
			all = append(all, word(p))
		}
		path = "[" + strings.Join(all, ", ") + "]"
	}
	if f.Cut {
		return "{path: " + path + ", cut: last_segment}"
	}
	return path
}

func (c *Citations) yaml(counted bool) string {
	switch {
	case c.JQ != "":
		return fmt.Sprintf("  citations/v1:\n    jq: %s\n", quoted("{ids: ("+c.JQ+")}"))
	case c.Regex != "" && c.Markers != "":
		return fmt.Sprintf("  citations/v1:\n    markers: {regex: %s}\n    base: %d\n    of: retrieval/v1\n", quoted(c.Regex), c.Base)
	case c.Regex != "":
		return fmt.Sprintf("  citations/v1:\n    markers: {regex: %s, ids: true}\n", quoted(c.Regex))
	case counted:
		return fmt.Sprintf("  citations/v1: {markers: %s, base: %d, of: retrieval/v1}\n", strconv.Quote(c.Markers), c.Base)
	}
	return fmt.Sprintf("  # The answer holds markers such as %s, and there is no list that they could count.\n", c.Markers)
}

var plain = lazily(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// word writes a text as YAML reads it back.
func word(s string) string {
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off", "true", "false", "null", "y", "n":
		return quoted(s)
	}
	if plain().MatchString(s) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	if strings.ContainsAny(s, "\n\r\t") {
		return strconv.Quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
