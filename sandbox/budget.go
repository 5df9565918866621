package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/memory"
)

const (
	// guestBase is the charge for a run before its guest has grown, in bytes: what a guest has besides its memory, and
	// the pages that a small program writes to. A run acquires guestCost when it begins, so that a small one need not
	// ask again.
	guestBase = 512 << 10
	guestCost = 1 << 20
	// growWait is how long a run waits for memory that other runs of its owner hold.
	growWait = 5 * time.Second
	// usualMemory is the memory of all guests together if Options.Memory does not set it and the machine has more than
	// memoryShare times that; leastMemory is the minimum.
	usualMemory = 512 << 20
	memoryShare = 4
	leastMemory = 96 << 20
	// sessionsShare is the part of that memory which sessions may have between their programs: the rest is for programs.
	sessionsShare = 4
	// maxQueued is how many programs of one owner may wait for memory.
	maxQueued = 256
)

// defaultMemory is the memory of all guests together on a machine, or in a container, with so much memory; 0 means
// unknown.
func defaultMemory(has int64) int64 {
	if has <= 0 {
		return usualMemory
	}
	return min(max(has/memoryShare, leastMemory), usualMemory)
}

// needs is the charge for a run: the growth of its guest's memory, and what the host holds for it. The caller holds
// r.mu.
func (r *Run) needs(size, held int) int64 {
	return int64(guestBase + size - r.engine.snapshot.Size + held)
}

// reserve makes sure that the run may have that much memory. It acquires more than the run needs, so that it rarely has
// to acquire again. The caller holds r.mu.
func (r *Run) reserve(size, held int) bool {
	need := r.needs(size, held)
	if need <= r.reserved {
		return true
	}
	more := steps(need - r.reserved)
	err := r.engine.memory.Try(r.program.Owner, more)
	if err != nil && r.engine.warm.coolAll() {
		err = r.engine.memory.Try(r.program.Owner, more)
	}
	if err != nil {
		r.full = fair.IsFull(err)
		return false
	}
	r.reserved += more
	return true
}

// steps rounds up to the unit of reservations.
func steps(n int64) int64 { return (n + memory.Step - 1) / memory.Step * memory.Step }

// awaitMemory waits until there is memory for a guest to grow. Only one run of each owner waits, so that at least one
// of several growing runs finishes: the others end and leave their memory to it. The driving goroutine calls it.
func (r *Run) awaitMemory(size int) bool {
	e, g, owner := r.engine, r.guest, r.program.Owner
	if _, other := e.waiting.LoadOrStore(owner, r); other {
		return false
	}
	defer e.waiting.Delete(owner)
	r.mu.Lock()
	more := steps(r.needs(size, r.held) - r.reserved)
	r.mu.Unlock()
	g.mem.Unwatch()
	t := now()
	g.pause(t)
	g.release(t)
	ctx, cancel := context.WithTimeout(r.parent, growWait)
	err := e.memory.Acquire(ctx, owner, more)
	cancel()
	g.acquire()
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

// shareIsFull says why a run got no more memory although its own limit allows it.
func (r *Run) shareIsFull() string {
	return fmt.Sprintf("the program needs more memory than is left: all programs together may have %d MiB, and %s",
		r.engine.memory.Total()>>20, r.full.Error())
}
