package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// A door is the listener of "serve --http".
type door struct {
	net.Listener
	url    string // its address in browsers, without a path; that of a socket is only for the log
	public bool   // other machines can reach it
	socket bool   // in the file system
}

const (
	// socketPrefix begins an address that is a socket in the file system, and systemd one that systemd hands over.
	socketPrefix = "unix:"
	systemd      = "systemd"
	// socketMode is for the user of the process alone.
	socketMode = 0o600
)

// openDoor listens at an address of --http. mode is of a socket in the file system; 0 is socketMode.
func openDoor(address string, mode fs.FileMode) (*door, error) {
	var listener net.Listener
	var err error
	path, isSocket := strings.CutPrefix(address, socketPrefix)
	switch {
	case isSocket:
		listener, err = listenSocket(path, mode)
	case address == systemd:
		listener, err = handedOver(activation.Listeners())
	default:
		if address, err = listenAddress("--http", address); err != nil {
			return nil, cli.UsageError(err)
		}
		listener, err = net.Listen("tcp", address)
	}
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--http: %w", err))
	}
	at := listener.Addr()
	if at.Network() == "unix" {
		return &door{Listener: listener, url: socketPrefix + at.String(), socket: true}, nil
	}
	return &door{Listener: listener, url: "http://" + at.String(), public: !loopback(at.String())}, nil
}

// handedOver takes the socket of socket activation.
func handedOver(all []net.Listener, err error) (net.Listener, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("taking the socket of systemd: %w", err)
	case len(all) == 0:
		return nil, errors.New("systemd handed over no socket (the variable LISTEN_FDS): start codemode by its .socket " +
			"unit, or give an address")
	case len(all) > 1:
		return nil, fmt.Errorf("systemd handed over %d sockets: leave one in the .socket unit", len(all))
	case all[0] == nil:
		return nil, errors.New("what systemd handed over is no stream socket: write ListenStream= in the .socket unit")
	}
	return all[0], nil
}

// listenSocket listens at a path. The socket has its mode before anybody can find it: it is made in a private folder
// and then moved to its place. A socket there that nobody listens at makes way, and nothing else does.
func listenSocket(path string, mode fs.FileMode) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%q: the path of a socket begins with a slash", socketPrefix+path)
	}
	if err := mayReplace(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".cm-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // its path is another one
	mode = cmp.Or(mode, socketMode)
	if err = os.Chmod(made, mode); err == nil {
		err = os.Rename(made, path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &socket{Listener: listener, path: path, made: info}, nil
}

// A socket is a listener in the file system.
type socket struct {
	net.Listener
	path string
	made fs.FileInfo
	end  sync.Once
}

// Addr is its path, not that at which it was made.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close removes the socket, unless another process has put its own there. It may be called twice.
func (s *socket) Close() (err error) {
	s.end.Do(func() {
		if now, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(now, s.made) {
			_ = os.Remove(s.path)
		}
		err = s.Listener.Close()
	})
	return err
}

// dialWait bounds the attempt to reach whoever listens at a socket.
const dialWait = 2 * time.Second

// mayReplace says why a socket may not be put at a path.
func mayReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there, and is no socket: take another path, or move it away", path)
	}
	c, err := net.DialTimeout("unix", path, dialWait)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another process listens at %s", path)
	}
	if !refused(err) {
		return fmt.Errorf("whether a process listens at %s cannot be found out: %w", path, err)
	}
	return nil
}

// listenAddress completes an address that a flag gave: a port alone, and :port, are on loopback.
func listenAddress(flag, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port, err = net.SplitHostPort(net.JoinHostPort("", address))
	}
	if err != nil || port == "" {
		return "", fmt.Errorf("%s %q: it takes an address such as 127.0.0.1:8808, or a port", flag, address)
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
