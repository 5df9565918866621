package upstream

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: USER_HZ, which is 100 a second for every program.
const tick = time.Second / 100

// processorTimes returns the processor time that the living processes of each process group have used so far,
// with that of the children they have waited for.
func processorTimes() map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, pid := range numbersIn("/proc") {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // nothing, if it is gone
		// The fields are those of proc_pid_stat(5) from the one behind the name, the second, which may have anything in it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 15 {
			continue
		}
		group, _ := strconv.Atoi(string(fields[5-3]))
		for _, ticks := range fields[14-3 : 17-3+1] {
			n, _ := strconv.Atoi(string(ticks))
			all[group] += time.Duration(n) * tick
		}
	}
	return all
}
