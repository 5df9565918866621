package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// Progress returns how many calls of the run the Host has received, and whether the program waits and will make no
// further call before an answer or a timer.
func (c *Call) Progress() (calls int, waiting bool) {
	r := c.run
	if r == nil {
		return 0, false
	}
	waiting = r.idle.Load() // first: so that later calls count
	r.mu.Lock()
	defer r.mu.Unlock()
	calls = r.calls - len(r.queue)
	if r.next != nil {
		calls--
	}
	return calls, waiting
}

// Pause stops the run's wall clock while the run waits for a person. The returned function restarts it; callers may
// call it more than once.
func (c *Call) Pause() (resume func()) {
	r := c.run
	if r == nil {
		return func() {}
	}
	r.wall.pause()
	r.notify()
	return sync.OnceFunc(func() {
		r.wall.resume()
		r.notify()
	})
}

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

// maxName is the maximum length of a name. Hosts keep the names of a run's calls, and a program can make one of
// megabytes.
const maxName = 1 << 10

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

// call implements codemode_call: it copies the name and the arguments, starts or queues the call, and returns its id.
func (r *Run) call(name, args []byte) int32 {
	c, why := r.made(name, args)
	if c == nil {
		return why
	}
	r.watch(r.guest, c, false)
	return int32(c.ID)
}

// made adds a call to the run, or says why it does not.
func (r *Run) made(name, args []byte) (c *Call, why int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, callEnded
	}
	if r.calls >= r.limits.Calls {
		return nil, callTooMany
	}
	if !r.memory.hold(len(args)) {
		return nil, callNoRoom
	}
	args = append(make([]byte, 0, len(args)), args...)
	c = &Call{ID: r.calls + 1, Name: callName(name, &r.lastName), Args: args, run: r}
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancelCause(r.parent)
	}
	r.calls++
	r.start(c)
	return c, 0
}

// start queues c if too many calls are in progress. Otherwise c starts as soon as the program waits, polls or makes
// another call. The caller holds r.mu.
func (r *Run) start(c *Call) {
	r.open = append(r.open, c)
	if r.inFlight >= r.limits.InFlight {
		r.queue = append(r.queue, c)
		return
	}
	r.inFlight++
	if r.next != nil {
		go r.perform(r.next)
	}
	r.next = c
}

// performNext starts the latest call.
func (r *Run) performNext() {
	if r.next == nil {
		return
	}
	r.mu.Lock()
	c := r.next
	r.next = nil
	r.mu.Unlock()
	go r.perform(c)
}

// performLast is performNext for a waiting program. If no other call is in progress, and alone says that this goroutine
// has nothing else to do soon, it performs the call itself. It reports whether this goroutine still drives the run.
func (r *Run) performLast(alone bool) bool {
	r.mu.Lock()
	alone = alone && r.inFlight == 1 && len(r.answers) == 0
	if alone && r.callers {
		r.callers = false
		r.done = make(chan struct{})
		r.mu.Unlock()
		go r.drive()
		return false
	}
	c := r.next
	r.next = nil
	r.idle.Store(true)
	if alone {
		r.away.Store(int64(c.ID))
		r.setRelief()
	}
	r.mu.Unlock()
	if !alone {
		go r.perform(c)
		return true
	}
	a := r.ask(c)
	drives := r.away.CompareAndSwap(int64(c.ID), 0)
	next := r.performed(c, a)
	switch {
	case !drives:
		r.notify()
		r.perform(next)
	case next != nil:
		go r.perform(next)
	}
	return drives
}

// reliefAfter is the longest time that a run's goroutine performs a call while no goroutine drives the run.
const reliefAfter = 10 * time.Millisecond

// errRelieved says that another goroutine drives the run now.
var errRelieved = errors.New("relieved")

// relieve makes another goroutine drive the run if its own is performing a call.
func (r *Run) relieve() {
	if id := r.away.Load(); id != 0 && r.away.CompareAndSwap(id, 0) {
		go r.drive()
	}
}

// setRelief calls relieve in at most reliefAfter. The caller holds r.mu.
func (r *Run) setRelief() {
	switch {
	case r.reliefSet: // for an earlier call; firing too early for this one costs less than a reset
	case r.relief == nil:
		r.relief = time.AfterFunc(reliefAfter, func() {
			r.mu.Lock()
			r.reliefSet = false
			r.mu.Unlock()
			r.relieve()
		})
	default:
		r.relief.Reset(reliefAfter)
	}
	r.reliefSet = true
}

// perform performs calls, c and then queued ones, until none is left.
func (r *Run) perform(c *Call) {
	for c != nil {
		c = r.performed(c, r.ask(c))
		r.notify()
	}
}

// performed handles the answer of c, and returns the next call to perform, or nil.
func (r *Run) performed(c *Call, a answer) (next *Call) {
	done := 0
	r.mu.Lock()
	switch {
	case r.ended:
		done = c.held()
	case !errors.Is(a.err, ErrLater):
		done = c.held()
		r.answered(a)
	}
	if len(r.queue) > 0 && !r.ended {
		next, r.queue[0] = r.queue[0], nil
		r.queue = r.queue[1:]
	} else {
		r.inFlight--
	}
	r.mu.Unlock()
	r.engine.dump.add(done)
	return next
}

// A Host returns ErrLater for a call that [Run.Settle] will answer. The host holds nothing for it meanwhile, and Park
// can park a run if all its open calls are of this kind.
var ErrLater = errors.New("the answer comes later")

// Settle answers a call for which the Host returned [ErrLater]. It reports whether such a call was open. A call gets at
// most one answer.
func (r *Run) Settle(id int, value json.RawMessage, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.opened(id); !ok || r.ended {
		return false
	}
	r.answered(answer{id, value, err})
	r.notify()
	return true
}

// Open lists the unanswered calls, oldest first.
func (r *Run) Open() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.open)
}

// opened finds an open call. The caller holds r.mu.
func (r *Run) opened(id int) (at int, ok bool) {
	return slices.BinarySearchFunc(r.open, id, func(c *Call, id int) int { return c.ID - id })
}

// ask calls the Host. A panic in the Host fails only this call, and so does the end of its goroutine.
func (r *Run) ask(c *Call) (a answer) {
	returned := false
	defer func() {
		if returned {
			return
		}
		a = answer{id: c.ID, err: &Throw{Class: "Error", Message: "the host failed to perform this call",
			Props: map[string]any{"toolName": c.Name}}}
		if recover() == nil { // runtime.Goexit: this goroutine executes nothing after this
			r.relieve()
			go func() {
				next := r.performed(c, a)
				r.notify()
				r.perform(next)
			}()
		}
	}()
	v, err := r.host(r.ctx, c)
	returned = true
	return answer{c.ID, v, err}
}

// notify makes wait check again.
func (r *Run) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	r.relieve()
}
