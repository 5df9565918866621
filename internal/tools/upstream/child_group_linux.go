package upstream

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process at the head of a process group of its own, so that a wrapper such as npx ends together with
// what it started, and has the kernel kill it when we die. The group is also a session of its own: it has no terminal
// that it could wait on, and a kernel that shares processors among sessions (sched(7), autogroup) gives a server with
// many threads no larger share than any other.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
