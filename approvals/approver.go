package approvals

import (
	"context"
	"errors"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// errInvalid says that an approver's decision is none that there is. It is a no.
var errInvalid = errors.New("the decision is neither a refusal nor an approval")

// Approver makes a channel of a function that decides about calls: a chat bot, a ticket system, a test. It may refuse,
// with a reason for the program, allow, or allow with other arguments. A refusal with something that goes with a yes is
// an invalid decision, and a no. Whoever writes decide answers for its decisions being people's, so that they count
// however fast they come.
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
	answer, err := a.decide(ctx, s.Request)
	withYes := answer.Args != nil || answer.Scope != "" || answer.Uses != 0 || answer.Length != 0
	if err == nil && !answer.Allowed && withYes {
		err = errInvalid
	}
	answer.Typed = true
	return answer, err
}
