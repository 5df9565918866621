package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/call"
)

// entry describes a call as far as it has come.
func (r *Run) entry(kind string, c *callState) Entry {
	decided := c.decision.Lead()
	e := Entry{
		Time: time.Now(), Kind: kind,
		Run: r.info.ID, Call: c.Call, Principal: r.info.Principal, Client: r.info.Client,
		Session: r.info.Session, Role: r.info.Role, Script: r.info.Script,
		Profile: r.info.Profile, ProfileDigest: c.decision.Digest,
		Tool: c.Tool, Verdict: c.decision.Verdict.String(), Risk: string(c.decision.Risk),
		Rule: decided.Rule, At: decided.Pos.Short(), Layer: decided.Layer,
		DecidedBy: c.decider(), Channel: c.answer.Channel, By: c.answer.By, Grant: c.answer.Grant, Scope: c.answer.Scope, Waited: c.answer.Took,
	}
	if c.tool != nil {
		e.Server, e.Tool, e.ToolDefinition = c.tool.Server, c.tool.Name, c.tool.Digest
	}
	if e.Args, e.Proposed = c.args.Digest(), c.args; c.proposed.Given() {
		e.Proposed = c.proposed
	}
	if c.answer.How == "person" || kind == KindAsked {
		e.Shown = e.Proposed // other arguments, if the answer was given with some, are the person's own
	}
	if kind == KindRunning || kind == KindOutcome || kind == KindAnswer && c.answer.Allowed {
		e.Authorised = c.args
		if other, err := call.Freeze(c.answer.Args, r.info.ArgumentBytes); err == nil && c.answer.Args != nil {
			e.Authorised = other // which take the place of the others with the next step
		}
	}
	if kind == KindRunning || kind == KindOutcome {
		e.Executed = c.args
	}
	return e
}

// definitionChanged is what decided a call whose tool is not the one that was reviewed, or asked about.
const definitionChanged = "definition_changed"

// decidedBy is what decided a call that nobody was asked about.
func (c *callState) decidedBy() string {
	switch d := &c.decision; {
	case c.redefined, d.Lead().List == "definition":
		return definitionChanged
	case d.Code == call.CodeLimit:
		return "limit"
	case d.Lead().Rule != "":
		return "rule"
	}
	return "default"
}

// decider is what decided a call that people were asked about, or were to be. That nobody answered is decided by what the
// profile says for that case, unless the question stood for something else than the rules.
func (c *callState) decider() string {
	switch c.answer.How {
	case "":
		return c.decidedBy()
	case "none":
		switch by := c.decidedBy(); {
		case by == definitionChanged:
			return by
		case c.answer.Code == ReasonCanceled:
			return "error"
		}
		return "fallback"
	}
	return c.answer.How
}

// refuse enters that a call is not made, in the run's list and then in the record, and returns what the program is
// told. Where the run has ended over the call, that is why it is not made, whatever else was found since: so whoever
// sent the program was told.
func (r *Run) refuse(ctx context.Context, c *callState, x *Exception, by string) *Exception {
	if !r.update(c, func() { c.setState(x) }) {
		x, by = runEnded(c), "error"
	}
	r.recordRefusal(ctx, c, x, by)
	return x
}

// recordRefusal writes why a call did not happen. If it cannot be written the
// call still does not happen, so the error only goes to the log.
func (r *Run) recordRefusal(ctx context.Context, c *callState, x *Exception, by string) {
	if r.leaves() {
		return
	}
	e := r.entry(KindRefused, c)
	e.DecidedBy = by
	e.Reason, _ = x.Props["reason"].(string)
	if e.Reason == "" {
		e.Reason = x.Class
	}
	if e.Reason == reasonPolicy && by == c.answer.How { // what was answered has an entry of its own, and it did not decide
		e.DecidedBy, e.Channel, e.By, e.Grant, e.Scope, e.Waited = c.decidedBy(), "", "", "", "", 0
	}
	e.Detail, _ = x.Props["detail"].(string)
	e.Detail = cmp.Or(e.Detail, x.Message)
	r.recordLate(ctx, e)
}

func (r *Run) recordOutcome(ctx context.Context, c *callState, outcome string, result json.RawMessage, failure error, took time.Duration) {
	e := r.entry(KindOutcome, c)
	e.Outcome, e.Took, e.Result = outcome, took, result
	if failure != nil {
		e.Detail = failure.Error()
	}
	r.recordLate(ctx, e)
}

// leaves reports whether the calls that wait here go on elsewhere.
func (r *Run) leaves() bool { return r.info.Leaving != nil && r.info.Leaving() }

// note tells the recorder, if it wants to know, how a question comes along.
func (r *Run) note(ctx context.Context, kind string, c *callState) {
	if r.leaves() {
		return
	}
	e := r.entry(kind, c)
	if kind == KindAnswer {
		e.Reason, e.Words = c.answer.Code, c.answer.Reason
	}
	r.recordLate(ctx, e)
}

// unrecorded says why a call that could not be recorded was not made. Only what is fit for programs is told.
func unrecorded(err error) string {
	why := "it could not be recorded, and what cannot be recorded does not happen"
	if known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		why += ": " + known.Reason()
	}
	return why
}

// recordLate writes an entry about something that cannot be undone any more.
func (r *Run) recordLate(ctx context.Context, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordAfterwards)
	defer cancel()
	if err := r.gate.deps.Recorder.Record(ctx, e); err != nil {
		r.gate.deps.Log.Error("an entry could not be recorded", "kind", e.Kind, "run", e.Run, "call", e.Call, "tool", e.Tool, "error", err)
	}
}
