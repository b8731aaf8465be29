//go:build unix && !linux

package service

import (
	"os/exec"
	"syscall"
)

// Lacks says what this system cannot do for a launched service, for people; ""
// is nothing.
const Lacks = "if oloproof is killed by force, the service goes on running"

// prepare puts the service into a process group of its own.
func prepare(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
