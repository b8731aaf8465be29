// Package schema holds the JSON Schemas of the files that oloproof reads and
// writes. Those of the suite and the policy are made from the tables that read
// them; `go test ./schema -update` writes them anew.
package schema

import "embed"

// FS holds suite.schema.json, policy.schema.json and document.schema.json.
//
//go:embed *.schema.json
var FS embed.FS
