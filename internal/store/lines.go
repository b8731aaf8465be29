package store

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// chunkBytes is about how much one decoder takes at a time.
const chunkBytes = 256 << 10

// decoders is how many goroutines decode lines.
const decoders = 2

// chunk is a stretch of whole lines.
type chunk[T any] struct {
	first int // number of its first line, from 0
	data  []byte
	items []T
	err   error         // of reading or decoding, after the items
	ready chan struct{} // gets one value when items are decoded
}

// lineError is a line that cannot be decoded.
type lineError struct {
	line int // from 1
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

func (e *lineError) Unwrap() error { return e.err }

// decodeLines reads lines of at most limit bytes, decodes them on two
// goroutines and delivers them in order on the caller's. What decode fills is
// used again for a later line. An undecodable line is a [*lineError], after
// the lines before it were delivered.
func decodeLines[T any](r io.Reader, limit int, decode func(line []byte, into *T) error, deliver func(i int, v *T) error) error {
	const inFlight = 2 * decoders
	work := make(chan *chunk[T], inFlight)
	order := make(chan *chunk[T], inFlight)
	free := make(chan *chunk[T], inFlight+1)
	for range cap(free) {
		free <- &chunk[T]{ready: make(chan struct{}, 1)}
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(order)
		defer close(work)
		readChunks(r, limit, func() (*chunk[T], bool) {
			select {
			case c := <-free:
				return c, true
			case <-stop:
				return nil, false
			}
		}, func(c *chunk[T]) {
			// There are no more chunks than either channel holds, but for one.
			select {
			case order <- c:
			case <-stop:
				return
			}
			select {
			case work <- c:
			case <-stop:
			}
		})
	})
	for range decoders {
		running.Go(func() {
			for c := range work {
				c.decode(decode)
				c.ready <- struct{}{}
			}
		})
	}
	for c := range order {
		<-c.ready
		for i := range c.items {
			if err := deliver(c.first+i, &c.items[i]); err != nil {
				return err
			}
		}
		if c.err != nil {
			return c.err
		}
		free <- c
	}
	return nil
}

func (c *chunk[T]) decode(decode func(line []byte, into *T) error) {
	rest := c.data
	for len(rest) > 0 {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		n := len(c.items)
		if n < cap(c.items) {
			c.items = c.items[:n+1]
		} else {
			var zero T
			c.items = append(c.items, zero)
		}
		if err := decode(line, &c.items[n]); err != nil {
			c.items = c.items[:n]
			c.err = &lineError{c.first + n + 1, err}
			return
		}
	}
}

// readChunks cuts r into chunks that end with a line.
func readChunks[T any](r io.Reader, limit int, take func() (*chunk[T], bool), give func(*chunk[T])) {
	var carry []byte // the start of a line whose end was not read yet
	line := 0
	for {
		c, ok := take()
		if !ok {
			return
		}
		data, rest, more, err := readChunk(r, carry, limit)
		if err != nil {
			err = fmt.Errorf("after line %d: %w", line, err)
		}
		c.first, c.data, c.items, c.err = line, data, c.items[:0], err
		line, carry = line+bytes.Count(data, []byte{'\n'}), rest
		give(c)
		if !more {
			return
		}
	}
}

// readChunk reads whole lines into a buffer of its own, so that values may
// share it. What follows the last line break is the next chunk's.
func readChunk(r io.Reader, carry []byte, limit int) (data, rest []byte, more bool, err error) {
	buf := make([]byte, len(carry), max(chunkBytes, 2*len(carry)))
	copy(buf, carry) // holds no line break
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		start := len(buf)
		buf = buf[:start+n]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return buf, nil, false, nil
		}
		if err != nil {
			return nil, nil, false, err
		}
		if i := bytes.LastIndexByte(buf[start:], '\n'); i >= 0 {
			end := start + i + 1
			return buf[:end], buf[end:], true, nil
		}
		if len(buf) > limit {
			return nil, nil, false, fmt.Errorf("a line is longer than %d bytes", limit)
		}
		buf = append(make([]byte, 0, 2*cap(buf)), buf...)
	}
}
