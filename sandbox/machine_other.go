//go:build !linux

package sandbox

// machineMemory is unknown on this system.
func machineMemory() int64 { return 0 }
