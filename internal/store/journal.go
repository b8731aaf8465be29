package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"

	"github.com/oloproof/oloproof-go/internal/evidence"
)

// A journal line is
//
//	CRC32C INDEX OUTCOME <tab> CASE <newline>
//
// where OUTCOME is the case's line of judgments.jsonl, CASE its line of
// cases.jsonl and INDEX its place in the data set. The checksum, 8 hex digits,
// is over what follows its space, without the newline. It tells a whole line
// from a torn one and from whatever a crash left behind.

const (
	checksumLen = 8
	// maxLine bounds one line of a journal or of cases.jsonl, in bytes. Inputs
	// of 50 MB and bodies of 32 MiB fit several times.
	maxLine = 512 << 20
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once by the library

// beginLine appends the start of the journal line of the case at an index. The
// outcome, a tab and the case line follow, then [endLine].
func beginLine(dst []byte, index int) []byte {
	dst = append(dst, "00000000 "...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, ' ')
}

// endLine completes the journal line that fills b. The error is about content
// that would tear the line apart.
func endLine(b []byte) ([]byte, error) {
	if bytes.IndexByte(b, '\n') >= 0 {
		return nil, errors.New("a line of the run holds a line break")
	}
	if len(b) >= maxLine {
		return nil, fmt.Errorf("a case of %d bytes is too large to store, the limit is %d", len(b), maxLine)
	}
	putChecksum(b, crc32.Checksum(b[checksumLen+1:], castagnoli()))
	return append(b, '\n'), nil
}

func putChecksum(dst []byte, sum uint32) {
	hex.Encode(dst[:checksumLen], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// journalLine is a journal line taken apart. It shares the line's bytes.
type journalLine struct {
	index   int
	outcome []byte
	body    []byte // the case line
}

// parseLine takes a journal line without its newline apart. It reports false
// for a line that is torn or was never one.
func parseLine(b []byte) (l journalLine, ok bool) {
	if len(b) <= checksumLen || b[checksumLen] != ' ' {
		return l, false
	}
	var want [checksumLen]byte
	rest := b[checksumLen+1:]
	putChecksum(want[:], crc32.Checksum(rest, castagnoli()))
	if !bytes.Equal(b[:checksumLen], want[:]) {
		return l, false
	}
	number, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return l, false
	}
	index, err := strconv.ParseUint(string(number), 10, 31)
	if err != nil {
		return l, false
	}
	l.index = int(index)
	l.outcome, l.body, ok = bytes.Cut(rest, []byte{'\t'})
	return l, ok
}

// entry says where the line of a case lies in the journal.
type entry struct {
	off   int64  // of its first byte
	size  uint32 // with the newline; 0 means no line
	index int32  // place of the case in the data set
	open  bool   // the case did not finish (NOT_RUN): it is called again on resuming
}

// scanJournal reads a journal from its start and calls visit for every whole
// line, in order. Lines that are torn or damaged are passed over. It returns
// the offset after the last whole line and the number of other lines.
func scanJournal(r io.Reader, visit func(off int64, size int, l journalLine) error) (end int64, bad int, err error) {
	b := bufio.NewReaderSize(r, 1<<20)
	var off int64
	var long []byte // a line that does not fit the reader's buffer
	for {
		line, err := b.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if long = append(long, line...); len(long) > maxLine {
				off += int64(len(long)) // no line of ours: look for the next one
				long = long[:0]
			}
			continue
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if len(line) > 0 {
			l, whole := journalLine{}, false
			if body, ok := bytes.CutSuffix(line, []byte{'\n'}); ok {
				l, whole = parseLine(body)
			}
			if whole {
				if err := visit(off, len(line), l); err != nil {
					return end, bad, err
				}
				end = off + int64(len(line))
			} else {
				bad++
			}
			off += int64(len(line))
			long = long[:0]
		}
		if err == io.EOF {
			return end, bad, nil
		}
		if err != nil {
			return end, bad, err
		}
	}
}

// readEntry reads and checks the line of an entry. buf is used when it is large
// enough; the line shares it.
func readEntry(r io.ReaderAt, e entry, buf []byte) (l journalLine, used []byte, err error) {
	if cap(buf) < int(e.size) {
		buf = make([]byte, e.size+e.size/2)
	}
	buf = buf[:e.size]
	if _, err := r.ReadAt(buf, e.off); err != nil {
		return l, buf, fmt.Errorf("read the journal at byte %d: %w", e.off, err)
	}
	l, ok := parseLine(buf[:e.size-1])
	if !ok || l.index != int(e.index) {
		return l, buf, fmt.Errorf("the journal changed at byte %d while it was in use", e.off)
	}
	return l, buf, nil
}

// indexJournal returns where the lines of a journal lie, one entry for each
// case, in data set order, and the offset after the last whole line. Of two
// lines of a case the first finished one counts.
func indexJournal(r io.Reader, m *evidence.Manifest) (entries []entry, end int64, err error) {
	end, _, err = scanJournal(r, func(off int64, size int, l journalLine) error {
		if l.index >= m.Dataset.Cases {
			return fmt.Errorf("the journal has a case %d, run.json says %d cases: they do not belong together", l.index+1, m.Dataset.Cases)
		}
		var o evidence.Outcome
		if err := evidence.DecodeOutcome(l.outcome, m, &o); err != nil {
			return fmt.Errorf("the journal at byte %d: %w", off, err)
		}
		entries = append(entries, entry{off: off, size: uint32(size), index: int32(l.index), open: o.Status == evidence.StatusNotRun})
		return nil
	})
	if err != nil {
		return nil, end, err
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.index, b.index), compareOpen(a, b))
	})
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.index == b.index })
	return entries, end, nil
}

// compareOpen puts a finished case before the same case when it did not finish.
func compareOpen(a, b entry) int {
	switch {
	case a.open == b.open:
		return 0
	case b.open:
		return -1
	}
	return 1
}

// window reads ahead of places that mostly ascend, as those of cases do that
// finished nearly in order. It is not safe for concurrent use.
type window struct {
	io.ReaderAt
	start  int64
	data   []byte
	missed int // reads in a row that were elsewhere
}

const (
	windowBytes = 256 << 10 // how far a window reads ahead
	mostMissed  = 16        // reads elsewhere before the window follows
)

// ReadAt implements [io.ReaderAt].
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	end := w.start + int64(len(w.data))
	if off >= w.start && off+int64(len(p)) <= end {
		w.missed = 0
		return copy(p, w.data[off-w.start:]), nil
	}
	w.missed++
	follows := off >= w.start && off <= end
	if len(p) > windowBytes || !follows && w.missed < mostMissed {
		return w.ReaderAt.ReadAt(p, off)
	}
	if w.data == nil {
		w.data = make([]byte, windowBytes)
	}
	n, err := w.ReaderAt.ReadAt(w.data[:cap(w.data)], off)
	w.start, w.data, w.missed = off, w.data[:n], 0
	if n < len(p) {
		return copy(p, w.data), err
	}
	return copy(p, w.data), nil
}
