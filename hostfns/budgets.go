package hostfns

import (
	"context"
	"errors"
	"time"

	"github.com/codemode-project/codemode/call"
)

// charge is what a call costs before it is sent.
func (r *Run) charge(c *callState) *call.Charge {
	return &call.Charge{Principal: r.info.Principal, Profile: r.info.Profile, Tool: c.tool,
		Bytes: int64(len(c.args.JSON()))}
}

// beyond refuses a call that a budget has no room for, or that cannot be counted. The record has the first such refusal
// of the run and the budget: a program may try a thousand times.
func (r *Run) beyond(ctx context.Context, c *callState, err error) (context.Context, error) {
	limit, ok := errors.AsType[*LimitError](err)
	switch {
	case !ok && ctx.Err() != nil:
		return nil, r.refuse(ctx, c, runEnded(c), "error")
	case !ok:
		r.gate.deps.Log.Error("counting a call failed, so it is refused", "run", r.info.ID, "tool", c.tool.Name,
			"error", err)
		return nil, r.refuse(ctx, c, denied(c.tool.Name, call.CodeLimit,
			"what is left of its budget is unknown, and nothing was done; see the log", ""), "limit")
	}
	x := denied(c.tool.Name, call.CodeLimit, limit.Limit, "")
	x.Class = LimitClass
	x.Props["budget"], x.Props["until"] = limit.Budget, limit.Until.UTC().Format(time.RFC3339)
	x.Props["retryable"], x.Props["retryAfter"] = true, max(int(time.Until(limit.Until).Seconds()), 0)+1
	r.mu.Lock()
	told := r.beyondBudget[limit.Budget]
	if r.beyondBudget == nil {
		r.beyondBudget = map[string]bool{}
	}
	r.beyondBudget[limit.Budget] = true
	r.mu.Unlock()
	if told {
		r.update(c, func() { c.setState(x) })
		return nil, x
	}
	return nil, r.refuse(ctx, c, x, "limit")
}

// weigh counts the bytes of an answer.
func (r *Run) weigh(ctx context.Context, c *callState, reply *Reply) {
	if r.info.Budgets == nil || reply == nil {
		return
	}
	n := len(reply.Value)
	for _, b := range reply.Blocks {
		n += len(b)
	}
	r.info.Budgets.Answered(ctx, &call.Charge{Principal: r.info.Principal, Profile: r.info.Profile, Tool: c.tool,
		Bytes: int64(n)})
}
