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
)

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
