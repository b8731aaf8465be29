//go:build !unix

package service

import "os/exec"

// Lacks says what this system cannot do for a launched service, for people; ""
// is nothing.
const Lacks = "this system has no process groups: the service is ended by force and processes that it started itself go on running, as does the service if oloproof is killed"

func prepare(*exec.Cmd) {}

// terminate ends the service's first process: it cannot be asked to.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
