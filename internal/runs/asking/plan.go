package asking

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/preflight"
)

// With the first question of a run, a person is offered the plan: the calls to come that the program's
// text shows and that would need a question, as grants for this run, wherever the profile lets answers be remembered
// for a run. Each call is still decided when the program makes it. A call that differs from the plan needs a question.

// maxTextCalls is how many calls a program's text may show; a text with more gets no plan.
const maxTextCalls = 200

// A planned is a call of the program's text, with the grant that would answer it.
type planned struct {
	grant *prompt.Grant
	call  analysis.Call
}

// foresee makes a grant for each call that the program's text shows and that would need a question.
func (a *Prompter) foresee(run, profile string) []planned {
	if a.program == nil || len(a.program.Calls) > maxTextCalls {
		return nil
	}
	var all []planned
	f, done := preflight.NewForesight(context.Background(), a.people.Tools, a.policy)
	defer done()
	f.Look(a.program)
	for _, c := range a.program.Calls {
		if c.Name == hostfns.ReadResource {
			var ok bool
			if c, ok = preflight.ResourceCall(c); !ok {
				continue
			}
		} else if hostfns.IsFunction(c.Name) {
			continue
		}
		before := f.Counters
		_, clean := f.Tainted(c)
		before.Tainted = !clean
		foreseen := f.Call(c)
		if foreseen.Verdict != call.Ask.String() || foreseen.Refused() {
			continue
		}
		line := a.line(f, c, &foreseen, before, run, profile)
		if line == nil {
			continue
		}
		// If a call cannot be allowed beforehand, people are asked when the program makes it.
		if g, err := prompt.PlanGrants([]prompt.PlannedCall{*line}, run, a.policy.Now()); err == nil {
			all = append(all, planned{g[0], c})
		}
	}
	return all
}

// line makes a line of a plan from one call of the text; nil if that is impossible.
func (a *Prompter) line(f *preflight.Foresight, c analysis.Call, foreseen *preflight.PlannedCall,
	before hostfns.Counters, run, profile string) *prompt.PlannedCall {
	tool, err := a.people.Tools.Find(f.Now, c.Name)
	if err != nil {
		return nil
	}
	shown := foreseen.Args
	if shown == nil {
		shown = json.RawMessage("null")
	}
	envelope, err := prompt.Sketch(shown, foreseen.Unknown, foreseen.Open)
	if err != nil {
		return nil
	}
	d := a.policy.Decide(tool, call.Unread(foreseen.Args), before)
	line := &prompt.PlannedCall{
		Call:     a.request(&hostfns.Question{Run: run, Profile: profile, Tool: tool, Args: shown, Decision: d}),
		Envelope: envelope, Count: 1, At: c.Line,
	}
	if c.Times != analysis.Once {
		line.Count, line.Further = prompt.RunUses, true
	}
	return line
}

// plan makes the grants for the calls that can still come while people are asked about the calls of now. If that is
// more than a person would read, there is no plan.
func (a *Prompter) plan(run, profile string, now []*prompt.Request) []*prompt.Grant {
	all := a.foresee(run, profile)
	made := func(r *prompt.Request) func(planned) bool {
		return func(p planned) bool { return p.grant.Covers(r, a.policy.Now()) }
	}
	reached := 0 // the program has at least reached this stage
	for _, r := range now {
		if i := slices.IndexFunc(all, made(r)); i >= 0 { // calls that may come at any time have stage 0
			first := all[i].call.Stage
			for _, p := range all[i:] {
				if made(r)(p) {
					first = min(first, p.call.Stage)
				}
			}
			reached = max(reached, first)
		}
	}
	all = slices.DeleteFunc(all, func(p planned) bool { return p.call.Stage > 0 && p.call.Stage < reached })
	for _, r := range now {
		fits := func(times analysis.Times) func(planned) bool {
			return func(p planned) bool { return p.call.Times == times && made(r)(p) }
		}
		if i := slices.IndexFunc(all, fits(analysis.Once)); i >= 0 {
			all = slices.Delete(all, i, i+1)
		} else if a.Together() { // all of its calls are in the same form
			all = slices.DeleteFunc(all, fits(analysis.Together))
		}
	}
	return grantsOf(all)
}

// grantsOf makes a plan of its lines, and merges equal lines.
func grantsOf(all []planned) (plan []*prompt.Grant) {
	for _, p := range all {
		if i := slices.IndexFunc(plan, p.grant.Same); i >= 0 {
			plan[i].Add(p.grant)
			continue
		}
		plan = append(plan, p.grant)
	}
	if len(plan) > prompt.MaxPlan {
		return nil
	}
	return plan
}

// give stores what a person has allowed besides a call. It stores a plan once, even if the plan came with the answers
// to several calls.
func (a *Prompter) give(ctx context.Context, g *prompt.Grant) error {
	if g.Scope == call.ForPlan && a.planned.Swap(true) {
		return nil
	}
	for _, one := range g.All() {
		if err := a.people.Grants.Give(ctx, one); err != nil {
			return err
		}
	}
	return nil
}
