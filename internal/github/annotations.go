package github

import (
	"strconv"
	"unicode/utf16"
)

// Level is how grave an annotation is.
type Level string

// The levels that are used.
const (
	LevelError  Level = "error"
	LevelNotice Level = "notice"
)

// Annotation is a message that GitHub shows on the run's page and, when it has
// a file and a line, in the pull request's changes.
type Annotation struct {
	Level   Level
	Title   string
	Message string // may have several lines
	File    string // from the repository's root; empty for none
	Line    int    // from 1; 0 for the file as a whole
}

// The runner keeps ten annotations of a level and cuts their messages at 4,096
// UTF-16 units (actions/runner, ExecutionContext.AddIssue).
const (
	maxErrors     = 1
	maxNotices    = 8
	maxAnnotation = 4096
)

// fields are the properties of the workflow command.
func (a *Annotation) fields() map[string]string {
	f := map[string]string{}
	if a.Title != "" {
		f["title"] = a.Title
	}
	if a.File != "" {
		f["file"] = a.File
		if a.Line > 0 {
			f["line"] = strconv.Itoa(a.Line)
		}
	}
	return f
}

// cut returns s in at most so many UTF-16 units, with an ellipsis when it had more.
func cut(s string, most int) string {
	units := 0
	fits := 0 // bytes that leave room for the ellipsis
	for i, r := range s {
		if units < most {
			fits = i
		}
		if units += utf16.RuneLen(r); units > most {
			return s[:fits] + "…"
		}
	}
	return s
}
