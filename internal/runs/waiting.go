package runs

import (
	"cmp"
	"context"
	"sync"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/fair"
)

// Parked runs are images in memory and in the database. One principal has at most three quarters of each.
const (
	// maxWaiting is how many runs wait at once.
	maxWaiting = 1024
	// maxWaitingBytes bounds their images together.
	maxWaitingBytes int64 = 128 << 20
)

// waitingRuns are the parked runs of this process.
type waitingRuns struct {
	count, bytes *fair.Budget

	mu      sync.Mutex
	all     []*waitingRun // oldest first
	turns   sync.Map      // chan struct{} by owner: one run at a time makes room for itself in the database
	storing chan struct{} // holds one for each image that is being copied into the database
}

// storedAtOnce is how many images are copied into the database at once, each with several times its size in memory.
const storedAtOnce = 2

type waitingRun struct {
	x     *execution
	owner string
	bytes int64
}

func newWaitingRuns(c config.Capacity) *waitingRuns {
	return &waitingRuns{
		count: fair.New("waiting runs", int64(cmp.Or(c.WaitingRuns, maxWaiting)), 0),
		bytes: fair.New("memory for waiting runs", cmp.Or(c.WaitingMemory, maxWaitingBytes), 0),

		storing: make(chan struct{}, storedAtOnce),
	}
}

// add counts a run and its image. If there is no room, the oldest runs of its principal end; if that is not enough, the
// run itself ends and add reports false.
func (w *waitingRuns) add(x *execution, bytes int64) bool {
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

// turn waits until a run of an owner may be stored. Runs of the same owner make room for themselves one after the
// other.
func (w *waitingRuns) turn(ctx context.Context, owner string) (leave func(), err error) {
	own, _ := w.turns.LoadOrStore(owner, make(chan struct{}, 1))
	places := []chan struct{}{own.(chan struct{}), w.storing}
	for i, place := range places {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			if i > 0 {
				<-places[0]
			}
			return nil, context.Cause(ctx)
		}
	}
	return func() { <-places[1]; <-places[0] }, nil
}

// remove forgets a run, if it was added.
func (w *waitingRuns) remove(x *execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.first(func(other *waitingRun) bool { return other.x == x }); at >= 0 {
		w.drop(at)
	}
}

// first is the index of the oldest run that is accepts; -1 if there is none. The caller holds mu.
func (w *waitingRuns) first(is func(*waitingRun) bool) int {
	for i, r := range w.all {
		if is(r) {
			return i
		}
	}
	return -1
}

// drop removes the run at an index. The caller holds mu.
func (w *waitingRuns) drop(at int) *waitingRun {
	r := w.all[at]
	w.all = append(w.all[:at:at], w.all[at+1:]...)
	w.count.Release(r.owner, 1)
	w.bytes.Release(r.owner, r.bytes)
	return r
}
