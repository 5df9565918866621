package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/sandbox"
)

// memorySpare is how much more than its limit a run may make the process hold:
// arguments, answers, what the collector has not seen to yet.
const memorySpare = 16 << 10 // KiB

// holders are programs that want as much memory as they can get, inside the
// guest, outside of it, and both.
var holders = []string{
	"s10_linked_list.js", "s10_one_buffer.js", "s10_objects.js", "s10_strings.js", "s10_console_hoard.js",
	"s10_promises.js",
	"s10_pending_calls.js", "s10_pending_calls_then_grow.js", "s10_pending_long_names.js", "s10_results_kept.js",
	"b06_argument_flood.js", "b06_argument_flood_parallel.js", "b06_room_for_arguments.js", "b12_megabytes_back.js",
}

// A process that runs them one after the other, each twice, never holds more than it did before plus the limit of one
// run and a little. A run does not wait for the calls that it gives up, which hold their arguments until their
// goroutines have ended: on a busy machine that is when the next run has begun. The test waits for them between runs,
// as it measures one run, and collects no garbage there, as runs have to see to theirs.
func TestMemoryOfARun(t *testing.T) {
	hostile.NotRaced(t, "the race detector's own memory is a multiple of the program's")
	if os.Getenv("CODEMODE_MEMORY_TEST") != "" {
		measureMemory(t)
		return
	}
	if resident() < 0 {
		t.Skip("this system does not tell what a process holds")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryOfARun$", "-test.v")
	cmd.Env = append(os.Environ(), "CODEMODE_MEMORY_TEST=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "KiB more") != 2*len(holders) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// measureMemory is the other process.
func measureMemory(t *testing.T) {
	all, err := LoadSuite(os.DirFS("../../testdata/attacks"))
	if err == nil {
		all, err = all.In(JavaScript)
	}
	checktest.OK(t, err)
	engine, err := sandbox.New(t.Context(), sandbox.Options{CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	defer engine.Close(t.Context())
	r := &served{engine: engine, limits: suiteLimits(time.Second), reader: &analysis.Reader{}}
	goroutines, base := runtime.NumGoroutine(), 0
	limit := int(r.limits.Memory>>10) + memorySpare
	for i, name := range append([]string{"s23_undefined.js"}, holders...) {
		s, err := all.Filter(name)
		checktest.OK(t, err)
		r.limits.Wall = 15 * time.Second // a busy machine must not end a run before it holds what it can
		if name == "s10_pending_calls.js" {
			r.limits.Wall = 4 * time.Second // it holds that within a third of a second, and then waits
		}
		debug.FreeOSMemory() // what other cases left: each begins with the same
		for range 2 {
			_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins now
			end := r.runs(t.Context(), s.Cases[0])
			peak := statusKiB("VmHWM:")
			awaitGoroutines(t, goroutines)
			if i == 0 {
				base = peak // the process, and a run that needs nothing
				continue
			}
			fmt.Printf("%s: %d KiB more (%s)\n", name, peak-base, end.Outcome)
			if peak-base > limit {
				t.Errorf("%s made the process hold %d KiB more, want at most %d", name, peak-base, limit)
			}
		}
	}
}

// awaitGoroutines waits until at most n are left.
func awaitGoroutines(t *testing.T, n int) {
	t.Helper()
	if !testwait.Holds(func() bool { return runtime.NumGoroutine() <= n }) {
		t.Fatalf("%d goroutines are left, want at most %d", runtime.NumGoroutine(), n)
	}
}
