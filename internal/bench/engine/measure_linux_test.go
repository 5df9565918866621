package engine

import (
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// On a machine with far more to do than processors, one process gets a small part of the time.
func TestABusyMachineHidesNoComputing(t *testing.T) {
	var pids []int
	for range 8 * runtime.NumCPU() {
		busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
		pids = append(pids, busy.Process.Pid)
	}
	resting := exec.CommandContext(t.Context(), "sleep", "600")
	if err := resting.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = resting.Process.Kill()
		_ = resting.Wait()
	}()
	pids = append(pids, resting.Process.Pid)
	const pause = 300 * time.Millisecond
	time.Sleep(pause) // until each has begun
	before, at := map[int]level{}, map[int]time.Time{}
	for _, pid := range pids {
		before[pid], at[pid] = measure(pid), time.Now()
	}
	time.Sleep(pause)
	for _, pid := range pids {
		active, passed := measure(pid).activeSince(before[pid]), time.Since(at[pid])
		if computes := pid != resting.Process.Pid; active > passed/2 != computes {
			t.Errorf("process %d was active for %v of %v; it computes: %v", pid, active, passed, computes)
		}
	}
}
