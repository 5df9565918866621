//go:build unix

package responder

import (
	"os/exec"
	"syscall"
)

// detach gives a process its own session, which signals to ours do not reach.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
