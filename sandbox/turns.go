package sandbox

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// Turns let as many guests compute at once as there are processors. Owners take turns, and the guests of one owner are
// first in, first out: many guests of one owner delay another owner's by one turn, and many owners of one tenant delay
// another tenant's by one. A guest is machine code, which Go cannot preempt, and Go lets a goroutine keep its processor
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
	return t
}

// slice is how long a guest computes before it passes the turn.
const slice = 200 * time.Microsecond

// acquire waits for a turn. wake is the guest's own, with room for one.
func (t *turns) acquire(owner string, wake chan struct{}) {
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
		t.order.Add(owner)
	}
	t.queues[owner] = append(t.queues[owner], wake)
	t.mu.Unlock()
	<-wake
}

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
	owner := t.order.Next()
	queue := t.queues[owner]
	queue[0] <- struct{}{}
	if len(queue) > 1 {
		t.queues[owner] = queue[1:]
		t.order.Add(owner)
	} else {
		delete(t.queues, owner)
	}
}

// pass lets others compute: the rest of the process, and waiting guests.
func (t *turns) pass(owner string, wake chan struct{}) {
	runtime.Gosched() // before release wakes a guest: Go would run that guest before everything else
	t.release()
	t.acquire(owner, wake)
}
