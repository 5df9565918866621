package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
)

// spending is what the calls of one run use of the budgets beyond it.
type spending struct {
	info *RunInfo
	told sync.Map // the budgets that the record says had no room
}

// cost is what a call costs before it is sent.
func (s *spending) cost(c *callState) *call.Charge {
	return &call.Charge{Principal: s.info.Owner, Profile: s.info.Profile, Tool: c.tool, Bytes: int64(len(c.args.JSON()))}
}

// full is the error of charge, as far as it is known already.
func (s *spending) full(c *callState) error {
	if s.info.Budgets == nil {
		return nil
	}
	return s.info.Budgets.Full(s.cost(c))
}

// charge counts a call that is about to be sent.
func (s *spending) charge(ctx context.Context, c *callState) error {
	if s.info.Budgets == nil {
		return nil
	}
	return s.info.Budgets.Charge(ctx, s.cost(c))
}

// beyond refuses a call that a budget has no room for, or that cannot be counted. The record has the first such refusal
// of the run and the budget: a program may try a thousand times.
func (r *Run) beyond(ctx context.Context, c *callState, err error) (context.Context, error) {
	limit, ok := errors.AsType[*LimitError](err)
	switch {
	case !ok && ctx.Err() != nil:
		return nil, r.refuse(ctx, c, runEnded(c), "error")
	case !ok:
		r.log().Error("counting a call failed, so it is refused", "tool", c.tool.Name, "error", err)
		return nil, r.refuse(ctx, c, denied(c.tool.Name, call.CodeLimit,
			"what is left of its budget is unknown, and nothing was done; see the log", ""), "limit")
	}
	x := limit.exception(c.tool.Name)
	_, told := r.spending.told.LoadOrStore(limit.Budget, true)
	if told {
		c.update(func() { c.setState(x) })
		return nil, x
	}
	return nil, r.refuse(ctx, c, x, "limit")
}

// exception is what the program gets.
func (e *LimitError) exception(name string) *Exception {
	x := denied(name, call.CodeLimit, e.Limit, "")
	x.Class = LimitClass
	x.Props["budget"], x.Props["until"] = e.Budget, e.Until.UTC().Format(time.RFC3339)
	x.Props["retryable"], x.Props["retryAfter"] = true, max(int(time.Until(e.Until).Seconds()), 0)+1
	return x
}

// answered counts the bytes of an answer, or of the words of a failure: the program reads both.
func (s *spending) answered(ctx context.Context, c *callState, reply *Reply, err error) {
	if s.info.Budgets == nil {
		return
	}
	n := 0
	if reply != nil {
		n = len(reply.Value)
		for _, b := range reply.Blocks {
			n += len(b)
		}
	}
	if err != nil {
		n += len(err.Error())
	}
	if failure, ok := errors.AsType[*ToolFailure](err); ok {
		content, _ := json.Marshal(failure.Content) // it was read from JSON
		n += len(content)
	}
	if n > 0 {
		s.info.Budgets.Answered(ctx, &call.Charge{Principal: s.info.Owner, Profile: s.info.Profile, Tool: c.tool,
			Bytes: int64(n)})
	}
}
