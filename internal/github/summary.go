package github

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/oloproof/oloproof-go/internal/redact"
)

const (
	// maxSummary is the most bytes of the summary file, what other commands of
	// the step wrote included. Above 1 MiB the runner drops all of it and marks
	// the step with an error.
	maxSummary = 900 << 10
	// minSummary is the room below which nothing is worth writing, in bytes.
	minSummary = 200
)

var errNoRoom = errors.New("the job summary is full")

// writeSummary appends a rendering to the file that GITHUB_STEP_SUMMARY names.
func writeSummary(path string, secrets *redact.Redactor, render func(budget int) (string, error)) error {
	used := int64(0)
	if info, err := os.Stat(path); err == nil {
		used = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	budget := maxSummary - int(min(used, maxSummary))
	text, err := fitted(budget-len(blank)-1, secrets, render) // 1: a line that was left open
	if err != nil {
		return err
	}
	if used > 0 {
		text = blank + text // a heading stands apart from what came before
	}
	return appendLines(path, text)
}

// blank is an empty line.
const blank = "\n"

// fitted renders into a budget of bytes. Redaction may lengthen a text, so a
// smaller budget is tried when the result is too long. The result ends with a
// line end.
func fitted(budget int, secrets *redact.Redactor, render func(budget int) (string, error)) (string, error) {
	for try := budget; try >= minSummary; try = try * 3 / 4 {
		text, err := render(try - 1)
		if err != nil {
			return "", err
		}
		text = strings.ToValidUTF8(secrets.String(text), "\uFFFD")
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if len(text) <= budget {
			return text, nil
		}
	}
	return "", fmt.Errorf("%w: %d bytes are left", errNoRoom, max(budget, 0))
}
