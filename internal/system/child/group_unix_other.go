//go:build unix && !linux

package child

import "syscall"

// Lacks says what this system cannot do for a process, for people; "" is nothing.
const Lacks = "if oloproof is killed by force, the service goes on running"

// Attributes put a process into a group of its own.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
