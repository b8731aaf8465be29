// Package store keeps .oloproof/: runs as plain files, caches in SQLite.
package store

import "github.com/oloproof/oloproof-go/internal/evidence"

// Record is one finished case on its way to disk.
type Record struct {
	Case      *evidence.Case
	Execution evidence.Execution
	Judgments []evidence.Judgment // one per judged metric of the manifest, in its order
	Slices    []string            // value per slice of the manifest
}
