package approvals

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Channel is a way to reach a person. Ask shows s.Request, waits for an answer and returns it. It returns early when
// ctx ends: its [context.Cause] says why in words fit to show. It may be called for several questions at once, and must
// not change the request.
//
// An error means that this channel has no answer; it never counts as a person's no. Some errors say more:
// [ErrNoPerson], [ErrCannotAsk], [prompt.ErrDismissed], [prompt.ErrUnclear].
type Channel interface {
	Name() string
	Ask(ctx context.Context, s *Showing) (call.Answer, error)
}

// A Strong channel knows more about who answers than that some program sent a form: a typed code on the person's own
// terminal, or a page behind a login. Only a strong channel may approve a call of critical risk; the Desk does not ask
// the others.
type Strong interface {
	Channel
	Strong() bool
}

// A Gatherer is a Channel that shows several calls, s.Calls, as one form with a decision for each. It returns an answer
// to each call, in the order of s.Calls. The Desk asks other channels about each call separately.
type Gatherer interface {
	Channel
	AskAll(ctx context.Context, s *Showing) ([]call.Answer, error)
}

// An Inquirer is a channel that can ask a [prompt.Inquiry]. The Desk does not ask other channels: they report that they
// cannot ask it.
type Inquirer interface {
	Channel
	Inquires() bool
}

// An Editor is a channel that lets a person change the arguments it shows, and reliably reports when they did.
type Editor interface {
	Channel
	Edits() bool
}

// A Noticer is a channel that shows questions that it may not answer, so that people learn of them. Notice returns when
// ctx ends. Whoever sees the question there does not count as somebody who may answer it.
type Noticer interface {
	Channel
	Notice(ctx context.Context, r *prompt.Request)
}

// CheckChannels returns an error if one of the channels is nil; list is their name in the error.
func CheckChannels(list string, channels []Channel) error {
	for i, c := range channels {
		if v := reflect.ValueOf(c); c == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%s[%d] is nil", list, i)
		}
	}
	return nil
}

var (
	// ErrTooMany says that the channel accepts no more questions of this run.
	ErrTooMany = errors.New("it takes no more questions")
	// ErrNoPerson says that nobody is available to answer over this channel.
	ErrNoPerson = errors.New("nobody is there")
	// ErrCannotAsk says that the channel has no means of asking, such as a client without elicitation. It is an
	// ErrNoPerson.
	ErrCannotAsk = fmt.Errorf("it cannot ask: %w", ErrNoPerson)
)

// MaxRounds is how many questions one call of a tool may return in MCP 2026-07-28 before clients give up.
const MaxRounds = 9

// guarded calls a method of a channel. If the method panics, guarded returns no: a crash must not bypass the question.
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
	_, from.notices = c.(Noticer)
	return from
}

// A source identifies the channel that a reply comes from.
type source struct {
	n    int // index among the channels of the question
	name string

	strong, inquires, edits, notices bool
}

// mayAnswer reports whether a yes from this channel could count.
func (s *source) mayAnswer(risk call.Risk) bool { return risk.FormSuffices() || s.strong }

// mayCarry reports whether the channel can show this kind of question.
func (s *source) mayCarry(r *prompt.Request) bool { return r.Inquiry == nil || s.inquires }
