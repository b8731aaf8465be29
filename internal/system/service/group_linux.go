package service

import (
	"os/exec"
	"syscall"
)

// Lacks says what this system cannot do for a launched service, for people; ""
// is nothing.
const Lacks = ""

// prepare puts the service into a process group of its own and has Linux end
// its first process when oloproof itself is killed.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
