package bench

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/testwait"
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
	engine, err := sandbox.New(t.Context(), sandbox.Options{CacheDir: cachetest.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	r := &served{engine: engine, limits: suiteLimits(50 * time.Millisecond), reader: &analysis.Reader{}}
	plain := *r
	plain.limits = suiteLimits(time.Minute) // how soon it answers is what benchmarks say
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
						r.runs(t.Context(), c)
					} else if end := plain.runs(t.Context(), &Case{File: "plain.js", source: "return 1"}); string(end.Value) != "1" {
						t.Errorf("a plain program returned %.100q, %s", end.Value, end.Message)
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
	before, beforeKiB := holds(), resident()
	some(runs)
	after, afterKiB := settled(before), resident()
	t.Logf("before: %v, %d KiB; after %d runs: %v, %d KiB", before, beforeKiB, runs, after, afterKiB)
	// What a process may hold more after many runs: wazero keeps the native stack of a guest that recursed deeply for
	// the guest's next run, up to 64 MiB.
	spareKiB := 96 << 10
	if hostile.Raced() {
		spareKiB = 1 << 20 // the detector's own memory grows with every address it has seen
	}
	for what, spare := range map[string]int{"goroutines": 5, "file descriptors": 2, "guests": 4} {
		if after[what] > before[what]+spare {
			t.Errorf("%d %s before; %d after %d runs", before[what], what, after[what], runs)
		}
	}
	if afterKiB > beforeKiB+spareKiB {
		t.Errorf("%d KiB before; %d KiB after %d runs", beforeKiB, afterKiB, runs)
	}
}

// settled counts what this process holds when goroutines of abandoned calls have had time to end.
func settled(before map[string]int) (now map[string]int) {
	for range testwait.Polls(5 * time.Second) {
		if now = holds(); now["goroutines"] <= before["goroutines"] {
			break
		}
	}
	return now
}
