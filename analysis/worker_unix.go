//go:build linux || darwin

package analysis

import (
	"syscall"
	"time"
)

// processorTime is the processor time that this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails only for wrong arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// limitProcess makes the system kill a worker that does not end by itself, after twice the processor time of its life.
func limitProcess(life time.Duration, data uint64) {
	seconds := uint64(2 * life / time.Second)
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
	if !raced {
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data})
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
