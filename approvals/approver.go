package approvals

import (
	"context"
	"errors"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// Approver makes a channel from a function that decides about calls: a chat bot, a ticket system, a test. The function
// may refuse with a reason for the program, allow, or allow with other arguments (call.Answer has the fields). A refusal
// that carries fields of a yes is invalid, and a no. An error or a panic is no answer: its text is logged, and the
// refusal tells it to the program. So is a yes with arguments that do not fit. The author of decide vouches that people
// make its decisions; they count however fast they come.
//
// A person decides by [prompt.Render], whose Text is safe to print and says when it is cut or masked; [prompt.Summary]
// is for lists. decide is called for several questions at once, and returns when ctx ends: then nobody waits for the
// answer. It is not asked about calls of critical risk, which need a [Strong] channel, and not about questions of the
// program itself.
func Approver(name string, decide func(ctx context.Context, r *prompt.Request) (call.Answer, error)) Channel {
	if decide == nil {
		panic("approvals: an Approver needs a function that decides")
	}
	return approver{name, decide}
}

type approver struct {
	name   string
	decide func(ctx context.Context, r *prompt.Request) (call.Answer, error)
}

func (a approver) Name() string { return a.name }
func (approver) Edits() bool    { return true }

func (a approver) Ask(ctx context.Context, s *Showing) (call.Answer, error) {
	var answer call.Answer
	err := crashed(func() (err error) { answer, err = a.decide(ctx, s.Request); return err })
	known := slices.ContainsFunc([]error{ErrNoPerson, ErrTooMany, prompt.ErrUnclear, prompt.ErrDismissed, errInvalid},
		func(known error) bool { return errors.Is(err, known) })
	if err != nil && !known && ctx.Err() == nil {
		return call.Answer{}, &approverError{err}
	}
	withYes := answer.Args != nil || answer.Scope != "" || answer.Uses != 0 || answer.Length != 0
	if err == nil && !answer.Allowed && withYes {
		err = errInvalid
	}
	answer.Typed = true
	return answer, err
}
