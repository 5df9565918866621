package sandbox

import (
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// MachineMemory is how much memory this process may use, in bytes: the machine's, or the limit of its control groups. 0
// means unknown.
func MachineMemory() int64 {
	var has int64
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		has = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case hierarchy == "0":
		case strings.Contains(","+controllers+",", ",memory,"):
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Clean("/" + group); ; at = path.Dir(at) { // the groups above also limit a group
			if text, err := os.ReadFile(path.Join(root, at, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 &&
					(has == 0 || n < has) {
					has = n
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return has
}
