// Package stream puts the answer of a service together that comes in pieces:
// server-sent events, lines of JSON, or lines with a prefix. It reads from an
// [io.Reader] and knows nothing of the network.
package stream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Format is how a stream is cut into frames.
type Format string

// The formats of a stream.
const (
	SSE    Format = "sse"    // server-sent events
	NDJSON Format = "ndjson" // one JSON value a line
	Lines  Format = "lines"  // lines of PREFIX:JSON
)

// Formats lists the formats.
func Formats() []string { return []string{string(SSE), string(NDJSON), string(Lines)} }

// MaxFrame is the largest frame that is read, in bytes. Sources come in one
// frame, so it is far above the 64 KiB at which many readers give up.
const MaxFrame = 8 << 20

// Frame is one piece of a stream.
type Frame struct {
	Event string // of server-sent events, "" for none; of lines, the prefix
	Data  []byte // valid until the next frame is read; nil when an event came without data
}

// How [Reader.Next] ends, but for io.EOF and what the stream itself ends with.
var (
	errFrameTooLarge = errors.New("a frame over the limit")
	errPartial       = errors.New("the stream ends within a frame")
)

// Reader cuts a stream into frames. Frames end where their last byte came, so
// a frame is there as soon as it can be.
type Reader struct {
	in     *bufio.Reader
	format Format
	max    int

	line    []byte // of the line that is read
	data    []byte
	started bool // past a byte order mark
	skipLF  bool // the last line ended with CR
}

// NewReader returns a reader of frames of at most max bytes each.
func NewReader(in io.Reader, format Format, max int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 4<<10), format: format, max: max}
}

// Next returns the next frame. The error is io.EOF when the stream ended between
// two frames, errPartial when it ended within one, which is then returned as far
// as it came; else that of the stream.
func (r *Reader) Next() (Frame, error) {
	if r.format == SSE {
		return r.event()
	}
	for {
		err := r.readLine()
		if err != nil && (err != io.EOF || len(r.line) == 0) {
			return Frame{}, err
		}
		line := bytes.TrimSpace(r.line)
		if len(line) == 0 && err == nil {
			continue
		}
		if err == io.EOF && len(line) == 0 {
			return Frame{}, err
		}
		f := Frame{Data: line}
		if r.format == Lines {
			f = prefixed(line)
		}
		if err == io.EOF {
			return f, errPartial
		}
		return f, nil
	}
}

// maxPrefix is the longest prefix of a line, in bytes.
const maxPrefix = 32

// prefixed cuts the prefix off a line, if it has one.
func prefixed(line []byte) Frame {
	i := bytes.IndexByte(line, ':')
	if i < 1 || i > maxPrefix || bytes.ContainsAny(line[:i], " \t\"{}[]") {
		return Frame{Data: line}
	}
	return Frame{Event: string(line[:i]), Data: bytes.TrimSpace(line[i+1:])}
}

// event reads a server-sent event: lines of FIELD: VALUE up to an empty one
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
// Unlike a browser it also returns events without data, which some services end
// with, and not those without both name and data.
func (r *Reader) event() (Frame, error) {
	r.data = r.data[:0]
	event, hasData := "", false
	frame := func() Frame {
		f := Frame{Event: event}
		if hasData {
			f.Data = r.data
		}
		return f
	}
	for {
		err := r.readLine()
		if err != nil && err != io.EOF {
			return Frame{}, err
		}
		if err == nil && len(r.line) == 0 {
			if event == "" && !hasData {
				continue
			}
			return frame(), nil
		}
		name, value, _ := bytes.Cut(r.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(r.data)+len(value) > r.max {
				return Frame{}, errFrameTooLarge
			}
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
		case "event":
			event = string(value)
		}
		if err == io.EOF {
			if event == "" && !hasData {
				return Frame{}, io.EOF
			}
			return frame(), errPartial
		}
	}
}

// readLine reads a line without its end, which is LF, CR or both; a line of
// JSON ends at LF only. io.EOF comes with what there was of a last line without
// an end.
func (r *Reader) readLine() error {
	r.line = r.line[:0]
	for {
		if r.in.Buffered() == 0 {
			if _, err := r.in.Peek(1); err != nil {
				return err
			}
		}
		buffered, _ := r.in.Peek(r.in.Buffered())
		if r.skipLF {
			r.skipLF = false
			if buffered[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		if !r.started && r.mark(buffered) {
			continue
		}
		end := r.lineEnd(buffered)
		if end < 0 {
			if err := r.take(buffered); err != nil {
				return err
			}
			continue
		}
		r.skipLF = buffered[end] == '\r'
		line := buffered[:end]
		if len(r.line)+len(line) > r.max+maxPrefix {
			return errFrameTooLarge
		}
		r.line = append(r.line, line...)
		r.discard(end + 1)
		return nil
	}
}

// mark drops a byte order mark, of which only the first byte may be there yet.
func (r *Reader) mark(buffered []byte) (dropped bool) {
	r.started = true
	if buffered[0] != 0xEF {
		return false
	}
	if mark, _ := r.in.Peek(3); string(mark) == "\ufeff" {
		r.discard(3)
		return true
	}
	return false
}

func (r *Reader) lineEnd(b []byte) int {
	if r.format == SSE {
		return bytes.IndexAny(b, "\r\n")
	}
	return bytes.IndexByte(b, '\n')
}

func (r *Reader) take(b []byte) error {
	if len(r.line)+len(b) > r.max+maxPrefix {
		return errFrameTooLarge
	}
	r.line = append(r.line, b...)
	r.discard(len(b))
	return nil
}

func (r *Reader) discard(n int) { _, _ = r.in.Discard(n) } // of what is buffered

// peek returns the first byte that is no white space and no byte order mark,
// without taking it: what tells a stream from a document. The error is that of
// the stream.
func (r *Reader) peek() (byte, error) {
	for n := 1; ; n++ {
		b, err := r.in.Peek(n)
		if err != nil {
			if len(b) == 0 || err == io.EOF || errors.Is(err, bufio.ErrBufferFull) {
				return 0, orEOF(err)
			}
			return 0, err
		}
		switch c := b[n-1]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case n <= 3 && string(b) == "\ufeff"[:n]:
		default:
			return c, nil
		}
	}
}

func orEOF(err error) error {
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("a stream that begins with %d bytes of white space", 4<<10)
	}
	return err
}
