package engine

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What Linux tells of processes. Elsewhere [process.measure] says that nothing is known.

// clockTick is the unit of the processor times in /proc, which is the same on every Linux that Go supports.
const clockTick = time.Second / 100

// measure measures an engine and all that it started; [level].Known is false where the system does not tell.
func (p *process) measure() level {
	l := level{Known: runtime.GOOS == "linux"}
	var sockets []string
	for _, p := range p.family() {
		stat, err := readStat(p)
		if err != nil {
			continue // it has ended meanwhile
		}
		l.Processes++
		l.CPU += stat.cpu
		resident, peak := memory(p)
		l.ResidentKiB += resident
		l.PeakKiB += peak
		files, open := openFiles(p)
		l.Files += files
		sockets = append(sockets, open...)
	}
	l.Connections = remote(p.child.PID(), sockets)
	return l
}

// family lists the processes of an engine.
func (p *process) family() []int { return tree(p.child.PID(), p.child.Started) }

// tree lists a process and its descendants. A daemon is one as well, although its parent is another: it has the session
// of the root, or started reports it.
func tree(root int, started func(pid int) bool) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []int{root}
	}
	all, of := []int{root}, map[int]stat{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == root {
			continue
		}
		if stat, err := readStat(pid); err == nil {
			if of[pid] = stat; stat.session == root || started(pid) {
				all = append(all, pid)
			}
		}
	}
	for i := 0; i < len(all); i++ {
		for pid, stat := range of {
			if stat.parent == all[i] && !slices.Contains(all, pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

type stat struct {
	parent, session int
	cpu             time.Duration // its own and that of the children that it has waited for
}

// readStat reads /proc/PID/stat (proc_pid_stat(5)). The name, in parentheses, may have any characters.
func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const state, parent, session, userTime, childSystemTime = 0, 1, 3, 11, 14
	if len(fields) <= childSystemTime || fields[state] == "Z" {
		return stat{}, os.ErrProcessDone
	}
	s := stat{}
	s.parent, _ = strconv.Atoi(fields[parent])
	s.session, err = strconv.Atoi(fields[session])
	for _, f := range fields[userTime : childSystemTime+1] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return stat{}, err
		}
		s.cpu += time.Duration(ticks) * clockTick
	}
	return s, err
}

// active measures the activity of processes.
func active(family []int) (a activity) {
	for _, p := range family {
		if stat, err := readStat(p); err == nil {
			a.computed += stat.cpu
			a.waited += waited(p)
		}
	}
	return a
}

// waited sums up how long the threads of a process had no processor. It reads the second field of
// /proc/PID/task/TID/schedstat, in nanoseconds (https://docs.kernel.org/scheduler/sched-stats.html).
func waited(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, thread := range threads {
		raw, _ := os.ReadFile(thread) // it may have ended meanwhile
		if fields := strings.Fields(string(raw)); len(fields) > 1 {
			wait, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += time.Duration(wait)
		}
	}
	return sum
}

// memory is what a process holds, and the most that it held, in KiB.
func memory(pid int) (resident, peak int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		value, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		switch name {
		case "VmRSS":
			resident = value
		case "VmHWM":
			peak = value
		}
	}
	return resident, peak
}

// peakKiB is the sum of the peaks of processes.
func peakKiB(family []int) (sum int) {
	for _, p := range family {
		_, peak := memory(p)
		sum += peak
	}
	return sum
}

// resetPeaks makes the peaks of processes begin now.
func resetPeaks(family []int) {
	for _, p := range family {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0) // the peak is then too high, not too low
	}
}

// openFiles counts the files of a process, and lists the sockets among them by their inode.
func openFiles(pid int) (n int, sockets []string) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, nil
	}
	for _, e := range entries {
		target, _ := os.Readlink(dir + "/" + e.Name())
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			sockets = append(sockets, strings.TrimSuffix(inode, "]"))
		}
	}
	return len(entries), sockets
}

// remote counts the sockets that have a peer on another machine.
func remote(pid int, sockets []string) (n int) {
	if len(sockets) == 0 {
		return 0
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err == nil {
			n += countRemote(raw, sockets)
		}
	}
	return n
}

// countRemote reads a table such as /proc/net/tcp.
func countRemote(table []byte, sockets []string) (n int) {
	rows := bufio.NewScanner(bytes.NewReader(table))
	for rows.Scan() {
		fields := strings.Fields(rows.Text())
		const peer, inode = 2, 9
		if len(fields) <= inode || !slices.Contains(sockets, fields[inode]) {
			continue
		}
		if a, ok := kernelAddress(fields[peer]); ok && !a.IsUnspecified() && !a.IsLoopback() {
			n++
		}
	}
	return n
}

// kernelAddress reads an address as the kernel prints it: groups of four bytes, each in the order of a little-endian
// machine, then a colon and the port.
func kernelAddress(s string) (netip.Addr, bool) {
	digits, _, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return netip.Addr{}, false
	}
	for group := range slices.Chunk(raw, 4) {
		slices.Reverse(group)
	}
	a, ok := netip.AddrFromSlice(raw)
	return a.Unmap(), ok
}
