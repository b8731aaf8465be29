package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/oloproof/oloproof-go/internal/problem"
)

// MaxBytes is the largest file that is read.
const MaxBytes = 1 << 20

// ReadFile reads a file of at most [MaxBytes] bytes. The error is a
// [problem.List] that says in plain words why it cannot be read.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, problem.At(path, "%s is a directory: name the file in it", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return data, nil
}

func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem.At(path, "%s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return problem.At(path, "%s may not be read: permission denied", path)
	}
	// The cause alone: the path is already there.
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return problem.At(path, "%s cannot be read: %v", path, err)
}

// Position is a place in a file.
type Position struct {
	Line, Column int    // 1-based; the column counts characters
	In           string // name of the base that it lies in; "" is the file itself
}

// source is the text of a file with its lines.
type source struct {
	text  []byte
	lines []string // as an editor shows them: ended by LF, CR LF or CR
	// starts holds where each line begins as YAML counts them: it also ends a
	// line at U+0085, U+2028 and U+2029, which editors do not.
	starts []Position
}

// newSource checks the encoding of data and splits it into lines. fault is ""
// when the text can be given to the YAML parser.
func newSource(data []byte) (src source, at Position, fault string) {
	return newSourceUpTo(data, MaxBytes)
}

func newSourceUpTo(data []byte, most int) (src source, at Position, fault string) {
	if len(data) > most {
		return source{}, Position{}, fmt.Sprintf("the file is larger than %d MiB", most>>20)
	}
	if name := foreignEncoding(data); name != "" {
		return source{}, Position{}, "the file is " + name + ": save it as UTF-8"
	}
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	src = source{text: text, starts: []Position{{Line: 1, Column: 1}}}
	here, begin := Position{Line: 1, Column: 1}, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if f := unreadableRune(r, size); f != "" && fault == "" {
			at, fault = here, f
		}
		switch {
		case r == '\n', r == '\r':
			src.lines = append(src.lines, string(text[begin:i]))
			if r == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				size = 2
			}
			begin = i + size
			here = Position{Line: here.Line + 1, Column: 1}
			src.starts = append(src.starts, here)
		case r == '\u0085', r == '\u2028', r == '\u2029':
			here.Column++
			src.starts = append(src.starts, here)
		default:
			here.Column++
		}
		i += size
	}
	if begin < len(text) {
		src.lines = append(src.lines, string(text[begin:]))
	}
	return src, at, fault
}

// foreignEncoding names UTF-16 and UTF-32, told by their byte order mark or by
// the zero bytes of their first characters.
func foreignEncoding(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}):
		return "UTF-32"
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return "UTF-16"
	case len(data) >= 4 && (data[0] == 0) != (data[1] == 0) && (data[2] == 0) == (data[0] == 0) && (data[3] == 0) == (data[1] == 0):
		return "UTF-16"
	}
	return ""
}

// unreadableRune says what is wrong with a character that YAML does not allow.
func unreadableRune(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size <= 1:
		return "the file is not UTF-8: a byte here belongs to no character; save it as UTF-8"
	case r == '\t', r == '\n', r == '\r', r == '\u0085':
		return ""
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return fmt.Sprintf("the control character U+%04X is not allowed: remove it, or write it as an escape in double quotes", r)
	}
	return ""
}

// place turns a line and column as YAML counts them into those of an editor.
func (s source) place(line, column int) Position {
	if line < 1 || line > len(s.starts) {
		return Position{Line: max(line, 1), Column: max(column, 1)}
	}
	start := s.starts[line-1]
	return Position{Line: start.Line, Column: start.Column + max(column, 1) - 1}
}

// line returns the text of a 1-based line, "" when there is none.
func (s source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// Cause returns the message of an error in one line, without the frame that a
// [problem.List] prints around it.
func Cause(err error) string {
	if l, ok := errors.AsType[problem.List](err); ok && len(l) > 0 {
		return l[0].Message
	}
	return printable(err.Error())
}
