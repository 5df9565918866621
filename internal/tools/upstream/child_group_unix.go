//go:build unix

package upstream

import (
	"cmp"
	"os"
	"syscall"
)

var neededBySystem []string

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// groupLives reports whether the group still has a process, perhaps a zombie.
func groupLives(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// writeSome writes as much to a pipe as it takes at once, perhaps nothing.
func writeSome(pipe *os.File, b []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), b)
		return true // no waiting
	})
	if err == syscall.EAGAIN || err == syscall.EINTR {
		err = nil
	}
	return max(n, 0), cmp.Or(closed, err)
}

func executable(path string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
