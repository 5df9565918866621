//go:build unix && !linux

package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process at the head of a process group of its own, so that
// a wrapper such as npx ends together with what it started, and of a session of
// its own, so that it has no terminal that it could wait on.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
