package upstream

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts the process at the head of a group of its own, so that a
// wrapper such as npx can be ended with what it started, and has the kernel
// kill it when we die.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// lowerPriority makes every process of the group give way to others. A nice value gives it less time, but
// lets it finish its turn of some milliseconds when somebody else could run; SCHED_IDLE does not.
func lowerPriority(pid int) {
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
