//go:build unix && !linux

package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process at the head of a group of its own, so that a
// wrapper such as npx can be ended with what it started, and in a session of its
// own, so that it has no terminal on which it could wait for somebody.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
