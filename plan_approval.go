package codemode

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
)

// With the first question of a run a person is offered the plan (POLICY.md N2):
// the calls to come that the program's text shows and that would be asked about,
// as grants for this run, wherever the profile lets answers be remembered for a
// run. Each call is still decided when it is made, and what is not as planned is
// asked about.

// maxTextCalls is how many calls a program's text may show for a plan to be made of it.
const maxTextCalls = 200

// plan makes the grants for the calls that the program's text shows.
func (a *asker) plan(run, profile string) []*approvals.Grant {
	if a.program == nil || len(a.program.Calls) > maxTextCalls {
		return nil
	}
	var lines []*approvals.PlannedCall
	f, done := newForesight(context.Background(), a.e, a.policy)
	defer done()
	f.look(a.program)
	for _, c := range a.program.Calls {
		if c.Name == hostfns.ReadResource {
			var ok bool
			if c, ok = resourceCall(c); !ok {
				continue
			}
		} else if hostFunctions[c.Name] {
			continue
		}
		before := f.counters
		_, clean := f.tainted(c)
		before.Tainted = !clean
		foreseen := f.call(c)
		if foreseen.Verdict != hostfns.Ask.String() || foreseen.Refused() {
			continue
		}
		if line := a.line(f, c, &foreseen, before, run, profile); line != nil {
			lines = merge(lines, line)
		}
	}
	var grants []*approvals.Grant
	for _, line := range lines {
		// What nobody may allow beforehand is asked about when it comes.
		if g, err := approvals.PlanGrants([]approvals.PlannedCall{*line}, run, 0, a.policy.now()); err == nil {
			grants = append(grants, g...)
		}
	}
	return grants
}

// line is one call of the text as a line of a plan; nil if it cannot be one.
func (a *asker) line(f *foresight, c analysis.Call, foreseen *PlannedCall, before hostfns.Counters, run, profile string) *approvals.PlannedCall {
	tool, err := finder{a.e}.Find(f.now, c.Name)
	if err != nil {
		return nil
	}
	shown := foreseen.Args
	if shown == nil {
		shown = json.RawMessage("null")
	}
	envelope, err := approvals.Sketch(shown, foreseen.Unknown, foreseen.Open)
	if err != nil {
		return nil
	}
	d := a.policy.Decide(tool, foreseen.Args, before)
	line := &approvals.PlannedCall{
		Call:     a.request(&hostfns.Question{Run: run, Profile: profile, Tool: tool, Args: shown, Decision: d}),
		Envelope: envelope, Count: 1,
	}
	if c.Repeats {
		line.Count = approvals.RunUses
	}
	return line
}

// merge adds a line to a plan, or its count to the line that says the same.
func merge(lines []*approvals.PlannedCall, line *approvals.PlannedCall) []*approvals.PlannedCall {
	for _, had := range lines {
		if had.Call.Key() == line.Call.Key() && had.Envelope.Equal(&line.Envelope) {
			had.Count = min(had.Count+line.Count, approvals.RunUses)
			return lines
		}
	}
	return append(lines, line)
}

// rest takes the calls that are asked about now out of a plan: what is left comes
// after them. More than a person would read is no plan.
func (a *asker) rest(plan []*approvals.Grant, now []*approvals.Request) []*approvals.Grant {
	for _, r := range now {
		if i := slices.IndexFunc(plan, func(g *approvals.Grant) bool { return g.Covers(r, a.policy.now()) }); i >= 0 {
			if plan[i].Uses--; plan[i].Uses == 0 {
				plan = slices.Delete(plan, i, i+1)
			}
		}
	}
	if len(plan) > approvals.MaxPlan {
		return nil
	}
	return plan
}

// give keeps what a person has allowed besides a call. A plan is given once,
// though several calls were answered with it.
func (a *asker) give(ctx context.Context, g *approvals.Grant) error {
	if g.Scope == approvals.ForPlan && a.planned.Swap(true) {
		return nil
	}
	for _, one := range g.All() {
		if err := a.e.grants.Give(ctx, one); err != nil {
			return err
		}
	}
	return nil
}
