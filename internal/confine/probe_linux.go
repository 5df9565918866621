package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// probing is the argument that makes this binary try what rules forbid.
const probing = "confined-probe"

// Try starts a confined process that tries to reach what its rules forbid, and reports for each part whether it was
// stopped: files, changes (of files), ports, sockets, signals, privileges.
func Try() (stopped map[string]bool, err error) {
	dir, err := os.MkdirTemp("", "codemode-probe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		return nil, err
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	// Another port is allowed: without any, there are no sockets to connect with.
	r := Rules{Connect: Ports{Only: []uint16{uint16(port ^ 1)}}, BestEffort: true}
	command := r.Command(self, self, []string{probing, dir, listener.Addr().String(), strconv.Itoa(os.Getpid())}, 0)
	cmd := exec.Command(command[0], command[1:]...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	return stopped, json.Unmarshal(out.Bytes(), &stopped)
}

// probe tries what [Try] wants to know, in the confined process.
func probe(dir, address, parent string) ([]byte, error) {
	refused := func(err error) bool { return errors.Is(err, fs.ErrPermission) }
	_, read := os.ReadFile(filepath.Join(dir, "file"))
	write := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600)
	_, tcp := net.Dial("tcp", address)
	_, unixSocket := net.Dial("unix", filepath.Join(dir, "socket"))
	pid, err := strconv.Atoi(parent)
	if err != nil {
		return nil, err
	}
	signal := syscall.Kill(pid, 0)
	none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	var capabilities [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &capabilities[0]); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]bool{
		"files": refused(read), "changes": refused(write), "ports": refused(tcp), "sockets": refused(unixSocket),
		"signals":    refused(signal),
		"privileges": none == 1 && capabilities[0].Permitted|capabilities[1].Permitted == 0,
	})
}
