//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory is the largest resident set of a process that has ended, in
// bytes. Linux and the BSDs report kibibytes, macOS bytes. On Linux a child
// never shows less than its launcher held when it started it.
func peakMemory(state *os.ProcessState) int64 {
	rusage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(rusage.Maxrss)
	}
	return int64(rusage.Maxrss) << 10
}
