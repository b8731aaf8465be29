// Package examples embeds the example projects, so that the binary alone can
// copy them out and run them.
package examples

import (
	"embed"
	"io/fs"
)

// Directories are embedded without their dot files, so a run made inside an
// example leaves nothing in the binary.
//
//go:embed blackbox_rag support_rag judged_rag
var files embed.FS

// Example is one example project.
type Example struct {
	Name  string // its directory
	About string // one line, for lists
}

// List returns the example projects in the order they are shown.
func List() []Example {
	return []Example{
		{"blackbox_rag", "a RAG service over HTTP, evaluated from outside: answers, retrieval, context and citations"},
		{"support_rag", "a staged RAG program: search and answering are called apart, the context between them is assembled by oloproof"},
		{"judged_rag", "the same service with a groundedness judge, a stand-in for it that needs no key, and labels to validate it"},
	}
}

// Open returns the files of the example project of that name, and whether
// there is one.
func Open(name string) (fs.FS, bool) {
	for _, e := range List() {
		if e.Name == name {
			project, err := fs.Sub(files, name)
			return project, err == nil
		}
	}
	return nil, false
}
