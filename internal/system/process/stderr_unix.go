//go:build unix

package process

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/oloproof/oloproof-go/internal/system/child"
)

// errorStream is the standard error of a process, which is read as it comes into
// the log, and at once when somebody wants to know what stands in it by now.
type errorStream struct {
	file *os.File
	conn syscall.RawConn
	log  *child.Tail
	left atomic.Bool // nobody reads it any more

	mu  sync.Mutex // held from reading until what was read is in the log
	buf []byte
}

func newErrorStream(file *os.File, log *child.Tail) (*errorStream, error) {
	conn, err := file.SyscallConn()
	return &errorStream{file: file, conn: conn, log: log, buf: make([]byte, 32<<10)}, err
}

// What was there to read.
type readState int

const (
	readAll  readState = iota // all that is there by now
	readPart                  // a part of a lot
	readEnd                   // the end
)

// partSize bounds what is read at once, so that a flood holds up nobody.
const partSize = 1 << 20

// take reads what is there.
func (s *errorStream) take(fd uintptr) readState {
	s.mu.Lock()
	defer s.mu.Unlock()
	for size := 0; size < partSize; {
		switch n, err := syscall.Read(int(fd), s.buf); {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return readAll
		case err != nil || n == 0:
			return readEnd
		default:
			// On to EAGAIN or the end: what came together is told of once only.
			_, _ = s.log.Write(s.buf[:n]) // it never fails
			size += n
		}
	}
	return readPart
}

// pump reads until the end, or until the file is closed.
func (s *errorStream) pump() {
	_ = s.conn.Read(func(fd uintptr) (done bool) {
		for !s.left.Load() { // a process that left the group may write without end
			switch s.take(fd) {
			case readAll:
				return false
			case readEnd:
				return true
			}
		}
		return true
	})
}

func (s *errorStream) close() {
	s.left.Store(true)
	s.file.Close()
}

// settle reads what is there by now.
func (s *errorStream) settle() {
	_ = s.conn.Control(func(fd uintptr) { s.take(fd) })
}
