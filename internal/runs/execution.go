package runs

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/sandbox"
)

// execute runs the program to its end.
func (x *execution) execute(p sandbox.Program) (*sandbox.Result, error) {
	guest, err := x.start(p)
	if err != nil {
		return &sandbox.Result{}, err
	}
	x.enter(guest)
	return x.drive(guest)
}

// start starts the program in a guest of its own, or in its session.
func (x *execution) start(p sandbox.Program) (*sandbox.Run, error) {
	if x.use == nil {
		return x.engine.Start(x.ctx, p, x.host)
	}
	return x.use.Start(x.ctx, p, x.host)
}

// resumeImage continues the program, which was parked.
func (x *execution) resumeImage(image []byte) (*sandbox.Run, error) {
	if x.use == nil {
		return x.engine.Resume(x.ctx, image, x.watched(), x.host)
	}
	return x.use.Resume(x.ctx, image, x.watched(), x.host)
}

// watched is what a resumed program needs besides its image.
func (x *execution) watched() sandbox.Program {
	p := sandbox.Program{Lookup: x.program.Lookup, Watch: x.events.Watch, Watching: x.events.Watched,
		Waits: x.request.away, Names: x.names().Answer}
	if x.use != nil {
		p.Earlier = x.earlier
	}
	return p
}

// names says what the names in the program mean, at each moment.
func (x *execution) names() *registry.Names { return x.e.tools.Names(x.policy) }

// drive waits for the end of a run, over all of its guests.
func (x *execution) drive(guest *sandbox.Run) (*sandbox.Result, error) {
	for {
		result, err := guest.Wait()
		if !errors.Is(err, sandbox.ErrParked) {
			return result, err
		}
		image, err := x.awaitAnswer()
		if err != nil {
			return &sandbox.Result{}, err
		}
		if guest, err = x.resumeImage(image); err != nil {
			return &sandbox.Result{}, err
		}
		x.events.Add(Event{Kind: RunResumed})
		x.enter(guest)
	}
}

// awaitAnswer waits, without a guest, until there is an answer for the program, or the run ends. It returns the image
// to resume.
func (x *execution) awaitAnswer() ([]byte, error) {
	x.parking.Lock() // until parking is complete
	defer x.parking.Unlock()
	if x.use != nil {
		x.use.Rest()
	}
	for {
		x.seat.mu.Lock()
		n, image := len(x.seat.settled), x.seat.image
		x.seat.mu.Unlock()
		switch {
		case x.leaving():
			return nil, &sandbox.Error{Kind: sandbox.Canceled,
				Message: "it waits for a person, and another process resumes it", Err: context.Cause(x.ctx)}
		case n > 0 || x.ctx.Err() != nil:
			return image, nil // also if the run has ended: the guest is resumed for what it printed
		}
		x.parking.Unlock()
		select {
		case <-x.seat.news:
		case <-x.ctx.Done():
		}
		x.parking.Lock()
	}
}

// enter sets the current guest of the run, and delivers the answers that came while there was none.
func (x *execution) enter(guest *sandbox.Run) {
	x.begun.Store(x.run)
	x.order.begin(guest.Earlier() + 1)
	defer x.events.Happened()
	x.seat.mu.Lock()
	defer x.seat.mu.Unlock()
	x.e.parked.remove(x)
	x.seat.take(guest)
	x.schedulePark()
}

// host passes a call of the sandbox to the Gate. A call that waits for a person is answered later, so that the run can
// be parked meanwhile.
func (x *execution) host(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
	x.request.away()
	in := x.invocation(c.ID)
	in.Name, in.Args = c.Name, c.Args
	in.Pause = func() func() { return x.seat.pause(&pause{call: c.ID, resume: c.Pause()}) }
	type outcome struct {
		value json.RawMessage
		err   error
	}
	asking, done := make(chan struct{}), make(chan outcome, 1)
	var once sync.Once
	in.Asking = func() func() {
		once.Do(func() { close(asking) })
		x.events.Add(Event{Kind: CallAsked, Call: c.ID, Tool: c.Name})
		return x.wait(c.ID)
	}
	at := place{&x.order, c.ID}
	in.Order = at
	defer at.Sent() // whatever happens
	defer at.Admitted()
	if !x.order.admission.wait(x.calls, c.ID) {
		return nil, context.Cause(ctx)
	}
	select {
	case x.slots <- struct{}{}:
	case <-x.calls.Done():
		return nil, context.Cause(ctx)
	}
	x.e.life.Running.Go(func() { // ends when the call does, which Close waits for. When we are closed, x.calls ends
		defer func() { <-x.slots }()
		GrowStack()
		value, err := x.call(x.calls, in, x.run.Call)
		select {
		case <-asking:
			x.seat.settle(c.ID, value, err)
		default:
			done <- outcome{value, err}
		}
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-asking:
		return nil, sandbox.ErrLater
	case <-ctx.Done(): // the run is over; the outcome of the call is recorded all the same, and Close waits for it
		return nil, context.Cause(ctx)
	}
}

// invocation describes a call to the Gate, apart from its name and arguments.
func (x *execution) invocation(id int) hostfns.Invocation {
	return hostfns.Invocation{
		ID: id, Progress: x.seat.progress,
		Carried: func() context.Context { return x.carried },
		Claim:   func(ctx context.Context) error { return x.claim(ctx, []int{id}) },
		Pause:   func() func() { return x.seat.pause(&pause{call: id}) },
		Asking:  func() func() { return x.wait(id) },
	}
}

// call passes a call to the Gate. Close waits for calls that outlive their run, so that their outcome is recorded.
func (x *execution) call(ctx context.Context, in hostfns.Invocation,
	through func(context.Context, hostfns.Invocation) (json.RawMessage, error)) (json.RawMessage, error) {
	value, err := through(ctx, in)
	x.events.Called(in.ID, in.Name, func() hostfns.Report {
		if report, ok := x.run.Report(in.ID); ok {
			return report
		}
		return hostfns.ReportOf(&in, err)
	})
	if thrown, ok := errors.AsType[*hostfns.Exception](err); ok {
		return nil, &sandbox.Throw{Class: thrown.Class, Message: thrown.Message, Props: thrown.Props}
	}
	if err == nil {
		x.asking.Provenance.Answered(in.ID, in.Name, value)
		x.parts.Result(in.Name, value)
	}
	return value, err
}

// resume continues a call that waited for a person in another process.
func (x *execution) resume(id int) {
	in := x.invocation(id)
	if was := x.asking.Earlier(id); was != nil {
		in.Put, in.Connecting = was.Kind() != "account", was.Kind() == "account"
	}
	x.slots <- struct{}{} // also if the run has ended: the Gate then records that of the call
	defer func() { <-x.slots }()
	value, err := x.call(x.calls, in, x.run.Resume)
	x.seat.settle(id, value, err)
}

// GrowStack gives a new goroutine at once the stack that a call needs. Growing it several times on the way, with more
// to copy each time, costs a recorded call 13 % of its processor time.
//
//go:noinline
func GrowStack() {
	var room [12 << 10]byte
	use(&room)
}

//go:noinline
func use(*[12 << 10]byte) {}

// wait notes that a call waits for a person. Its slot is free for other calls meanwhile.
func (x *execution) wait(call int) (over func()) {
	x.seat.mu.Lock()
	x.seat.waits[call] = true
	x.schedulePark()
	x.seat.mu.Unlock()
	<-x.slots
	return func() {
		x.events.Happened()
		x.seat.stopWaiting([]int{call})
		x.slots <- struct{}{} // a call that holds a slot does not wait for a call that waits here
	}
}
