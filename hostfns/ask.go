package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

// ask asks a person about a call, again while the rules change under each yes. The clock of the run is stopped
// meanwhile. Without an exception the call may be sent, under the context that ask returns; c then has the current tool,
// arguments and decision. before says that the call was already waiting when its run was saved: the Gate decides it
// again before it asks.
func (r *Run) ask(ctx context.Context, c *callState, before bool) (context.Context, *Exception) {
	if c.in.Pause != nil {
		defer c.in.Pause()()
	}
	for range mostQuestions {
		sending, again, x := r.askOnce(ctx, c, before)
		if x != nil || again == "" {
			return sending, x
		}
		c.forgetAnswer(again)
		before = false
	}
	return ctx, denied(c.tool.Name, reasonPolicy,
		fmt.Sprintf("the rules changed each of the %d times that it was allowed; call it again when they stay", mostQuestions),
		c.decision.Lead().Rule)
}

// mostQuestions is how many questions about one call people get while the rules change under each yes.
const mostQuestions = 5

// askOnce asks one question about a call. again says why the answer does not count and another question is needed.
func (r *Run) askOnce(ctx context.Context, c *callState, before bool) (_ context.Context, again string, _ *Exception) {
	c.shown = c.args
	q := &waiter{ctx: ctx, call: c, waited: before, answered: make(chan struct{})}
	if before || !r.remembered(q) {
		c.asked = true
		c.wait()
		r.rounds.join(q)
		<-q.answered // at the latest when ctx ends
	}
	if x := c.goOn(ctx); x != nil {
		q.refusal = x
	}
	sending := ctx
	if c.in.Carried != nil && c.done != nil {
		sending = c.in.Carried()
	}
	switch {
	case q.refusal != nil:
		return sending, "", q.refusal
	case sending.Err() != nil:
		return sending, "", runEnded(c) // a late yes does not count
	case c.answer.How == "" && c.decision.Verdict == call.Allow:
		return sending, "", nil // the profile allows it by now
	}
	if x := c.edited(sending, r.info.ArgumentBytes); x != nil {
		return sending, "", x
	}
	if again, x := r.release(sending, c, q.decided); x != nil || again != "" {
		return sending, again, x
	}
	c.update(func() {
		c.Approved = c.answer.How
		if c.answer.Channel != "" {
			c.Approved += ", " + c.answer.Channel
		}
	})
	return sending, "", nil
}

// check returns the function that validates other arguments for the call.
func (r *Run) check(c *callState) func(json.RawMessage) error {
	tool, before := c.tool, c.before
	before.Asked = true
	return func(raw json.RawMessage) error {
		args, err := call.Freeze(bytes.Clone(raw), r.info.ArgumentBytes)
		if err == nil && tool.Validate != nil {
			err = tool.Validate(context.Background(), args)
		}
		if err != nil {
			return err
		}
		if d := r.info.decide(tool, args, before); d.Verdict == call.Deny {
			return fmt.Errorf("it would be denied: %s", d.Detail())
		}
		return nil
	}
}

func (r *Run) question(c *callState) *Question {
	return &Question{
		Run: r.info.ID, Call: c.Call, Profile: r.info.Profile, Tool: c.tool, Args: c.args.JSON(),
		Decision: c.decision, Check: r.check(c), Again: c.again,
	}
}

// refresh finds and decides a call again. If the name now stands for another tool, the call is refused.
func (r *Run) refresh(ctx context.Context, c *callState) *Exception {
	now, err := r.view.find(ctx, c.tool.Name, c.in.Tool)
	if err != nil && ctx.Err() != nil {
		return runEnded(c) // the tool may not have been found in time
	}
	if err != nil {
		return denied(c.tool.Name, reasonPolicy, "the tool disappeared while the call waited for a person", "")
	}
	if now.Server != c.tool.Server || now.Raw != c.tool.Raw || now.Digest != c.tool.Digest {
		c.answer, c.use, c.redefined = call.Answer{}, nil, true // any answer was about another tool
		return denied(c.tool.Name, reasonPolicy,
			"the tool's definition changed while the call waited for a person; call it again", "")
	}
	c.list.mu.Lock()
	c.tool = now // Save may read it
	c.list.mu.Unlock()
	c.decision = r.info.decide(c.tool, c.args, c.before)
	return nil
}

// release decides an approved call again, and uses the approval up. The approval holds while the rules put the same
// question or none at all; again says what has changed otherwise. Where the rules deny the call now, that counts.
func (r *Run) release(ctx context.Context, c *callState, asked call.Decision) (again string, _ *Exception) {
	if x := r.refresh(ctx, c); x != nil {
		return "", x
	}
	d := c.decision
	same := d.Digest != "" && d.Digest == asked.Digest
	rule := d.Lead().Rule
	now := d // about what the person was shown
	if c.answer.Args != nil {
		now = r.info.decide(c.tool, c.shown, c.before)
	}
	switch {
	case d.Verdict == call.Deny && same:
		return "", c.denial()
	case d.Verdict == call.Deny:
		return "", denied(c.tool.Name, reasonPolicy, "the profile changed while a person was asked and denies it now: "+
			d.Detail(), rule)
	case d.Verdict == call.Ask && now.Basis() != asked.Basis():
		return changedQuestion(&asked, &now), nil
	case d.Verdict == call.Ask && d.Risk.Compare(asked.Risk) > 0:
		return "", denied(c.tool.Name, call.CodeDenied,
			"with the arguments that a person wrote it is riskier than what they were asked about", rule)
	case d.Verdict == call.Ask && c.answer.How == call.ByFallback && !d.Fallback:
		return "it needs a person's answer now", nil
	case d.Verdict == call.Ask && c.answer.Scope != "" && c.answer.Scope != call.Once && d.Asker() != asked.Asker():
		return "what may be allowed beyond this call is not what was offered", nil
	}
	return "", r.spend(ctx, c, asked)
}

// spend uses up the approval of a call.
func (r *Run) spend(ctx context.Context, c *callState, asked call.Decision) *Exception {
	if c.use == nil {
		return nil
	}
	rule := c.decision.Lead().Rule
	q := r.question(c)
	q.Decision = asked // the approval is bound to it, and release has compared it with the rules of now
	switch err := c.use(ctx, q); {
	case err == nil:
	case errors.Is(err, ErrChanged):
		return denied(c.tool.Name, reasonPolicy,
			"the call or its server changed while a person was asked, so their yes does not cover it; call it again", rule)
	case errors.Is(err, ErrTooLate):
		return denied(c.tool.Name, reasonTimeout, "a person allowed it: "+err.Error()+"; call it again", rule)
	case ctx.Err() != nil:
		return runEnded(c)
	default:
		r.log().Error("recording the use of an approval failed", "call", c.Call, "tool", c.tool.Name, "error", err)
		return denied(c.tool.Name, call.CodeDenied,
			"a person allowed it, but codemode could not record that the approval is used, so it did not make the call", rule)
	}
	return nil
}

// changedQuestion says in what a question differs from the one that was answered.
func changedQuestion(was, is *call.Decision) string {
	switch {
	case was.Risk != is.Risk:
		return fmt.Sprintf("its risk was %s and is %s", was.Risk, is.Risk)
	case was.Firm != is.Firm:
		return "whether a person has to answer is not as it was"
	case was.Asking != is.Asking:
		return "who may answer, or what they are shown, is not as it was"
	}
	return "they give other reasons: " + is.Lead().String()
}
