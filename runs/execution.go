package runs

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
)

// An execution is one run from its start to its end, over as many guests as it
// takes: while it waits for nothing but people it is parked, and has none.
type execution struct {
	e       *Executor
	request Request
	policy  *inforce.Policy
	program *analysis.Program
	resp    *Response
	limits  sandbox.Limits
	asking  *asking.Prompter
	run     *hostfns.Run
	engine  Engine
	started time.Time

	ctx    context.Context // of the run; what it is canceled with says why
	cancel context.CancelCauseFunc
	calls  context.Context // of its calls: ends when the program does
	ended  context.CancelCauseFunc
	// carried is of the calls that a person has allowed: it outlives the program, but not those who wait for the run.
	carried context.Context

	parking sync.Mutex       // one attempt to park, or one claim, at a time; guards row and kept
	row     *store.ParkedRun // as the database has the run; nil if it does not
	kept    bool             // an image of it was there

	given atomic.Bool // another process goes on with the run, or may

	mu       sync.Mutex
	guest    *sandbox.Run // nil while it is parked, and before it starts
	image    []byte       // what it was parked as
	waits    map[int]bool // the calls that wait for a person, and for nothing that was done already
	pauses   map[*pause]bool
	settled  []settled          // answers that no guest has taken
	news     chan struct{}      // there is a settled answer
	unpark   context.CancelFunc // ends the attempt to park that is under way
	expected bool               // an attempt to park is going to be made
	slots    chan struct{}      // one for each call under way that waits for no person
}

type settled struct {
	call  int
	value json.RawMessage
	err   error
}

// A pause is a person's time, which does not count as the run's.
type pause struct {
	call   int
	resume func() // lets the clock of the guest go on; nil while there is none
}

// parker is an [Engine] whose runs can be parked.
type parker interface {
	Engine
	Start(ctx context.Context, p sandbox.Program, h sandbox.Host) (*sandbox.Run, error)
	Resume(ctx context.Context, image []byte, lookup func(line, column int) (int, int), h sandbox.Host) (*sandbox.Run, error)
	Hash() string
}

// parkAfter is how long a run waits for people in its guest: somebody who
// answers at once need not wait for it to be put away and taken out again.
const parkAfter = 300 * time.Millisecond

// execute runs the program to its end.
func (x *execution) execute(p sandbox.Program) (*sandbox.Result, error) {
	engine, ok := x.engine.(parker)
	if !ok {
		return x.engine.Run(x.ctx, p, func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
			return x.call(ctx, hostfns.Invocation{ID: c.ID, Name: c.Name, Args: c.Args, Pause: c.Pause, Progress: c.Progress, Carried: x.carry}, x.run.Call)
		})
	}
	guest, err := engine.Start(x.ctx, p, x.host)
	if err != nil {
		return &sandbox.Result{}, err
	}
	x.take(guest)
	return x.drive(engine, guest)
}

// drive sees a run through the guests that it has.
func (x *execution) drive(engine parker, guest *sandbox.Run) (*sandbox.Result, error) {
	for {
		result, err := guest.Wait()
		if !errors.Is(err, sandbox.ErrParked) {
			return result, err
		}
		image, err := x.rest()
		if err != nil {
			return &sandbox.Result{}, err
		}
		if guest, err = engine.Resume(x.ctx, image, x.program.Lookup, x.host); err != nil {
			return &sandbox.Result{}, err
		}
		x.take(guest)
	}
}

// rest waits, without a guest, until there is an answer for the program, or the run ends.
func (x *execution) rest() ([]byte, error) {
	x.parking.Lock() // until it is parked as far as it is going to be
	defer x.parking.Unlock()
	for {
		x.mu.Lock()
		n, image := len(x.settled), x.image
		x.mu.Unlock()
		switch {
		case x.leaving():
			return nil, &sandbox.Error{Kind: sandbox.Canceled, Message: "it waits for a person, and goes on in another process", Err: context.Cause(x.ctx)}
		case n > 0 || x.ctx.Err() != nil:
			return image, nil // also to be ended: then what it printed is not lost
		}
		x.parking.Unlock()
		select {
		case <-x.news:
		case <-x.ctx.Done():
		}
		x.parking.Lock()
	}
}

// take makes a guest the one that the run is in.
func (x *execution) take(guest *sandbox.Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.guest, x.image = guest, nil
	x.e.parked.leave(x)
	open := map[int]*sandbox.Call{}
	for _, c := range guest.Open() {
		open[c.ID] = c
	}
	for p := range x.pauses {
		if c := open[p.call]; c != nil && p.resume == nil {
			p.resume = c.Pause()
		}
	}
	for _, s := range x.settled {
		guest.Settle(s.call, s.value, s.err)
	}
	x.settled = nil
	x.expect()
}

// host joins the sandbox to the Gate. A call that waits for a person is
// answered later, so that the run can be parked meanwhile.
func (x *execution) host(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
	if caller := x.request.Caller; caller != nil && caller.Waits != nil {
		caller.Waits()
	}
	in := hostfns.Invocation{ID: c.ID, Name: c.Name, Args: c.Args, Progress: x.progress, Carried: x.carry}
	in.Claim = func(ctx context.Context) error { return x.claim(ctx, []int{c.ID}) }
	in.Pause = func() func() { return x.pause(&pause{call: c.ID, resume: c.Pause()}) }
	type outcome struct {
		value json.RawMessage
		err   error
	}
	asking, done := make(chan struct{}), make(chan outcome, 1)
	var once sync.Once
	in.Asking = func() func() {
		once.Do(func() { close(asking) })
		return x.wait(c.ID)
	}
	if !x.slot() {
		return nil, context.Cause(ctx)
	}
	x.e.life.Running.Go(func() { // ends when the call does, which Close waits for. When we are closed, x.calls ends
		defer func() { <-x.slots }()
		growStack()
		value, err := x.call(x.calls, in, x.run.Call)
		select {
		case <-asking:
			x.settle(c.ID, value, err)
		default:
			done <- outcome{value, err}
		}
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-asking:
		return nil, sandbox.ErrLater
	case <-ctx.Done(): // the run is over; what becomes of the call is recorded, and waited for by Close
		return nil, context.Cause(ctx)
	}
}

func (x *execution) carry() context.Context { return x.carried }

// growStack makes the stack of a new goroutine as large as a call needs, while there is little on it that has to be
// moved. Growing it on the way, several times, took a twentieth of the time of a call.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	keep(&room)
}

//go:noinline
func keep(*[12 << 10]byte) {}

// call puts a call through the Gate. One that outlives its run is waited for
// by Close, so that what became of it is recorded.
func (x *execution) call(ctx context.Context, in hostfns.Invocation, through func(context.Context, hostfns.Invocation) (json.RawMessage, error)) (json.RawMessage, error) {
	value, err := through(ctx, in)
	if thrown, ok := errors.AsType[*hostfns.Exception](err); ok {
		return nil, &sandbox.Throw{Class: thrown.Class, Message: thrown.Message, Props: thrown.Props}
	}
	if err == nil {
		x.asking.Provenance.Answered(in.ID, in.Name, value)
	}
	return value, err
}

// resume goes on with a call that waited for a person in another process.
func (x *execution) resume(id int) {
	in := hostfns.Invocation{ID: id, Progress: x.progress, Carried: x.carry, Put: x.asking.Earlier(id) != nil}
	in.Claim = func(ctx context.Context) error { return x.claim(ctx, []int{id}) }
	in.Pause = func() func() { return x.pause(&pause{call: id}) }
	in.Asking = func() func() { return x.wait(id) }
	x.slots <- struct{}{} // also if the run has ended, which is recorded of the call then
	defer func() { <-x.slots }()
	value, err := x.call(x.calls, in, x.run.Resume)
	x.settle(id, value, err)
}

// slot waits until one more call may be under way. False means that the run has ended first.
func (x *execution) slot() bool {
	select {
	case x.slots <- struct{}{}:
		return true
	case <-x.calls.Done():
		return false
	}
}

// progress is that of the guest of this moment. A run without one has made all the calls it can make.
func (x *execution) progress() (calls int, waiting bool) {
	x.mu.Lock()
	guest := x.guest
	x.mu.Unlock()
	if guest == nil {
		return 0, true
	}
	for _, c := range guest.Open() {
		return c.Progress()
	}
	return 0, true
}

// pause counts a person's time out of the run's, whatever guest it is in when that ends.
func (x *execution) pause(p *pause) (resume func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.resume == nil && x.guest != nil {
		for _, c := range x.guest.Open() {
			if c.ID == p.call {
				p.resume = c.Pause()
			}
		}
	}
	x.pauses[p] = true
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.pauses, p)
		if p.resume != nil {
			p.resume()
		}
	}
}

// wait notes that a call waits for a person. Others take its place meanwhile.
func (x *execution) wait(call int) (over func()) {
	x.mu.Lock()
	x.waits[call] = true
	x.expect()
	x.mu.Unlock()
	<-x.slots
	return func() {
		x.goesOn([]int{call})
		x.slots <- struct{}{} // those who have one need nobody who waits here
	}
}

// expect has the run parked before long. The caller holds x.mu.
func (x *execution) expect() {
	if x.expected || len(x.waits) == 0 {
		return
	}
	x.expected = true
	x.e.life.Background(func() {
		select {
		case <-time.After(parkAfter):
			x.park()
			if x.e.draining() {
				x.leave()
			}
		case <-x.calls.Done():
		}
	})
}

func (x *execution) goesOn(calls []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range calls {
		delete(x.waits, c)
	}
	if x.unpark != nil {
		x.unpark()
	}
}

// settle gives the program the answer to a call, now or when it is in a guest again.
func (x *execution) settle(call int, value json.RawMessage, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.guest != nil && x.guest.Settle(call, value, err) {
		return
	}
	x.settled = append(x.settled, settled{call, value, err})
	select {
	case x.news <- struct{}{}:
	default:
	}
}
