package runs

import (
	"cmp"
	"errors"
	"sync"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/fair"
)

// Runs that wait for people without a guest are kept as images, in memory and in the database. One principal has at most three
// quarters of each.
const (
	// maxWaiting is how many runs wait at once.
	maxWaiting = 1024
	// maxWaitingBytes bounds their images together.
	maxWaitingBytes int64 = 128 << 20
)

// errWaitedLongest ends a run in favour of a later one of its principal.
var errWaitedLongest = errors.New("too_many_waiting: this principal's share of runs that wait for people is used up, and of those this run waited longest: answer or end some, and run it again")

// waitingRuns are the runs that wait for people without a guest.
type waitingRuns struct {
	count, bytes *fair.Budget

	mu    sync.Mutex
	all   []*waitingRun // oldest first
	large sync.Mutex    // one image at a time is copied into the database
	turns sync.Map      // of *sync.Mutex, by owner: one run at a time makes room for itself in the database
}

type waitingRun struct {
	x     *execution
	owner string
	bytes int64
}

func newWaitingRuns(c config.Capacity) *waitingRuns {
	return &waitingRuns{
		count: fair.New("waiting runs", int64(cmp.Or(c.WaitingRuns, maxWaiting)), 0),
		bytes: fair.New("memory for waiting runs", cmp.Or(c.WaitingMemory, maxWaitingBytes), 0),
	}
}

// enter counts a run with an image of so many bytes in. The oldest runs of its principal end if there is no room; if there is none
// even then, the run itself does, and enter reports false.
func (w *waitingRuns) enter(x *execution, bytes int64) bool {
	r := &waitingRun{x: x, owner: x.request.Owner(), bytes: bytes}
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.count.Try(r.owner, 1) == nil {
			if w.bytes.Try(r.owner, bytes) == nil {
				w.all = append(w.all, r)
				return true
			}
			w.count.Release(r.owner, 1)
		}
		oldest := w.first(func(other *waitingRun) bool { return other.owner == r.owner })
		if oldest < 0 {
			x.cancel(errWaitedLongest)
			return false
		}
		ended := w.drop(oldest)
		ended.x.cancel(errWaitedLongest)
	}
}

// turn waits until no other run of an owner makes room in the database. end lets the next one.
func (w *waitingRuns) turn(owner string) (end func()) {
	t, _ := w.turns.LoadOrStore(owner, &sync.Mutex{})
	t.(*sync.Mutex).Lock()
	return t.(*sync.Mutex).Unlock
}

// leave counts a run out, if it is in.
func (w *waitingRuns) leave(x *execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.first(func(other *waitingRun) bool { return other.x == x }); at >= 0 {
		w.drop(at)
	}
}

// first finds the oldest run of which is says so; -1 if there is none. The caller holds mu.
func (w *waitingRuns) first(is func(*waitingRun) bool) int {
	for i, r := range w.all {
		if is(r) {
			return i
		}
	}
	return -1
}

// drop takes a run out. The caller holds mu.
func (w *waitingRuns) drop(at int) *waitingRun {
	r := w.all[at]
	w.all = append(w.all[:at:at], w.all[at+1:]...)
	w.count.Release(r.owner, 1)
	w.bytes.Release(r.owner, r.bytes)
	return r
}
