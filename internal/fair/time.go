package fair

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Time is what owners have used of something that they use by turns, for a while each. Of those who wait, the one who
// has used least is next: so each gets the same time, however long its turns are and wherever it waits. Whoever was
// away begins with little less than the one served last: nobody saves much time up. Groups share as owners do, see [In].
//
// This is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996). The zero value is ready.
type Time struct {
	queues atomic.Int64 // in which somebody waits

	mu     sync.Mutex
	all    account             // of the groups, which have those of their owners
	active map[string]*account // of owners that wait, or have computed lately
}

// Processors is the time of this process's processors, which its guests and its requests use.
var Processors = &Time{}

// Cores is how many processors this process may use: GOMAXPROCS at its start.
var Cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// An account is of a group or an owner, or of all.
type account struct {
	used    time.Duration
	last    time.Duration // what the member served last had used
	members map[string]*account

	queues int // in which the owner waits, or owners of the group

	// Those of an owner:
	group    *account
	computed time.Time // when the last of its long turns ended
}

// maxAccounts is how many members an account remembers that need not be remembered: they have used no more than last.
const maxAccounts = 1024

func (a *account) member(name string) *account {
	m := a.members[name]
	if m != nil {
		return m
	}
	if len(a.members) >= maxAccounts {
		for name, m := range a.members {
			if m.used <= a.last && m.queues == 0 {
				delete(a.members, name)
			}
		}
	}
	if a.members == nil {
		a.members = map[string]*account{}
	}
	m = &account{used: a.last}
	a.members[name] = m
	return m
}

func (t *Time) of(owner string) *account {
	group := t.all.member(groupOf(owner))
	own := group.member(owner)
	own.group = group
	return own
}

// lately is for how long an owner counts as computing after a long turn.
const lately = 20 * time.Millisecond

func (a *account) isActive(now time.Time) bool { return a.queues > 0 || now.Sub(a.computed) < lately }

// begin says that the owner is active from now on.
func (t *Time) begin(owner string, now time.Time) *account {
	own := t.of(owner)
	if !own.isActive(now) {
		own.group.used = max(own.group.used, t.all.last-most)
		own.used = max(own.used, own.group.last-most)
	}
	if t.active == nil {
		t.active = map[string]*account{}
	}
	t.active[owner] = own
	return own
}

func (a *account) waits(more int) {
	a.queues += more
	a.group.queues += more
}

func (a *account) charge(took time.Duration) {
	a.used += took
	a.group.used += took
}

// Queue says that an owner begins to wait in a queue, in which it did not wait before. Each call pairs with one of
// Leave.
func (t *Time) Queue(owner string) {
	t.queues.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin(owner, time.Now()).waits(1)
}

// Leave says that the owner does not wait in a queue any more.
func (t *Time) Leave(owner string) {
	t.queues.Add(-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(owner).waits(-1)
}

// Charge adds a turn to what an owner has used. A turn at whose end nobody waits costs nothing.
func (t *Time) Charge(owner string, took time.Duration) {
	if t.queues.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(owner).charge(took)
}

// Computed is Charge for a turn that was as long as a turn may be, and that the owner wants to follow by another one.
func (t *Time) Computed(owner string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	own := t.begin(owner, now)
	own.charge(took)
	own.computed = now
}

// most is how much more an owner may have used than one that waits or computes, and how much time one that does neither
// saves up.
const most = 10 * time.Millisecond

// Ahead reports whether an owner has used so much that another one, which waits or computes, should go on alone for a
// while.
func (t *Time) Ahead(owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, now, n := t.of(owner), time.Now(), 0
	for name, other := range t.active {
		mine, its := own.used, other.used
		if other.group != own.group {
			mine, its = own.group.used, other.group.used
		}
		switch {
		case !other.isActive(now):
			delete(t.active, name)
		case its+most < mine:
			return true
		}
		if n++; n > maxCompared {
			break
		}
	}
	return false
}

// maxCompared is how many owners, and groups, are compared to find the next one: those that have waited longest.
const maxCompared = 64

// next chooses one of the names, which are members of a.
func (a *account) next(names []string) (at int) {
	for i, name := range names[:min(len(names), maxCompared)] {
		if a.member(name).used < a.member(names[at]).used {
			at = i
		}
	}
	a.last = max(a.last, a.member(names[at]).used)
	return at
}
