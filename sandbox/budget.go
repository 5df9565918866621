package sandbox

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
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
func steps(n int64) int64 { return (n + growStep - 1) / growStep * growStep }

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

// The host holds memory for a program outside its guest: the arguments of unanswered calls, and answers that the
// program has not taken. It counts together with the guest's, so a run holds at most Limits.Memory and hostRoom.

// hostRoom is what the host may hold for a guest that has reached its memory limit.
const hostRoom = 8 << 20

// A footprint is the memory of one run.
type footprint struct {
	engine *core
	owner  string
	limit  int // of the guest

	mu       sync.Mutex
	size     int        // of the guest's memory
	held     int        // bytes of open calls and their answers, and of answers that the guest is getting now
	reserved int64      // of the engine's memory
	full     *fair.Full // why the engine refused more; nil if it did not
}

// room is how much more the host may hold for the run. The caller holds f.mu.
func (f *footprint) room() int { return f.limit + hostRoom - f.size - f.held }

// hold is for the arguments of a call. It reports whether there is room for them.
func (f *footprint) hold(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.room() || !f.reserve(f.size, f.held+n) {
		return false
	}
	f.held += n
	return true
}

// drop is for what the host no longer holds.
func (f *footprint) drop(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held -= n
}

// exchange holds the n bytes of the answer of a call instead of its arguments, or nothing if there is no room for them.
// alone judges them as if no other answer were here.
func (f *footprint) exchange(c *Call, n int, alone bool) *Throw {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held -= c.held()
	held, room := f.held, f.room()
	if alone {
		held, room = 0, room+held
	}
	message := ""
	if n+held > hostRoom && n > room/answerShare || n > f.room() {
		message = fmt.Sprintf("the answer of %.100s has %d bytes, and there is no room for it in the %d MiB that the program may have with its open calls: ask for less, or for fewer at once", c.Name, n, f.limit>>20)
	} else if n > 0 && !f.reserve(f.size, f.held+n) {
		message = fmt.Sprintf("there is no room for the answer of %.100s: %s", c.Name, f.isFull())
	}
	if message != "" {
		return &Throw{Class: "RangeError", Props: map[string]any{"toolName": c.Name}, Message: message}
	}
	f.held += n
	return nil
}

// answerShare is how many times a large answer must fit: it waits here, the host copies it into the guest, and it
// becomes a value there.
const answerShare = 3

// held is the memory that the host holds for a call until its answer comes.
func (c *Call) held() int { return len(c.Args) }

// A dump counts garbage that the host once held for runs. Go would let it grow to the size of the heap in use before it
// collects, and then keep the memory: runs could hold twice their limit.
type dump struct {
	bytes atomic.Int64
	one   sync.Mutex // collects
}

const (
	// dumpSize is how much such garbage may exist before a collection.
	dumpSize = 4 << 20
	// dumpShare is the part of the heap that may be such garbage: a large process collects less often, because a
	// collection takes longer there.
	dumpShare = 8
	// dumpLeast is the smallest piece that counts. The number of calls bounds the rest.
	dumpLeast = 16 << 10
)

// add counts n bytes and collects if there are many. One caller at a time collects, and checks again afterwards: others
// may have added some meanwhile, and perhaps nobody calls add after them.
func (d *dump) add(n int) {
	if n < dumpLeast {
		return
	}
	d.bytes.Add(int64(n))
	for d.full() && d.one.TryLock() {
		d.bytes.Store(0)
		debug.FreeOSMemory()
		d.one.Unlock()
	}
}

// full reports whether there is enough garbage for a collection, for the size of the heap.
func (d *dump) full() bool {
	n := d.bytes.Load()
	if n < dumpSize {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return n >= int64(live[0].Value.Uint64()/dumpShare)
}
