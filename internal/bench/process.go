package bench

import (
	"bytes"
	"os"
	"strconv"
)

// What Linux tells of this process. Elsewhere these figures are unknown, -1, and reports leave them out.

// openFiles counts the file descriptors of this process.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries) - 1 // the directory itself is open
}

// liveGuests counts the guests that hold memory: each maps the file of the snapshot.
func liveGuests() int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return -1
	}
	return bytes.Count(maps, []byte("/memfd:codemode-guest"))
}

// resident is the memory of this process in KiB.
func resident() int { return statusKiB("VmRSS:") }

// ownMemory is the memory in KiB that this process shares with no file, plus the tables that map it.
func ownMemory() int {
	anonymous := statusKiB("RssAnon:")
	if anonymous < 0 {
		return -1
	}
	return anonymous + max(statusKiB("VmPTE:"), 0)
}

// statusKiB is a figure of /proc/self/status.
func statusKiB(name string) int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return -1
	}
	n, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return -1
	}
	return n
}
