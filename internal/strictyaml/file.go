// Package strictyaml reads a YAML file against a table of its keys and reports
// every problem in one pass, each with its place and its source line. The same
// table gives the file's JSON Schema and the reference of its keys, so that
// these cannot drift from what is read.
//
// A table binds each key to a variable, as package flag does:
//
//	strictyaml.Table{
//		{Key: "k", Type: strictyaml.Int(strictyaml.Into(&e.K)).Min(1).Default(5), Doc: "..."},
//	}
//
// Stricter than YAML: an unknown key, a key written twice, a second document,
// an empty file, NaN and infinities, and a value of the wrong type are
// problems. Anchors, aliases and merge keys (<<) work, within a bound.
package strictyaml

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// Bounds of a file, after its aliases are expanded.
const (
	maxNodes    = 100_000
	maxDepth    = 64
	maxProblems = 200  // shown
	maxFound    = 1000 // kept; further ones are only counted
	maxSource   = 300  // characters of a source line that are kept
)

// File is a file that was read, with the problems found in it so far.
type File struct {
	Path  string   // as the user named it
	Lines []string // source lines without their ends

	src       source
	bases     map[string]source     // texts that stand under mappings, by name
	foreign   map[*yaml.Node]string // nodes of those, with their name
	problems  problem.List
	unkept    int // problems found beyond maxFound
	emptyHint string
	most      int // values allowed, when more than maxNodes
}

// Parse reads data, the content of the file at path, into the variables that t
// binds. The error is not nil when the text is no readable YAML mapping, so
// that there is nothing to check further. Otherwise problems are kept in the
// File: callers add their own with [File.Problem] and end with [File.Err].
func Parse(path string, data []byte, t Type) (*File, error) {
	f := &File{Path: path, emptyHint: "it must hold " + t.want()}
	src, at, fault := newSource(data)
	f.src, f.Lines = src, src.lines
	if fault != "" {
		f.problem(at, "%s", fault)
		return nil, f.Err()
	}
	root := f.parse()
	if root == nil || !f.bounded(root, 0, map[*yaml.Node]bool{}, new(int)) {
		return nil, f.Err()
	}
	before := len(f.problems)
	t.read(f, value{node: root})
	if len(f.problems) > before && f.resolve(root).Kind != yaml.MappingNode {
		return nil, f.Err()
	}
	return f, nil
}

// Problem adds a problem at a place of the file; the zero Position means the
// whole file.
func (f *File) Problem(at Position, format string, args ...any) { f.problem(at, format, args...) }

// Err returns the problems found, sorted by place, or nil. Beyond the first 200
// they are only counted.
func (f *File) Err() error {
	sorted, ok := f.problems.Err().(problem.List)
	if !ok {
		return nil
	}
	if more := len(sorted) + f.unkept - maxProblems; more > 0 {
		sorted = append(sorted[:maxProblems:maxProblems], problem.Problem{
			File: f.Path, Message: fmt.Sprintf("%d more problems in this file are not shown", more),
		})
	}
	return sorted
}

func (f *File) problem(at Position, format string, args ...any) {
	if len(f.problems) == maxFound {
		f.unkept++
		return
	}
	path, src := f.Path, f.src
	if at.In != "" {
		path, src = at.In, f.bases[at.In]
	}
	f.problems.Add(problem.Problem{
		File: path, Line: at.Line, Column: at.Column,
		Message: printable(fmt.Sprintf(format, args...)), Source: printable(cut(src.line(at.Line), maxSource)),
	})
}

// hide drops the line of a secret, so that no problem shows it.
func (f *File) hide(at Position) {
	if at.In == "" && at.Line >= 1 && at.Line <= len(f.src.lines) {
		f.src.lines[at.Line-1] = ""
	}
	for i := range f.problems {
		if p := &f.problems[i]; p.Line == at.Line && at.In == "" {
			p.Source = ""
		}
	}
}

// printable replaces what a terminal could take for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

func (f *File) whole(format string, args ...any) { f.problem(Position{}, format, args...) }

// at returns the place of a node.
func (f *File) at(n *yaml.Node) Position {
	if name, ok := f.foreign[n]; ok {
		at := f.bases[name].place(n.Line, n.Column)
		at.In = name
		return at
	}
	return f.src.place(n.Line, n.Column)
}

// Source returns the line of a place.
func (f *File) Source(at Position) string {
	if at.In != "" {
		return f.bases[at.In].line(at.Line)
	}
	return f.src.line(at.Line)
}

// resolve follows an alias to the node it stands for.
func (f *File) resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// bounded reports whether a tree is small enough to be read once its aliases
// are expanded, and adds the problem when it is not. active holds the nodes
// that enclose n.
func (f *File) bounded(n *yaml.Node, depth int, active map[*yaml.Node]bool, count *int) bool {
	at := n
	n = f.resolve(n)
	*count++
	switch {
	case active[n]:
		f.problem(f.at(at), "the alias *%s stands inside the value it names", at.Value)
		return false
	case depth > maxDepth:
		f.problem(f.at(at), "lists and mappings are nested more than %d deep", maxDepth)
		return false
	case *count > max(f.most, maxNodes):
		f.problem(f.at(at), "the file holds more than %d values, its aliases expanded", max(f.most, maxNodes))
		return false
	}
	if len(n.Content) == 0 {
		return true
	}
	active[n] = true
	defer delete(active, n)
	for _, child := range n.Content {
		if !f.bounded(child, depth+1, active, count) {
			return false
		}
	}
	return true
}

// pair is one key of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the keys of a mapping in their order, those of merge keys last.
// A key written in the mapping itself wins over a merged one, an earlier merged
// mapping over a later one. Duplicate keys are reported when report is true.
func (f *File) pairs(n *yaml.Node, path string, report bool) []pair {
	var own []pair
	var merged []*yaml.Node
	seen := map[string]Position{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := f.resolve(n.Content[i]), n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			if report {
				f.problem(f.at(n.Content[i]), "a list or mapping cannot be a key here: keys are text")
			}
		case key.Tag == "!!merge" && key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
			merged = append(merged, f.merged(v, path, report)...)
		default:
			if first, twice := seen[key.Value]; twice {
				if report {
					f.problem(f.at(n.Content[i]), "the key %s is written twice, first in line %d: remove one", join(path, key.Value), first.Line)
				}
				continue
			}
			seen[key.Value] = f.at(n.Content[i])
			own = append(own, pair{n.Content[i], v})
		}
	}
	for _, m := range merged {
		for _, p := range f.pairs(m, path, false) {
			name := f.resolve(p.key).Value
			if _, ok := seen[name]; !ok {
				seen[name] = f.at(p.key)
				own = append(own, p)
			}
		}
	}
	return own
}

// merged returns the mappings that a merge key brings in.
func (f *File) merged(n *yaml.Node, path string, report bool) []*yaml.Node {
	target := f.resolve(n)
	switch target.Kind {
	case yaml.MappingNode:
		return []*yaml.Node{target}
	case yaml.SequenceNode:
		var all []*yaml.Node
		for _, item := range target.Content {
			if m := f.resolve(item); m.Kind == yaml.MappingNode {
				all = append(all, m)
			} else if report {
				f.problem(f.at(item), "%s merges mappings only, found %s", join(path, "<<"), f.found(item))
			}
		}
		return all
	}
	if report {
		f.problem(f.at(n), "%s merges a mapping or a list of mappings, found %s", join(path, "<<"), f.found(n))
	}
	return nil
}

// join makes the dotted path of a key.
func join(path, key string) string {
	key = shorten(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// maxShown is the most characters of a value that a message repeats.
const maxShown = 60

func shorten(s string) string {
	if short := cut(s, maxShown-1); short != s {
		return short + "…"
	}
	return s
}

// cut returns at most the first n characters of s.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// found describes what stands at a node, for messages.
func (f *File) found(n *yaml.Node) string {
	n = f.resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return n.Value
	case "!!int", "!!float":
		return "the number " + shorten(n.Value)
	case "!!str", "!!timestamp", "!!merge":
		return fmt.Sprintf("%q", shorten(n.Value))
	}
	return "a value with the tag " + shorten(n.Tag)
}

// list joins words as "a, b or c".
func list(words []string, last string) string {
	switch len(words) {
	case 0:
		return "none"
	case 1:
		return words[0]
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// nearest is [problem.Nearest] for words of a reasonable length. A word that
// begins exactly one of those allowed is also near to it.
func nearest(got string, allowed []string) string {
	if len(got) > maxShown {
		return ""
	}
	if near := problem.Nearest(got, allowed); near != "" || len(got) < 4 {
		return near
	}
	var longer []string
	for _, a := range allowed {
		if strings.HasPrefix(a, got) {
			longer = append(longer, a)
		}
	}
	if len(longer) == 1 {
		return longer[0]
	}
	return ""
}

// unknown says that a word is not among those allowed, with the nearest one.
func unknown(what, path, got string, allowed []string) string {
	message := fmt.Sprintf("unknown %s %s", what, join(path, got))
	if near := nearest(got, allowed); near != "" {
		message += fmt.Sprintf(", did you mean %s?", near)
	}
	sorted := slices.Sorted(slices.Values(allowed))
	return message + " (allowed: " + strings.Join(sorted, ", ") + ")"
}
