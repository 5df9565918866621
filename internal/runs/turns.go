package runs

import (
	"context"
	"sync"
)

// An order lets the calls of a run pass one after the other, in the order of their IDs: the Gate, until each is admitted
// or waits, so that counters, budgets and limits meet them in the order of the program, and not in that of its
// goroutines; and the way to their servers, until each is on it.
type order struct{ admission, sending turns }

// begin gives the first turn in this process to call id.
func (o *order) begin(id int) {
	o.admission.begin(id)
	o.sending.begin(id)
}

// A place is that of one call; it is its [hostfns.Order].
type place struct {
	*order
	id int
}

func (p place) Admitted() { p.admission.pass(p.id) }

func (p place) Send(ctx context.Context) bool { return p.sending.wait(ctx, p.id) }

func (p place) Sent() { p.sending.pass(p.id) }

// turns is a queue in which each call has its turn once all calls before it have passed.
type turns struct {
	mu      sync.Mutex
	next    int          // the ID whose turn it is; 0 before begin
	passed  map[int]bool // calls behind it that need no turn
	waiting map[int]chan struct{}
}

func (t *turns) begin(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == 0 {
		t.give(id)
	}
}

// give gives the turn to a call, or to the first one behind it that needs it. The caller holds mu.
func (t *turns) give(id int) {
	for t.passed[id] {
		delete(t.passed, id)
		id++
	}
	t.next = id
	if turn := t.waiting[id]; turn != nil {
		delete(t.waiting, id)
		close(turn)
	}
}

// wait waits for the turn of a call. pass has to follow. False means that ctx ended first.
func (t *turns) wait(ctx context.Context, id int) bool {
	t.mu.Lock()
	if id <= t.next || t.passed[id] {
		t.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	if t.waiting == nil {
		t.waiting = map[int]chan struct{}{}
	}
	t.waiting[id] = turn
	t.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
		return false
	}
}

// pass says that a call needs no turn any more. It may be called several times.
func (t *turns) pass(id int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.next == id && id > 0:
		t.give(id + 1)
	case id > t.next:
		if t.passed == nil {
			t.passed = map[int]bool{}
		}
		t.passed[id] = true
	}
}
