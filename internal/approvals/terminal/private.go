package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	socketSuffix = ".sock"
	// longestSocket is the longest socket path that every system accepts.
	longestSocket = 103
)

// ErrUnsafe says that other users have access to something that must be private.
var ErrUnsafe = errors.New("others could get at it")

// PrivateDir makes a folder that only this user can enter, or returns an error if an existing one is not private.
func PrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkPrivate(dir, fs.ModeDir, 0o077)
}

// checkPrivate returns an error unless path is of that type, belongs to this user, and has none of those permissions.
func checkPrivate(path string, kind fs.FileMode, not fs.FileMode) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() != kind:
		return fmt.Errorf("%w: %s is %v", ErrUnsafe, path, info.Mode())
	case info.Mode().Perm()&not != 0:
		return fmt.Errorf("%w: the permissions of %s are %v; chmod go-rwx %s", ErrUnsafe, path, info.Mode().Perm(), path)
	}
	if owner, ok := ownerOf(info); ok && owner != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d", ErrUnsafe, path, owner)
	}
	return nil
}

// ListenPrivate makes a new socket in dir that only this user can reach, and removes the sockets of processes that
// ended. Pass each connection to [SamePeer]. Closing the listener removes the socket.
func ListenPrivate(dir string) (net.Listener, error) {
	if !canTellPeers {
		return nil, errNoPeers
	}
	if err := PrivateDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, strings.ToLower(rand.Text()[:8])+socketSuffix)
	if len(path) > longestSocket {
		return nil, fmt.Errorf("the path %s is longer than the %d bytes that a socket may have; set XDG_STATE_HOME to a shorter one",
			path, longestSocket)
	}
	sweepSockets(dir)
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(path, 0o600), checkPrivate(path, fs.ModeSocket, 0o077)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// DialPrivate connects to a socket that [ListenPrivate] made, if the socket and the listening process belong to this
// user.
func DialPrivate(ctx context.Context, path string) (net.Conn, error) {
	if !canTellPeers {
		return nil, errNoPeers
	}
	if err := errors.Join(checkPrivate(filepath.Dir(path), fs.ModeDir, 0o077),
		checkPrivate(path, fs.ModeSocket, 0o077)); err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := SamePeer(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

var errNoPeers = errors.New("this system does not say who is at the other end of a socket")

// sweepSockets removes the sockets of processes that have ended.
func sweepSockets(dir string) {
	for _, path := range Sockets(dir) {
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
		} else if refused(err) {
			os.Remove(path)
		}
	}
}

// Sockets lists the sockets in dir, even those without a listener.
func Sockets(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*"+socketSuffix))
	return all
}
