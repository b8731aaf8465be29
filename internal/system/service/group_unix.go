//go:build unix

package service

import (
	"os/exec"
	"syscall"
)

// terminate asks every process of the service's group to end. That none is
// left is no error.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends every process of the service's group.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
