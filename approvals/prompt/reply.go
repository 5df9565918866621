package prompt

import (
	"encoding/json"
	"errors"
	"time"
)

var (
	// ErrDismissed says that the question was closed without an answer.
	ErrDismissed = errors.New("the question was closed without an answer")
	// ErrUnclear says that what came back is neither a yes nor a no.
	ErrUnclear = errors.New("the answer is not a clear yes or no")
)

// A Decision is what a person chose.
type Decision int

const (
	Refuse    Decision = iota // also what an empty Reply says
	AllowOnce                 // this call, and what Reply.Scope says
)

// A Reply is what came back over one channel.
type Reply struct {
	Decision Decision
	Reason   string // the person's words, as they came
	// Typed says that the channel itself saw the answer being typed after the question was shown, or that the same form says yes
	// to another call. Such a refusal is not taken for an automatic one however fast it is, unless the profile sets MinHuman.
	Typed bool

	Scope Scope // with a yes: how long it is remembered, as one of the Offers; "" is Once
	// Length and Uses of the grant, within what the profile lets people choose; 0 is what was offered.
	Length time.Duration
	Uses   int
	// Args are the arguments that the person allows instead of those of the request; nil are those.
	Args json.RawMessage
	By   string // who answers, if the channel knows: a principal such as "local:anna"

	// The answer to an Inquiry, with AllowOnce: the options that were chosen, by their indexes from 0, and words.
	Selected []int
	Text     string

	// Checked says that a seat at a queue has checked the reply: whoever gave it has been told that it is taken.
	Checked bool
}

// Wish is the grant that r asks for.
func (r *Reply) Wish() Wish { return Wish{Scope: r.Scope, Length: r.Length, Uses: r.Uses} }

// A Result is what a channel brought back about one call of a round.
type Result struct {
	Reply Reply
	Err   error
}
