// Package examples embeds the example projects, so that the binary alone can
// copy them out and run them.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// Directories are embedded without their dot files, so a run made inside an
// example leaves nothing in the binary.
//
//go:embed blackbox_rag
var files embed.FS

// Example is one example project.
type Example struct {
	Name    string // its directory
	Summary string // one line, for lists
}

// List returns the example projects in the order they are shown.
func List() []Example {
	return []Example{
		{"blackbox_rag", "a RAG service over HTTP, evaluated from outside: answers, retrieval, context and citations"},
	}
}

// Open returns the files of the example project of that name; os.CopyFS writes
// them out. It fails when there is none.
func Open(name string) (fs.FS, error) {
	var names []string
	for _, e := range List() {
		if e.Name == name {
			return fs.Sub(files, name)
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("no example %q (there is: %s)", name, strings.Join(names, ", "))
}
