package suite

import (
	"strings"

	"github.com/oloproof/oloproof-go/internal/evidence"
	"github.com/oloproof/oloproof-go/internal/problem"
	y "github.com/oloproof/oloproof-go/internal/strictyaml"
	"github.com/oloproof/oloproof-go/presets"
)

// presetPlace begins the name of a preset in places.
const presetPlace = "preset "

// overPreset lets system.http name a preset, over which its keys are laid.
func overPreset(t *y.MapType) y.Type {
	return t.Over("preset", func(name string) (y.Base, bool) {
		text, ok := presets.Text(name)
		return y.Base{Name: presetPlace + name, Text: text, Key: "http"}, ok
	}, presets.Names,
		[]string{"output", "output_path"},
		[]string{"path", "jq", "items", "markers"},
		authKinds,
	)
}

// presetLine returns a line of the preset that a place lies in, or "".
func presetLine(at Position) string {
	name, _ := strings.CutPrefix(at.In, presetPlace)
	text, _ := presets.Text(name)
	lines := strings.Split(string(text), "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	return lines[at.Line-1]
}

// Preset is what is known of a service.
type Preset struct {
	Name      string
	About     string
	URL       string // where such a service usually answers
	Docs      string
	Body      []Mark // what its bodies hold
	Frames    []Mark // what the frames of its streams hold
	Text      string // the whole file
	HTTP      string // what it says of system.http, as YAML
	Streaming string // what to add to system.http for a stream, as YAML; ""
}

// Mark is something that a body holds: a value at a dotted path, in which *
// means each element; the value must be Equals unless that is nil.
type Mark struct {
	Path   string
	Equals evidence.Value
}

// presetFile is the table of a preset's file.
func (p *Preset) table() y.Type {
	marks := func(into *[]Mark) y.Type {
		return y.List(y.Into(into), func(m *Mark) y.Type {
			path := func() *y.StringType { return y.String(y.Into(&m.Path)).Want("a dotted path") }
			return y.Either(path(), y.Mapping(y.Table{
				{Key: "path", Type: path(), Required: true},
				{Key: "equals", Type: y.JSON(y.Into(&m.Equals)), Required: true},
			}))
		}).Min(1)
	}
	return y.Mapping(y.Table{
		{Key: "about", Type: y.Name(y.Into(&p.About)), Required: true},
		{Key: "docs", Type: y.String(y.Into(&p.Docs)), Required: true},
		{Key: "url", Type: y.String(y.Into(&p.URL)).Check(staticURL), Required: true},
		{Key: "body", Type: marks(&p.Body)},
		{Key: "frames", Type: marks(&p.Frames)},
		{Key: "http", Type: y.JSON(func(evidence.Value) {}).Object(), Required: true},
		{Key: "streaming", Type: y.JSON(func(evidence.Value) {}).Object()},
	})
}

// OpenPreset reads the preset of a name.
func OpenPreset(name string) (*Preset, error) {
	text, ok := presets.Text(name)
	if !ok {
		near := ""
		if n := problem.Nearest(name, presets.Names()); n != "" {
			near = "; did you mean " + n + "?"
		}
		return nil, problem.Errorf("there is no preset %q%s (there are: %s)", name, near, strings.Join(presets.Names(), ", "))
	}
	p := &Preset{Name: name, Text: string(text), HTTP: section(string(text), "http"), Streaming: section(string(text), "streaming")}
	f, err := y.Parse(presetPlace+name, text, p.table())
	if err != nil {
		return nil, err
	}
	return p, f.Err()
}

// Presets reads all presets, in alphabetical order.
func Presets() ([]*Preset, error) {
	var all []*Preset
	for _, name := range presets.Names() {
		p, err := OpenPreset(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// section returns the lines below a key at the beginning of a line, without the
// indent of two spaces.
func section(text, key string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, key+":"):
			inside = true
		case !inside:
		case strings.HasPrefix(line, "  "):
			b.WriteString(line[2:])
		case strings.TrimSpace(line) == "":
			b.WriteString(line)
		default:
			inside = false
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
