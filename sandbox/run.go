package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Run runs p in a fresh guest and performs its calls through h. The Result is
// never nil; the error is an [*Error] if the run ended without a value.
//
// Cancelling ctx ends the run. Calls that are with the Host then are told
// through their context, and Run does not wait for them.
func (e *Engine) Run(ctx context.Context, p Program, h Host) (*Result, error) {
	r, err := e.prepare(ctx, p, h)
	if err != nil {
		return &Result{}, err
	}
	r.drive()
	return r.result, r.err
}

// Start is Run in the background: the answer comes from [Run.Wait].
func (e *Engine) Start(ctx context.Context, p Program, h Host) (*Run, error) {
	r, err := e.prepare(ctx, p, h)
	if err != nil {
		return nil, err
	}
	go r.drive()
	return r, nil
}

// prepare makes a run and the guest it will use.
func (e *Engine) prepare(ctx context.Context, p Program, h Host) (*Run, error) {
	limits := p.Limits.withDefaults()
	if len(p.Source) > limits.ProgramBytes {
		return nil, &Error{Kind: Refused, Message: fmt.Sprintf("the program has %d bytes; %d are allowed", len(p.Source), limits.ProgramBytes)}
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{Kind: Canceled, Message: "canceled before it started", Err: context.Cause(ctx)}
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	g, err := e.get(ctx, limits.Memory)
	if err != nil {
		e.runs.Done()
		return nil, &Error{Kind: Crashed, Message: "no guest could be made", Err: err}
	}
	return newRun(ctx, e, g, p, limits, h), nil
}

func newRun(ctx context.Context, e *Engine, g *guest, p Program, limits Limits, h Host) *Run {
	r := &Run{engine: e, program: p, host: h, limits: limits, guest: g, parent: ctx, started: now(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	g.run = r
	g.clock = r.started
	r.size = g.mem.size
	g.mem.mayGrow = r.mayGrow
	g.mem.limit = int(min(limits.Memory, int64(g.mem.most))) / wasmPage * wasmPage
	return r
}

var errEnded = errors.New("the run has ended")

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	set(&l.CPU, d.CPU)
	set(&l.Wall, d.Wall)
	set(&l.Memory, d.Memory)
	set(&l.Calls, d.Calls)
	set(&l.InFlight, d.InFlight)
	set(&l.ArgumentBytes, d.ArgumentBytes)
	set(&l.ResultBytes, d.ResultBytes)
	set(&l.ConsoleBytes, d.ConsoleBytes)
	set(&l.ProgramBytes, d.ProgramBytes)
	return l
}

func set[T int | int64 | time.Duration](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}

// A Run is one execution. One goroutine drives the guest; the calls have
// goroutines of their own and leave their answers in answers.
type Run struct {
	// Fixed at the start.
	engine  *Engine
	program Program
	host    Host
	limits  Limits
	parent  context.Context
	ctx     context.Context // of the calls: ends with the run
	cancel  context.CancelCauseFunc
	started time.Duration
	wake    chan struct{} // something changed that wait looks at
	done    chan struct{}

	// Only the driving goroutine, until done is closed.
	guest   *guest
	resumed bool
	cpu     time.Duration
	stop    Kind          // why mustStop said so; 0 (Crashed) while it has not
	timer   *time.Timer   // of wait; nil until it first waits
	rings   time.Duration // when the timer does; 0 when it has
	spare   []answer      // what wait returned last, to be filled again
	taken   int           // bytes of answers that the guest has now
	result  *Result
	err     error

	idle atomic.Bool // the guest waits for answers

	mu          sync.Mutex
	ended       bool
	calls       int
	inFlight    int
	queue       []*Call
	open        map[int]*Call // with the Host, or left for later
	answers     []answer
	held        int // bytes of open and answers, and of those that are settled now
	size        int // of the guest's memory
	pauses      int
	pausedSince time.Duration
	paused      time.Duration
	park        *parking
}

// Wait blocks until the run has ended and returns what [Engine.Run] would. For
// a run that was parked the error is [ErrParked].
func (r *Run) Wait() (*Result, error) {
	<-r.done
	return r.result, r.err
}

type answer struct {
	id    int
	value json.RawMessage
	err   error
}

// mustStop decides whether the guest has to stop now; it is asked while the
// guest computes.
func (r *Run) mustStop(t, cpu time.Duration) bool {
	switch {
	case r.stop != 0:
	case cpu > r.limits.CPU || r.wall(t) > r.limits.Wall:
		r.stop = TimedOut
	case r.parent.Err() != nil:
		r.stop = Canceled
	default:
		return false
	}
	return true
}

// wall is the time since the start without what was paused.
func (r *Run) wall(t time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := t - r.started - r.paused
	if r.pauses > 0 {
		d -= t - r.pausedSince
	}
	return d
}

// drive runs the program to its end, or until it is parked.
func (r *Run) drive() {
	defer r.engine.runs.Done()
	g := r.guest
	r.result, r.err = r.loop(g)
	if r.timer != nil {
		r.timer.Stop()
	}
	r.cancel(errEnded)
	r.mu.Lock()
	r.ended = true
	unused := 0
	for _, c := range r.queue {
		unused += c.held()
	}
	for _, a := range r.answers {
		unused += len(a.value)
	}
	r.queue, r.answers = nil, nil
	if !errors.Is(r.err, ErrParked) {
		r.open = nil
	}
	r.mu.Unlock()
	r.guest = nil
	r.engine.put(g)
	close(r.done)
	r.engine.dump.add(unused)
}

func (r *Run) loop(g *guest) (*Result, error) {
	if !r.resumed {
		g.enter()
		err := r.begin(g)
		g.leave()
		if err != nil {
			return r.failed(g, err)
		}
	}
	for g.shared.uint32(sharedStatus) == statusWaiting {
		r.idle.Store(true)
		answers, err := r.wait(g)
		r.idle.Store(false)
		if errors.Is(err, ErrParked) {
			return r.left(g), err
		}
		if err != nil {
			return r.failed(g, err)
		}
		if r.mustStop(now(), r.cpu) { // a guest that were taken over need not report in, and could be woken for ever
			return r.failed(g, errStop)
		}
		g.enter()
		err = r.proceed(g, answers)
		g.leave()
		clear(answers)
		r.engine.dump.add(r.taken)
		r.taken = 0
		if err != nil {
			return r.failed(g, err)
		}
	}
	return r.finished(g)
}

// proceed hands answers to the guest and runs the program until it waits again.
func (r *Run) proceed(g *guest, answers []answer) error {
	for i, a := range answers {
		answers[i] = answer{}
		r.taken += len(a.value)
		if err := r.settle(g, a); err != nil {
			return err
		}
	}
	return g.call(doPump)
}

// begin hands the guest its limits, its randomness and the program, and runs
// the program until it first waits.
func (r *Run) begin(g *guest) error {
	p := &r.program
	var seed [40]byte // for crypto, and for Math.random
	if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("reading randomness: %w", err)
	}
	g.shared.write(sharedSeed, seed[:])
	g.shared.setUint32(sharedConsoleMax, clampUint32(r.limits.ConsoleBytes))
	g.shared.setUint32(sharedArgsMax, clampUint32(r.limits.ArgumentBytes))
	g.shared.setUint32(sharedResultMax, clampUint32(r.limits.ResultBytes))
	g.shared.setUint32(sharedFlags, flagBigIntegers)
	name := p.Name
	if name == "" {
		name = defaultName
	}
	if err := g.write([]byte(p.Source), []byte(name), p.Input); err != nil {
		return err
	}
	return g.call(doStart, uint64(len(p.Source)), uint64(len(name)), uint64(len(p.Input)))
}

const defaultName = "program.js"

// trimAfter is how long a run has waited when memory is given up that it does
// not need for it. Getting it back takes some microseconds.
const trimAfter = 10 * time.Millisecond

// wait blocks until there are answers, a timer is due, or the run must stop.
func (r *Run) wait(g *guest) ([]answer, error) {
	due := time.Duration(-1)
	if t := g.shared.float64(sharedNextTimer); t >= 0 {
		due = g.clock + time.Duration(t)*time.Millisecond
	}
	if g.shared.uint32(sharedPending) == 0 && due < 0 {
		r.stop = Abandoned
		return nil, errStop
	}
	var since time.Duration // when it began to sleep here
	yielded, trimmed := false, false
	for {
		t := now()
		r.mu.Lock()
		answers := r.answers
		r.answers, r.spare = r.spare[:0], nil
		running, busy := r.pauses == 0, r.inFlight > 0
		park := r.park
		if park != nil && park.wanted > 0 && len(answers) == 0 && r.inFlight == 0 && len(r.open) > 0 {
			r.ended = true // an answer that came now would be in neither run
		} else {
			park = nil
		}
		r.mu.Unlock()
		if park != nil {
			return nil, r.parkNow(g, park)
		}
		r.spare = answers // until the next time here, when it was read
		if len(answers) > 0 || due >= 0 && t >= due {
			return answers, nil
		}
		if busy && !yielded {
			// A Host that has its answer at once gives it now, which costs a
			// fifth of what being woken would.
			yielded = true
			runtime.Gosched()
			continue
		}
		left := r.limits.Wall - r.wall(t)
		switch {
		case running && left <= 0:
			r.stop = TimedOut
			return nil, errStop
		case !running:
			left = time.Hour
		}
		if due >= 0 {
			left = min(left, due-t)
		}
		switch {
		case since == 0:
			since = t
			left = min(left, trimAfter)
		case trimmed:
		case t-since < trimAfter:
			left = min(left, trimAfter-(t-since))
		default:
			r.engine.snapshot.trim(g.mem)
			g.do = nil // and with it the native stack, which is empty
			trimmed = true
		}
		r.alarm(t + left)
		select {
		case <-r.wake:
		case <-r.timer.C:
			r.rings = 0
		case <-r.parent.Done():
			r.stop = Canceled
			return nil, errStop
		}
	}
}

// alarm sets the timer. One that would ring earlier than needed is left as it
// is: wait looks again then, and setting it anew for each call costs more.
func (r *Run) alarm(at time.Duration) {
	switch {
	case r.timer == nil:
		r.timer = time.NewTimer(at - now())
	case r.rings > 0 && r.rings <= at:
		return
	default:
		r.timer.Reset(at - now())
	}
	r.rings = at
}

// settle gives the program the answer to one of its calls.
func (r *Run) settle(g *guest, a answer) error {
	how, body := settleValue, []byte(a.value)
	switch {
	case a.err != nil:
		how, body = settleError, throwJSON(a.err)
	case len(body) == 0:
		how = settleUndefined
	}
	if err := g.write(body); err != nil {
		return err
	}
	r.mu.Lock()
	r.held -= len(a.value)
	r.mu.Unlock()
	return g.call(doSettle, uint64(a.id), uint64(how), uint64(len(body)))
}

// errorBytes bounds an error in JSON, of which a Host may have made much: it is
// there to be read. Beyond it the properties are left out and the message is cut.
const errorBytes = 1 << 20

// throwJSON is what doSettle takes for an error.
func throwJSON(err error) []byte {
	var t *Throw
	if !errors.As(err, &t) {
		t = &Throw{Class: "Error", Message: err.Error()}
	}
	props := t.Props
	if props == nil {
		props = map[string]any{}
	}
	b, jsonErr := json.Marshal(struct {
		Class   string         `json:"class"`
		Message string         `json:"message"`
		Props   map[string]any `json:"props"` // always there: a missing one would be looked up in Object.prototype
	}{t.Class, t.Message, props})
	if jsonErr != nil || len(b) > errorBytes {
		b, _ = json.Marshal(map[string]any{"class": t.Class, "message": cutText(t.Message, errorBytes/8), "props": map[string]any{}})
	}
	return b
}

// call is codemode_call: it starts or queues the call, of which it copies the
// name and the arguments, and returns its id.
func (r *Run) call(name, args []byte) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return callEnded
	}
	if r.calls >= r.limits.Calls {
		return callTooMany
	}
	if len(args) > r.room() {
		return callNoRoom
	}
	c := &Call{ID: r.calls + 1, Name: callName(name), Args: append(make([]byte, 0, len(args)), args...), pause: r.pause, progress: r.progress}
	r.calls++
	r.held += c.held()
	r.start(c)
	return int32(c.ID)
}

// start performs c, or queues it. The caller holds r.mu.
func (r *Run) start(c *Call) {
	if r.open == nil {
		r.open = make(map[int]*Call)
	}
	r.open[c.ID] = c
	if r.inFlight >= r.limits.InFlight {
		r.queue = append(r.queue, c)
		return
	}
	r.inFlight++
	go r.perform(c)
}

// perform performs calls, c and then queued ones, until none is left.
func (r *Run) perform(c *Call) {
	for c != nil {
		a := answer{id: c.ID}
		a.value, a.err = r.ask(c)
		done := 0
		r.mu.Lock()
		switch {
		case r.ended:
			done = c.held()
		case !errors.Is(a.err, ErrLater) && r.open[c.ID] == c:
			done = c.held()
			r.answered(a)
		}
		c = nil
		if len(r.queue) > 0 && !r.ended {
			c, r.queue[0] = r.queue[0], nil
			r.queue = r.queue[1:]
		} else {
			r.inFlight--
		}
		r.mu.Unlock()
		r.notify()
		r.engine.dump.add(done)
	}
}

// ErrLater is what a Host returns for a call whose answer will come through
// [Run.Settle]: nothing is held for it meanwhile, and a run in which all open
// calls are of this kind can be parked.
var ErrLater = errors.New("the answer comes later")

// Settle answers a call for which the Host returned [ErrLater]. It reports
// whether such a call was open; it is answered at most once.
func (r *Run) Settle(id int, value json.RawMessage, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[id] == nil || r.ended {
		return false
	}
	r.answered(answer{id, value, err})
	r.notify()
	return true
}

// Open lists the calls that have no answer yet, oldest first.
func (r *Run) Open() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.openCalls()
}

func (r *Run) openCalls() []*Call {
	return slices.SortedFunc(maps.Values(r.open), func(a, b *Call) int { return a.ID - b.ID })
}

// ask calls the Host; a panic in it fails this one call.
func (r *Run) ask(c *Call) (v json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, &Throw{Class: "Error", Message: "the host failed to perform this call", Props: map[string]any{"toolName": c.Name}}
		}
	}()
	return r.host(r.ctx, c)
}

func (r *Run) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// progress is Call.Progress.
func (r *Run) progress() (calls int, waiting bool) {
	waiting = r.idle.Load() // first: a call that is made afterwards is counted
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls - len(r.queue), waiting
}

// pause is Call.Pause.
func (r *Run) pause() func() {
	r.mu.Lock()
	if r.pauses++; r.pauses == 1 {
		r.pausedSince = now()
	}
	r.mu.Unlock()
	r.notify()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		if r.pauses--; r.pauses == 0 {
			r.paused += now() - r.pausedSince
		}
		r.mu.Unlock()
		r.notify()
	})
}
