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

// needs is the charge for a run: the growth of its guest's memory, and what the host holds for it.
func (f *footprint) needs(size, held int) int64 {
	return int64(guestBase + size - f.engine.snapshot.Size + held)
}

// reserve makes sure that the run may have that much memory. It acquires more than the run needs, so that it rarely has
// to acquire again. The caller holds f.mu.
func (f *footprint) reserve(size, held int) bool {
	need := f.needs(size, held)
	if need <= f.reserved {
		return true
	}
	more := steps(need - f.reserved)
	err := f.engine.memory.Try(f.owner, more)
	if err != nil && f.engine.warm.coolAll() {
		err = f.engine.memory.Try(f.owner, more)
	}
	if err != nil {
		f.full = fair.IsFull(err)
		return false
	}
	f.reserved += more
	return true
}

// steps rounds up to the unit of reservations.
func steps(n int64) int64 { return (n + memory.Step - 1) / memory.Step * memory.Step }

// mayGrow decides whether the guest's memory may grow. The driving goroutine calls it.
func (f *footprint) mayGrow(ctx context.Context, g *guest, size int) bool {
	f.mu.Lock()
	roomy := size-f.size <= f.room()
	ok := roomy && f.reserve(size, f.held)
	f.mu.Unlock()
	if !roomy || !ok && !f.await(ctx, g, size) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = size
	return true
}

// await waits until there is memory for a guest to grow. Only one run of each owner waits, so that at least one of
// several growing runs finishes: the others end and leave their memory to it.
func (f *footprint) await(ctx context.Context, g *guest, size int) bool {
	e := f.engine
	if _, other := e.waiting.LoadOrStore(f.owner, f); other {
		return false
	}
	defer e.waiting.Delete(f.owner)
	f.mu.Lock()
	more := steps(f.needs(size, f.held) - f.reserved)
	f.mu.Unlock()
	g.mem.Unwatch()
	t := now()
	g.pause(t)
	g.release(t)
	ctx, cancel := context.WithTimeout(ctx, growWait)
	err := e.memory.Acquire(ctx, f.owner, more)
	cancel()
	g.acquire()
	g.compute()
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved += more
	f.full = nil
	return f.reserve(size, f.held)
}

// isFull says why a run got no more memory although its own limit allows it.
func (f *footprint) isFull() string {
	return fmt.Sprintf("the program needs more memory than is left: all programs together may have %d MiB, and %s",
		f.engine.memory.Total()>>20, f.full.Error())
}

// leave leaves to a session what its guest has of the owner's memory.
func (f *footprint) leave() (left int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left = min(f.needs(f.size, 0), f.reserved)
	f.reserved -= left
	return left
}

// release gives the rest back to the engine.
func (f *footprint) release() { f.engine.memory.Release(f.owner, f.reserved) }
