package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeMore tries the ways around.
func probeMore(word, arg, other string, rest []string) (err error) {
	parent := strconv.Itoa(os.Getppid())
	switch word {
	case "list":
		_, err = os.ReadDir(arg)
	case "truncate":
		err = os.Truncate(arg, 0)
	case "remove":
		err = os.Remove(arg)
	case "rename":
		err = os.Rename(arg, other)
	case "link": // a second name for a file that may be read through no other
		err = os.Link(arg, other)
	case "follow": // a link of its own, in a folder of its own
		if err = os.Symlink(arg, other); err == nil {
			_, err = os.ReadFile(other)
			err = errors.Join(err, os.Remove(other))
		}
	case "root", "cwd": // another process's view of the file system
		_, err = os.ReadFile("/proc/" + parent + "/" + word + arg)
	case "up": // from its own folder
		_, err = os.ReadFile(filepath.Join("/proc/self/cwd", strings.Repeat("../", 20), arg))
	case "udp":
		var c net.Conn
		if c, err = net.Dial(word, arg); err == nil {
			err = c.Close()
		}
	case "trace":
		err = syscall.PtraceAttach(os.Getppid())
	case "peek":
		b := make([]byte, 8)
		_, err = unix.ProcessVMReadv(os.Getppid(), []unix.Iovec{{Base: &b[0], Len: 8}},
			[]unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	case "descriptor": // of another process
		var other int
		if other, err = unix.PidfdOpen(os.Getppid(), 0); err == nil {
			_, err = unix.PidfdGetfd(other, 1, 0)
		}
	case "mount": // where it would be root
		err = another(rest, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}, "bind")
	case "bind":
		err = unix.Mount(arg, other, "", unix.MS_BIND, "")
	case "descendant":
		err = another(rest, &syscall.SysProcAttr{Setsid: true})
	case "leave": // a process that writes into a folder for as long as it lives
		cmd := descendant([]string{"beat", arg}, &syscall.SysProcAttr{Setsid: true})
		err = cmd.Start()
	case "beat":
		for ; err == nil; unix.Nanosleep(&unix.Timespec{Nsec: 5_000_000}, nil) {
			err = os.WriteFile(filepath.Join(arg, "beat"), []byte(strconv.Itoa(os.Getpid())), 0o600)
		}
	default:
		err = errors.New("there is nothing like " + word)
	}
	return err
}

// descendant is a process that tries something.
func descendant(words []string, how *syscall.SysProcAttr) *exec.Cmd {
	cmd := exec.Command(os.Args[0], words...)
	cmd.Env = append(os.Environ(), asCommand+"=probe")
	cmd.SysProcAttr = how
	return cmd
}

// another has another process try something.
func another(words []string, how *syscall.SysProcAttr, before ...string) error {
	out, err := descendant(append(before, words...), how).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		return errors.New(text)
	}
	return err
}
