package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

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

// Names answers what a program asks about a name:
//
//	'n'  what codemode.<name> means; parts are joined by two underscores
//	'g'  what a name means that nothing declares
//	'l'  which names are behind a server, or, for "", behind codemode
//
// An answer begins with one of these letters, and the rest of it reaches the program:
//
//	t  the name that is meant: of a tool, a server or a function, "" for codemode itself
//	c  a function that takes the name of a tool and its arguments: codemode.call
//	m  nothing has that name; for 'g', the message of the ReferenceError, if there is a better one
//	l  names, separated by line feeds
//	w  why nobody can list them yet
//
// Names must not wait, and must not call the run: the goroutine that runs the program calls it. A program may ask as
// often as it wants.
type Names func(ask byte, name string) string

// Dropped is what was pending at the end of a program.
type Dropped struct {
	Timers   int // that repeat
	Promises int // for how many unsettled promises something waited; in a session only
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

// A savedThrow is the error of an imageAnswer.
type savedThrow []byte

func (savedThrow) Error() string { return "an error from before the run was parked" }

// errorBytes bounds the JSON of an error. Beyond it, throwJSON leaves out the properties and cuts the message.
const errorBytes = 1 << 20

// cutText truncates a text to at most n bytes, and adds … if there were more.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
