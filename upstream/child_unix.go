//go:build unix

package upstream

import (
	"cmp"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var neededBySystem []string

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// groupLives reports whether there is still a process in the group, if only one
// that nobody has waited for.
func groupLives(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// writeSome writes as much to the child as its pipe takes at once, perhaps nothing.
func (c *child) writeSome(b []byte) (n int, err error) {
	raw, err := c.stdin.SyscallConn()
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

// unwatched closes a file without closing the pipe that it stands for, and returns what opens it again.
// If that cannot be done the file stays as it is.
func unwatched(f *os.File) (again func() *os.File) {
	same := func() *os.File { return f }
	raw, err := f.SyscallConn()
	if err != nil {
		return same
	}
	_ = raw.Control(func(fd uintptr) {
		if other, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			again = func() *os.File { return os.NewFile(uintptr(other), f.Name()) }
		}
	})
	if again == nil {
		return same
	}
	_ = f.Close()
	return again
}

// niceBehind is the nice value of a child that stepped back.
const niceBehind = 10

func executable(path string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
