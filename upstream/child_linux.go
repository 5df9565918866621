package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process at the head of a group of its own, so that a
// wrapper such as npx can be ended with what it started, and has the kernel
// kill it when we die.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
