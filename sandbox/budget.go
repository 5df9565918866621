package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

const (
	// guestBase is what a run counts as before its guest has grown, in bytes: what guests are made of beside their memory, and the
	// pages that a small program writes to. guestCost is what it takes when it begins, so that a small one need not ask again.
	guestBase = 512 << 10
	guestCost = 1 << 20
	// patience is how long a run waits for memory while other runs of its owner have it.
	patience = 5 * time.Second
	// usualMemory is what all guests may have together where Options.Memory does not say and the machine has more than
	// memoryShare times that; leastMemory is what they have at least.
	usualMemory = 512 << 20
	memoryShare = 4
	leastMemory = 96 << 20
	// maxQueued is how many programs of one owner wait until there is memory for them.
	maxQueued = 256
)

// defaultMemory is what all guests may have together on a machine, or in a container, with so much memory; 0 is not known.
func defaultMemory(has int64) int64 {
	if has <= 0 {
		return usualMemory
	}
	return min(max(has/memoryShare, leastMemory), usualMemory)
}

// needs is what counts for a run: its guest's memory as far as it has grown, and what is held for it outside. The caller holds r.mu.
func (r *Run) needs(size, held int) int64 {
	return int64(guestBase + size - r.engine.snapshot.size + held)
}

// reserve makes sure that the run may have so much. It takes more than is needed, so that it is seldom asked for. The caller holds r.mu.
func (r *Run) reserve(size, held int) bool {
	need := r.needs(size, held)
	if need <= r.reserved {
		return true
	}
	more := steps(need - r.reserved)
	if err := r.engine.memory.Try(r.program.Owner, more); err != nil {
		r.full = fair.IsFull(err)
		return false
	}
	r.reserved += more
	return true
}

// steps rounds up to what is taken at once.
func steps(n int64) int64 { return (n + growStep - 1) / growStep * growStep }

// awaitMemory waits until a guest may grow, for which there is no memory now. One run of each owner does, so that of several which
// grow together at least one comes to its end: the others end, and leave theirs to it. The driving goroutine calls it.
func (r *Run) awaitMemory(size int) bool {
	e, g, owner := r.engine, r.guest, r.program.Owner
	if _, other := e.patient.LoadOrStore(owner, r); other {
		return false
	}
	defer e.patient.Delete(owner)
	r.mu.Lock()
	more := steps(r.needs(size, r.held) - r.reserved)
	r.mu.Unlock()
	g.mem.unwatch()
	g.pause(now())
	g.turns.give()
	ctx, cancel := context.WithTimeout(r.parent, patience)
	err := e.memory.Acquire(ctx, owner, more)
	cancel()
	g.turns.take(owner, g.turn)
	g.compute()
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reserved += more
	r.full = nil
	return r.reserve(size, r.held)
}

// shareIsFull says why a run got no more memory although its own limit would let it.
func (r *Run) shareIsFull() string {
	return fmt.Sprintf("the program needs more memory than is left: all programs together may have %d MiB, and %s", r.engine.memory.Total()>>20, r.full.Error())
}
