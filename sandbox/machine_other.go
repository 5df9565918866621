//go:build !linux

package sandbox

// MachineMemory is how much memory this process may use, in bytes: here 0, which means unknown.
func MachineMemory() int64 { return 0 }
