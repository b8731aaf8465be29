//go:build !windows

package store

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the one writer's lock on an open journal without waiting. It ends
// with the process or when the file is closed, so kill -9 leaves none behind.
// A file system without such locks is used without them.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK):
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}
