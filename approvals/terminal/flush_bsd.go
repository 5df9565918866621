//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// flushInput throws away what was typed on a terminal and not yet read.
func flushInput(fd int) error {
	const inputQueue = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, inputQueue)
}
