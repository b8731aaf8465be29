package runnertest

import (
	"strings"
	"sync"
)

// lines cuts a text into lines as .NET's StreamReader does: LF, CR and CR LF
// end a line, a byte order mark at the start is no part of it, and what is not
// UTF-8 becomes U+FFFD.
type lines struct {
	held   []byte
	begun  bool
	afterR bool // the last byte was a CR
	each   func(line string)
}

func (l *lines) add(p []byte) {
	for _, c := range p {
		switch {
		case c == '\n' && l.afterR:
		case c == '\n', c == '\r':
			l.end()
		default:
			l.held = append(l.held, c)
		}
		l.afterR = c == '\r'
	}
}

func (l *lines) end() {
	line := string(l.held)
	l.held = l.held[:0]
	if !l.begun {
		line = strings.TrimPrefix(line, "\ufeff")
	}
	l.begun = true
	l.each(strings.ToValidUTF8(line, "\ufffd"))
}

// close takes a last line that has no end.
func (l *lines) close() {
	if len(l.held) > 0 {
		l.end()
	}
}

// splitLines returns the lines of a text.
func splitLines(text string) []string {
	var all []string
	l := lines{each: func(line string) { all = append(all, line) }}
	l.add([]byte(text))
	l.close()
	return all
}

// stream is one of a program's two output streams. The two share a lock, so
// that their lines are taken one at a time.
type stream struct {
	mu    *sync.Mutex
	lines lines
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.add(p)
	return len(p), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.close()
}
