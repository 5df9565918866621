package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Program is what one run executes.
type Program struct {
	// Source is JavaScript: the body of an async function. Its return value is the result. Positions in errors are
	// positions in Source unless Lookup maps them.
	//
	// The run ends when what the program started has ended too: its calls, its timers that do not repeat, and what waits
	// for them. Only then the value is read, in which a promise stands for its own value. An error that nobody has
	// handled by then is the error of the run.
	Source string
	// Name is the file name in stacks; "" means "program.js".
	Name string
	// Input is the program's global `input`, as JSON; nil means undefined.
	Input json.RawMessage
	// Owner is the unit for sharing memory and processors; see [Options.Memory]. "" is an owner like any other.
	Owner string
	// Limits bound the run; every zero field has the default of [DefaultLimits].
	Limits Limits
	// Lookup maps a 1-based line and column in Source to the author's text; nil means that they are the same.
	Lookup func(line, column int) (int, int)
	// Watch sees what the program does while it runs, in the program's order: the lines that it printed since the last
	// time, and the call that it makes now, if any. It comes before the Host gets that call. Lines come when the
	// program makes a call, waits or ends, and within milliseconds while it computes. The goroutine that runs the
	// program calls Watch, so it must not block. Nil is ignored.
	Watch func(printed []Line, made *Call)
	// Watching reports whether somebody looks now. While nobody does, Watch gets the lines when the program waits or ends,
	// and no calls. Nil is true.
	Watching func() bool
	// Waits is called when the program waits for an answer, a timer or a processor, or has had a processor for a while:
	// what started it need not keep one for it. It may be called often and must not block. Nil is ignored.
	Waits func()
	// Names answers what the program asks about names. Nil knows none: then nothing is listed, every name behind codemode
	// is a function, and a name that nothing declares is a ReferenceError.
	Names Names
	// Deterministic makes the run independent of the machine. Nil gives it real randomness and a real clock.
	Deterministic *Deterministic
	// Earlier is Lookup for an earlier program of the session, by its number from 1. Only [Session.Start] uses it.
	Earlier func(program, line, column int) (int, int)

	number int // of a program of a session, from 1
}

// A Host performs the calls of one run. It runs on a goroutine of its own, up to Limits.InFlight at once, and its
// context ends with the run. Its result is the value of the program's await: JSON, or nil for undefined. An error
// becomes an exception: a [*Throw] becomes the exception that it describes, any other error a plain Error with the
// error's text.
type Host func(ctx context.Context, c *Call) (json.RawMessage, error)

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

// A Call is one use of codemode_call by a program.
type Call struct {
	// ID numbers the calls of a run, from 1, in the order in which the program made them.
	ID int
	// Name is the called function: server__tool, or the plain name of a host function. The host truncates a name longer
	// than 1 KiB and ends it with …: it names nothing.
	Name string
	// Args is the JSON of the argument at the time of the call; "null" if there was none.
	Args json.RawMessage

	run *Run // nil for a Call of a test
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

// parking is a request of [Run.Park]. The driving goroutine sets image and err before it closes done.
type parking struct {
	wanted int // number of waiters; guarded by Run.mu
	image  []byte
	err    error
}

// ErrParked is the error of a run that was parked.
var ErrParked = errors.New("sandbox: the run was parked")

// A stepCount counts the steps of a run.
type stepCount struct {
	limit        int64  // 0 is none
	made         int64  // until the last count
	calls, loops int32  // what the counters had left then
	filled       uint32 // how many times the guest had filled up calls until then
}
