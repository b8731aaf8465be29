package runnertest

import (
	"strings"
	"unicode"
)

// Command is a workflow command that the runner took from the log.
type Command struct {
	Name       string // in lower case
	Properties map[string]string
	Data       string
}

// commandNames are the registered commands; their case does not matter.
func commandNames() []string {
	return []string{
		"stop-commands", "set-env", "set-output", "save-state", "add-path", "add-mask", "add-matcher", "remove-matcher",
		"debug", "warning", "error", "notice", "group", "endgroup", "echo",
	}
}

// ParseCommand reads a line of the log as the runner does: ::name k=v,k=v::data
// after leading white space, else ##[name k=v;k=v]data anywhere in the line.
// Extra are names besides the registered ones, such as the token that ends
// stop-commands.
func ParseCommand(line string, extra ...string) (Command, bool) {
	known := append(commandNames(), extra...)
	if c, ok := parseColons(line, known); ok {
		return c, true
	}
	return parseBrackets(line, known)
}

func parseColons(line string, known []string) (Command, bool) {
	line = strings.TrimLeftFunc(line, IsWhiteSpace)
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return Command{}, false
	}
	info, data, ok := strings.Cut(rest, "::")
	if !ok {
		return Command{}, false
	}
	c, properties, ok := named(info, known)
	if !ok {
		return Command{}, false
	}
	unescape := func(s string) string {
		return replaceAll(s, "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	}
	c.addProperties(strings.TrimFunc(properties, IsWhiteSpace), ",", unescape)
	c.Data = replaceAll(data, "%0D", "\r", "%0A", "\n", "%25", "%")
	return c, true
}

func parseBrackets(line string, known []string) (Command, bool) {
	_, rest, ok := strings.Cut(line, "##[")
	if !ok {
		return Command{}, false
	}
	info, data, ok := strings.Cut(rest, "]")
	if !ok {
		return Command{}, false
	}
	c, properties, ok := named(info, known)
	if !ok {
		return Command{}, false
	}
	unescape := func(s string) string {
		return replaceAll(s, "%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]", "%25", "%")
	}
	c.addProperties(properties, ";", unescape)
	c.Data = unescape(data)
	return c, true
}

// named splits the name from the properties.
func named(info string, known []string) (c Command, properties string, ok bool) {
	name, properties, _ := strings.Cut(info, " ")
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return Command{Name: strings.ToLower(name), Properties: map[string]string{}}, properties, true
		}
	}
	return Command{}, "", false
}

func (c *Command) addProperties(s, separator string, unescape func(string) string) {
	for part := range strings.SplitSeq(s, separator) {
		key, value, ok := strings.Cut(part, "=")
		if ok && key != "" && value != "" {
			c.Properties[strings.ToLower(key)] = unescape(value)
		}
	}
}

// replaceAll replaces pairs one after the other, as the runner does.
func replaceAll(s string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// IsWhiteSpace reports what .NET's Char.IsWhiteSpace does, which String.TrimStart uses.
func IsWhiteSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r == 0x85 || unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}
