package sandbox

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Turns let as many guests compute at once as there are processors, first come,
// first served. A guest is machine code, which Go cannot preempt, and Go would let
// a goroutine have its processor for ten milliseconds. With some runaways,
// whatever has to be scheduled often would take seconds: a garbage collection,
// for one, yields for each span it sweeps.
type turns struct {
	free  atomic.Int64 // how many could compute now; as many wait as it is below zero
	yours chan struct{}
}

func newTurns(n int) *turns {
	t := &turns{yours: make(chan struct{}, n)}
	t.free.Store(int64(n))
	return t
}

// slice is how long a guest computes until it is others' turn.
const slice = 200 * time.Microsecond

func (t *turns) take() {
	if t.free.Add(-1) < 0 {
		<-t.yours
	}
}

func (t *turns) give() {
	if t.free.Add(1) <= 0 {
		t.yours <- struct{}{}
	}
}

// pass lets others compute: whatever else the process has to do, and guests that
// wait for their turn.
func (t *turns) pass() {
	runtime.Gosched() // first, while no guest is runnable that was only just woken: that one would go before all else
	t.give()
	t.take()
}
