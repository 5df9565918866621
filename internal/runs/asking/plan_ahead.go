package asking

import (
	"context"
	"errors"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/profiles"
)

// A person can allow the plan of a program before it runs: with a check of it, instead of in the middle
// of the run. The permission covers one run of exactly this text, for the same principal, while the same rules ask about
// its calls. It expires when the token of a check would. It is stored, listed and revoked like grants.

// AllowPlan asks the question on behalf of a run that has not begun.
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
	if a.isNobody(profile.Ask()) {
		return nobody(noOther)
	}
	channels := a.channelsFor(profile.Ask())
	if len(channels) == 0 {
		return nobody("there is no means of asking a person here")
	}
	if limit := a.exhausted(profile, hostfns.Counters{}); limit != "" {
		return nobody(limit)
	}
	r := &prompt.Request{
		Profile: name, ProfileDigest: profile.Digest(), Basis: prompt.PlanBasis(plan), Risk: call.Medium,
		Principal: a.principal, Session: a.session, Preview: a.preview,
		Code: prompt.NewCode(), Run: run, Time: time.Now(),
	}
	if err := r.PlanAhead(a.hash, plan); err != nil {
		return nil, err
	}
	until := a.policy.Now().Add(a.policy.Rules.PreflightLife())
	if _, err := r.DraftAhead(until, a.policy.Now()); err != nil {
		return nobody("it cannot be shown whole")
	}
	return a.putPlan(ctx, profile, r, channels)
}

// putPlan asks, and stores and records the answer.
func (a *Prompter) putPlan(
	ctx context.Context, profile *profiles.Profile, r *prompt.Request, channels []approvals.Channel,
) (*preflight.PlanAnswer, error) {
	answer := &preflight.PlanAnswer{}
	var given *prompt.Grant
	got, err := a.recorded(ctx, r, func() approvals.Result {
		asking := profile.Ask()
		defer a.begin()()
		o := a.options(asking, a.expects(channels, r.Profile, r.Risk), asking.Timeout, false)
		return a.put(ctx, []*prompt.Request{r}, channels, o)[0]
	}, func(got approvals.Result, entry *call.Entry) {
		answer.Reason, answer.Detail = got.Code, got.Detail
		if got.Allowed {
			var err error
			if given, err = a.keepPlan(ctx, r, got); err != nil {
				answer.Reason = call.CodeDenied
				answer.Detail = "a person allowed it, and that could not be kept: " + err.Error()
			}
		}
		if entry.Reason = answer.Reason; given != nil {
			entry.DecidedBy.Grant, entry.DecidedBy.Scope = given.ID, given.Scope
		}
	})
	if err != nil {
		if given != nil { // an unrecorded permission does not count
			revoking, cancel := context.WithTimeout(context.WithoutCancel(ctx), recorder.NoteWait)
			defer cancel()
			err = errors.Join(err, a.people.Grants.Revoke(revoking, given.ID))
		}
		return nil, err
	}
	answer.By, answer.Channel = got.By, got.Channel
	if given != nil {
		answer.Allowed, answer.Until = true, given.Expires
	}
	for _, g := range r.Plan {
		answer.Calls = append(answer.Calls, g.Allows()+", "+g.Times())
	}
	return answer, nil
}

// keepPlan stores what a person has allowed. If something else asks about its calls meanwhile, it stores nothing.
func (a *Prompter) keepPlan(ctx context.Context, r *prompt.Request, got approvals.Result) (*prompt.Grant, error) {
	now := *r
	now.Basis = prompt.PlanBasis(a.plan(r.Run, r.Profile, nil))
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

// useAheadGrant transfers to the run what a person allowed before it began, once.
func (a *Prompter) useAheadGrant(ctx context.Context, q *hostfns.Question) {
	if a.program == nil || a.TakenOver {
		return
	}
	a.ahead.Lock()
	defer a.ahead.Unlock()
	if a.looked {
		return
	}
	key := prompt.AheadKey(a.principal, q.Profile, a.hash)
	grants, err := a.people.Grants.For(ctx, key)
	if err != nil {
		a.people.Log.Error("cannot read the approvals given before the run; a person is asked", "run", q.Run, "error", err)
		return
	}
	a.looked = true
	for _, g := range grants {
		lines := g.For(q.Run, a.session)
		if len(lines) == 0 || !a.policy.Now().Before(g.Expires) || a.people.Grants.Spend(ctx, g.ID) != nil {
			continue // it belongs to another session, is over, or another run was faster
		}
		for _, line := range lines {
			if err := a.people.Grants.Give(ctx, line); err != nil {
				a.people.Log.Error("cannot store the approvals given before the run", "run", q.Run, "error", err)
				return
			}
		}
		a.planned.Store(true)
		return
	}
}
