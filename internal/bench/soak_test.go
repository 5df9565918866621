package bench

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/sandbox"
)

// Runs in random order, half of them attacks, two at a time, leave nothing
// behind: neither memory nor goroutines nor file descriptors nor guests.
func TestRandomRunsLeaveNothingBehind(t *testing.T) {
	runs := 400
	if os.Getenv("CODEMODE_LONG") != "" {
		runs = 10_000
	}
	suite, err := LoadSuite(Attacks())
	if err == nil {
		suite, err = suite.In(JavaScript)
	}
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sandbox.New(t.Context(), sandbox.Options{Wasm: guest(t), CacheDir: cachetest.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	o := IsolationOptions{CPU: 50 * time.Millisecond}
	r := &isolationRun{
		engine: engine, limits: o.limits(), reader: &analysis.Reader{},
		gate: hostfns.NewGate(hostfns.Deps{Tools: tools{}, Recorder: tools{}, Sender: tools{}}),
	}
	plain := *r
	plain.limits = IsolationOptions{CPU: time.Minute}.limits() // how soon it answers is what benchmarks say
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	some := func(n int) {
		picks := make(chan *Case)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for c := range picks {
					if c != nil {
						r.once(t.Context(), c)
					} else if value, err := plain.evaluate(t.Context(), "plain.js", "return 1", nil); string(value) != "1" {
						t.Errorf("a plain program returned %.100q, %v", value, err)
					}
				}
			})
		}
		for range n {
			var c *Case // a plain program
			if random.IntN(2) == 0 {
				c = suite.Cases[random.IntN(len(suite.Cases))]
			}
			picks <- c
		}
		close(picks)
		wg.Wait()
		debug.FreeOSMemory()
	}
	some(runs / 4) // what caches and pools keep is there after these
	before := settled(levels())
	some(runs)
	after := settled(before)
	t.Logf("before: %+v; after %d runs: %+v", before, runs, after)
	// What a process may hold more after many runs: wazero keeps the native stack of a guest that recursed deeply for
	// the guest's next run, up to 64 MiB.
	spareKiB := 96 << 10
	if hostile.Raced() {
		spareKiB = 1 << 20 // the detector's own memory grows with every address it has seen
	}
	if after.goroutines > before.goroutines+spareGoroutines || after.files > before.files+spareFiles ||
		after.guests > before.guests+4 || after.residentKiB > before.residentKiB+spareKiB {
		t.Errorf("before: %+v; after %d runs: %+v", before, runs, after)
	}
}
