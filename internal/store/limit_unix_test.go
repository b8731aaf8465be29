//go:build !windows

package store

import (
	"errors"
	"os/signal"
	"syscall"
)

var errNoLimit = errors.New("no limit on the size of files here")

// limitFileSize makes every write beyond n bytes of a file fail, as a full disk
// does.
func limitFileSize(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: n, Max: n}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
