package hostfns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/codemode-project/codemode/call"
)

// entries writes the entries about the calls of one run.
type entries struct {
	info *RunInfo
	to   Recorder
	log  *slog.Logger
}

// of describes a call: how far it came, or the answer to a question about it.
func (w *entries) of(kind, state string, c *callState) call.Entry {
	decided := c.decision.Lead()
	e := call.Entry{
		Time: time.Now(), Kind: kind, State: state,
		Run: w.info.ID, Call: c.Call, Principal: w.info.Principal, Owner: w.info.Owner, Client: w.info.Client,
		Session: w.info.Session, Role: w.info.Role, Script: w.info.Script,
		Profile: w.info.Profile, ProfileDigest: c.decision.Digest,
		Tool: c.Tool, Verdict: c.decision.Verdict.String(), Risk: string(c.decision.Risk),
	}
	if c.tool != nil {
		e.Server, e.Tool, e.ToolDefinition = c.tool.Server, c.tool.Name, c.tool.Digest
	}
	if at := decided.Pos.Short(); decided.Rule != "" || at != "" {
		e.Rules = []call.EntryRule{{ID: decided.Rule, At: at, Layer: decided.Layer, Result: "true"}}
	}
	if state != call.Pending {
		e.DecidedBy = c.answer.DecidedBy()
		e.DecidedBy.How = c.decider()
	}
	args := call.EntryArgs{RawProposed: c.args}
	if c.proposed.Given() {
		args.RawProposed = c.proposed
	}
	if c.answer.How == call.ByPerson || state == call.Pending {
		args.RawShown = args.RawProposed
		if c.shown.Given() { // a person who changed the arguments saw others
			args.RawShown = c.shown
		}
	}
	if state == call.Running || kind == call.KindApproval && c.answer.Allowed {
		args.RawAuthorised = c.args
		if c.answer.Args != nil { // the next step replaces the arguments by these
			if other, err := call.Freeze(bytes.Clone(c.answer.Args), w.info.ArgumentBytes); err == nil {
				args.RawAuthorised = other
			}
		}
	}
	if state == call.Running {
		args.RawExecuted = c.args
	}
	if args.RawProposed.Given() {
		e.Args = &args
	}
	return e
}

// definitionChanged is the reason when a call's tool differs from the one that was reviewed, or asked about.
const definitionChanged = "definition_changed"

func (c *callState) denial() *Exception {
	return denied(c.tool.Name, cmp.Or(c.decision.Code, call.CodeDenied), c.decision.Detail(), c.decision.Lead().Rule)
}

// decidedBy says what decided a call without a question.
func (c *callState) decidedBy() string {
	switch d := &c.decision; {
	case c.redefined, d.Lead().List == "definition":
		return definitionChanged
	case d.Code == call.CodeLimit:
		return "limit"
	case d.Lead().Rule != "" && d.Lead().Layer == "floor":
		return "floor"
	case d.Lead().Rule != "":
		return "rule"
	}
	return "default"
}

// decider says what decided a call, including calls that people were asked about. If nobody answered, the fallback of
// the profile decided, unless the tool had changed or the question was canceled.
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

// refused records why a call is not made. If this fails, it only logs the error: the call is not made either way.
func (w *entries) refused(ctx context.Context, c *callState, x *Exception, by string) {
	if w.info.leaves() {
		return
	}
	e := w.of(call.KindCall, call.Refused, c)
	e.DecidedBy.How, e.Unbegun = by, !c.asked
	e.Reason, _ = x.Props["reason"].(string)
	e.Reason = cmp.Or(e.Reason, x.Class)
	if e.Reason == reasonPolicy && by == c.answer.How { // the answer has its own entry, and did not decide
		e.DecidedBy = &call.DecidedBy{How: c.decidedBy()}
	}
	e.Detail, _ = x.Props["detail"].(string)
	e.Detail = cmp.Or(e.Detail, x.Message)
	w.late(ctx, e)
}

// outcome records how a call ended that was sent. The running entry has its arguments.
func (w *entries) outcome(ctx context.Context, c *callState, outcome string, result json.RawMessage, failure error,
	took time.Duration) {
	e := w.of(call.KindCall, outcome, c)
	e.Args, e.MS = nil, float64(took.Microseconds())/1000
	if result != nil {
		e.Result = &call.EntryResult{Raw: result}
	}
	if failure != nil {
		e.Detail = failure.Error()
	}
	w.late(ctx, e)
}

// asked records that a person is asked about a call.
func (w *entries) asked(ctx context.Context, c *callState) {
	if w.info.leaves() {
		return
	}
	e := w.of(call.KindCall, call.Pending, c)
	if c.again != "" {
		e.Reason, e.Detail = reasonPolicy, "the rules changed after it was allowed: "+c.again
	}
	w.late(ctx, e)
}

// answered records the answer to a question about a call.
func (w *entries) answered(ctx context.Context, c *callState) {
	if w.info.leaves() {
		return
	}
	e := w.of(call.KindApproval, cmp.Or(c.answer.Code, call.Allowed), c)
	e.Reason, e.Detail = c.answer.Code, c.answer.Reason
	w.late(ctx, e)
}

// unrecorded says why a call was not made that could not be recorded.
func unrecorded(err error) string {
	return "it could not be recorded, and what cannot be recorded does not happen" + reasonOf(err)
}

// reasonOf is the reason that an error provides for programs, after a colon; "" if it provides none.
func reasonOf(err error) string {
	known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err)
	if !ok {
		return ""
	}
	return ": " + known.Reason()
}

// recordAfterwards bounds the writing of an outcome. The write continues when the run is canceled, and must not delay
// its end forever.
const recordAfterwards = 5 * time.Second

// late records an event in the past, even after the run is canceled.
func (w *entries) late(ctx context.Context, e call.Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordAfterwards)
	defer cancel()
	if err := w.to.Record(ctx, e); err != nil {
		w.log.Error("recording an entry failed", "kind", e.Kind, "state", e.State, "run", e.Run, "call", e.Call,
			"tool", e.Tool, "error", err)
	}
}
