//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart makes a process of its own session, which signals to ours do not reach.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
