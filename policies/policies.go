// Package policies holds ready policies, usable as --policy builtin:NAME and
// meant to be copied.
package policies

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

// FS holds each policy as NAME.yaml.
//
//go:embed *.yaml
var FS embed.FS

// Names lists the policies in alphabetical order.
func Names() []string {
	files, err := fs.Glob(FS, "*.yaml")
	if err != nil { // only for a malformed pattern
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	slices.Sort(files)
	return files
}
