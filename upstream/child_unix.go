//go:build unix

package upstream

import (
	"os"
	"syscall"
)

var neededBySystem []string

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// groupLives reports whether there is still a process in the group, if only one
// that nobody has waited for.
func groupLives(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// niceBehind is the nice value of a child that stepped back.
const niceBehind = 10

func executable(path string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
