package terminal

import "golang.org/x/sys/unix"

// flushInput throws away what was typed on a terminal and not yet read.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
