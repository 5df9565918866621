//go:build unix

package settings

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// onlyOurs refuses a file that everybody may read, or that somebody else may have written.
func onlyOurs(info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != uint32(os.Getuid()) && s.Uid != 0 {
		return errors.New("belongs to somebody else")
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o007 != 0:
		return errors.New("may be used by everybody on this machine: chmod o-rwx it")
	case mode&0o020 != 0:
		return errors.New("may be written by its group: chmod g-w it")
	}
	return nil
}

// ownGroup makes a command, with all that it starts, a process group of its own that ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
