package hostfns

import (
	"cmp"
	"context"
	"time"
)

// entry describes a call as far as it has come.
func (r *Run) entry(kind string, c *call, a *admission) Entry {
	e := Entry{
		Time: time.Now(), Kind: kind,
		Run: r.info.ID, Call: c.Call, Principal: r.info.Principal, Client: r.info.Client,
		Profile: r.info.Profile, ProfileDigest: a.decision.ProfileDigest,
		Tool: c.Tool, Verdict: a.decision.Verdict.String(), Risk: a.decision.Risk,
		Rule: a.decision.Rule, At: a.decision.At,
		DecidedBy: cmp.Or(a.answer.How, decidedBy(a.decision)), Channel: a.answer.Channel, Waited: a.answer.Took,
	}
	if a.tool != nil {
		e.Server, e.Tool, e.ToolDefinition = a.tool.Server, a.tool.Name, a.tool.Digest
	}
	if a.args != nil {
		e.Args = digest(a.args)
	}
	return e
}

func decidedBy(d Decision) string {
	switch {
	case d.Code == ReasonLimit:
		return "limit"
	case d.Rule != "":
		return "rule"
	}
	return "default"
}

// recordRefusal writes why a call did not happen. If it cannot be written the
// call still does not happen, so the error only goes to the log.
func (r *Run) recordRefusal(ctx context.Context, c *call, a *admission, x *Exception, by string) {
	e := r.entry(KindRefused, c, a)
	e.DecidedBy = by
	e.Reason, _ = x.Props["reason"].(string)
	if e.Reason == "" {
		e.Reason = x.Class
	}
	r.recordLate(ctx, e)
}

func (r *Run) recordOutcome(ctx context.Context, c *call, a *admission, outcome string, took time.Duration) {
	e := r.entry(KindOutcome, c, a)
	e.Outcome, e.Took = outcome, took
	r.recordLate(ctx, e)
}

// recordLate writes an entry about something that cannot be undone any more.
func (r *Run) recordLate(ctx context.Context, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordAfterwards)
	defer cancel()
	if err := r.gate.deps.Recorder.Record(ctx, e); err != nil {
		r.gate.deps.Log.Error("an entry could not be recorded", "kind", e.Kind, "run", e.Run, "call", e.Call, "tool", e.Tool, "error", err)
	}
}
