package hostfns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

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

// accounts are the questions of one run to its principal, for accounts at servers.
type accounts struct {
	info     *RunInfo
	calls    *callList
	refusals *refusals
	record   *entries
	log      func() *slog.Logger

	mu    sync.Mutex
	asked map[string]*connecting // by server
}

// A connecting is the question to the principal of a run whether it connects its account at a server. All calls of the
// run that need the account wait for this one question.
type connecting struct {
	call   int           // under whose number the principal is asked
	calls  []*callState  // those that wait for it; under the lock of the accounts
	over   chan struct{} // closed when the question is over
	answer call.Answer   // then
	again  bool          // then: the call that asked has ended, which decides nothing about the others
}

// connectVerdict stands in the place of a verdict in the entries about the question: the profile did not ask it.
const connectVerdict = "connect"

// get returns the answer to the question for an account, which one of the calls that wait for it asks.
func (a *accounts) get(ctx context.Context, c *callState, page string) call.Answer {
	if c.in.Pause != nil {
		defer c.in.Pause()()
	}
	c.decided() // other questions do not wait for it
	for ctx.Err() == nil {
		q, asks := a.join(c)
		c.wait()
		if asks {
			a.ask(ctx, c, q, page)
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

// join returns the question for the account of a call, and whether this call has to ask it.
func (a *accounts) join(c *callState) (q *connecting, asks bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q = a.asked[c.tool.Server]
	if q == nil {
		q, asks = &connecting{call: cmp.Or(c.connects, c.Call), over: make(chan struct{})}, true
		a.asked[c.tool.Server] = q
	}
	q.calls = append(q.calls, c)
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	c.connects = q.call
	return q, asks
}

// ask asks for the account of a call. A refusal, and the end of the time to answer, hold for the run: nobody is
// asked twice.
func (a *accounts) ask(ctx context.Context, c *callState, q *connecting, page string) {
	q.answer = call.Answer{How: call.ByNobody, Code: call.CodeNoApprover}
	defer func() {
		if p := recover(); p != nil {
			panicked(a.log(), p)
		}
		q.again = ctx.Err() != nil
		a.end(c.tool.Server, q)
	}()
	before := a.calls.counters(0)
	before.Refusals = a.refusals.count()
	note := func(kind, state string) {
		if a.info.leaves() {
			return
		}
		e := a.record.of(kind, state, c)
		e.Call, e.Verdict, e.Risk, e.Rules = q.call, connectVerdict, "", nil
		if e.Args != nil {
			e.Args.RawShown = call.Arguments{} // they are not in the question
		}
		if kind == call.KindApproval {
			e.DecidedBy, e.Reason, e.Detail = q.answer.DecidedBy(), state, q.answer.Reason
		}
		a.record.late(ctx, e)
	}
	if !c.in.Connecting {
		note(call.KindCall, call.Pending)
	}
	q.answer = a.info.Prompter.Connect(ctx, &Question{Run: a.info.ID, Call: q.call, Profile: a.info.Profile, Tool: c.tool,
		Before: before, Page: page, Connected: func(ctx context.Context) bool {
			reading, cancel := context.WithTimeout(ctx, readyWait)
			defer cancel()
			return c.tool.Ready(reading) == nil
		}})
	note(call.KindApproval, cmp.Or(q.answer.Code, "connected"))
}

// end lets the calls continue that wait for an account. Calls that a person has to be asked about make one round again.
func (a *accounts) end(server string, q *connecting) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q.answer.Allowed || q.again {
		delete(a.asked, server)
	}
	for _, c := range q.calls {
		c.update(func() {
			if q.answer.Allowed && !c.undecided {
				c.undecided = true
				c.list.undecided++
			}
		})
	}
	close(q.over)
}

// readyWait bounds how long a question for an account waits to learn whether the account has come meanwhile.
const readyWait = 10 * time.Second
