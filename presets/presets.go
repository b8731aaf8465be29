// Package presets holds what is known of the requests and answers of well-known
// services, one YAML file each: what `preset: NAME` in system.http stands for.
package presets

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names lists the presets in alphabetical order.
func Names() []string {
	found, err := fs.Glob(files, "*.yaml")
	if err != nil { // only for a malformed pattern
		return nil
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(f, ".yaml")
	}
	slices.Sort(found)
	return found
}

// Text returns the file of a preset, and whether there is one of that name.
func Text(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
