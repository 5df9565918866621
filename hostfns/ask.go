package hostfns

import (
	"cmp"
	"context"
	"fmt"
)

// ask puts an admitted call to a person. Questions of one run come one at a
// time, and the run's clock stands still from the moment the call waits. It
// returns nil when the call may be sent: then a holds the tool and the decision of that moment.
func (r *Run) ask(ctx context.Context, c *call, in Invocation, a *admission) *Exception {
	if in.Pause != nil {
		defer in.Pause()()
	}
	if x := r.queue(ctx, c, a); x != nil {
		return x
	}
	defer func() { <-r.asking }()
	if a.decision.Verdict == Allow {
		return nil // since it queued
	}
	if earlier := r.refusedBefore(a); earlier != nil {
		return earlier
	}
	asked := a.decision
	a.answer = r.put(ctx, c, a)
	if ctx.Err() != nil {
		return r.runEnded(a) // a late yes counts for nothing
	}
	if !a.answer.Allowed {
		x := denied(a.tool.Name, cmp.Or(a.answer.Code, ReasonNoApprover), cmp.Or(a.answer.Detail, refusalDetail(a.answer)), a.decision.Rule)
		r.remember(c, a, x)
		return x
	}
	if x := r.release(ctx, c, a, asked); x != nil {
		return x
	}
	r.update(c, func() {
		c.Approved = a.answer.How
		if a.answer.Channel != "" {
			c.Approved += ", " + a.answer.Channel
		}
	})
	return nil
}

// queue waits until no other question of the run is open. A call that had to
// wait is decided again: the profile or the run's counters may have moved on.
func (r *Run) queue(ctx context.Context, c *call, a *admission) *Exception {
	select {
	case r.asking <- struct{}{}:
		return nil
	default:
	}
	select {
	case r.asking <- struct{}{}:
	case <-ctx.Done():
		return r.runEnded(a)
	}
	r.tally(c)
	x := r.refresh(ctx, c, a)
	if x == nil && ctx.Err() != nil {
		x = r.runEnded(a)
	}
	if x == nil && a.decision.Verdict == Deny {
		x = r.denial(a)
	}
	if x != nil {
		<-r.asking
	}
	return x
}

func (r *Run) put(ctx context.Context, c *call, a *admission) Answer {
	if r.info.Asker == nil {
		return Answer{How: "none", Code: ReasonNoApprover}
	}
	r.mu.Lock()
	r.asks++
	r.mu.Unlock()
	return r.info.Asker.Ask(ctx, &Question{
		Run: r.info.ID, Call: c.Call, Profile: r.info.Profile, Tool: a.tool, Args: a.args, Decision: a.decision,
	})
}

// refresh finds and decides a call once more. Another tool under the name it
// was decided for undoes everything so far.
func (r *Run) refresh(ctx context.Context, c *call, a *admission) *Exception {
	now, err := r.gate.deps.Tools.Find(ctx, a.tool.Name)
	if err != nil {
		return denied(a.tool.Name, ReasonPolicy, "the tool disappeared while the call waited for a person", "")
	}
	if now.Server != a.tool.Server || now.Raw != a.tool.Raw || now.Digest != a.tool.Digest {
		return denied(a.tool.Name, ReasonPolicy, "the tool's definition changed while the call waited for a person; call it again", "")
	}
	a.tool = now
	a.decision = r.decide(c, a)
	return nil
}

// release decides an approved call again: an approval stands for what was
// shown, so a stricter profile undoes it.
func (r *Run) release(ctx context.Context, c *call, a *admission, asked Decision) *Exception {
	if x := r.refresh(ctx, c, a); x != nil {
		return x
	}
	d := a.decision
	switch {
	case d.Verdict == Deny:
		return denied(a.tool.Name, ReasonPolicy, "the profile changed while a person was asked and denies it now", d.Rule)
	case d.Verdict == Ask && riskRank(d.Risk) > riskRank(asked.Risk):
		return denied(a.tool.Name, ReasonPolicy, "the profile changed while a person was asked and rates it as riskier now; call it again", d.Rule)
	case d.Verdict == Ask && a.answer.How == "fallback" && !d.Fallback:
		return denied(a.tool.Name, ReasonPolicy, "the profile changed and needs a person's answer now", d.Rule)
	}
	return nil
}

const detailRunEnded = "the run ended first"

func (r *Run) runEnded(a *admission) *Exception {
	return denied(a.tool.Name, ReasonCanceled, detailRunEnded, "")
}

// remember keeps a refusal for the rest of the run, and counts those of people.
func (r *Run) remember(c *call, a *admission, x *Exception) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[a.key()] = x
	if a.answer.How == "person" {
		r.refusals++
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

func refusalDetail(a Answer) string {
	var text string
	switch a.Code {
	case ReasonDeclined:
		text = "a person was asked and refused"
	case ReasonTimeout:
		text = "a person was asked and did not answer in time"
	case ReasonCanceled:
		text = "the question was closed without an answer"
	case ReasonUnsupported:
		text = "it needs a person's approval and this client cannot ask one"
	default:
		text = "it needs a person's approval and nobody could be asked"
	}
	if a.Reason != "" {
		text = fmt.Sprintf("%s; the person's words: %s", text, a.Reason)
	}
	return text
}

func riskRank(risk string) int {
	switch risk {
	case "low", "":
		return 0
	case "medium":
		return 1
	case "high":
		return 2
	}
	return 3 // critical, and whatever a newer profile may say
}
