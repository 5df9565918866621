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

// limitProcess makes the system kill a worker that does not end by itself.
func limitProcess() {
	const life = uint64(2 * maxLife / time.Second)
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: life, Max: life})
	if !raced {
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: maxData, Max: maxData})
	}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
