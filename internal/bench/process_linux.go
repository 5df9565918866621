package bench

import (
	"bytes"
	"os"
	"strconv"
)

// openFiles counts the file descriptors of this process; -1 is unknown.
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

// resident is the memory of this process in KiB, and its peak since resetPeak; -1 is unknown.
func resident() (now, peak int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1, -1
	}
	return statusField(status, "VmRSS:"), statusField(status, "VmHWM:")
}

// ownMemory is the memory in KiB that this process shares with no file, plus the tables that map it; -1 is unknown.
func ownMemory() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	anonymous := statusField(status, "RssAnon:")
	if anonymous < 0 {
		return -1
	}
	return anonymous + max(statusField(status, "VmPTE:"), 0)
}

func statusField(status []byte, name string) int {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return -1
	}
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

// resetPeak restarts the peak of [resident]. Without permission, the peak covers the whole life of the process.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
