package hostfns

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

// connected makes sure that the principal has what the upstream of a call needs. If it has no login and can make one on
// the page, the call waits until it has. An exception comes with who or what decided it. Without one, a call that
// waited is decided anew, and still waits if a person has to be asked about it.
func (r *Run) connected(ctx context.Context, c *callState) (x *Exception, by string) {
	if c.tool.Ready == nil {
		return nil, ""
	}
	defer c.update(func() { c.connects = 0 })
	missing := c.tool.Ready(ctx)
	asked := c.in.Connecting // then the end of the question is to be recorded, also if the login is there by now
	sent, ok := errors.AsType[*SendError](missing)
	switch {
	case missing == nil && !asked:
		return nil, ""
	case asked, r.info.Prompter != nil && ok && sent.Page != "":
		x, by = r.connect(ctx, c, sent, missing)
	default:
		x, by = notReady(c.tool, missing), "error"
	}
	if x != nil {
		if lost := c.goOn(ctx); lost != nil {
			return lost, "error"
		}
	}
	return x, by
}

// connect waits for the account that a call needs. missing is the error of a call without it.
func (r *Run) connect(ctx context.Context, c *callState, sent *SendError, missing error) (x *Exception, by string) {
	page := ""
	if sent != nil {
		page = sent.Page
	}
	answer := r.accounts.get(ctx, c, page)
	switch {
	case ctx.Err() != nil:
		return runEnded(c), "error"
	case answer.How == call.ByPerson && !answer.Allowed:
		detail := fmt.Sprintf("a person refused to connect the account of %s at %s", r.info.Principal, c.tool.Server)
		if answer.Reason != "" {
			detail += "; the person's words: " + answer.Reason
		}
		return denied(c.tool.Name, reasonDeclined, detail, ""), call.ByPerson
	case !answer.Allowed && missing != nil:
		return notReady(c.tool, missing), "error"
	}
	// The login decides nothing about the call, and other things may have changed meanwhile.
	r.tally(c)
	if x := r.refresh(ctx, c); x != nil {
		return x, c.decider()
	}
	if c.decision.Verdict == call.Deny {
		return c.denial(), c.decidedBy()
	}
	if c.tool.Ready != nil {
		if missing = c.tool.Ready(ctx); missing != nil {
			return notReady(c.tool, missing), "error"
		}
	}
	return nil, ""
}

// resumeConnecting continues a call that was waiting for an account when its run was saved.
func (r *Run) resumeConnecting(ctx context.Context, c *callState) (context.Context, error) {
	defer c.decided()
	c.wait()
	x := r.refresh(ctx, c) // finds the tool, with what says whether it is ready
	by := c.decider()
	if x == nil && c.decision.Verdict == call.Deny {
		x = c.denial()
	}
	if x == nil {
		return r.proceed(ctx, c)
	}
	if lost := c.goOn(ctx); lost != nil {
		x, by = lost, "error"
	}
	return nil, r.refuse(ctx, c, x, by)
}
