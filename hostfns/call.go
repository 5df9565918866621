package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
)

// recordAfterwards bounds the writing of an outcome: it must still be written
// when the run has been canceled, but may not hold its end up for ever.
const recordAfterwards = 5 * time.Second

// maxName is the longest tool name that is looked up; a longer one is none.
const maxName = 256

// Call performs one call of the program. Errors are [*Exception]. It may be
// called from many goroutines, and not after [Run.End].
func (r *Run) Call(ctx context.Context, in Invocation) (value json.RawMessage, err error) {
	if in.Name == ReadResource && r.gate.deps.ResourceTool != nil {
		if in, err = r.resource(in); err != nil {
			return nil, err
		}
	}
	c := r.begin(in)
	if c == nil {
		return nil, denied(in.Name, ReasonCanceled, "the run is over", "")
	}
	if in.Name == AskUser {
		return r.askUser(ctx, in)
	}
	if f := r.functions[in.Name]; f != nil {
		return f(ctx, in.Args)
	}
	return r.pass(c, func() (context.Context, *admission, error) { return r.admit(ctx, c, in) })
}

// pass has a call admitted and sends it, and enters how it ended.
func (r *Run) pass(c *ongoing, admit func() (context.Context, *admission, error)) (value json.RawMessage, err error) {
	start := time.Time{}
	defer func() {
		if p := recover(); p != nil {
			r.gate.deps.Log.Error("a call panicked", "run", r.info.ID, "call", c.Call, "tool", c.Tool, "panic", p, "stack", string(debug.Stack()))
			value, err = nil, &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
		r.finish(c, start, err)
		if c.refusal > 0 && r.info.Refused != nil {
			r.info.Refused(c.refusal) // last: it may end the run, whose list then has this call
		}
	}()
	ctx, admitted, err := admit()
	if err != nil {
		return nil, err
	}
	start = time.Now()
	return r.send(ctx, c, admitted)
}

// admission is a call that may be sent: everything it was decided on.
type admission struct {
	tool     *Tool
	args     json.RawMessage
	proposed json.RawMessage // what the program gave, when a person allowed other arguments
	decision call.Decision
	answer   call.Answer // zero unless somebody had to be asked
	use      Use         // takes the yes of answer; nil takes nothing

	given     bool // the tool is the host's own, and not looked up
	redefined bool // since it was asked about, its name has become another tool's
}

// admit takes a call through everything that comes before sending it. It returns what the call goes on under.
func (r *Run) admit(ctx context.Context, c *ongoing, in Invocation) (context.Context, *admission, error) {
	a := &admission{}
	defer r.arrived(c)
	refuse := func(x *Exception, by string) (context.Context, *admission, error) {
		return nil, nil, r.refuse(ctx, c, a, x, by)
	}
	var err error
	a.given = in.Tool != nil
	if a.tool, err = r.find(ctx, in.Name, in.Tool); err != nil {
		if ctx.Err() != nil { // it may be that it was not found in time
			return refuse(runEnded(c), "error")
		}
		return refuse(r.notFound(ctx, in.Name, err), "error")
	}
	if in.resource && !a.tool.Resource {
		return refuse(notFound(taken(a.tool.Name)), "error")
	}
	if a.args, err = freeze(in.Args, r.info.ArgumentBytes); err != nil {
		return refuse(denied(a.tool.Name, ReasonBadArguments, err.Error(), ""), "limit")
	}
	r.count(c, a)
	a.decision = r.decide(c, a)
	if a.decision.Verdict == call.Deny {
		return refuse(r.denial(a), a.decidedBy())
	}
	// After the denials: the schema of a tool it may not use is none of the program's business.
	if a.tool.Validate != nil {
		if err := a.tool.Validate(ctx, a.args); err != nil {
			if ctx.Err() != nil {
				return refuse(runEnded(c), "error")
			}
			return refuse(asInvalid(a.tool.Name, err), "error")
		}
	}
	if a.decision.Verdict == call.Ask {
		return r.approve(ctx, c, in, a, false)
	}
	return r.authorise(ctx, c, a)
}

// approve asks about a call. before says that it waited when its run was saved.
func (r *Run) approve(ctx context.Context, c *ongoing, in Invocation, a *admission, before bool) (context.Context, *admission, error) {
	ctx, x := r.ask(ctx, c, in, a, before)
	if x != nil {
		return nil, nil, r.refuse(ctx, c, a, x, a.decider())
	}
	return r.authorise(ctx, c, a)
}

// authorise is the last step before a call is sent: that it is has to be on record.
func (r *Run) authorise(ctx context.Context, c *ongoing, a *admission) (context.Context, *admission, error) {
	if ctx.Err() != nil {
		return nil, nil, r.refuse(ctx, c, a, runEnded(c), "error")
	}
	switch err := r.gate.deps.Recorder.Record(ctx, r.entry(KindRunning, c, a)); {
	case err != nil && ctx.Err() != nil:
		return nil, nil, runEnded(c) // what could not be recorded did not happen, which the recorder sees to
	case err != nil:
		r.gate.deps.Log.Error("a call was refused because it could not be recorded", "run", r.info.ID, "tool", a.tool.Name, "error", err)
		return nil, nil, denied(a.tool.Name, ReasonDenied, unrecorded(err), "")
	}
	return ctx, a, nil
}

// find looks a tool up, unless the host gives it.
func (r *Run) find(ctx context.Context, name string, given *Tool) (*Tool, error) {
	if len(name) > maxName {
		return nil, &NotFoundError{Name: fmt.Sprintf("%.40s… (%d bytes)", name, len(name))}
	}
	if given != nil {
		return given, nil
	}
	return r.gate.deps.Tools.Find(ctx, name)
}

func (r *Run) decide(c *ongoing, a *admission) call.Decision {
	if r.info.Policy == nil {
		return call.Decision{Reasons: []call.Reason{{List: "configuration", Text: "no policy is in force"}}}
	}
	return r.info.Policy.Decide(a.tool, a.args, c.before)
}

// count notes that this very call is made once more.
func (r *Run) count(c *ongoing, a *admission) {
	r.mu.Lock()
	c.before.Repeat = r.seen[a.key()]
	r.seen[a.key()]++
	r.mu.Unlock()
	r.tally(c, a)
}

// tally notes what people have been asked so far, and what has been read. The question about the call
// itself is not among it, so that deciding again after the answer counts the same.
func (r *Run) tally(c *ongoing, a *admission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.before.Asks, c.before.Refusals = r.asks, r.refusals
	c.before.Taint = r.taint.reaches(a.tool.Name, a.args, r.info.Written)
	c.before.Tainted = c.before.Taint != ""
}

// read notices that words of a server are about to reach the program.
func (r *Run) read(c *ongoing, t *Tool, reply *Reply, err error) {
	if said := words(reply, err); said != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taint.answered(c.Call, t, said, r.info.Written != nil)
	}
}

// key tells calls of one run apart by what they would do.
func (a *admission) key() string { return a.tool.Name + "\x00" + digest(a.args) }

func (r *Run) denial(a *admission) *Exception {
	return denied(a.tool.Name, cmp.Or(a.decision.Code, ReasonDenied), a.decision.Detail(), a.decision.Lead().Rule)
}

// send performs an admitted call and records its outcome, also when the run
// has ended in the meantime.
func (r *Run) send(ctx context.Context, c *ongoing, a *admission) (value json.RawMessage, failed error) {
	start := time.Now()
	outcome := OutcomeUnknown
	defer func() { r.recordOutcome(ctx, c, a, outcome, value, failed, time.Since(start)) }()
	sent := func() {
		c.sent, c.Reads = true, a.tool.Annotations["readOnlyHint"] == true
		if c.begun != nil {
			close(c.begun)
		}
	}
	if !r.update(c, sent) {
		outcome = OutcomeNotSent
		return nil, runEnded(c)
	}
	timeout := cmp.Or(a.tool.Timeout, r.info.CallTimeout)
	sending, clock, over := newClock(ctx, timeout, c.pause)
	defer over()
	reply, err := r.gate.deps.Sender.Send(sending, &Sending{Call: c.Call, Tool: a.tool, Args: a.args, Pause: clock.pause})
	r.read(c, a.tool, reply, err)
	if err == nil && reply != nil {
		outcome = "ok"
		if x := r.checkOutput(ctx, c, a.tool, reply); x != nil {
			return nil, x
		}
		r.keep(reply.Blocks)
		return reply.Value, nil
	}
	if failure, ok := errors.AsType[*ToolFailure](err); ok {
		outcome = "error"
		return nil, toolError(a.tool.Name, failure)
	}
	message := "the upstream did not answer; it may have happened"
	switch failure, ok := errors.AsType[*SendError](err); {
	case sending.Err() != nil && ctx.Err() == nil && (!ok || failure.Unknown):
		message = fmt.Sprintf("no answer within %v; it may have happened", timeout)
	case ok && !failure.Unknown:
		outcome, message = OutcomeNotSent, failure.Message
	case ok:
		message = failure.Message
	}
	return nil, upstreamError(a.tool, outcome, message)
}

// finish enters how a call ended in the run's list.
func (r *Run) finish(c *ongoing, sent time.Time, err error) {
	defer r.left(c)
	r.update(c, func() {
		c.over = true
		c.pause = nil // it would keep the call's arguments until the run ends
		if !sent.IsZero() {
			c.Took = time.Since(sent)
		}
		c.became(err)
	})
}

// became enters how a call ended. The caller holds the lock of the run.
func (c *ongoing) became(err error) {
	x, ok := errors.AsType[*Exception](err)
	if err == nil {
		c.State = Done
		return
	}
	c.State, c.Detail = Failed, err.Error()
	if !ok {
		return
	}
	c.Detail = x.Message
	switch x.Class {
	case ToolCallDenied:
		c.State = Refused
		c.Reason, _ = x.Props["reason"].(string)
		c.Detail, _ = x.Props["detail"].(string)
		if c.Reason == ReasonCanceled && !c.sent && c.Detail == RunEnded {
			c.State = NotStarted
		}
	case UpstreamFailure:
		c.Reason, c.State = OutcomeUnknown, Unknown
		if x.Props["outcome"] == OutcomeNotSent {
			c.Reason, c.State = OutcomeNotSent, NotStarted
		}
	case ToolNotFound, InvalidArguments, InvalidResult, ToolErrorClass:
		c.Reason = x.Class
	default: // an internal error
		if c.sent {
			c.State = Unknown
		}
	}
}

// left tells those who wait for a call that a person allowed that it is over.
func (r *Run) left(c *ongoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.done == nil {
		return
	}
	close(c.done)
	if !c.sent {
		close(c.begun)
	}
}

func sortReports(reports []Report) {
	slices.SortStableFunc(reports, func(a, b Report) int { return cmp.Compare(a.Call, b.Call) })
}

// notFound makes the exception for a name without a tool. Tools that the
// profile denies anyway are not suggested.
func (r *Run) notFound(ctx context.Context, name string, err error) *Exception {
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		return notFound(&NotFoundError{Name: name, Detail: err.Error()})
	}
	shown := *missing
	shown.Nearest = nil
	for _, near := range missing.Nearest {
		if t, err := r.gate.deps.Tools.Find(ctx, near); err == nil && r.visible(t) {
			shown.Nearest = append(shown.Nearest, near)
		}
	}
	return notFound(&shown)
}

func asInvalid(name string, err error) *Exception {
	if wrong, ok := errors.AsType[*ArgumentError](err); ok {
		return invalidArguments(name, wrong)
	}
	return invalidArguments(name, &ArgumentError{Expected: "arguments that fit the tool's schema", Got: err.Error()})
}
