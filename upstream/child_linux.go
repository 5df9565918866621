package upstream

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup puts the process at the head of a process group of its own, so that a wrapper such as npx ends together with
// what it started, and has the kernel kill it when we die. The group is also a session of its own: it has no terminal
// that it could wait on, and a kernel that shares processors among sessions (sched(7), autogroup) gives a server with
// many threads no larger share than any other.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// numbersIn gives the entries of a folder of /proc that are processes or threads; none without /proc.
func numbersIn(folder string) (all []int) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all
}
