//go:build unix

package main

import (
	"os"
	"syscall"
)

// alive tells whether a process runs.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// signalParent sends a signal that does nothing.
func signalParent() error { return syscall.Kill(os.Getppid(), syscall.SIGCONT) }
