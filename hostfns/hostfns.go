// Package hostfns holds what a program may call, and the one [Gate] that every
// such call passes.
//
// A [Run] belongs to one execution of one program. Its [Run.Call] is what the
// sandbox is given as the program's only way out:
//
//	gate := hostfns.NewGate(hostfns.Deps{Tools: tools, Recorder: recorder, Sender: sender})
//	run := gate.Run(hostfns.RunInfo{ID: "r_8f2k", Profile: "safe", Policy: policy, Asker: asker})
//	value, err := run.Call(ctx, hostfns.Invocation{ID: 1, Name: "fs__read", Args: args})
//	reports := run.End()
//
// The order is the same for each call and no call skips a step: find the tool
// among those of this moment, freeze the argument bytes, decide, validate
// against the tool's schema, ask a person if the policy says so, decide again,
// record that it is running, send, record how it ended. What was decided is
// what is sent: one byte string goes through all of it.
//
// What the Gate needs from others it declares as small interfaces: package registry finds tools and
// sends calls, inforce decides, asking asks people, and recorder records. A missing Policy denies, a
// missing Asker reaches nobody.
package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A Tool is what the Gate needs to know of one tool at one moment.
type Tool struct {
	Server      string         // the upstream's name in the configuration
	Raw         string         // the tool's name as the upstream says it
	Name        string         // canonical: server__tool
	Title       string         // the upstream's words, never trusted
	Description string         // likewise
	Input       []byte         // JSON Schema of its arguments, likewise
	Annotations map[string]any // hints, likewise
	Digest      string         // changes whenever the definition does
	Trusted     bool           // what the tool answers is not taken for a stranger's words
	Timeout     time.Duration  // how long one call may take; zero means the run's

	// Validate checks arguments against the tool's input schema. It returns an
	// [*ArgumentError] for a mismatch; nil accepts every object. It ends when ctx does.
	Validate func(ctx context.Context, args json.RawMessage) error

	// ValidateOutput checks the structured content of a result, nil if there was
	// none, against the tool's output schema; nil checks nothing. It ends when ctx does, and then nothing fits.
	ValidateOutput func(ctx context.Context, structured json.RawMessage) *ResultError
	// StrictOutput makes a result that does not fit an exception. Otherwise the
	// program gets it, and the call's report has a warning.
	StrictOutput bool

	// Resource marks what [ReadResource] calls: no tool, but the reading of the
	// server's resources.
	Resource bool
}

// Finder looks tools up in the live catalogue. It is called from many
// goroutines. It may wait for an upstream that is just starting, but not after
// ctx has ended. An unknown name is a [*NotFoundError].
type Finder interface {
	Find(ctx context.Context, name string) (*Tool, error)
}

// Policy decides the calls of one run, each time against the profile of that
// moment. It is called from many goroutines and must not wait.
type Policy interface {
	Decide(t *Tool, args json.RawMessage, n Counters) call.Decision
	// Hidden says that no arguments whatever would get t past Decide; such a
	// tool does not show up in what the program can discover.
	Hidden(t *Tool) bool
}

// Counters are what happened in the run before the call that is decided.
type Counters struct {
	Calls    int // calls made
	Repeat   int // of those, how many had the same tool and the same arguments
	Asks     int // questions put to a person
	Refusals int // of those, how many a person refused

	Tainted bool   // something that an untrusted server answered may have reached the call
	Taint   string // how, in a sentence
	Asked   bool   // a person has been asked about the call, so that limits on questions have let it pass
}

// Asker asks people, for one run. It is called from many goroutines.
type Asker interface {
	// Ask puts the questions of one moment. It tells answered the answer to each, by its index, as soon as it is given:
	// of those that were given together the yeses first. It returns when all are answered, at the latest when ctx
	// ends. The zero Answer is a refusal. With a yes comes what takes it.
	Ask(ctx context.Context, qs []*Question, answered func(i int, a call.Answer, use Use))
	// Together reports whether calls of one moment are to be one question now.
	Together() bool
	// Remembered answers a question with what people have allowed before; false means that a person has to be asked.
	Remembered(ctx context.Context, q *Question) (call.Answer, bool)
	// AskUser puts a question of the program itself, records it, and records its answer, which it returns. An error
	// means that nobody was asked: an [*ArgumentError] that the question is not right, a [*LimitError] that there were
	// too many, [ErrCannotAsk] that nobody can be asked here.
	AskUser(ctx context.Context, q *Question) (answer json.RawMessage, err error)
}

// ErrCannotAsk is the error of an [Asker] that puts no questions of programs.
var ErrCannotAsk = errors.New("nobody can be asked here")

// Recorder writes the record. An error means that the entry is not kept. Then the call that an entry of the kind
// [KindRunning] announces does not happen; the others hold nothing up.
type Recorder interface {
	Record(ctx context.Context, e Entry) error
}

// Sender performs a call at its upstream. Errors: [*ToolFailure] when the tool
// itself said that it failed, [*SendError] when the upstream could not be
// reached or may have been. Anything else counts as an unknown outcome.
type Sender interface {
	Send(ctx context.Context, s *Sending) (*Reply, error)
}

// A Sending is one admitted call on its way to an upstream.
type Sending struct {
	Call int // its number in the run
	Tool *Tool
	Args json.RawMessage // what was decided on
	// Pause stops the time limit of the call, and the clock of its run, while a person is awaited for it: an upstream may
	// ask one before it answers. resume lets both go on and must be called once.
	Pause func() (resume func())
}

// A Reply is an upstream's answer.
type Reply struct {
	// Value is what the program's await gives.
	Value json.RawMessage
	// Structured is the structured content as the upstream sent it, if it did.
	Structured json.RawMessage
	// Blocks holds content that stays on the host (images, audio, resources), by
	// the handle that stands for it in Value.
	Blocks map[string]json.RawMessage
}

// A Question is what a person is asked: whether one call may be made or, without a Tool, what the program asks in its
// own words.
type Question struct {
	Run     string
	Call    int
	Profile string
	Args    json.RawMessage // the bytes that will be sent, or the question as the program wrote it

	// Of a call.
	Tool     *Tool
	Decision call.Decision
	// Check says what is wrong with other arguments that a person wants to allow instead.
	Check func(args json.RawMessage) error

	// Of a program's question.
	Before Counters // what happened in the run before
}

// A Use takes a yes for the call as it is now, right before it is recorded as running. An error means that it is no yes
// to that call: an [ErrChanged] that the call is not the one that was allowed. A nil Use takes nothing.
type Use func(ctx context.Context, now *Question) error

// ErrChanged says that what is to be done is not what a person allowed.
var ErrChanged = errors.New("it is not what was approved")

// ErrTooLate says that a yes was not used in its time.
var ErrTooLate = errors.New("its time was over before it could be used")

// An Invocation is one call as it leaves the program.
type Invocation struct {
	ID   int // from 1, in the order the program made them
	Name string
	Args json.RawMessage // "null" when there was no argument
	// Tool is what the call is of, where the host makes it itself; nil looks Name up.
	Tool *Tool
	// Pause stops the run's clock while a person is awaited and returns what
	// starts it again; nil means that there is no clock.
	Pause func() (resume func())
	// Progress tells how many calls the program has made, as far as they are
	// invoked, and whether it waits and makes no further one; nil means that
	// nobody knows.
	Progress func() (calls int, waiting bool)
	// Asking is told that the call begins to wait for a person, and what it
	// returns that it goes on; nil tells nobody. While all open calls of a run
	// wait so, [Run.Save] can save it.
	Asking func() (asked func())

	// Claim is asked when the call is about to go on that waited for a person, for whatever reason: an error says that
	// the run is not this process's any more, and that nothing may come of the call here. Nil is none.
	Claim func(ctx context.Context) error

	// Carried gives what a call goes on under once a person has allowed it: it outlives the program. Nil is the
	// context of the call.
	Carried func() context.Context

	// Put says, to [Run.Resume], that the process that the run was in has put the question about the call, perhaps
	// after it saved the run.
	Put bool

	resource bool // of a server, see ReadResource
}
