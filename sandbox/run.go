package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	r.memory = footprint{engine: e, owner: p.Owner, limit: int(limits.Memory), size: g.mem.Size, reserved: reserved}
	g.mem.MayGrow = func(size int) bool { return r.memory.mayGrow(ctx, g, size) }
	g.mem.Limit = int(min(limits.Memory, int64(g.mem.Most))) / wasmPage * wasmPage
	return r
}

var errEnded = errors.New("the run has ended")

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.CPU = cmp.Or(max(l.CPU, 0), d.CPU)
	l.Wall = cmp.Or(max(l.Wall, 0), d.Wall)
	l.Memory = cmp.Or(max(l.Memory, 0), d.Memory)
	l.Calls = cmp.Or(max(l.Calls, 0), d.Calls)
	l.InFlight = cmp.Or(max(l.InFlight, 0), d.InFlight)
	l.ArgumentBytes = cmp.Or(max(l.ArgumentBytes, 0), d.ArgumentBytes)
	l.ResultBytes = cmp.Or(max(l.ResultBytes, 0), d.ResultBytes)
	l.ConsoleBytes = cmp.Or(max(l.ConsoleBytes, 0), d.ConsoleBytes)
	l.ProgramBytes = cmp.Or(max(l.ProgramBytes, 0), d.ProgramBytes)
	return l
}

// A Run is one execution. One goroutine drives the guest; calls have goroutines of their own and leave their answers in
// answers. If the program waits for a call and nothing else is in progress, the driving goroutine performs the call
// itself, which saves half of the cost of a call. If there is something to drive meanwhile, or after some time, another
// goroutine takes over: see relieve.
type Run struct {
	// Fixed at the start.
	engine  *Engine
	program Program
	session *Session // nil unless it is a program of one
	host    Host
	limits  Limits
	parent  context.Context
	earlier int           // calls that it had made when it was parked
	wake    chan struct{} // a condition of wait changed
	done    chan struct{} // nil while only the caller of Run can wait

	// Only the driving goroutine, until done is closed.
	guest   *guest
	ctx     context.Context         // of the calls: ends with the run; nil before the first one
	cancel  context.CancelCauseFunc // the same
	callers bool                    // the goroutine that called Engine.Run; no Host may block it
	begun   bool
	cpu     time.Duration
	steps   stepCount
	elapsed time.Duration // to a deterministic program
	stop    Kind          // why mustStop stopped the run; 0 (Crashed) before
	alarm   alarm         // of wait
	spare   []answer      // the last result of wait, for reuse
	taken   int           // bytes of answers now in the guest
	printed uint32        // bytes of the console that Program.Watch was told
	result  *Result
	err     error

	wall   stopwatch
	memory footprint
	idle   atomic.Bool  // the guest waits for answers
	away   atomic.Int64 // the ID of the call that the driving goroutine performs; 0 when it drives

	mu        sync.Mutex
	ended     bool
	calls     int
	lastName  string
	inFlight  int
	next      *Call // the latest call, not with the Host yet; the driving goroutine sets it
	queue     []*Call
	open      []*Call // with the Host, or left for later; by ID
	answers   []answer
	park      *parking
	relief    *time.Timer // calls relieve; nil until the first use
	reliefSet bool
}

// Wait blocks until the run has ended and returns the results of [Engine.Run]. For a parked run the error is
// [ErrParked].
func (r *Run) Wait() (*Result, error) {
	<-r.done
	return r.result, r.err
}

type answer struct {
	id    int
	value json.RawMessage
	err   error
}

// mustStop decides whether the guest must stop now. hostPoll calls it while the guest computes.
func (r *Run) mustStop(t, cpu time.Duration) bool {
	switch {
	case r.stop != 0:
	case cpu > r.limits.CPU || r.wall.at(t) > r.limits.Wall:
		r.stop = TimedOut
	case r.parent.Err() != nil:
		r.stop = Canceled
	default:
		return false
	}
	return true
}

// drive runs the program until it ends or parks. It reports false if another goroutine took over.
func (r *Run) drive() bool {
	g := r.guest
	result, err := r.loop(g)
	if errors.Is(err, errRelieved) {
		return false
	}
	r.result, r.err = result, err
	if r.alarm.timer != nil {
		r.alarm.timer.Stop()
	}
	r.performNext()
	if r.cancel != nil {
		r.cancel(errEnded)
	}
	r.mu.Lock()
	r.ended = true
	if r.relief != nil {
		r.relief.Stop()
	}
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
	if r.session == nil || !r.session.keepsGuest(r, g) {
		r.engine.put(g)
	}
	r.memory.release()
	if r.session != nil {
		r.session.ended()
	}
	if r.done != nil {
		close(r.done)
	}
	r.engine.dump.add(unused)
	return true
}

func (r *Run) loop(g *guest) (*Result, error) {
	if !r.begun {
		r.begun = true
		g.enter()
		err := r.begin(g)
		if err == nil {
			err = r.rest(g)
		}
		g.leave()
		if err != nil {
			return r.failed(g, err)
		}
	}
	for g.shared.uint32(sharedStatus) == statusWaiting {
		r.watch(g, nil, true)
		answers, err := r.wait(g)
		if errors.Is(err, errRelieved) {
			return nil, err
		}
		g.rest(false)
		r.idle.Store(false)
		if errors.Is(err, ErrParked) {
			return r.left(g), err
		}
		if err != nil {
			return r.failed(g, err)
		}
		g.enter()
		// a program that has taken over the interpreter may never poll, and may wake itself for ever
		if !r.mustStop(g.began, r.cpu) {
			err = r.proceed(g, answers)
		} else {
			err = errStop
		}
		if err == nil {
			err = r.rest(g)
		}
		g.leave()
		clear(answers)
		r.engine.dump.add(r.taken)
		r.taken = 0
		if err != nil {
			return r.failed(g, err)
		}
	}
	if r.session != nil {
		return r.session.end(r, g)
	}
	return r.finished(g)
}

// proceed hands answers to the guest and runs the program until it waits again.
func (r *Run) proceed(g *guest, answers []answer) error {
	if len(answers) == 0 {
		return g.call(doPump)
	}
	for i, a := range answers {
		answers[i] = answer{}
		r.taken += len(a.value)
		if err := r.settle(g, a, i == len(answers)-1); err != nil {
			return err
		}
	}
	return nil
}

// begin passes the guest its limits, its randomness and the program, and runs the program until it first waits.
func (r *Run) begin(g *guest) error {
	p := &r.program
	if r.session != nil {
		if err := r.session.load(g); err != nil {
			return err
		}
		g.setClock(g.began)
	}
	r.steps.begin(g, 0)
	var seed [40]byte // for crypto, and for Math.random
	if d := p.Deterministic; d != nil {
		copy(seed[:], d.randomness())
	} else if _, err := rand.Read(seed[:]); err != nil {
		return fmt.Errorf("reading randomness: %w", err)
	}
	g.shared.write(sharedSeed, seed[:])
	g.shared.setUint32(sharedConsoleMax, clampUint32(r.limits.ConsoleBytes))
	g.shared.setUint32(sharedArgsMax, clampUint32(r.limits.ArgumentBytes))
	g.shared.setUint32(sharedResultMax, clampUint32(r.limits.ResultBytes))
	g.shared.setUint32(sharedFlags, flagBigIntegers)
	if r.session != nil {
		g.shared.setUint32(sharedFlags, flagBigIntegers|flagSession)
		g.shared.setUint32(sharedOutOfMemory, 0)
	}
	name := p.fileName()
	at, err := g.room(len(p.Source) + len(name) + len(p.Input))
	if err != nil {
		return err
	}
	mem, n := g.module.Memory(), uint32(len(p.Source))
	if !mem.WriteString(at, p.Source) || !mem.WriteString(at+n, name) || !mem.Write(at+n+uint32(len(name)), p.Input) {
		return errOutOfBounds
	}
	return g.call(doStart, uint64(len(p.Source)), uint64(len(name)), uint64(len(p.Input)))
}

// trimAfter is how long a run waits before it releases memory that it does not need for waiting: longer than most tools
// take, also where many programs use them. Releasing it and getting it back take a tenth of a millisecond.
const trimAfter = 50 * time.Millisecond

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
	switch {
	case r.jump(g, due):
		return nil, nil
	case r.program.Deterministic != nil:
		due = -1
	}
	if r.next != nil {
		// Alone means that this goroutine has nothing else to do before relieve comes.
		alone := (due < 0 || due-g.left > reliefAfter) && r.limits.Wall-r.wall.at(g.left) > reliefAfter
		if !r.performLast(alone) {
			return nil, errRelieved
		}
	}
	r.idle.Store(true)
	var since time.Duration // start of the sleep
	yielded, trimmed := false, false
	for {
		r.mu.Lock()
		answers := r.take()
		busy := r.inFlight > 0
		park := r.park
		if park != nil && park.wanted > 0 && len(answers) == 0 && r.inFlight == 0 && len(r.open) > 0 {
			r.ended = true // an answer that comes now would get lost between the two runs
		} else {
			park = nil
		}
		r.mu.Unlock()
		if park != nil {
			return nil, r.parkNow(g, park)
		}
		r.spare = answers // the caller has read it by its next call of wait
		if len(answers) > 0 {
			return answers, nil
		}
		t := now()
		if due >= 0 && t >= due {
			return nil, nil
		}
		if busy && !yielded {
			// A Host with an immediate answer gives it now, which costs a fifth of a wake-up.
			yielded = true
			runtime.Gosched()
			continue
		}
		wall, running := r.wall.read(t)
		left := r.limits.Wall - wall
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
			r.program.gives()
			since = t
			left = min(left, trimAfter)
		case trimmed:
		case t-since < trimAfter:
			left = min(left, trimAfter-(t-since))
		default:
			r.engine.snapshot.Trim(g.mem)
			g.do = nil // releases the native stack too; it is empty
			trimmed = true
			g.rest(true)
		}
		r.alarm.set(t + left)
		select {
		case <-r.wake:
		case <-r.alarm.timer.C:
			r.alarm.rings = 0
		case <-r.parent.Done():
			r.stop = Canceled
			return nil, errStop
		}
	}
}

// take takes the answers that the program gets now. The caller holds r.mu.
func (r *Run) take() []answer {
	if r.program.Deterministic != nil {
		return r.oldest()
	}
	answers := r.answers
	r.answers, r.spare = r.spare[:0], nil
	return answers
}

// settle gives the program the answer to one of its calls, and runs the program if that is the last answer.
func (r *Run) settle(g *guest, a answer, last bool) error {
	how, body := settleValue, []byte(a.value)
	switch {
	case a.err != nil:
		how, body = settleError, throwJSON(a.err)
	case len(body) == 0:
		how = settleUndefined
	}
	if last {
		how |= settlePump
	}
	at, err := g.room(len(body))
	if err != nil {
		return err
	}
	if !g.module.Memory().Write(at, body) {
		return errOutOfBounds
	}
	r.memory.drop(len(a.value))
	return g.call(doSettle, uint64(a.id), uint64(how), uint64(len(body)))
}

// errorBytes bounds the JSON of an error. Beyond it, throwJSON leaves out the properties and cuts the message.
const errorBytes = 1 << 20

// throwJSON encodes an error for doSettle.
func throwJSON(err error) []byte {
	if saved, ok := err.(savedThrow); ok {
		return saved
	}
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
		Props   map[string]any `json:"props"` // always present, else lookup falls back to Object.prototype
	}{t.Class, t.Message, props})
	if jsonErr != nil || len(b) > errorBytes {
		b, _ = json.Marshal(map[string]any{"class": t.Class, "message": cutText(t.Message, errorBytes/8),
			"props": map[string]any{}})
	}
	return b
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
