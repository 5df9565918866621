//go:build linux || darwin || freebsd

package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// SamePeer returns an error unless the process at the other end of a socket belongs to this user.
func SamePeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("it is no Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var failed error
	if err := raw.Control(func(fd uintptr) { uid, failed = uidAt(int(fd)) }); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("asking who is at the other end: %w", failed)
	}
	if uid != os.Getuid() {
		return fmt.Errorf("%w: user %d is at the other end", ErrUnsafe, uid)
	}
	return nil
}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
