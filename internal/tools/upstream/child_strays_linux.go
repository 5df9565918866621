package upstream

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// killStrays kills the descendants that have left their process group, as
// daemons do. It finds them by the mark that they inherited in their environment.
func killStrays(mark string) {
	if mark == "" {
		return
	}
	killed := map[int]bool{}
	for { // the next pass finds what a stray started during this one
		more := false
		for _, pid := range processes() {
			if !killed[pid] && pid != os.Getpid() && hasMark(pid, mark) {
				killed[pid], more = true, syscall.Kill(pid, syscall.SIGKILL) == nil || more
			}
		}
		if !more {
			return
		}
	}
}

// hasMark reports whether a process inherited a mark.
func hasMark(pid int, mark string) bool {
	// Empty if the process is another user's or gone.
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	at := bytes.Index(environ, append([]byte(servers.ChildVariable+"="+mark), 0))
	return at == 0 || at > 0 && environ[at-1] == 0
}

// processes lists the processes of this machine; none without /proc.
func processes() (all []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all
}
