//go:build unix

package process

import (
	"os"
	"sync"
	"syscall"

	"github.com/oloproof/oloproof-go/internal/system/child"
)

// errorStream is the standard error of a process, which is read as it comes into
// the log, and at once when somebody wants to know what stands in it by now.
type errorStream struct {
	file *os.File
	conn syscall.RawConn
	log  *child.Tail

	mu  sync.Mutex // held from reading until what was read is in the log
	buf []byte
}

func newErrorStream(file *os.File, log *child.Tail) (*errorStream, error) {
	conn, err := file.SyscallConn()
	return &errorStream{file: file, conn: conn, log: log, buf: make([]byte, 32<<10)}, err
}

// take reads what is there; false when that is the end.
func (s *errorStream) take(fd uintptr) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch n, err := syscall.Read(int(fd), s.buf); {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil || n == 0:
			return false
		default:
			_, _ = s.log.Write(s.buf[:n]) // it never fails
			if n < len(s.buf) {
				return true
			}
		}
	}
}

// pump reads until the end, or until the file is closed.
func (s *errorStream) pump() {
	_ = s.conn.Read(func(fd uintptr) bool { return !s.take(fd) })
}

// settle reads what is there by now.
func (s *errorStream) settle() {
	_ = s.conn.Control(func(fd uintptr) { s.take(fd) })
}
