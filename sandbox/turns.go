package sandbox

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Turns let as many guests compute at once as there are processors. Of those that wait for their turn, owners are served one after
// the other, and of one owner, who came first: many guests of one owner delay another owner's by one turn. A guest is machine code,
// which Go cannot preempt, and Go would let
// a goroutine have its processor for ten milliseconds. With some runaways,
// whatever has to be scheduled often would take seconds: a garbage collection,
// for one, yields for each span it sweeps.
type turns struct {
	free atomic.Int64 // how many could compute now; as many wait as it is below zero

	mu     sync.Mutex
	early  int // turns that were given before those who wait for them were in a queue
	queues map[string][]chan struct{}
	order  []string // the owners that have a queue, next one first
}

func newTurns(n int) *turns {
	t := &turns{queues: map[string][]chan struct{}{}}
	t.free.Store(int64(n))
	return t
}

// slice is how long a guest computes until it is others' turn.
const slice = 200 * time.Microsecond

// take waits for a turn. wake is the guest's own, with room for one.
func (t *turns) take(owner string, wake chan struct{}) {
	if t.free.Add(-1) >= 0 {
		return
	}
	t.mu.Lock()
	if t.early > 0 {
		t.early--
		t.mu.Unlock()
		return
	}
	if len(t.queues[owner]) == 0 {
		t.order = append(t.order, owner)
	}
	t.queues[owner] = append(t.queues[owner], wake)
	t.mu.Unlock()
	<-wake
}

func (t *turns) give() {
	if t.free.Add(1) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.early++
		return
	}
	owner := t.order[0]
	t.order = t.order[1:]
	queue := t.queues[owner]
	queue[0] <- struct{}{}
	if len(queue) > 1 {
		t.queues[owner] = queue[1:]
		t.order = append(t.order, owner)
	} else {
		delete(t.queues, owner)
	}
}

// pass lets others compute: whatever else the process has to do, and guests that
// wait for their turn.
func (t *turns) pass(owner string, wake chan struct{}) {
	runtime.Gosched() // first, while no guest is runnable that was only just woken: that one would go before all else
	t.give()
	t.take(owner, wake)
}
