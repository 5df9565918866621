package hostfns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A connecting is the question to the principal of a run whether it connects its account at a server. All calls of the
// run that need the account wait for this one question.
type connecting struct {
	call   int           // under whose number the principal is asked
	calls  []*callState  // those that wait for it; under the run's lock
	over   chan struct{} // closed when the question is over
	answer call.Answer   // then
	again  bool          // then: the call that asked has ended, which decides nothing about the others
}

// connectVerdict stands in the place of a verdict in the entries about the question: the profile did not ask it.
const connectVerdict = "connect"

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
	answer := r.account(ctx, c, page)
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
		return r.denial(c), c.decidedBy()
	}
	if c.tool.Ready != nil {
		if missing = c.tool.Ready(ctx); missing != nil {
			return notReady(c.tool, missing), "error"
		}
	}
	return nil, ""
}

// account returns the answer to the question for an account, which one of the calls that wait for it asks.
func (r *Run) account(ctx context.Context, c *callState, page string) call.Answer {
	if c.in.Pause != nil {
		defer c.in.Pause()()
	}
	c.decided() // other questions do not wait for it
	for ctx.Err() == nil {
		q, asks := r.joinConnecting(c)
		c.wait()
		if asks {
			r.askAccount(ctx, c, q, page)
			return q.answer
		}
		select {
		case <-q.over:
			if !q.again {
				return q.answer
			}
		case <-ctx.Done():
		}
	}
	return call.Answer{}
}

// joinConnecting returns the question for the account of a call, and whether this call has to ask it.
func (r *Run) joinConnecting(c *callState) (q *connecting, asks bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q = r.connecting[c.tool.Server]
	if q == nil {
		q, asks = &connecting{call: cmp.Or(c.connects, c.Call), over: make(chan struct{})}, true
		r.connecting[c.tool.Server] = q
	}
	q.calls = append(q.calls, c)
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	c.connects = q.call
	return q, asks
}

// askAccount asks for the account of a call. A refusal, and the end of the time to answer, hold for the run: nobody is
// asked twice.
func (r *Run) askAccount(ctx context.Context, c *callState, q *connecting, page string) {
	q.answer = call.Answer{How: call.ByNobody, Code: call.CodeNoApprover}
	defer func() {
		if p := recover(); p != nil {
			panicked(r.log, p)
		}
		q.again = ctx.Err() != nil
		r.endConnecting(c.tool.Server, q)
	}()
	before := r.calls.counters(0)
	before.Refusals = r.refusals.count()
	note := func(kind string) {
		if r.info.leaves() {
			return
		}
		e := r.record.of(kind, c)
		e.Call, e.Verdict, e.Risk, e.Rule, e.At, e.Layer = q.call, connectVerdict, "", "", "", ""
		e.Shown = call.Arguments{} // they are not in the question
		if kind == KindAnswer {
			a := q.answer
			e.DecidedBy, e.Channel, e.By, e.Waited = a.How, a.Channel, a.By, a.Took
			e.Reason, e.Words = cmp.Or(a.Code, "connected"), a.Reason
		}
		r.record.late(ctx, e)
	}
	if !c.in.Connecting {
		note(KindAsked)
	}
	q.answer = r.info.Prompter.Connect(ctx, &Question{Run: r.info.ID, Call: q.call, Profile: r.info.Profile, Tool: c.tool,
		Before: before, Page: page, Connected: func(ctx context.Context) bool {
			reading, cancel := context.WithTimeout(ctx, readyWait)
			defer cancel()
			return c.tool.Ready(reading) == nil
		}})
	note(KindAnswer)
}

// endConnecting lets the calls continue that wait for an account. Calls that a person has to be asked about make one
// round again.
func (r *Run) endConnecting(server string, q *connecting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.answer.Allowed || q.again {
		delete(r.connecting, server)
	}
	for _, c := range q.calls {
		if q.answer.Allowed {
			c.undecide()
		}
	}
	close(q.over)
}

// readyWait bounds how long a question for an account waits to learn whether the account has come meanwhile.
const readyWait = 10 * time.Second

// resumeConnecting continues a call that was waiting for an account when its run was saved.
func (r *Run) resumeConnecting(ctx context.Context, c *callState) (context.Context, error) {
	defer c.decided()
	c.wait()
	x := r.refresh(ctx, c) // finds the tool, with what says whether it is ready
	by := c.decider()
	if x == nil && c.decision.Verdict == call.Deny {
		x = r.denial(c)
	}
	if x == nil {
		return r.proceed(ctx, c)
	}
	if lost := c.goOn(ctx); lost != nil {
		x, by = lost, "error"
	}
	return nil, r.refuse(ctx, c, x, by)
}
