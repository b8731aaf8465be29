// Package schema holds the JSON Schemas of the files that oloproof reads and
// writes. Those of the suite and the policy are made from the tables that read
// them; `go test ./schema -update` writes them anew.
package schema

import "embed"

// FS holds the schemas of the suite, the policy, the document and the diagnosis.
//
//go:embed *.schema.json
var FS embed.FS
