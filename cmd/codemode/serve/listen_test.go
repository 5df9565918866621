//go:build unix

package serve

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/checktest"
)

// A socket in the file system is for its user alone, replaces a stale one and nothing else, and goes with its process.
func TestASocketInTheFileSystem(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codemode.sock")
	first, err := openDoor("unix:"+path, 0)
	checktest.OK(t, err)
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if first.public || !first.socket || first.Addr().String() != path {
		t.Errorf("the door: %+v", first)
	}
	if _, err := openDoor("unix:"+path, 0); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second one: %v", err)
	}
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}

	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	checktest.OK(t, err)
	stale.SetUnlinkOnClose(false)
	stale.Close()
	next, err := openDoor("unix:"+path, 0o660)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("with another mode: %v, %v", info, err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	checktest.OK(t, os.Rename(path, path+".moved"))
	other := filepath.Join(dir, "codemode.sock")
	checktest.Write(t, other, "precious")
	next.Close()
	if text, _ := os.ReadFile(other); string(text) != "precious" {
		t.Error("closing removed what is another's")
	}
	for _, wrong := range []string{other, "relative.sock", filepath.Join(dir, "missing", "s"), dir} {
		if d, err := openDoor("unix:"+wrong, 0); err == nil {
			d.Close()
			t.Errorf("it listens at %s", wrong)
		}
	}
	if text, _ := os.ReadFile(other); string(text) != "precious" {
		t.Error("a file made way for a socket")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".cm-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatSystemdHandsOver(t *testing.T) {
	one, err := net.Listen("tcp", "127.0.0.1:0")
	checktest.OK(t, err)
	defer one.Close()
	for _, test := range []struct {
		what    string
		all     []net.Listener
		err     error
		problem string
	}{
		{"one socket", []net.Listener{one}, nil, ""},
		{"none", nil, nil, "handed over no socket"},
		{"two", []net.Listener{one, one}, nil, "handed over 2 sockets"},
		{"a datagram socket", []net.Listener{nil}, nil, "no stream socket"},
		{"nonsense", nil, errors.New("bad fd"), "bad fd"},
	} {
		got, err := handedOver(test.all, test.err)
		if test.problem == "" && (err != nil || got != one) ||
			test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: got %v, %v, want %q", test.what, got, err, test.problem)
		}
	}
}
