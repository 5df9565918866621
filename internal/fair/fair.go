// Package fair shares a bounded amount of a resource among owners: memory, sessions, requests.
//
// An owner may hold at most three times what it leaves free. One that acquires all it can gets three quarters of the
// whole, the next one three quarters of the rest, and so on: something is left for the next owner, until there are so
// many owners that it is less than a unit. Owners that are active at the same time get equal shares as they release and
// acquire again.
//
//	b := fair.New("requests", 4096, 0)
//	if err := b.Try("anna", 1); err != nil {
//		return err // a [*Full], which says whose share is used up
//	}
//	defer b.Release("anna", 1)
//
// The owner "" is alone, and may use everything. Owners may be in groups, see [In].
package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// reserve is the largest ratio of an owner's units to the free units.
const reserve = 3

// Full is the error of a request that was not granted.
type Full struct {
	What string // of the Budget
	// Own says that the owner's own share is used up. Otherwise too little is left for anyone.
	Own bool
	// Queued says that too many requests of the owner are already waiting.
	Queued bool
}

func (f *Full) Error() string {
	switch {
	case f.Queued:
		return fmt.Sprintf("too much waits already for your share of %s: try again in a few seconds, or do less at once",
			f.What)
	case f.Own:
		return fmt.Sprintf("your share of %s is used up: end some, or try again in a few seconds", f.What)
	}
	return fmt.Sprintf("the %s of this server are used up: try again in a few seconds", f.What)
}

// A Budget is a shared resource. Its methods may be called from many goroutines.
type Budget struct {
	what  string
	total int64
	queue int // how many requests of one owner may wait

	mu      sync.Mutex
	used    int64
	refused uint64
	held    map[string]int64 // by owner
	groups  map[string]int64 // what the owners of each group hold together
	queues  map[string][]*waiter
	order   Rotation    // the owners that have a queue
	again   *time.Timer // serves those who were ahead; nil if there are none
}

type waiter struct {
	n     int64
	ready chan struct{}
}

// New makes a Budget of total units. what names the units in errors, in the plural. queue is how many requests of one
// owner may wait in [Budget.Acquire]; 0 is none.
func New(what string, total int64, queue int) *Budget {
	return &Budget{what: what, total: total, queue: queue, held: map[string]int64{}, groups: map[string]int64{},
		queues: map[string][]*waiter{}}
}

// ByTime makes owners that wait take turns by the time that they have used. It returns b.
func (b *Budget) ByTime(t *Time) *Budget {
	b.order.Time = t
	return b
}

// Try acquires n units for an owner, or fails immediately. The error is a [*Full].
func (b *Budget) Try(owner string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.try(owner, n)
	if err != nil {
		b.refused++
	}
	return err
}

// Fits reports whether [Budget.Try] would succeed now.
func (b *Budget) Fits(owner string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full(owner, n) == nil
}

// try is Try. The caller holds mu.
func (b *Budget) try(owner string, n int64) error {
	if full := b.full(owner, n); full != nil {
		return full
	}
	b.used += n
	b.held[owner] += n
	if group := groupOf(owner); group != "" {
		b.groups[group] += n
	}
	return nil
}

// full says why an owner cannot get n units now; nil says that it can. The caller holds mu.
func (b *Budget) full(owner string, n int64) *Full {
	used, held := b.used+n, b.held[owner]+n
	free := b.total - used
	group := groupOf(owner)
	if group != "" {
		all := b.groups[group] + n
		free = share(b.total-(used-all)) - all // of what the group may have
	}
	switch {
	case used > b.total:
		return &Full{What: b.what, Own: b.held[owner] > b.total/2 || b.groups[group] > b.total/2}
	case owner != "" && b.held[owner] > 0 && held > reserve*free, // an owner without units gets what is left
		group != "" && b.groups[group] > 0 && free < 0, // and so does a group
		b.never(owner, n):
		return &Full{What: b.what, Own: true}
	}
	return nil
}

// share is the most that one may hold of a total.
func share(total int64) int64 { return total * reserve / (reserve + 1) }

// never reports whether an owner cannot get n units even if nothing is in use.
func (b *Budget) never(owner string, n int64) bool {
	most := b.total
	if groupOf(owner) != "" {
		most = share(most)
	}
	return n > most || owner != "" && n > reserve*(most-n)
}

// Acquire waits until an owner gets n units or ctx ends. Owners alternate; the requests of one owner are served in
// order. The error is a [*Full] if too many wait, or the cause of ctx.
func (b *Budget) Acquire(ctx context.Context, owner string, n int64) error {
	b.mu.Lock()
	queue := b.queues[owner]
	if len(queue) == 0 && !b.ahead(owner) {
		err := b.try(owner, n)
		if err == nil {
			b.mu.Unlock()
			return nil
		}
		if b.queue == 0 {
			b.refused++
			b.mu.Unlock()
			return err
		}
	}
	if b.never(owner, n) { // it would wait forever
		b.refused++
		b.mu.Unlock()
		return &Full{What: b.what, Own: true}
	}
	if len(queue) >= b.queue {
		b.refused++
		b.mu.Unlock()
		return &Full{What: b.what, Own: true, Queued: true}
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	if len(queue) == 0 {
		if b.order.Time != nil {
			b.order.Time.Queue(owner)
		}
		b.order.Add(owner)
	}
	b.queues[owner] = append(queue, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.ready: // at the same moment
		b.release(owner, n)
	default:
		b.drop(owner, slices.Index(b.queues[owner], w))
		b.serve() // the next one may request less
	}
	return context.Cause(ctx)
}

// Release returns n units of an owner.
func (b *Budget) Release(owner string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(owner, n)
}

func (b *Budget) release(owner string, n int64) {
	if b.held[owner] < n {
		panic("fair: " + owner + " gives back more than it has")
	}
	b.used -= n
	if b.held[owner] -= n; b.held[owner] == 0 {
		delete(b.held, owner)
	}
	if group := groupOf(owner); group != "" {
		if b.groups[group] -= n; b.groups[group] == 0 {
			delete(b.groups, group)
		}
	}
	b.serve()
}

// serve gives units to waiters, one of each owner in turn. The caller holds mu.
func (b *Budget) serve() {
	var refused []string // units that others get do not help them
	for b.order.Len() > 0 {
		owner := b.order.Next()
		w := b.queues[owner][0]
		if b.ahead(owner) {
			b.order.Add(owner)
			break // those behind it are further ahead
		}
		if b.try(owner, w.n) != nil {
			refused = append(refused, owner)
			continue
		}
		close(w.ready)
		b.order.Add(owner)
		b.drop(owner, 0)
	}
	for _, owner := range refused {
		b.order.Add(owner)
	}
}

// ahead reports whether an owner has to wait because of what it has used. Then serve looks again in a while. The caller
// holds mu.
func (b *Budget) ahead(owner string) bool {
	if b.order.Time == nil || !b.order.Time.Ahead(owner) {
		return false
	}
	if b.again == nil {
		b.again = time.AfterFunc(lookAgain, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.again = nil
			b.serve()
		})
	}
	return true
}

// lookAgain is how long serve waits for others to catch up with an owner.
const lookAgain = time.Millisecond

// drop removes a waiter from its queue. The caller holds mu.
func (b *Budget) drop(owner string, at int) {
	b.queues[owner] = slices.Delete(b.queues[owner], at, at+1)
	if len(b.queues[owner]) == 0 {
		delete(b.queues, owner)
		b.order.Remove(owner)
		if b.order.Time != nil {
			b.order.Time.Leave(owner)
		}
	}
}

// Total is the size of the budget.
func (b *Budget) Total() int64 { return b.total }

// Used returns how much is in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// A Use is the state of a Budget at a moment.
type Use struct {
	What        string
	Used, Total int64
	Waiting     int    // requests that wait in [Budget.Acquire]
	Refused     uint64 // requests that were not granted, since the start
}

// Use returns the state of the budget.
func (b *Budget) Use() Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := Use{What: b.what, Used: b.used, Total: b.total, Refused: b.refused}
	for _, queue := range b.queues {
		u.Waiting += len(queue)
	}
	return u
}

// Held returns how much an owner has.
func (b *Budget) Held(owner string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[owner]
}

// IsFull returns the [Full] in an error; nil if there is none.
func IsFull(err error) *Full {
	full, _ := errors.AsType[*Full](err)
	return full
}
