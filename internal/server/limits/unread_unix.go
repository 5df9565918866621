//go:build unix

package limits

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread reports whether a connection has bytes that this process has not read yet.
func unread(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	err = raw.Control(func(fd uintptr) { // not Read, which waits for another reader of the connection
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
