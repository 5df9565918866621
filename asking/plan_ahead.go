package asking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/preflight"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/recorder"
)

// A person can allow the plan of a program before it runs (POLICY.md N2): with a check of it, and not in the middle
// of the run. What they allow is good for one run of the very same text, for the same principal, under the profile as
// it is, and is gone as soon as the token of a check would be. It is kept where grants are, listed and revoked with
// them.

// AllowPlan puts the question that stands for a run that has not begun.
func (a *Prompter) AllowPlan(ctx context.Context, run, name string) (*preflight.PlanAnswer, error) {
	nobody := func(why string) (*preflight.PlanAnswer, error) { return &preflight.PlanAnswer{Detail: why}, nil }
	profile := a.policy.Profile()
	if profile == nil {
		return nobody("nothing is configured")
	}
	plan := a.plan(run, name, nil)
	if len(plan) == 0 {
		return nobody("no call of its text would be asked about that people may allow for a run")
	}
	if a.principal == "" && a.session == "" {
		return nobody("nobody knows for whom the program is run")
	}
	channels := a.through(profile.Ask())
	if len(channels) == 0 {
		return nobody("there is no means of asking a person here")
	}
	if limit := a.exhausted(profile, hostfns.Counters{}); limit != "" {
		return nobody(limit)
	}
	r := &prompt.Request{
		Profile: name, ProfileDigest: profile.Digest(), Risk: call.Medium,
		Principal: a.principal, Session: a.session, Preview: a.preview,
		Code: prompt.NewCode(), Run: run, Time: time.Now(),
	}
	if err := r.Foretell(a.hash, plan); err != nil {
		return nil, err
	}
	until := a.policy.Now().Add(a.policy.Rules.PreflightLife())
	if _, err := r.DraftAhead(until, a.policy.Now()); err != nil {
		return nobody("it cannot be shown whole")
	}
	return a.putPlan(ctx, profile, r, channels)
}

// putPlan asks, and keeps and records what is answered.
func (a *Prompter) putPlan(
	ctx context.Context, profile *profiles.Profile, r *prompt.Request, channels []approvals.Channel,
) (*preflight.PlanAnswer, error) {
	entry := hostfns.Entry{
		Time: time.Now(), Kind: hostfns.KindAsked, Run: r.Run,
		Principal: a.principal, Session: a.session, Client: a.client, Profile: r.Profile,
		ProfileDigest: r.ProfileDigest, Tool: r.Name, ToolDefinition: r.Definition, Verdict: call.Ask.String(), Risk: string(r.Risk),
		Proposed: call.Unread(r.Args), Shown: call.Unread(r.Args),
	}
	if err := a.people.Record.To.Record(ctx, entry); err != nil {
		return nil, fmt.Errorf("it could not be recorded that a person is asked: %w", err)
	}
	asking := profile.Ask()
	timeout := cmp.Or(asking.Timeout, approvals.DefaultTimeout)
	over := a.people.Rules.Asks.Begin(time.Now(), a.policy.Owner)
	told := a.tellCaller([]*prompt.Request{r}, channels, time.Now().Add(timeout))
	got := a.people.Desk.Ask(ctx, r, channels, approvals.Options{
		Timeout: timeout, MinHuman: asking.MinHuman, OtherOnly: asking.OtherOnly,
		Await: asking.Awaits(expects(channels), false),
	})
	told()
	over()
	answer := &preflight.PlanAnswer{Reason: got.Code, Detail: got.Detail, By: got.By, Channel: got.Channel}
	var given *prompt.Grant
	if got.Allowed {
		var err error
		if given, err = a.keepPlan(ctx, r, got); err != nil {
			answer.Reason = call.CodeDenied
			answer.Detail = "a person allowed it, and that could not be kept: " + err.Error()
		}
	}
	entry.Time, entry.Kind, entry.Reason = time.Now(), hostfns.KindAnswer, answer.Reason
	entry.DecidedBy, entry.Channel, entry.By = got.How, got.Channel, got.By
	entry.Waited, entry.Words = got.Took, got.Reason
	entry.Proposed, entry.Shown = call.Arguments{}, call.Arguments{}
	if given != nil {
		entry.Grant, entry.Scope = given.ID, string(given.Scope)
	}
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recorder.NoteWait)
	defer cancel()
	if err := a.people.Record.To.Record(recording, entry); err != nil {
		if given != nil { // what is not on record does not count
			err = errors.Join(err, a.people.Grants.Revoke(recording, given.ID))
		}
		return nil, fmt.Errorf("the answer could not be recorded: %w", err)
	}
	if given != nil {
		answer.Allowed, answer.Until = true, given.Expires
	}
	for _, g := range r.Plan {
		answer.Calls = append(answer.Calls, g.Allows()+", "+g.Times())
	}
	return answer, nil
}

// keepPlan gives what a person has allowed. A profile that has changed meanwhile is another one.
func (a *Prompter) keepPlan(ctx context.Context, r *prompt.Request, got approvals.Answer) (*prompt.Grant, error) {
	now := *r
	now.ProfileDigest = a.policy.Digest()
	if err := a.people.Desk.Use(ctx, got.Ticket, &now); err != nil {
		return nil, err
	}
	g, err := r.DraftAhead(a.policy.Now().Add(a.policy.Rules.PreflightLife()), a.policy.Now())
	if err != nil {
		return nil, err
	}
	g.By, g.Channel = got.By, got.Channel
	return g, a.people.Grants.Give(ctx, g)
}

// foretold takes over for the run what a person allowed before it began, once.
func (a *Prompter) foretold(ctx context.Context, q *hostfns.Question) {
	if a.program == nil || a.Adopted {
		return
	}
	a.ahead.Lock()
	defer a.ahead.Unlock()
	if a.looked {
		return
	}
	key := prompt.AheadKey(a.principal, q.Profile, q.Decision.Digest, a.hash)
	grants, err := a.people.Grants.For(ctx, key)
	if err != nil {
		a.people.Log.Error("reading what was allowed before the run failed: a person is asked", "run", q.Run, "error", err)
		return
	}
	a.looked = true
	for _, g := range grants {
		lines := g.For(q.Run, a.session)
		if len(lines) == 0 || !a.policy.Now().Before(g.Expires) || a.people.Grants.Spend(ctx, g.ID) != nil {
			continue // it is another session's, over, or another run was faster
		}
		for _, line := range lines {
			if err := a.people.Grants.Give(ctx, line); err != nil {
				a.people.Log.Error("keeping what was allowed before the run failed", "run", q.Run, "error", err)
				return
			}
		}
		a.planned.Store(true)
		return
	}
}
