//go:build !linux

package sandbox

// machineMemory is not known here.
func machineMemory() int64 { return 0 }
