// Package evidence holds what happened: cases, executions, artifacts,
// judgments and the manifest of a run, with their canonical JSON, their
// content ids and the codec of the files of a run. It decides nothing.
package evidence

import "github.com/go-json-experiment/json/jsontext"

// Case is one line of the data set: the unit of inference.
type Case struct {
	ID       string         // unique in its data set
	Index    int            // 0-based place in the data set
	Line     int            // 1-based line in the file
	Input    jsontext.Value // any JSON but null, digits of numbers as written
	Expected jsontext.Value // nil when the line has none
	Metadata jsontext.Value // an object; nil when the line has none
	GroupID  string         // "" when the line has none
	Digest   Digest         // content id of input, expected and metadata; the id is not part of it
}

// Value is raw JSON text, valid UTF-8, without duplicate names.
type Value = jsontext.Value
