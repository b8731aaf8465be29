package service

import (
	"bytes"
	"strings"
	"sync"
	"unicode"

	"github.com/oloproof/oloproof-go/internal/redact"
)

const (
	keptOutput = 64 << 10 // bytes of output that are kept, at least
	shownLines = 20
	shownWidth = 300 // characters of a line
)

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool // something was dropped at the start
}

// Write implements io.Writer. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if excess := len(t.buf) - keptOutput; excess > keptOutput {
		t.buf = t.buf[:copy(t.buf, t.buf[excess:])]
		t.cut = true
	}
	return len(p), nil
}

// last returns the last lines as they may be shown. A line whose start is lost
// is left out, because half a secret may stand there.
func (t *tail) last(r *redact.Redactor) []string {
	t.mu.Lock()
	text := bytes.Clone(t.buf)
	cut := t.cut
	t.mu.Unlock()
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var lines []string
	for line := range strings.Lines(r.String(string(text))) {
		if line = printable(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-shownLines):]
}

// printable returns a line without the escape sequences of terminals, other
// control characters and what is too long.
func printable(line string) string {
	var b strings.Builder
	count, escape := 0, 0
	for _, r := range strings.TrimRight(line, "\r\n \t") {
		switch {
		case r == '\x1b':
			escape = 1
			continue
		case escape == 1 && r == '[':
			escape = 2
			continue
		case escape == 1: // a sequence of one character
			escape = 0
			continue
		case escape == 2: // parameters, then one of @ to ~
			if r >= '@' && r <= '~' {
				escape = 0
			}
			continue
		case r == '\t':
			r = ' '
		case !unicode.IsPrint(r) && r != unicode.ReplacementChar:
			continue
		}
		if count++; count > shownWidth {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
