package sandbox

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// A run is not charged for the time in which others compute: with many at once, each is charged about as much as alone.
func TestWaitingForATurnIsNoComputing(t *testing.T) {
	e := limited(t, 256<<20)
	work := func() time.Duration {
		r, err := e.Run(t.Context(),
			Program{Source: "let n = 0; for (let i = 0; i < 1e6; i++) n = (n * 31 + i) % 1000003; return n", Owner: "anna"}, nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		return r.Usage.CPU
	}
	alone := work()
	for range 4 {
		alone = max(alone, work())
	}
	const each = 16
	n := each * runtime.GOMAXPROCS(0)
	took := make([]time.Duration, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { took[i] = work() })
	}
	running.Wait()
	var all time.Duration
	for _, d := range took {
		all += d
	}
	if mean := all / time.Duration(n); mean > each/3*alone {
		t.Errorf("alone a run computes for %v, one of %d for %v", alone, n, mean)
	}
}
