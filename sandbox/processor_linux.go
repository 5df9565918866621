package sandbox

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime is the processor time that this thread has used, in kernel and user mode; -1 is unknown.
func threadTime() time.Duration {
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return -1
	}
	return time.Duration(t.Nano())
}
