package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
)

// execWithoutLandlock executes this binary as codemode, on a kernel that answers as one without Landlock does.
func execWithoutLandlock() {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = os.Setenv(asCommand, "codemode")
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "no kernel without Landlock can be played:", err)
	os.Exit(1)
}

// Where the kernel has no Landlock, nothing starts that was to be confined, and each command says why.
func TestWithoutLandlockNothingIsConfined(t *testing.T) {
	dir := t.TempDir()
	off := write(t, dir+"/off.json", `{"mcpServers": {}}`)
	on := write(t, dir+"/on.json", `{"confine": true}`)
	bestEffort := write(t, dir+"/best.json", `{"confine": "best-effort"}`)
	const why = "this kernel has no Landlock, or it is switched off"
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"serve --confine --config " + off, cli.ExitUsage, why},
		{"serve --config " + on, cli.ExitUsage, why},
		// What is left without Landlock confines nothing.
		{"serve --confine=best-effort --config " + off, cli.ExitUsage, "cannot confine processes"},
		{"serve --config " + bestEffort, cli.ExitUsage, "cannot confine processes"},
		{"bench isolation --confine --filter b01*", cli.ExitUsage, why},
		{"doctor --config " + on, cli.ExitInternal, why},
		{"doctor --config " + bestEffort, cli.ExitInternal, "codemode serve does not start: " + why},
		{"doctor --config " + off, cli.ExitOK, why},
	} {
		args := strings.Fields(tt.args)
		if !strings.HasPrefix(tt.args, "bench") {
			args = append(args, "--project", "none", "--state", dir)
		}
		cmd := command(t, args...)
		cmd.Env = append(cmd.Env, asCommand+"=without-landlock")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("codemode %s: %v, want exit code %d and %q\n%s", tt.args, err, tt.code, tt.want, out)
		}
	}
}
