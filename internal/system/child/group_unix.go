//go:build unix

package child

import (
	"os"
	"syscall"
)

// Terminate asks every process of a group to end. That none is left is no error.
func Terminate(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGTERM) }

// Kill ends every process of a group.
func Kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
