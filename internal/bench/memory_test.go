package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// memorySpare is how much more than its limit a run may make the process hold:
// arguments, answers, what the collector has not seen to yet.
const memorySpare = 16 << 10 // KiB

// holders are programs that want as much memory as they can get, inside the
// guest, outside of it, and both.
var holders = []string{
	"s10_linked_list.js", "s10_one_buffer.js", "s10_objects.js", "s10_strings.js", "s10_console_hoard.js", "s10_promises.js",
	"s10_pending_calls.js", "s10_pending_calls_then_grow.js", "s10_pending_long_names.js", "s10_results_kept.js",
	"b06_argument_flood.js", "b06_argument_flood_parallel.js", "b06_room_for_arguments.js", "b12_megabytes_back.js",
}

// A process that runs them one after the other, each twice, never holds more
// than it did before plus the limit of one run and a little.
func TestMemoryOfARun(t *testing.T) {
	if underRace {
		t.Skip("the race detector's own memory is a multiple of the program's")
	}
	if os.Getenv("CODEMODE_MEMORY_TEST") != "" {
		measureMemory(t)
		return
	}
	if now, _ := resident(); now < 0 {
		t.Skip("this system does not tell what a process holds")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryOfARun$", "-test.v")
	cmd.Env = append(os.Environ(), "CODEMODE_MEMORY_TEST=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "KiB more") != len(holders) {
		t.Errorf("%v\n%s", err, out)
	}
}

// measureMemory is the other process.
func measureMemory(t *testing.T) {
	all, err := LoadSuite(os.DirFS("../../testdata/attacks"))
	if err != nil {
		t.Fatal(err)
	}
	o := IsolationOptions{Wasm: guest(t), CacheDir: cache(t), CPU: time.Second}
	base := 0
	for i, name := range append([]string{"s23_undefined.js"}, holders...) {
		s, err := all.Filter(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Isolation(t.Context(), o, s)
		if err != nil {
			t.Fatal(err)
		}
		peak := r.Cases[0].PeakKiB
		if i == 0 {
			base = peak // the process, and a run that needs nothing
			continue
		}
		fmt.Printf("%s: %d KiB more\n", name, peak-base)
		if limit := int(o.limits().Memory>>10) + memorySpare; peak-base > limit {
			t.Errorf("%s made the process hold %d KiB more, want at most %d", name, peak-base, limit)
		}
	}
}
