package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownGroup puts the process at the head of a group of its own, so that a
// wrapper such as npx can be ended with what it started, and has the kernel
// kill it when we die. The group gets a session of its own, too: then it has no
// terminal on which it could wait for somebody, and where the kernel shares the
// processors among sessions (sched(7), autogroup), one that computes on many threads
// gets no more of them than any other.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// lowerPriority makes every process of the group give way to others. A nice value gives it less time, but
// lets it finish its turn of some milliseconds when somebody else could run; SCHED_IDLE does not. Both tell the
// processes of a session from each other only, where there are autogroups.
func lowerPriority(pid int) {
	giveWay(pid, true)
	_ = syscall.Setpriority(syscall.PRIO_PGRP, pid, niceBehind)
	for _, member := range numbersIn("/proc") {
		if group, err := syscall.Getpgid(member); err != nil || group != pid {
			continue
		}
		for _, thread := range numbersIn(fmt.Sprintf("/proc/%d/task", member)) {
			_ = unix.SchedSetAttr(thread, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0)
		}
	}
}

// giveWay lets the processes of all other sessions have the processors first, or takes that back, where there are autogroups.
// Nobody but root may do that less than a tenth of a second after somebody else did.
func giveWay(session int, yes bool) {
	nice := "0"
	if yes {
		nice = "19"
	}
	for range 5 {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", session), []byte(nice), 0); !errors.Is(err, syscall.EAGAIN) {
			return
		}
		time.Sleep(time.Second / 10)
	}
}

// shorten makes a pipe as short as a pipe can be, if there is not more in it just now.
func shorten(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, os.Getpagesize()) })
	}
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
