//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// flushInput discards unread input of a terminal.
func flushInput(fd int) error {
	const inputQueue = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, inputQueue)
}
