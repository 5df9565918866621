// Package hostfns holds what a program may call, and the one [Gate] that every such call passes.
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

// Finder looks tools up in the live catalogue. Many goroutines may call it. It may wait for an upstream that is
// starting, but not after ctx has ended, and calls [Next] before. An unknown name is a [*NotFoundError], one of a
// server that is still starting a [*StartingError].
type Finder interface {
	Find(ctx context.Context, name string) (*call.Tool, error)
}

// An Order is the place of a call among those of its run, so that of parallel calls the same ones are sent in every run,
// and in the order of the program. The host passes a call to the Gate when the one before is Admitted. What waits, for
// a person, for an account, for a server that starts, lets all others go first. Admitted and Sent may be called several
// times, and need not be called for a call that is over.
type Order interface {
	Admitted()                     // it is decided whether the call is sent
	Send(ctx context.Context) bool // waits until the calls before are Sent; false means that ctx ended first
	Sent()                         // the call is on its way
}

// Next lets the calls after this one go first, or follow: the one whose context it is waits, or is on its way.
func Next(ctx context.Context) {
	if o, ok := ctx.Value(orderKey{}).(Order); ok {
		o.Admitted()
		o.Sent()
	}
}

type orderKey struct{}

func ordered(ctx context.Context, o Order) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, orderKey{}, o)
}

// Policy decides the calls of one run, each time against the current profile. Many goroutines may call it, and it must
// not wait.
type Policy interface {
	Decide(t *call.Tool, args call.Arguments, n Counters) call.Decision
	// Hidden reports that Decide denies t with any arguments. The program cannot discover such a tool.
	Hidden(t *call.Tool) bool
}

// Counters count the events in the run before the call to decide.
type Counters struct {
	Calls    int // calls made
	Repeat   int // of those, how many had the same tool and the same arguments
	Asks     int // questions put to a person
	Refusals int // of those, how many a person refused

	Tainted bool   // something that an untrusted server answered may have reached the call
	Taint   string // how, in a sentence
	Asked   bool   // a person has been asked about the call, so that limits on questions have let it pass
}

// Prompter asks people, for one run. Many goroutines may call it.
type Prompter interface {
	// Ask asks the questions of one moment. It calls answered with each answer and the index of its question, as soon
	// as the answer arrives; of simultaneous answers, approvals come first. It returns when all questions are answered,
	// at the latest when ctx ends. The zero Answer is a refusal. An approval comes with the function that uses it.
	Ask(ctx context.Context, qs []*Question, answered func(i int, a call.Answer, use Use))
	// Together reports whether simultaneous calls currently share one question.
	Together() bool
	// Remembered answers a question from what people have allowed before; false means that a person must be asked.
	Remembered(ctx context.Context, q *Question) (call.Answer, bool)
	// AskUser asks a question of the program itself, records it and its answer, and returns the answer. An error means
	// that nobody was asked: [*ArgumentError], the question is invalid; [*LimitError], there were too many;
	// any other error, nobody can be asked here.
	AskUser(ctx context.Context, q *Question) (answer json.RawMessage, err error)
	// Connect asks the principal of the run to connect its account at the server of q.Tool, and returns when it has, or
	// when somebody refuses, when the time to answer is over, or when ctx ends. Only a login makes the answer Allowed.
	Connect(ctx context.Context, q *Question) call.Answer
}

// errCannotAsk is the error of a run without a [Prompter].
var errCannotAsk = errors.New("nobody can be asked here")

// Recorder writes the record. An error means that the entry was not recorded. After such an error the call that a
// [call.Running] entry announces is not made; other states block nothing. A [*LimitError] tells the program when the
// record has room again.
type Recorder interface {
	Record(ctx context.Context, e call.Entry) error
}

// Sender performs a call at its upstream. Errors: [*ToolFailure] when the tool itself reported failure, [*SendError]
// when the upstream did not answer, whether or not the call reached it. Any other error counts as an unknown outcome.
type Sender interface {
	// Send calls [Next] when the request is on its way, or has to wait.
	//
	// pause stops the time limit of the call, and the clock of its run, while a person is asked on its behalf: an
	// upstream may ask a person before it answers. Call resume exactly once to restart both.
	Send(ctx context.Context, c *call.Call, pause func() (resume func())) (*Reply, error)
}

// Budgets bound what calls use in all runs together.
type Budgets interface {
	// Charge counts a call that is about to be sent. After an error the call is not sent, and not counted: a
	// [*LimitError] says that it does not fit.
	Charge(ctx context.Context, c *call.Charge) error
	// Full returns the error of Charge, as far as it is known already. It counts nothing.
	Full(c *call.Charge) error
	// Answered counts the bytes of the answer to a call that was charged.
	Answered(ctx context.Context, c *call.Charge)
}

// A Reply is an upstream's answer.
type Reply struct {
	// Value is the result of the program's await.
	Value json.RawMessage
	// Structured is the structured content as the upstream sent it, if it did.
	Structured json.RawMessage
	// Blocks holds content that stays on the host (images, audio, resources), by its handle in Value.
	Blocks map[string]json.RawMessage
}

// A Question is a question to a person: whether to make one call, with a Page to connect an account for a call, or
// without a Tool a question of the program in its own words.
type Question struct {
	Run     string
	Call    int
	Profile string
	Args    json.RawMessage // the bytes that will be sent, or the question as the program wrote it

	// For a call.
	Tool     *call.Tool
	Decision call.Decision
	Again    string // why the call is asked about again, although somebody allowed it; "" if it is not
	// Check returns an error if other arguments that a person wants to allow instead are invalid.
	Check func(args json.RawMessage) error

	// For a program's question, and for an account.
	Before Counters // what happened in the run before

	// For an account to be connected.
	Page      string                     // where the principal connects it
	Connected func(context.Context) bool // reports whether it has
}

// A Use spends a yes on the call as it is now, right before the call is recorded as running. An error means that the
// yes does not cover the call; [ErrChanged] means that a different call was allowed. A nil Use spends nothing.
type Use func(ctx context.Context, now *Question) error

// ErrChanged says that the call is not the one that a person allowed.
var ErrChanged = errors.New("it is not what was approved")

// ErrTooLate says that a yes expired before it was used.
var ErrTooLate = errors.New("its time was over before it could be used")

// An Invocation is one call as the program makes it, with functions of the host.
type Invocation struct {
	ID   int // from 1, in the order the program made them
	Name string
	Args json.RawMessage // "null" when there was no argument
	// Tool is the tool of a call that the host makes itself; nil looks Name up.
	Tool *call.Tool
	// Pause stops the clock of the run while a person is asked; resume restarts it. Nil means that there is no clock.
	Pause func() (resume func())
	// Progress returns how many calls the program has made, and whether it waits and makes no further call. Nil means
	// that this is unknown.
	Progress func() (calls int, waiting bool)
	// Order is the order of the calls of the run. Nil is none.
	Order Order
	// Asking is called when the call begins to wait for a person, and asked when it continues. Nil is ignored. While
	// all open calls of a run wait for people, [Run.Save] can save it.
	Asking func() (asked func())

	// Claim is called before a call that waited for a person continues, whatever the reason. An error says that another
	// process has the run, and that the call must not continue here. Nil always permits it.
	Claim func(ctx context.Context) error

	// Carried returns the context of a call that a person has allowed. This context outlives the program. Nil means the
	// context of the call.
	Carried func() context.Context

	// Put tells [Run.Resume] that the earlier process of the run asked the question about the call, perhaps after it
	// saved the run.
	Put bool
	// Connecting tells [Run.Resume] that the earlier process asked for an account, under the number of the call.
	Connecting bool

	resource bool // of a server, see ReadResource
}
