package upstream

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// killStrays ends the processes that come from a child and have left its
// process group, as daemons do. They are known by the mark in their
// environment, which they have inherited.
func killStrays(mark string) {
	if mark == "" {
		return
	}
	want := append([]byte(ChildVariable+"="+mark), 0)
	killed := map[int]bool{}
	for { // one that was just starting another is found the next time
		more := false
		for _, pid := range numbersIn("/proc") { // without it there is nothing to be known
			if killed[pid] || pid == os.Getpid() {
				continue
			}
			environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // nothing, if it is another user's or gone
			if at := bytes.Index(environ, want); at == 0 || at > 0 && environ[at-1] == 0 {
				killed[pid], more = true, syscall.Kill(pid, syscall.SIGKILL) == nil || more
			}
		}
		if !more {
			return
		}
	}
}
