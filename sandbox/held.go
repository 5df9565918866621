package sandbox

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/internal/fair"
)

// The host holds memory for a program outside its guest: the arguments of unanswered calls, and answers that the
// program has not taken. It counts together with the guest's, so a run holds at most Limits.Memory and hostRoom.

// hostRoom is what the host may hold for a guest that has reached its memory limit.
const hostRoom = 8 << 20

// A footprint is the memory of one run.
type footprint struct {
	engine *Engine
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

// maxName is the maximum length of a name. Hosts keep the names of a run's calls, and a program can make one of
// megabytes.
const maxName = 1 << 10

// callName returns Call.Name for the guest's bytes, which are often the same as the last time.
func callName(name []byte, last *string) string {
	if len(name) > maxName {
		return cutText(string(name[:maxName+1]), maxName)
	}
	if string(name) != *last {
		*last = string(name)
	}
	return *last
}

// cutText truncates a text to at most n bytes, and adds … if there were more.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// answered stores the answer of an open call for wait, and drops the arguments of the call. The caller holds r.mu.
func (r *Run) answered(a answer) {
	at, ok := r.opened(a.id)
	if !ok {
		return
	}
	c := r.open[at]
	r.open = slices.Delete(r.open, at, at+1)
	if a.err != nil {
		a.value = nil
	}
	// Which other answers of a deterministic run are here is a matter of chance.
	if full := r.memory.exchange(c, len(a.value), r.program.Deterministic != nil); full != nil {
		a.value, a.err = nil, full
	}
	r.answers = append(r.answers, a)
}

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
