package approvals

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// errInvalid says that an approver's decision is none that there is. It is a no.
var errInvalid = errors.New("the decision is neither a refusal nor an approval")

// Approver makes a channel of a function that decides about calls: a chat bot, a ticket system, a test. It may refuse, with a reason
// for the program, allow, or allow with other arguments; any other decision is ErrInvalid, and a no. Whoever writes decide answers
// for its decisions being people's, so that they count however fast they come.
func Approver(name string, decide func(ctx context.Context, r *prompt.Request) (prompt.Reply, error)) Channel {
	if decide == nil {
		panic("approvals: an Approver needs a function that decides")
	}
	return approver{name, decide}
}

type approver struct {
	name   string
	decide func(ctx context.Context, r *prompt.Request) (prompt.Reply, error)
}

func (a approver) Name() string { return a.name }
func (approver) Edits() bool    { return true }

func (a approver) Ask(ctx context.Context, r *prompt.Request) (prompt.Reply, error) {
	reply, err := a.decide(ctx, r)
	if err != nil {
		return prompt.Reply{}, err
	}
	if reply.Decision != prompt.Refuse && reply.Decision != prompt.AllowOnce {
		return prompt.Reply{}, fmt.Errorf("%w: %d", errInvalid, reply.Decision)
	}
	reply.Typed = true
	return reply, nil
}
