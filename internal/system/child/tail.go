package child

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

// Tail keeps the end of what a process writes. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
	cut int64 // bytes dropped at the start
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if excess := len(t.buf) - keptOutput; excess > keptOutput {
		t.buf = t.buf[:copy(t.buf, t.buf[excess:])]
		t.cut += int64(excess)
	}
	return len(p), nil
}

// Mark returns the place of what is written next, for [Tail.Since].
func (t *Tail) Mark() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut + int64(len(t.buf))
}

// Last returns the last lines as they may be shown. A line whose start is lost
// is left out, because half a secret may stand there.
func (t *Tail) Last(r *redact.Redactor) []string { return t.Since(0, r) }

// Since returns the last lines of what was written since a mark.
func (t *Tail) Since(mark int64, r *redact.Redactor) []string {
	t.mu.Lock()
	from := max(mark-t.cut, 0)
	text := bytes.Clone(t.buf[min(from, int64(len(t.buf))):])
	cut := mark < t.cut
	t.mu.Unlock()
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return Lines(string(text), r)
}

// Lines returns the last lines of a text as they may be shown.
func Lines(text string, r *redact.Redactor) []string {
	var lines []string
	for line := range strings.Lines(r.String(text)) {
		if line = Printable(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-shownLines):]
}

// Printable returns a text as one line, without the escape sequences of terminals,
// other control characters and what is too long.
func Printable(line string) string {
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
		case r == '\t' || r == '\n':
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
