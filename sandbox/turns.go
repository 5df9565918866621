package sandbox

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// Turns let as many guests compute at once as there are processors. Owners, and tenants, get the same time of
// [fair.Processors] while they wait for it, however many guests they have, and the guests of one owner are first in,
// first out. A guest is machine code, which Go cannot preempt, and Go lets a goroutine keep its processor
// for ten milliseconds. Next to some endless programs, work that yields often would take seconds: a garbage collection,
// for one, yields for each span that it sweeps.
type turns struct {
	free atomic.Int64 // number of free turns; if negative, number of waiters

	mu     sync.Mutex
	early  int // turns released before their waiter was in a queue
	queues map[string][]chan struct{}
	order  fair.Rotation // the owners that have a queue
}

func newTurns(n int) *turns {
	t := &turns{queues: map[string][]chan struct{}{}}
	t.free.Store(int64(n))
	t.order.Time = fair.Processors
	return t
}

// slice is how long a guest computes before it passes the turn.
const slice = 200 * time.Microsecond

// try gets a turn if one is free. Otherwise wait has to follow.
func (t *turns) try() bool { return t.free.Add(-1) >= 0 }

// wait waits for a turn. wake is the guest's own, with room for one.
func (t *turns) wait(owner string, wake chan struct{}) {
	t.mu.Lock()
	if t.early > 0 {
		t.early--
		t.mu.Unlock()
		return
	}
	t.enqueue(owner, wake)
	t.mu.Unlock()
	<-wake
}

// enqueue puts a guest behind the others of its owner. The caller holds mu.
func (t *turns) enqueue(owner string, wake chan struct{}) {
	if len(t.queues[owner]) == 0 {
		t.order.Time.Queue(owner)
		t.order.Add(owner)
	}
	t.queues[owner] = append(t.queues[owner], wake)
}

// next gives a turn to the guest that is next. There must be one. The caller holds mu.
func (t *turns) next() {
	owner := t.order.Next()
	queue := t.queues[owner]
	queue[0] <- struct{}{}
	if len(queue) > 1 {
		t.queues[owner] = queue[1:]
		t.order.Add(owner)
	} else {
		delete(t.queues, owner)
		t.order.Time.Leave(owner)
	}
}

// release ends a turn.
func (t *turns) release() {
	if t.free.Add(1) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.order.Len() == 0 {
		t.early++
		return
	}
	t.next()
}

// pass lets the guest that is next have the turn. That may be the same one.
func (t *turns) pass(owner string, wake chan struct{}) {
	if t.free.Load() >= 0 {
		return // nobody waits
	}
	t.mu.Lock()
	t.enqueue(owner, wake)
	t.next()
	t.mu.Unlock()
	<-wake
}

// rest lets the rest of the process compute: while it has something to do, for as long as a slice. A goroutine that
// yields after each small piece of work, as a collection does for each span, gets many turns so, not one.
func rest() {
	begun := now()
	for last := begun; last-begun < slice; {
		runtime.Gosched()
		t := now()
		if t-last < idle {
			return
		}
		last = t
	}
}

// idle is longer than it takes to find that no other goroutine can run.
const idle = 2 * time.Microsecond
