package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
)

// A Plan says what a program would do, as far as its text shows. Nothing runs,
// and nobody is asked.
type Plan struct {
	Profile  string              `json:"profile"`
	Problems []analysis.Problem  `json:"problems,omitempty"` // not empty: it cannot run
	Calls    []PlannedCall       `json:"calls"`
	Dynamic  []analysis.Position `json:"dynamic,omitempty"` // calls whose name only the running program knows
}

// A PlannedCall is a call that can be seen in a program's text. The verdict is
// the one of this moment; each call is decided anew when it is made.
type PlannedCall struct {
	Tool    string          `json:"tool"`
	Line    int             `json:"line"`
	Column  int             `json:"column"`
	How     string          `json:"how,omitempty"`  // member, computed, alias ...
	Args    json.RawMessage `json:"args,omitempty"` // when all of them stand in the text
	Verdict string          `json:"verdict"`        // allow, ask, deny, or unknown tool
	Risk    string          `json:"risk,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	At      string          `json:"at,omitempty"` // file:line of the rule
	Reason  string          `json:"reason,omitempty"`
	Problem string          `json:"problem,omitempty"` // an unknown name, or arguments that do not fit
	Nearest []string        `json:"nearest,omitempty"`
}

// VerdictUnknownTool is the verdict on a name that has no tool.
const VerdictUnknownTool = "unknown tool"

// Denied counts the calls that would not get through.
func (p *Plan) Denied() int {
	n := 0
	for _, c := range p.Calls {
		if c.Verdict != "allow" && c.Verdict != "ask" {
			n++
		}
	}
	return n
}

// checkWait is how long Check and the catalogue wait for upstreams that start.
const checkWait = 10 * time.Second

// Check says what a program would do under a profile.
func (e *Evaluator) Check(ctx context.Context, r Request) (*Plan, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.running.Done()
	policy, err := e.bind(r.Profile)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Profile: cmp.Or(r.Profile, profileName(policy)), Calls: []PlannedCall{}}
	program, problems := e.programs.Compile(cmp.Or(r.Name, "program.ts"), r.Code)
	if len(problems) > 0 {
		plan.Problems = problems
		return plan, nil
	}
	plan.Dynamic = program.Dynamic
	if len(program.Calls) > 0 {
		e.ready(ctx, checkWait)
	}
	for _, c := range program.Calls {
		if !hostFunctions[c.Name] {
			plan.Calls = append(plan.Calls, e.plan(ctx, policy, c))
		}
	}
	return plan, nil
}

// hostFunctions are the names a program may call that are no tools.
var hostFunctions = map[string]bool{"search": true, "search_tools": true, "get_tools": true, "emit": true}

func (e *Evaluator) plan(ctx context.Context, p *policy, c analysis.Call) PlannedCall {
	if string(c.Args) == "null" {
		c.Args = json.RawMessage("{}") // as the Gate takes a call without arguments
	}
	planned := PlannedCall{Tool: c.Name, Line: c.Line, Column: c.Column, How: c.How, Args: c.Args}
	t, err := finder{e}.Find(ctx, c.Name)
	if err != nil {
		planned.Verdict, planned.Problem = VerdictUnknownTool, err.Error()
		if missing, ok := errors.AsType[*hostfns.NotFoundError](err); ok {
			planned.Nearest = missing.Nearest
		}
		return planned
	}
	d := p.Decide(t, c.Args, hostfns.Counters{})
	planned.Verdict, planned.Risk, planned.Rule, planned.At, planned.Reason = d.Verdict.String(), d.Risk, d.Rule, d.At, d.Detail
	if c.Args != nil && d.Verdict != hostfns.Deny {
		if err := t.Validate(c.Args); err != nil {
			planned.Problem = err.Error()
		}
	}
	return planned
}

// ready starts the upstreams and waits, at most so long, until each has said
// what it offers or has failed to.
func (e *Evaluator) ready(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := e.manager.Ready(ctx); err != nil {
		e.log.Debug("not every upstream is ready", "error", err)
	}
}
