package github

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sethvargo/go-githubactions"

	"github.com/oloproof/oloproof-go/internal/redact"
	"github.com/oloproof/oloproof-go/internal/report"
)

// Log is where everything goes that the job's log shows. Secrets are redacted,
// and no text that is written to it can become a workflow command: only the
// Log's own methods write those, and only in GitHub Actions. Text is held back
// until its line ends; see [Log.Flush]. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	w        io.Writer
	commands *githubactions.Action // nil outside Actions
	secrets  []string
	masked   map[string]bool
	redactor *redact.Redactor
	held     []byte // text whose line has not ended
	group    bool
}

// NewLog returns a Log that writes to w. What the runner of GitHub Actions
// takes for commands is written only when inActions: elsewhere they would be
// text, and a mask would print the secret.
func NewLog(w io.Writer, inActions bool) *Log {
	l := &Log{w: &deaf{w: w}, masked: map[string]bool{}, redactor: redact.New(nil)}
	if inActions {
		l.commands = githubactions.New(githubactions.WithWriter(l.w))
	}
	return l
}

// deaf writes to w until that fails, and reports no error: go-githubactions
// panics on one, and a log that cannot be written changes no result.
type deaf struct {
	w      io.Writer
	failed bool
}

func (d *deaf) Write(p []byte) (int, error) {
	if !d.failed {
		if n, err := d.w.Write(p); err != nil || n < len(p) {
			d.failed = true
		}
	}
	return len(p), nil
}

// Mask registers secrets: they are redacted in everything that is written from
// now on, and the runner masks them in what anything else writes. Register them
// before anything is printed.
func (l *Log) Mask(secrets ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush() // what came before is not to be split by a command
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret == "" || slices.Contains(l.secrets, secret) {
			continue
		}
		l.secrets = append(l.secrets, secret)
		if l.commands == nil {
			continue
		}
		for _, form := range maskForms(secret) {
			if !l.masked[form] {
				l.masked[form] = true
				l.commands.AddMask(form)
			}
		}
	}
	l.redactor = redact.New(l.secrets)
}

// Redactor returns what takes the secrets registered so far out of text.
func (l *Log) Redactor() *redact.Redactor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.redactor
}

// minMask is the shortest text that is masked, in bytes: the runner replaces it
// wherever it stands, and a short one would ruin the log.
const minMask = 8

// maskForms returns what the runner is to mask for a secret: each line and its
// encodings, single lines of minMask bytes or more. The runner would mask every
// line of a longer text, however short.
func maskForms(secret string) []string {
	var forms []string
	add := func(s string) {
		if len(s) >= minMask && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	texts := []string{secret}
	for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		add(line)
		if line != secret && len(line) >= minMask {
			texts = append(texts, line)
		}
	}
	for _, s := range texts {
		query := url.QueryEscape(s)
		add(query)
		add(strings.ReplaceAll(query, "+", "%20"))
		add(url.PathEscape(s))
		add(base64.StdEncoding.EncodeToString([]byte(s)))
		add(base64.RawStdEncoding.EncodeToString([]byte(s)))
		add(base64.URLEncoding.EncodeToString([]byte(s)))
		add(base64.RawURLEncoding.EncodeToString([]byte(s)))
	}
	return forms
}

// maxHeld is the most bytes without a line end that are held back.
const maxHeld = 1 << 20

// Write writes text, redacted, as lines that are no commands. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, p...)
	if end := bytes.LastIndexByte(l.held, '\n') + 1; end > 0 {
		l.print(l.held[:end])
		l.held = append(l.held[:0], l.held[end:]...)
	}
	if len(l.held) > maxHeld {
		l.flush()
	}
	return len(p), nil
}

// Flush writes the text whose line has not ended, and ends it.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *Log) flush() {
	if len(l.held) > 0 {
		l.print(append(l.held, '\n'))
		l.held = l.held[:0]
	}
}

// print writes whole lines.
func (l *Log) print(text []byte) {
	var b strings.Builder
	for line := range strings.Lines(l.redactor.String(string(text))) {
		b.WriteString(harmless(l.redactor.String(plain(line))))
		b.WriteByte('\n')
	}
	io.WriteString(l.w, b.String())
}

// plain returns a line without its end and without what is invisible, moves the
// cursor or starts a new line for the runner: it reads CR as a line end, and
// trims every white space of Unicode before it looks for a command.
func plain(line string) string {
	line = strings.TrimRight(line, "\r\n")
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\u200c', r == '\u200d', unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1 // some comparisons of text pass over them
		}
		return r
	}, line)
	return report.Clean(line)
}

// harmless breaks what the runner could take for a command: :: at the start of
// a line, and ##[ anywhere.
func harmless(line string) string {
	start := strings.TrimLeftFunc(line, func(r rune) bool { return r >= unicode.MaxASCII || unicode.IsSpace(r) })
	if strings.HasPrefix(asciiOf(start), "::") {
		line = "| " + line
	}
	if !strings.Contains(asciiOf(line), "##[") {
		return line
	}
	var b strings.Builder
	hashes := 0
	for _, r := range line {
		switch {
		case r == '[' && hashes >= 2:
			b.WriteByte(' ')
			hashes = 0
		case r == '#':
			hashes++
		case r < unicode.MaxASCII:
			hashes = 0
		}
		b.WriteRune(r)
	}
	return b.String()
}

// asciiOf returns the ASCII characters of s.
func asciiOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= unicode.MaxASCII {
			return -1
		}
		return r
	}, s)
}

// Group folds what follows under a title, until the next group or [Log.EndGroup].
func (l *Log) Group(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endGroup()
	if l.commands == nil {
		return
	}
	l.group = true
	l.commands.Group(l.message(title))
}

// EndGroup ends the group, if there is one: what follows is shown.
func (l *Log) EndGroup() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endGroup()
}

func (l *Log) endGroup() {
	l.flush()
	if l.group {
		l.group = false
		l.commands.EndGroup()
	}
}

// message makes foreign text one line for a command.
func (l *Log) message(s string) string {
	return harmless(l.redactor.String(plain(l.redactor.String(s))))
}

// annotate writes an annotation; outside Actions it is a line of text.
func (l *Log) annotate(a Annotation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	lines := strings.Split(l.redactor.String(a.Message), "\n")
	for i, s := range lines {
		lines[i] = l.message(s)
	}
	a.Title, a.File = l.message(a.Title), l.message(a.File)
	a.Message = cut(strings.Join(lines, "\n"), maxAnnotation)
	if l.commands == nil {
		fmt.Fprintf(l.w, "%s: %s: %s\n", a.Level, a.Title, strings.Join(strings.Split(a.Message, "\n"), "\n  "))
		return
	}
	with := l.commands.WithFieldsMap(a.fields())
	switch a.Level {
	case LevelError:
		with.Errorf("%s", a.Message)
	default:
		with.Noticef("%s", a.Message)
	}
}
