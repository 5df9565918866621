package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

// ask puts an admitted call to a person. The run's clock stands still from the
// moment the call waits. It returns no exception when the call may be sent: then a holds
// the tool, the arguments and the decision of that moment, and the context is what the call
// goes on under. A call that waited when its run was saved is decided anew first.
func (r *Run) ask(ctx context.Context, c *ongoing, in Invocation, a *admission, before bool) (context.Context, *Exception) {
	if in.Pause != nil {
		defer in.Pause()()
	}
	q := &asked{ctx: ctx, call: c, admission: a, progress: in.Progress, waited: before, before: before, answered: make(chan struct{})}
	if before || !r.remembered(q) {
		r.update(c, func() { c.asking = a })
		goesOn := func() {}
		if in.Asking != nil {
			goesOn = in.Asking()
		}
		r.join(q)
		<-q.answered // at the latest when ctx ends
		if in.Claim != nil {
			if err := in.Claim(ctx); err != nil && ctx.Err() == nil {
				q.refusal = denied(a.tool.Name, ReasonCanceled,
					"the store did not tell which process owns this run", "")
			}
		}
		r.update(c, func() { c.asking = nil })
		goesOn()
	}
	if in.Carried != nil && r.isApproved(c) {
		ctx = in.Carried()
	}
	switch {
	case q.refusal != nil:
		return ctx, q.refusal
	case ctx.Err() != nil:
		return ctx, runEnded(c) // a late yes counts for nothing
	case a.answer.How == "" && a.decision.Verdict == call.Allow:
		return ctx, nil // since it waited
	}
	if x := r.edited(ctx, c, a); x != nil {
		return ctx, x
	}
	if x := r.release(ctx, c, a, q.decided); x != nil {
		return ctx, x
	}
	r.update(c, func() {
		c.Approved = a.answer.How
		if a.answer.Channel != "" {
			c.Approved += ", " + a.answer.Channel
		}
	})
	return ctx, nil
}

func (r *Run) isApproved(c *ongoing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.done != nil
}

// edited puts the arguments that a person allowed in the place of those that the program gave.
func (r *Run) edited(ctx context.Context, c *ongoing, a *admission) *Exception {
	if a.answer.Args == nil {
		return nil
	}
	args, err := freeze(a.answer.Args, r.info.ArgumentBytes)
	if err == nil && a.tool.Validate != nil {
		err = a.tool.Validate(ctx, args)
	}
	if err != nil {
		return denied(a.tool.Name, ReasonBadArguments, "a person changed the arguments, and they are not right: "+err.Error(), "")
	}
	a.proposed, a.args = a.args, args
	r.update(c, func() { c.Changed = changed(a.proposed, a.args) })
	return nil
}

// check says what is wrong with other arguments for a call that a person is asked about.
func (r *Run) check(c *ongoing, a *admission) func(json.RawMessage) error {
	tool, before := a.tool, c.before
	before.Asked = true
	return func(raw json.RawMessage) error {
		args, err := freeze(raw, r.info.ArgumentBytes)
		if err != nil {
			return err
		}
		if tool.Validate != nil {
			if err := tool.Validate(context.Background(), args); err != nil {
				return err
			}
		}
		if d := r.decide(&ongoing{before: before}, &admission{tool: tool, args: args}); d.Verdict == call.Deny {
			return fmt.Errorf("it would be denied: %s", d.Detail())
		}
		return nil
	}
}

func (r *Run) question(c *ongoing, a *admission) *Question {
	return &Question{
		Run: r.info.ID, Call: c.Call, Profile: r.info.Profile, Tool: a.tool, Args: a.args, Decision: a.decision, Check: r.check(c, a),
	}
}

// refresh finds and decides a call once more. Another tool under the name it
// was decided for undoes everything so far.
func (r *Run) refresh(ctx context.Context, c *ongoing, a *admission) *Exception {
	var given *Tool
	if a.given {
		given = a.tool
	}
	now, err := r.find(ctx, a.tool.Name, given)
	if err != nil && ctx.Err() != nil {
		return runEnded(c) // it may be that it was not found in time
	}
	if err != nil {
		return denied(a.tool.Name, ReasonPolicy, "the tool disappeared while the call waited for a person", "")
	}
	if now.Server != a.tool.Server || now.Raw != a.tool.Raw || now.Digest != a.tool.Digest {
		a.answer, a.use, a.redefined = call.Answer{}, nil, true // whatever the person said was about another tool
		return denied(a.tool.Name, ReasonPolicy, "the tool's definition changed while the call waited for a person; call it again", "")
	}
	a.tool = now
	a.decision = r.decide(c, a)
	return nil
}

// release decides an approved call again: an approval stands for what was
// shown, so a stricter profile undoes it.
func (r *Run) release(ctx context.Context, c *ongoing, a *admission, asked call.Decision) *Exception {
	if x := r.refresh(ctx, c, a); x != nil {
		return x
	}
	d := a.decision
	same := d.Digest != "" && d.Digest == asked.Digest
	rule := d.Lead().Rule
	switch {
	case d.Verdict == call.Deny && same:
		return r.denial(a)
	case d.Verdict == call.Deny:
		return denied(a.tool.Name, ReasonPolicy, "the profile changed while a person was asked and denies it now", rule)
	case d.Verdict == call.Ask && d.Risk.Compare(asked.Risk) > 0 && same && a.proposed != nil:
		return denied(a.tool.Name, ReasonDenied, "with the arguments that a person wrote it is riskier than what they were asked about", rule)
	case d.Verdict == call.Ask && d.Risk.Compare(asked.Risk) > 0:
		return denied(a.tool.Name, ReasonPolicy, "the profile changed while a person was asked and rates it as riskier now; call it again", rule)
	case d.Verdict == call.Ask && a.answer.How == call.ByFallback && !d.Fallback:
		return denied(a.tool.Name, ReasonPolicy, "the profile changed and needs a person's answer now", rule)
	}
	if a.use != nil {
		switch err := a.use(ctx, r.question(c, a)); {
		case err == nil:
		case errors.Is(err, ErrChanged):
			return denied(a.tool.Name, ReasonPolicy, "what was approved is not what would be done now: "+err.Error()+"; call it again", rule)
		case errors.Is(err, ErrTooLate):
			return denied(a.tool.Name, ReasonTimeout, "a person allowed it: "+err.Error()+"; call it again", rule)
		case ctx.Err() != nil:
			return runEnded(c)
		default:
			r.gate.deps.Log.Error("a person's yes could not be used", "run", r.info.ID, "call", c.Call, "tool", a.tool.Name, "error", err)
			return denied(a.tool.Name, ReasonDenied, "a person allowed it, and it could not be recorded that the yes is used, so it is not", rule)
		}
	}
	return nil
}

// RunEnded is the detail of a call that is not made because its run has ended.
const RunEnded = "the run ended first"

func runEnded(c *ongoing) *Exception { return denied(c.Tool, ReasonCanceled, RunEnded, "") }

// remember keeps a refusal for the rest of the run, and counts those of people.
// What is refused in one round counts once: it is one no to one question, and
// must not end the run over the calls that were allowed with it.
func (r *Run) remember(c *ongoing, a *admission, x *Exception, counted *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[a.key()] = x
	if a.answer.How == call.ByPerson {
		if !*counted {
			r.refusals++
			*counted = true
		}
		c.refusal = r.refusals
	}
}

// refusedBefore returns the refusal of the very same call earlier in this run:
// asking again would only wear the person down.
func (r *Run) refusedBefore(a *admission) *Exception {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.refused[a.key()]
	if x == nil {
		return nil
	}
	name, _ := x.Props["toolName"].(string)
	reason, _ := x.Props["reason"].(string)
	rule, _ := x.Props["rule"].(string)
	return denied(name, reason, "the same call was refused before in this run, so nobody was asked again", rule)
}

func refusalDetail(a call.Answer) string {
	var text string
	switch a.Code {
	case call.CodeDeclined:
		text = "a person was asked and refused"
	case call.CodeTimeout:
		text = "a person was asked and did not answer in time"
	case call.CodeCanceled:
		text = "the question was closed without an answer"
	case call.CodeUnsupported:
		text = "it needs a person's approval and this client cannot ask one"
	default:
		text = "it needs a person's approval and nobody could be asked"
	}
	if a.Reason != "" {
		text = fmt.Sprintf("%s; the person's words: %s", text, a.Reason)
	}
	return text
}
