package engine

import (
	"fmt"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// On a machine with far more to do than processors, one process gets a small part of the time.
func TestABusyMachineHidesNoComputing(t *testing.T) {
	var pids []int
	start := func(name string, args ...string) int {
		cmd := exec.CommandContext(t.Context(), name, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() }) // the context has ended then
		pids = append(pids, cmd.Process.Pid)
		return cmd.Process.Pid
	}
	for range 8 * runtime.NumCPU() {
		start("sh", "-c", "while :; do :; done")
	}
	resting := start("sleep", "600")
	// The kernel tells of a process that waits for a processor when it gets one, which takes seconds where many do.
	for pause := 300 * time.Millisecond; ; pause *= 2 {
		time.Sleep(pause) // until each has begun
		before, at := map[int]activity{}, map[int]time.Time{}
		for _, pid := range pids {
			before[pid], at[pid] = active([]int{pid}), time.Now()
		}
		time.Sleep(pause) // while each computes
		wrong := ""
		for _, pid := range pids {
			busy, passed := active([]int{pid}).since(before[pid]), time.Since(at[pid])
			if computes := pid != resting; busy > passed/2 != computes {
				wrong += fmt.Sprintf("process %d was active for %v of %v; it computes: %v\n", pid, busy, passed, computes)
			}
		}
		if wrong == "" {
			return
		}
		if pause > 4*time.Second {
			t.Fatal(wrong)
		}
	}
}
