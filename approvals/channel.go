package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Channel is a way to reach a person. Ask shows s.Request, waits for an answer and returns it. It returns early when
// ctx ends: its [context.Cause] says why in words fit to show. It may be called for several questions at once, and must
// not change the request.
//
// An error means that this channel has no answer; it is never taken for a no of a person. Some errors say more:
// [ErrNoPerson], [ErrCannotAsk], [prompt.ErrDismissed], [prompt.ErrUnclear].
type Channel interface {
	Name() string
	Ask(ctx context.Context, s *Showing) (call.Answer, error)
}

// A Strong channel knows more about who answers than that some program sent a form: a typed code on the person's own
// terminal, a page behind a login. Only such a channel may approve a call of critical risk; others are not asked.
type Strong interface {
	Channel
	Strong() bool
}

// A Gatherer is a Channel that shows the several calls of s.Calls as one form with a decision for each. It returns an
// answer to each call, in their order. Other channels are asked about each call by itself.
type Gatherer interface {
	Channel
	AskAll(ctx context.Context, s *Showing) ([]call.Answer, error)
}

// An Inquirer is a channel that can put a [prompt.Inquiry]. Others are not asked, and the Desk is told that they
// cannot.
type Inquirer interface {
	Channel
	Inquires() bool
}

// An Editor is a channel that shows arguments so that a person can change them, and is trusted to say so when they did.
type Editor interface {
	Channel
	Edits() bool
}

var (
	// ErrTooMany says that the channel takes no more questions of this run.
	ErrTooMany = errors.New("it takes no more questions")
	// ErrNoPerson says that nobody is there to be asked over this channel.
	ErrNoPerson = errors.New("nobody is there")
	// ErrCannotAsk says that the channel has no means of asking, such as a client without elicitation. It is an
	// ErrNoPerson.
	ErrCannotAsk = fmt.Errorf("it cannot ask: %w", ErrNoPerson)
)

// MaxRounds is how often a call of a tool may be answered with a question in MCP 2026-07-28 before clients give up.
const MaxRounds = 9

// guarded calls a method of a channel. If the method crashes, its result is no: a crash is no way around the question.
func guarded[T any](no T, method func() T) (got T) {
	defer func() {
		if recover() != nil {
			got = no
		}
	}()
	return method()
}

// sourceOf describes channel number n of a question.
func sourceOf(n int, c Channel) source {
	from := source{n: n, name: prompt.Words(guarded("unnamed", func() string { return c.Name() }))}
	if s, ok := c.(Strong); ok {
		from.strong = guarded(false, s.Strong)
	}
	if i, ok := c.(Inquirer); ok {
		from.inquires = guarded(false, i.Inquires)
	}
	if e, ok := c.(Editor); ok {
		from.edits = guarded(false, e.Edits)
	}
	return from
}

// A source is the channel that something comes from.
type source struct {
	n    int // among the channels of the question
	name string

	strong, inquires, edits bool
}

// mayAnswer reports whether a yes could count.
func (s *source) mayAnswer(risk call.Risk) bool { return risk.FormSuffices() || s.strong }

// mayCarry reports whether the channel can show r for what it is.
func (s *source) mayCarry(r *prompt.Request) bool { return r.Inquiry == nil || s.inquires }
