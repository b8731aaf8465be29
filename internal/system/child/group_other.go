//go:build !unix

package child

import (
	"os"
	"syscall"
)

// Lacks says what this system cannot do for a process, for people; "" is nothing.
const Lacks = "this system has no process groups: the service is ended by force and processes that it started itself go on running, as does the service if oloproof is killed"

// Attributes are none here.
func Attributes() *syscall.SysProcAttr { return nil }

// Terminate ends the group's first process: it cannot be asked to.
func Terminate(leader *os.Process) { _ = leader.Kill() }

// Kill ends the group's first process.
func Kill(leader *os.Process) { _ = leader.Kill() }
