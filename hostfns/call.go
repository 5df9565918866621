package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// emitName is the function that adds blocks to the answer.
const emitName = "emit"

// Call performs one call of the program. Errors are [*Exception]. Many goroutines may call it, but not after [Run.End].
func (r *Run) Call(ctx context.Context, in Invocation) (value json.RawMessage, err error) {
	if toolOf := r.gate.deps.ResourceTool; in.Name == ReadResource && toolOf != nil {
		if in, err = resource(in, toolOf); err != nil {
			return nil, err
		}
	}
	f := hostFunction(r, in.Name)
	c := r.calls.begin(in, f != nil)
	if c == nil {
		return nil, denied(in.Name, ReasonCanceled, "the run is over", "")
	}
	if f != nil {
		if in.Name != emitName {
			c.admitted() // a function of the host may wait; the order of blocks is that of the program
		}
		return f(ctx, in)
	}
	return r.perform(c, func() (context.Context, error) { return r.admit(ctx, c) })
}

// perform admits a call, sends it, and records how it ended. admit returns the context for sending the call.
func (r *Run) perform(c *callState, admit func() (context.Context, error)) (value json.RawMessage, err error) {
	start := time.Time{}
	defer func() {
		if p := recover(); p != nil {
			r.log().Error("a call panicked", "call", c.Call, "tool", c.Tool, "panic", p, "stack",
				string(debug.Stack()))
			value, err = nil, &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
		if c.goesOn != nil { // it panicked while it waited
			c.goesOn()
		}
		c.finish(start, err)
		if c.refusal > 0 && r.info.Refused != nil {
			r.info.Refused(c.refusal) // last: it may end the run, and its list must have this call
		}
	}()
	ctx, err := admit()
	if err == nil {
		start = time.Now()
		value, err = r.send(ctx, c)
	}
	if said := wordsOfServer(value, err); said != nil && c.tool != nil {
		r.taint.answered(c.Call, c.tool, said, r.info.Written != nil)
	}
	return value, err
}

// admit performs all steps before a call is sent. It returns the context for sending the call.
func (r *Run) admit(ctx context.Context, c *callState) (context.Context, error) {
	defer c.decided()
	defer c.admitted()
	refuse := func(x *Exception, by string) (context.Context, error) { return nil, r.refuse(ctx, c, x, by) }
	in := &c.in
	tool, err := r.view.find(ordered(ctx, in.Order), in.Name, in.Tool)
	if err != nil {
		if ctx.Err() != nil { // it may not have been found in time
			return refuse(runEnded(c), "error")
		}
		return refuse(r.view.notFound(ctx, in.Name, err), "error")
	}
	c.tool = tool
	if in.resource && !tool.Resource {
		return refuse(notFound(taken(tool.Name)), "error")
	}
	if c.args, err = freeze(ctx, tool, in.Args, r.info.ArgumentBytes); err != nil {
		return refuse(denied(c.tool.Name, call.CodeBadArguments, err.Error(), ""), "limit")
	}
	c.count()
	r.tally(c)
	if !isObject(c.args) {
		if err := otherwise(ctx, tool, c.args); err != nil {
			return refuse(r.noObject(ctx, c, err))
		}
	}
	c.decision = r.info.decide(c.tool, c.args, c.before)
	if c.decision.Verdict == call.Deny {
		return refuse(c.denial(), c.decidedBy())
	}
	// After the denials: a program must not learn the schema of a tool that it may not use.
	if c.tool.Validate != nil {
		if err := c.tool.Validate(ctx, c.args); err != nil {
			if ctx.Err() != nil {
				return refuse(runEnded(c), "error")
			}
			return refuse(asInvalid(c.tool.Name, err), "error")
		}
	}
	return r.proceed(ctx, c)
}

// freeze makes the arguments that everything from here on means: those of the program, without the nulls that stand for
// a property that is not given.
func freeze(ctx context.Context, tool *call.Tool, raw json.RawMessage, most int) (call.Arguments, error) {
	args, err := call.Freeze(raw, most)
	if err != nil || tool.WithoutNulls == nil {
		return args, err
	}
	if fewer, ok := tool.WithoutNulls(ctx, args, nil); ok {
		return call.Freeze(fewer, most)
	}
	return args, nil
}

func isObject(args call.Arguments) bool {
	tree, err := args.Tree()
	return err == nil && tree.Kind() == strictjson.Object
}

// otherwise is why a tool does not take arguments that are no object. Only a tool that checks them itself can take them.
func otherwise(ctx context.Context, tool *call.Tool, args call.Arguments) error {
	if tool.Validate != nil {
		return tool.Validate(ctx, args)
	}
	return &ArgumentError{Expected: "an object", Got: "something else"}
}

// noObject makes the exception for arguments that are no object, and says who refused the call. No rule can judge such
// arguments, and the fault is the program's, unless the tool is one that the program may not know.
func (r *Run) noObject(ctx context.Context, c *callState, wrong error) (x *Exception, by string) {
	if !r.view.visible(c.tool) {
		if c.decision = r.info.decide(c.tool, call.Unread(json.RawMessage("{}")), c.before); c.decision.Verdict == call.Deny {
			return c.denial(), c.decidedBy()
		}
		return denied(c.tool.Name, call.CodeBadArguments, "the arguments are no object", ""), "limit"
	}
	if ctx.Err() != nil {
		return runEnded(c), "error"
	}
	return asInvalid(c.tool.Name, wrong), "error"
}

// proceed continues a call that is decided, and not denied.
func (r *Run) proceed(ctx context.Context, c *callState) (context.Context, error) {
	if x, by := r.connected(ctx, c); x != nil { // before a person is asked in vain, as the next one
		return nil, r.refuse(ctx, c, x, by)
	}
	full := r.spending.full(c)
	if full == nil && c.decision.Verdict == call.Ask {
		return r.approve(ctx, c, c.before.Asked)
	}
	if x := c.goOn(ctx); x != nil {
		return nil, r.refuse(ctx, c, x, "error")
	}
	if full != nil {
		return r.beyond(ctx, c, full)
	}
	return r.authorise(ctx, c)
}

// approve asks a person about a call. before says that the call was already waiting when its run was saved.
func (r *Run) approve(ctx context.Context, c *callState, before bool) (context.Context, error) {
	ctx, x := r.ask(ctx, c, before)
	if x != nil {
		return nil, r.refuse(ctx, c, x, c.decider())
	}
	return r.authorise(ctx, c)
}

// authorise is the last step before a call is sent: it records that the call is running.
func (r *Run) authorise(ctx context.Context, c *callState) (context.Context, error) {
	if ctx.Err() != nil {
		return nil, r.refuse(ctx, c, runEnded(c), "error")
	}
	if err := r.spending.charge(ctx, c); err != nil {
		return r.beyond(ctx, c, err)
	}
	c.admitted() // parallel calls are written to the disk together
	err := r.record.to.Record(ctx, r.record.of(call.KindCall, call.Running, c))
	_, full := errors.AsType[*LimitError](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, runEnded(c) // the recorder makes sure that a failed entry does not claim that a call runs
	case full:
		return r.beyond(ctx, c, err)
	case err != nil:
		r.log().Error("recording a call failed, so it is refused", "tool", c.tool.Name, "error", err)
		return nil, denied(c.tool.Name, call.CodeDenied, unrecorded(err), "")
	}
	return ctx, nil
}

// refuse records that a call is not made, in the list of the run and then in the record, and returns the exception for
// the program. If the run has ended meanwhile, the client received that as the reason, and the record says the same.
func (r *Run) refuse(ctx context.Context, c *callState, x *Exception, by string) *Exception {
	if !c.update(func() { c.setState(x) }) {
		x, by = runEnded(c), "error"
	}
	r.record.refused(ctx, c, x, by)
	return x
}

// admitted lets the next call of the program be admitted.
func (c *callState) admitted() {
	if c.in.Order != nil {
		c.in.Order.Admitted()
	}
}

// tally counts the questions so far, and notes whether untrusted text may have reached the call. It does not count the
// question about the call itself, so that the decision after the answer uses the same counts.
func (r *Run) tally(c *callState) {
	taint := r.taint.reaches(c.tool.Name, c.args.JSON(), r.info.Written)
	refusals := r.refusals.count() // before the questions, so that these are never fewer
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	c.before.Asks, c.before.Refusals, c.before.Taint, c.before.Tainted = r.calls.asks, refusals, taint, taint != ""
}

// send performs an admitted call and records its outcome, also if the run ends meanwhile.
func (r *Run) send(ctx context.Context, c *callState) (value json.RawMessage, failed error) {
	start := time.Now()
	outcome := call.Unknown
	defer func() { r.record.outcome(ctx, c, outcome, value, failed, time.Since(start)) }()
	sent := func() {
		c.sent, c.Reads = true, c.tool.ReadOnly()
		if c.before.Tainted && c.tool.Trusted {
			r.taint.spreads()
		}
		if c.begun != nil {
			close(c.begun)
		}
	}
	if o := c.in.Order; o != nil && !o.Send(ctx) || !c.update(sent) {
		outcome = call.NotSent
		return nil, runEnded(c)
	}
	timeout := cmp.Or(c.tool.Timeout, r.info.CallTimeout)
	sending, clock, over := newClock(ctx, timeout, c.in.Pause)
	defer over()
	reply, err := r.gate.deps.Sender.Send(ordered(sending, c.in.Order), &call.Call{Run: r.info.ID, Number: c.Call, Tool: c.tool,
		Args: c.args}, clock.pause)
	r.spending.answered(ctx, c, reply, err)
	if err == nil && reply != nil {
		outcome = call.OK
		if x := c.checkOutput(ctx, reply); x != nil {
			return nil, x
		}
		r.blocks.keep(reply.Blocks)
		return reply.Value, nil
	}
	if failure, ok := errors.AsType[*ToolFailure](err); ok {
		outcome = call.Failed
		return nil, toolError(c.tool.Name, failure)
	}
	message := "the upstream did not answer; it may have happened"
	failure, ok := errors.AsType[*SendError](err)
	switch {
	case sending.Err() != nil && ctx.Err() == nil && (!ok || failure.Unknown):
		message = fmt.Sprintf("no answer within %v; it may have happened", timeout)
	case ok && !failure.Unknown:
		outcome, message = call.NotSent, failure.Message
	case ok:
		message = failure.Message
	}
	return nil, upstreamError(c.tool, outcome, message, failure)
}

func asInvalid(name string, err error) *Exception {
	if wrong, ok := errors.AsType[*ArgumentError](err); ok {
		return invalidArguments(name, wrong)
	}
	return invalidArguments(name, &ArgumentError{Expected: "arguments that fit the tool's schema", Got: err.Error()})
}
