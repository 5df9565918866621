package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Channel is a way to reach a person. Ask shows r, waits for an answer and returns it. It returns early when ctx
// ends, whose [context.Cause] says why in words fit to show. It may be called for several requests at once, and must
// not change r.
//
// An error means that this channel has no answer; it is never taken for a no of a person. Some errors say more:
// [ErrNoPerson], [ErrCannotAsk], [ErrDismissed], [ErrUnclear].
type Channel interface {
	Name() string
	Ask(ctx context.Context, r *prompt.Request) (prompt.Reply, error)
}

// A Strong channel knows more about who answers than that some program sent a form: a typed code on the person's own
// terminal, a page behind a login. Only such a channel may approve a call of critical risk; others are not asked.
type Strong interface {
	Channel
	Strong() bool
}

// A Gatherer is a Channel that shows several calls at once, as one form with a decision for each. It returns a result
// for each call, in their order. Other channels are asked about each call by itself.
type Gatherer interface {
	Channel
	AskAll(ctx context.Context, calls []*prompt.Request) ([]prompt.Result, error)
}

// An Inquirer is a channel that can put an [Inquiry]. Others are not asked, and the Desk is told that they cannot.
type Inquirer interface {
	Channel
	Inquires() bool
}

// mayCarry reports whether c can show r for what it is.
func mayCarry(c Channel, r *prompt.Request) (ok bool) {
	if r.Inquiry == nil {
		return true
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	i, is := c.(Inquirer)
	return is && i.Inquires()
}

// An Editor is a channel that shows arguments so that a person can change them, and is trusted to say so when they did.
type Editor interface {
	Channel
	Edits() bool
}

var (
	// ErrTooMany says that the channel has carried as many questions of this run as it can.
	ErrTooMany = errors.New("it has carried as many questions as it can")
	// ErrNoPerson says that nobody is there to be asked over this channel.
	ErrNoPerson = errors.New("nobody is there")
	// ErrCannotAsk says that the channel has no means of asking, such as a client without elicitation. It is an
	// ErrNoPerson.
	ErrCannotAsk = fmt.Errorf("it cannot ask: %w", ErrNoPerson)
)

type pauseKey struct{}

// Waiting tells the Desk that the question waits for its turn in a channel that shows one at a time. The time limit
// of the ask stands still until the returned function is called, which says that the question is being shown.
func Waiting(ctx context.Context) (shown func()) {
	if pause, ok := ctx.Value(pauseKey{}).(func() func()); ok {
		return pause()
	}
	return func() {}
}

type presenceKey struct{}

// away tells the Desk that nobody is there to see the question now, though somebody may come: the ask ends when that
// is so for every channel that has not answered. The returned function says that somebody has come.
func away(ctx context.Context) (back func()) {
	if away, ok := ctx.Value(presenceKey{}).(func() func()); ok {
		return away()
	}
	return func() {}
}

type answeredKey struct{}

// Answered hands over the answer to call i of an AskAll before those to the others: it takes effect at once. What
// AskAll returns for that call does not count any more. It is called from the goroutine of AskAll.
func Answered(ctx context.Context, i int, r prompt.Result) {
	if answered, ok := ctx.Value(answeredKey{}).(func(int, prompt.Result)); ok {
		answered(i, r)
	}
}

// MaxRounds is how often a call of a tool may be answered with a question in MCP 2026-07-28 before clients give up.
const MaxRounds = 9

func askAllOver(ctx context.Context, c Gatherer, calls []*prompt.Request) (got []prompt.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			got, err = nil, fmt.Errorf("the channel crashed: %v", p)
		}
	}()
	if got, err = c.AskAll(ctx, calls); err == nil && len(got) != len(calls) {
		return nil, fmt.Errorf("%w: %d answers to %d questions", prompt.ErrUnclear, len(got), len(calls))
	}
	return got, err
}

func mayEdit(c Channel) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	e, is := c.(Editor)
	return is && e.Edits()
}

// askOver turns a panic of a channel into an error, so that a crash while asking is not a way around the question.
func askOver(ctx context.Context, c Channel, r *prompt.Request) (got prompt.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			got, err = prompt.Reply{}, fmt.Errorf("the channel crashed: %v", p)
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
	return prompt.Words(c.Name())
}

// mayAnswer reports whether a yes of c could count.
func mayAnswer(c Channel, risk call.Risk) (ok bool) {
	if risk.FormSuffices() {
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
