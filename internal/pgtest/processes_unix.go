//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/codemode-project/codemode/internal/checktest"
)

// unprivileged runs the server as another user when the test runs as root: PostgreSQL refuses to run as root.
func (s *Server) unprivileged() {
	if os.Getuid() != 0 {
		return
	}
	var who *user.User
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			who = u
			break
		}
	}
	if who == nil {
		s.t.Skip("PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as")
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(who.Gid, 10, 32)
	checktest.OK(s.t, errors.Join(err, err2, os.Chown(s.dir, int(uid), int(gid))))
	s.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// Freeze suspends all processes of the server: they answer nothing and close nothing. The test ends it with
// [Server.Thaw].
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets them continue.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	_ = s.cmd.Process.Signal(sig) // first: a stopped process starts no others
	parent := strconv.Itoa(s.cmd.Process.Pid)
	out, err := exec.Command("ps", "-A", "-o", "ppid=,pid=").Output()
	checktest.OK(s.t, err)
	var pids []int
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == parent {
			if pid, err := strconv.Atoi(f[1]); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // one that ended meanwhile
	}
}
