package child

import "syscall"

// Lacks says what this system cannot do for a process, for people; "" is nothing.
const Lacks = ""

// Attributes put a process into a group of its own and have Linux end it when
// oloproof itself is killed.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
