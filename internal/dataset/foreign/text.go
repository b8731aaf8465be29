package foreign

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a file as UTF-8: a byte order mark is skipped and UTF-16, as
// spreadsheets write it, is decoded. It knows in which line each byte lies.
type text struct {
	*bufio.Reader
	file  *os.File
	lines *lineCounter
}

func openText(path string) (*text, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	raw := bufio.NewReaderSize(file, 64<<10)
	start, _ := raw.Peek(SealedBytes)
	if what := Sealed(start); what != "" {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("the file is %s", what)
	}
	start = start[:min(4, len(start))]
	var source io.Reader = raw
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = raw.Discard(3) // they were peeked
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}):
		_, _ = raw.Discard(2)
		source = &utf16Reader{source: raw, order: binary.LittleEndian}
	case bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		_, _ = raw.Discard(2)
		source = &utf16Reader{source: raw, order: binary.BigEndian}
	case len(start) == 4 && start[0] != 0 && start[1] == 0 && start[3] == 0:
		source = &utf16Reader{source: raw, order: binary.LittleEndian}
	case len(start) == 4 && start[0] == 0 && start[1] != 0 && start[2] == 0:
		source = &utf16Reader{source: raw, order: binary.BigEndian}
	}
	decoded := bufio.NewReaderSize(source, 64<<10)
	source = decoded
	// Lines that end with a carriage return alone, as old spreadsheets write them.
	if start, _ := decoded.Peek(64 << 10); bytes.IndexByte(start, '\n') < 0 && bytes.IndexByte(start, '\r') >= 0 {
		source = &returns{decoded}
	}
	counter := &lineCounter{source: source, line: 1, left: MaxRow}
	return &text{Reader: bufio.NewReaderSize(counter, 64<<10), file: file, lines: counter}, nil
}

// MaxRow bounds the bytes of a row, and with them the memory that reading takes.
const MaxRow = 128 << 20

// ErrLong is that of a row that is longer.
var ErrLong = errors.New("a row is longer than 128 MiB: a quote that is never closed, or no list of rows")

// next allows for another row.
func (t *text) next() { t.lines.left = MaxRow }

// SealedBytes is how much of a file [Sealed] looks at.
const SealedBytes = 48

// Sealed says what a file is whose text is not there to be read, from its first
// bytes; "" for others.
func Sealed(start []byte) string {
	for _, kind := range []struct{ magic, what string }{
		{"PK\x03\x04", "a zip archive, as .xlsx and .ods are: save the table as CSV, or unpack it"},
		{"\x1f\x8b", "compressed with gzip: unpack it first (gunzip)"},
		{"BZh", "compressed with bzip2: unpack it first (bunzip2)"},
		{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first (unzstd)"},
		{"\xfd7zXZ\x00", "compressed with xz: unpack it first (unxz)"},
		{"PAR1", "a Parquet file: write it as JSONL first, such as with pandas' to_json(lines=True, orient=\"records\")"},
		{"ARROW1", "an Arrow file: write it as JSONL first"},
		{"\xd0\xcf\x11\xe0", "an old .xls: save the table as CSV"},
		{"SQLite format 3\x00", "a SQLite database: export the table as CSV"},
		{"%PDF-", "a PDF"},
		{"version https://git-lfs.github.com/spec/", "a pointer of Git LFS: fetch the file first (git lfs pull, or lfs: true of actions/checkout)"},
	} {
		if bytes.HasPrefix(start, []byte(kind.magic)) {
			return kind.what
		}
	}
	return ""
}

// returns reads carriage returns as line ends.
type returns struct{ source io.Reader }

func (r *returns) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Close closes the file.
func (t *text) Close() error { return t.file.Close() }

// lineAt returns the line of the byte at an offset, which must not be smaller
// than that of an earlier call.
func (t *text) lineAt(offset int64) int { return t.lines.at(offset) }

// lineCounter remembers where lines end until they are asked for.
type lineCounter struct {
	source io.Reader
	read   int64
	ends   []int64 // offsets of line feeds that were read and not passed
	line   int     // of the first byte that was not passed
	left   int     // bytes that the row at hand may still take
}

func (c *lineCounter) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrLong
	}
	n, err := c.source.Read(p)
	c.left -= n
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

func (c *lineCounter) at(offset int64) int {
	n := 0
	for n < len(c.ends) && c.ends[n] < offset {
		n++
	}
	c.line += n
	c.ends = append(c.ends[:0], c.ends[n:]...)
	return c.line
}

// utf16Reader decodes UTF-16. What is no character becomes U+FFFD.
type utf16Reader struct {
	source io.Reader
	order  binary.ByteOrder
	out    bytes.Buffer
	high   uint16 // a first half whose second one has not come
	err    error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for u.out.Len() < len(p) && u.err == nil {
		var unit [2]byte
		if _, err := io.ReadFull(u.source, unit[:]); err != nil {
			if u.err = err; err == io.ErrUnexpectedEOF {
				u.out.WriteRune(utf8.RuneError)
				u.err = io.EOF
			}
			if u.high != 0 {
				u.out.WriteRune(utf8.RuneError)
			}
			break
		}
		u.unit(u.order.Uint16(unit[:]))
	}
	if u.out.Len() > 0 {
		return u.out.Read(p)
	}
	return 0, u.err
}

func (u *utf16Reader) unit(c uint16) {
	if u.high != 0 {
		r := utf16.DecodeRune(rune(u.high), rune(c))
		u.high = 0
		u.out.WriteRune(r)
		if r != utf8.RuneError {
			return
		}
	}
	switch {
	case 0xd800 <= c && c < 0xdc00:
		u.high = c
	default:
		u.out.WriteRune(rune(c)) // a second half alone becomes U+FFFD
	}
}
