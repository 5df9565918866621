package runs

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/codemode-project/codemode/sandbox"
)

// A seat is where a run is: in a guest, or in an image of one while it waits for people. Calls, pauses of the clock and
// answers belong to the run, whichever guest it has.
type seat struct {
	mu            sync.Mutex
	guest         *sandbox.Run // nil while it is parked, and before it starts
	image         []byte       // the image of the parked run
	waits         map[int]bool // the calls that wait for a person
	pauses        map[*pause]bool
	settled       []settled          // answers that have not reached a guest yet
	news          chan struct{}      // an answer was added to settled
	unpark        context.CancelFunc // cancels the attempt to park that is under way
	parkScheduled bool               // an attempt to park is scheduled
}

type settled struct {
	call  int
	value json.RawMessage
	err   error
}

// A pause stops the clock of the run while a person is awaited.
type pause struct {
	call   int
	resume func() // restarts the clock of the guest; nil while there is none
}

// take makes a guest the current one, and gives it the answers that came while there was none. The caller holds t.mu.
func (t *seat) take(guest *sandbox.Run) {
	t.guest, t.image = guest, nil
	open := map[int]*sandbox.Call{}
	for _, c := range guest.Open() {
		open[c.ID] = c
	}
	for p := range t.pauses {
		if c := open[p.call]; c != nil && p.resume == nil {
			p.resume = c.Pause()
		}
	}
	for _, s := range t.settled {
		guest.Settle(s.call, s.value, s.err)
	}
	t.settled = nil
}

// vacate notes that the guest is parked as an image. It returns the open calls, or none if one of them has its answer
// already, which the stored state would lack.
func (t *seat) vacate(image []byte, open []*sandbox.Call) []*sandbox.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unpark, t.guest, t.image = nil, nil, image
	for p := range t.pauses {
		p.resume = nil
	}
	for _, c := range open {
		if !t.waits[c.ID] {
			return nil
		}
	}
	return open
}

// waiting reports whether a call waits for a person.
func (t *seat) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waits) > 0
}

// progress is the progress of the current guest. A run without a guest makes no further calls.
func (t *seat) progress() (calls int, waiting bool) {
	t.mu.Lock()
	guest := t.guest
	t.mu.Unlock()
	if guest == nil {
		return 0, true
	}
	for _, c := range guest.Open() {
		return c.Progress()
	}
	return 0, true
}

// pause stops the clock of the run until resume is called, whichever guest the run has by then.
func (t *seat) pause(p *pause) (resume func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.resume == nil && t.guest != nil {
		for _, c := range t.guest.Open() {
			if c.ID == p.call {
				p.resume = c.Pause()
			}
		}
	}
	t.pauses[p] = true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.pauses, p)
		if p.resume != nil {
			p.resume()
		}
	}
}

// stopWaiting records that calls no longer wait for a person, and cancels an attempt to park.
func (t *seat) stopWaiting(calls []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range calls {
		delete(t.waits, c)
	}
	if t.unpark != nil {
		t.unpark()
	}
}

// settle delivers the answer to a call to the program, now or when the run has a guest again.
func (t *seat) settle(call int, value json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guest != nil && t.guest.Settle(call, value, err) {
		return
	}
	t.settled = append(t.settled, settled{call, value, err})
	select {
	case t.news <- struct{}{}:
	default:
	}
}
