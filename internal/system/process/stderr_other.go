//go:build !unix

package process

import (
	"io"
	"os"

	"github.com/oloproof/oloproof-go/internal/system/child"
)

// errorStream is the standard error of a process, which is read as it comes into
// the log.
type errorStream struct {
	file *os.File
	log  *child.Tail
}

func newErrorStream(file *os.File, log *child.Tail) (*errorStream, error) {
	return &errorStream{file: file, log: log}, nil
}

// pump reads until the end, or until the file is closed.
func (s *errorStream) pump() { _, _ = io.Copy(s.log, s.file) }

// settle does nothing here: what was written last may come too late for its case.
func (s *errorStream) settle() {}

func (s *errorStream) close() { s.file.Close() }
