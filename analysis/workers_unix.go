//go:build unix

package analysis

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's Ctrl-C from a worker: it ends when its input does.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
