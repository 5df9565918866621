package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/fair"
)

// Run runs p in a fresh guest and performs its calls through h. The Result is
// never nil; the error is an [*Error] if the run ended without a value.
//
// Cancelling ctx ends the run. It also cancels the contexts of calls that the Host is performing, and Run does not wait
// for them.
func (e *Engine) Run(ctx context.Context, p Program, h Host) (*Result, error) {
	return here(e.ready(ctx, p, h))
}

// Start is Run in the background: [Run.Wait] returns the answer.
func (e *Engine) Start(ctx context.Context, p Program, h Host) (*Run, error) {
	return behind(e.ready(ctx, p, h))
}

func (e *Engine) ready(ctx context.Context, p Program, h Host) (*Run, error) {
	p.Owner = fair.In(e.tenant, p.Owner)
	return e.prepare(ctx, p, guestCost, 0, h, e.get)
}

// here drives a run on the goroutine of its caller, who waits for it.
func here(r *Run, err error) (*Result, error) {
	if err != nil {
		return &Result{}, err
	}
	r.callers = true
	if !r.drive() {
		<-r.done
	}
	return r.result, r.err
}

// behind drives a run on a goroutine of its own.
func behind(r *Run, err error) (*Run, error) {
	if err != nil {
		return nil, err
	}
	r.done = make(chan struct{})
	go r.drive()
	return r, nil
}

// prepare makes a run. get returns its guest. The run needs need bytes of the engine's memory; the caller already holds
// have of them, and prepare acquires the rest.
func (e *Engine) prepare(ctx context.Context, p Program, need, have int64, h Host,
	get func(context.Context, int64) (*guest, error)) (*Run, error) {
	limits := p.Limits.withDefaults()
	if len(p.Source) > limits.ProgramBytes {
		return nil, &Error{Kind: Refused, Message: fmt.Sprintf("the program has %d bytes; %d are allowed", len(p.Source),
			limits.ProgramBytes)}
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{Kind: Canceled, Message: "canceled before it started", Err: context.Cause(ctx)}
	}
	if err := e.admit(ctx, p.Owner, need-have); err != nil {
		return nil, err
	}
	g, err := get(ctx, limits.Memory)
	if err != nil {
		e.memory.Release(p.Owner, need-have)
	}
	if errors.Is(err, ErrClosed) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Kind: Crashed, Message: "cannot make a guest", Err: err}
	}
	return newRun(ctx, e, g, p, limits, h, need), nil
}

// admit acquires memory for a new run from its owner's share, and waits until it is available.
func (e *Engine) admit(ctx context.Context, owner string, n int64) error {
	if e.warm.any() && !e.memory.Fits(owner, n) {
		e.warm.coolAll()
	}
	switch err := e.memory.Acquire(ctx, owner, n); {
	case err == nil:
		return nil
	case fair.IsFull(err) != nil:
		return &Error{Kind: Refused, Message: "not started: " + err.Error(), Err: err}
	default:
		return &Error{Kind: Canceled, Message: "canceled before it started", Err: err}
	}
}

func newRun(ctx context.Context, e *Engine, g *guest, p Program, limits Limits, h Host, reserved int64) *Run {
	r := &Run{engine: e, program: p, host: h, limits: limits, guest: g, parent: ctx, wake: g.wake}
	g.run = r
	r.wall.started = now()
	r.steps.limit = limits.Steps
	g.clock = tick(r.wall.started)
	r.memory = footprint{engine: e.core, owner: p.Owner, limit: int(limits.Memory), size: g.mem.Size, reserved: reserved}
	g.mem.MayGrow = func(size int) bool { return r.memory.mayGrow(ctx, g, size) }
	g.mem.Limit = int(min(limits.Memory, int64(g.mem.Most))) / wasmPage * wasmPage
	return r
}
