package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// ErrInvalid says that an approver's decision is none that there is. It is a no.
var ErrInvalid = errors.New("the decision is neither a refusal nor an approval")

// Approver makes a channel of a function that decides about calls: a chat bot, a ticket system, a test. It may refuse, with a reason
// for the program, allow, or allow with other arguments; any other decision is ErrInvalid, and a no. Whoever writes decide answers
// for its decisions being people's, so that they count however fast they come.
func Approver(name string, decide func(ctx context.Context, r *Request) (Reply, error)) Channel {
	if decide == nil {
		panic("approvals: an Approver needs a function that decides")
	}
	return approver{name, decide}
}

type approver struct {
	name   string
	decide func(ctx context.Context, r *Request) (Reply, error)
}

func (a approver) Name() string { return a.name }
func (approver) Edits() bool    { return true }

func (a approver) Ask(ctx context.Context, r *Request) (Reply, error) {
	reply, err := a.decide(ctx, r)
	if err != nil {
		return Reply{}, err
	}
	if reply.Decision != Refuse && reply.Decision != AllowOnce {
		return Reply{}, fmt.Errorf("%w: %d", ErrInvalid, reply.Decision)
	}
	reply.Typed = true
	return reply, nil
}

// Shown is arguments as they may be shown and logged: secrets are masked, long texts, arrays and objects cut, the rest escaped. It is
// one line. The raw arguments belong in no log.
func Shown(args json.RawMessage, d Display) string {
	p := &printer{limits: limits{text: narrow(oneLineText, d.String), items: narrow(oneLineItems, d.Items), depth: narrow(oneLineDepth, d.Depth)}}
	p.masker, p.oneLine, p.width = newMasker(d, false), true, math.MaxInt32
	if len(args) == 0 {
		return "none"
	}
	v, err := parseArgs(args)
	if err != nil {
		return fmt.Sprintf("(not strict JSON, %d bytes)", len(args))
	}
	p.value(v, 0, 0, open)
	return p.b.String()
}

// What Shown shows at most, if a Display does not narrow it.
const oneLineText, oneLineItems, oneLineDepth = 120, 12, 4
