// Package hostfns holds what a program may call, and the one [Gate] that every
// such call passes.
//
// A [Run] belongs to one execution of one program. Its [Run.Call] is what the
// sandbox is given as the program's only way out:
//
//	gate := hostfns.NewGate(hostfns.Deps{Tools: tools, Recorder: recorder, Sender: sender})
//	run := gate.Run(hostfns.RunInfo{ID: "r_8f2k", Profile: "safe", Policy: policy, Prompter: prompter})
//	value, err := run.Call(ctx, hostfns.Invocation{ID: 1, Name: "fs__read", Args: args})
//	reports := run.End()
//
// The order is the same for each call and no call skips a step: find the tool, freeze the arguments, decide, validate
// against the schema of the tool, ask a person if the policy says so, decide again, record that the call is running,
// send it, record how it ended. One [call.Arguments] passes through all steps, so what was decided is what is sent.
//
// What the Gate needs from others it declares as small interfaces: package registry finds tools and
// sends calls, inforce decides, asking asks people, and recorder records. A missing Policy denies, a
// missing Prompter reaches nobody.
package hostfns

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/codemode-project/codemode/call"
)

// Finder looks tools up in the live catalogue. It is called from many
// goroutines. It may wait for an upstream that is just starting, but not after
// ctx has ended. An unknown name is a [*NotFoundError].
type Finder interface {
	Find(ctx context.Context, name string) (*call.Tool, error)
}

// Policy decides the calls of one run, each time against the profile of that
// moment. It is called from many goroutines and must not wait.
type Policy interface {
	Decide(t *call.Tool, args call.Arguments, n Counters) call.Decision
	// Hidden says that no arguments whatever would get t past Decide; such a
	// tool does not show up in what the program can discover.
	Hidden(t *call.Tool) bool
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

// Prompter asks people, for one run. It is called from many goroutines.
type Prompter interface {
	// Ask puts the questions of one moment. It calls answered with each answer and the index of its question, as soon
	// as the answer is given; of answers that come together, approvals first. It returns when all questions are
	// answered, at the latest when ctx ends. The zero Answer is a refusal. With an
	// approval comes the function that uses it.
	Ask(ctx context.Context, qs []*Question, answered func(i int, a call.Answer, use Use))
	// Together reports whether calls of one moment are to be one question now.
	Together() bool
	// Remembered answers a question with what people have allowed before; false means that a person has to be asked.
	Remembered(ctx context.Context, q *Question) (call.Answer, bool)
	// AskUser puts a question of the program itself, records it and its answer, and returns the answer. An error means
	// that nobody was asked: [*ArgumentError], the question is wrong; [*LimitError], there were too many;
	// [ErrCannotAsk], nobody can be asked here.
	AskUser(ctx context.Context, q *Question) (answer json.RawMessage, err error)
}

// ErrCannotAsk is the error of an [Prompter] that puts no questions of programs.
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
	// pause stops the time limit of the call, and the clock of its run, while a person is awaited for it: an upstream
	// may ask one before it answers. resume lets both go on and must be called once.
	Send(ctx context.Context, c *call.Call, pause func() (resume func())) (*Reply, error)
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
	Tool     *call.Tool
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

// An Invocation is one call as the program makes it, and what the host lends to it.
type Invocation struct {
	ID   int // from 1, in the order the program made them
	Name string
	Args json.RawMessage // "null" when there was no argument
	// Tool is the tool of a call that the host makes itself; nil looks Name up.
	Tool *call.Tool
	// Pause stops the clock of the run while a person is awaited; resume starts it again. Nil means that there is no
	// clock.
	Pause func() (resume func())
	// Progress tells how many calls the program has made, and whether it waits and makes no further call; nil means
	// that this is unknown.
	Progress func() (calls int, waiting bool)
	// Asking is called when the call begins to wait for a person, and asked when it continues; nil tells nobody. While
	// all open calls of a run wait for people, [Run.Save] can save it.
	Asking func() (asked func())

	// Claim is called before a call that waited for a person continues, whatever the reason. An error says that another
	// process has the run, and that the call must not continue here. Nil always permits it.
	Claim func(ctx context.Context) error

	// Carried is the context of a call that a person has allowed, which outlives the program. Nil is the context of the
	// call.
	Carried func() context.Context

	// Put says, to [Run.Resume], that the earlier process of the run put the question about the call, perhaps after it
	// saved the run.
	Put bool

	resource bool // of a server, see ReadResource
}
