package approvals

import (
	"context"
	"errors"
	"fmt"
)

// A Channel is a way to reach a person. Ask shows r, waits for an answer and returns it. It returns early when ctx ends, whose
// [context.Cause] says why in words fit to show. It may be called for several requests at once, and must not change r.
//
// An error means that this channel has no answer; it is never taken for a no of a person. Some errors say more:
// [ErrNoPerson], [ErrCannotAsk], [ErrDismissed], [ErrUnclear].
type Channel interface {
	Name() string
	Ask(ctx context.Context, r *Request) (Reply, error)
}

// A Strong channel knows more about who answers than that some program sent a form: a typed code on the person's own
// terminal, a page behind a login. Only such a channel may approve a call of critical risk; others are not asked.
type Strong interface {
	Channel
	Strong() bool
}

var (
	// ErrNoPerson says that nobody is there to be asked over this channel.
	ErrNoPerson = errors.New("nobody is there")
	// ErrCannotAsk says that the channel has no means of asking, such as a client without elicitation. It is an ErrNoPerson.
	ErrCannotAsk = fmt.Errorf("it cannot ask: %w", ErrNoPerson)
	// ErrDismissed says that the question was closed without an answer.
	ErrDismissed = errors.New("the question was closed without an answer")
	// ErrUnclear says that what came back is neither a yes nor a no.
	ErrUnclear = errors.New("the answer is not a clear yes or no")
)

// A Decision is what a person chose.
type Decision int

const (
	Refuse    Decision = iota // also what an empty Reply says
	AllowOnce                 // this call, once
)

// A Reply is what came back over one channel.
type Reply struct {
	Decision Decision
	Reason   string // the person's words, as they came
	// Typed says that the channel itself saw the answer being typed after the question was shown. Such a refusal is not
	// taken for an automatic one however fast it is, unless the profile sets MinHuman.
	Typed bool
}

type pauseKey struct{}

// Waiting tells the Desk that the question waits for its turn in a channel that shows one at a time. The time limit of the
// ask stands still until the returned function is called, which says that the question is being shown.
func Waiting(ctx context.Context) (shown func()) {
	if pause, ok := ctx.Value(pauseKey{}).(func() func()); ok {
		return pause()
	}
	return func() {}
}

// askOver turns a panic of a channel into an error, so that a crash while asking is not a way around the question.
func askOver(ctx context.Context, c Channel, r *Request) (got Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			got, err = Reply{}, fmt.Errorf("the channel crashed: %v", p)
		}
	}()
	return c.Ask(ctx, r)
}

func nameOf(c Channel) (name string) {
	defer func() {
		if recover() != nil {
			name = "unnamed"
		}
	}()
	return Words(c.Name())
}

// mayAnswer reports whether a yes of c could count.
func mayAnswer(c Channel, risk string) (ok bool) {
	switch risk {
	case "", Low, Medium, High:
		return true
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	s, is := c.(Strong)
	return is && s.Strong()
}
