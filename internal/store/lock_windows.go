package store

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the one writer's lock on an open journal without waiting. It ends
// with the process or when the file is closed. The locked byte lies far beyond
// the content, which others may read meanwhile.
func lock(f *os.File) error {
	beyond := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}
