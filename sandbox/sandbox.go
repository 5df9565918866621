package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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

// Limits bound one run. A zero field means the default.
type Limits struct {
	// CPU is the processor time that the guest may use. Waiting for calls, for timers and for a processor does not
	// count. Only on Linux do threads have a clock here. Elsewhere, the time of other processes between two turns of
	// the guest counts too.
	CPU time.Duration
	// Wall is the time from the start to the result, minus the Host's pauses with [Call.Pause].
	Wall time.Duration
	// Memory is the size in bytes that the guest's whole memory may reach: the interpreter, its stack and everything
	// the program holds. Memory that the host holds for the program counts too: the arguments of unanswered calls, and
	// answers that the program has not taken. A call throws a RangeError if there is no room for its arguments, and
	// fails with one if there is none for its answer. If the program itself needs more, the run ends. The host may hold
	// 8 MiB more than the program leaves free.
	Memory int64
	// Calls is how many calls the run may make.
	Calls int
	// InFlight is how many calls may be with the Host at once; the rest queue.
	InFlight int
	// ArgumentBytes bounds the JSON of one call's arguments.
	ArgumentBytes int
	// ResultBytes bounds the JSON of the returned value.
	ResultBytes int
	// ConsoleBytes bounds the console; the host counts and drops bytes beyond it.
	ConsoleBytes int
	// ProgramBytes bounds Source.
	ProgramBytes int
	// Steps is how many steps the run may make: see [Usage.Steps]. It ends at the first one beyond, which is the same on
	// every machine. Zero means that nothing but CPU bounds them.
	Steps int64
}

// DefaultLimits returns the limits that replace zero fields.
func DefaultLimits() Limits {
	return Limits{
		CPU:           5 * time.Second,
		Wall:          10 * time.Minute,
		Memory:        64 << 20,
		Calls:         1000,
		InFlight:      32,
		ArgumentBytes: 1 << 20,
		ResultBytes:   1 << 20,
		ConsoleBytes:  16 << 10,
		ProgramBytes:  256 << 10,
	}
}

// A Host performs the calls of one run. It runs on a goroutine of its own, up to Limits.InFlight at once, and its
// context ends with the run. Its result is the value of the program's await: JSON, or nil for undefined. An error
// becomes an exception: a [*Throw] becomes the exception that it describes, any other error a plain Error with the
// error's text.
type Host func(ctx context.Context, c *Call) (json.RawMessage, error)

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

// A Throw is an exception that a Host raises in the program: an instance of
// the error class Class, if that is RangeError, TypeError, SyntaxError or one of
// those that codemode adds, or else an Error of that name; with Props as own properties.
type Throw struct {
	Class   string
	Message string
	Props   map[string]any
}

func (t *Throw) Error() string { return t.Class + ": " + t.Message }

// A Result is the result of a run, however the run ended.
type Result struct {
	// Value is the JSON of the program's return value; nil means undefined or no result.
	Value json.RawMessage
	// Console holds the printed lines, in order.
	Console []Line
	// ConsoleDropped counts the bytes beyond Limits.ConsoleBytes.
	ConsoleDropped int
	Usage          Usage
	// Dropped is what the program left behind.
	Dropped Dropped
}

// A Line is one console message. Level is log, info, warn, error or debug.
type Line struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Usage is the resource usage of a run.
type Usage struct {
	CPU    time.Duration // processor time of the guest; for short runs the elapsed time
	Wall   time.Duration // start to end, without pauses
	Memory int64         // largest size of the guest's memory, in bytes
	Calls  int
	// Steps is how many steps the guest has made: calls of functions, jumps back in the program (one more for each 128
	// bytes of code that either may run), and rounds of loops in the interpreter, so that the work of built-in functions
	// counts too. The same guest makes the same steps for the same program everywhere: 20 to 190 million in a second of
	// a usual processor.
	Steps int64
}

// A Kind says why a run ended without a result. The host decides it by its own observations, never by a message that a
// program could have written.
type Kind int

const (
	Crashed       Kind = iota // the guest trapped; the program's state is unknown
	Threw                     // an exception nobody caught
	TimedOut                  // Limits.CPU or Limits.Wall
	OutOfMemory               // Limits.Memory
	TooMuchOutput             // Limits.ResultBytes
	TooManyCalls              // Limits.Calls
	Canceled                  // the context ended
	Abandoned                 // the program waits for promises that nothing can settle any more
	Refused                   // not started: too long, or not the body of a function
	TooManySteps              // Limits.Steps
)

var kindNames = [...]string{"crashed", "threw", "timed out", "out of memory", "too much output", "too many calls",
	"canceled", "abandoned", "refused", "too many steps"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// A Position is a 1-based place in the program; the zero value means unknown.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// An Error says why a run ended without a result.
type Error struct {
	Kind    Kind
	Name    string   // the JavaScript error's name, if it was one
	Message string   // one sentence
	Details string   // its own properties, cause and errors as console.log shows them, in one line; empty without any
	Stack   string   // as JavaScript prints it, with positions in the author's text
	Pos     Position // where in the program, if known
	Call    int      // the call with this uncaught error of the Host; 0 for other errors
	// Note says how the error ended the run, if it is not what the program threw: that nobody awaited it, for one.
	Note string
	// Stopped says that a limit has stopped what a program had started that threw: Note has the limit.
	Stopped bool
	// Others are the first of the further errors that nobody handled, in the order of the text; More counts the rest.
	Others []*Error
	More   int
	Err    error // the cause on the host's side, if there is one
}

func (e *Error) Error() string {
	text := e.Message
	if e.Name != "" && text != "" {
		text = e.Name + ": " + text
	}
	text = strings.TrimSpace(cmp.Or(text, e.Name) + " " + e.Details)
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Is lets errors.Is(err, context.DeadlineExceeded) and context.Canceled work.
func (e *Error) Is(target error) bool {
	return e.Kind == TimedOut && target == context.DeadlineExceeded || e.Kind == Canceled && target == context.Canceled
}
