package sandbox

import (
	"runtime"
	"sync"
	"sync/atomic"
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

// A guest that passes its turn lets work that yields often, such as a collection, have many turns, not one: beside eight
// endless programs a collection took a tenth of a second.
func TestP39_16WorkThatYieldsOftenIsDoneBesidePrograms(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const enough = 10
	most := 0
	for tries := 0; most < enough && tries < 100; tries++ { // a busy machine may stop this process for longer than a slice
		var turns atomic.Int64
		done := make(chan bool)
		go func() {
			defer close(done)
			for range 10 * enough {
				for begun := now(); now()-begun < 2*idle; { // a small piece of work
				}
				turns.Add(1)
				runtime.Gosched()
			}
		}()
		rest()
		most = max(most, int(turns.Load()))
		<-done
	}
	if most < enough {
		t.Errorf("in one turn that a guest passes, other work has %d turns", most)
	}
}

// Where nothing else can run, a guest goes on at once.
func TestRestEndsWhereNothingElseRuns(t *testing.T) {
	shortest := time.Hour
	for range 100 {
		begun := now()
		rest()
		shortest = min(shortest, now()-begun)
	}
	if shortest > slice/2 {
		t.Errorf("a guest that is alone rests for %v", shortest)
	}
}
