package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/registry"
)

// Questions that a run's caller asks without running a program.

// AskUser asks a question of the people that a run of r could ask, and waits for one answer. args are {header,
// question, options, multiple, freeText}. An error means that nobody was asked.
func (e *Executor) AskUser(ctx context.Context, r Request, args json.RawMessage) (*asking.UserAnswer, error) {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	return e.people.Prompter(ClientOf(&r), policy, nil).
		Inquire(ctx, &hostfns.Question{Run: hostfns.NewRunID(), Profile: cmp.Or(r.Profile, policy.ProfileName()), Args: args})
}

// AllowPlan asks the people that a run of r could ask whether they allow, for one run, the calls in the program's text
// that would need a question. It leaves out calls that cannot be allowed beforehand (denied, of a high risk, not shown
// whole, under a profile that does not let answers be remembered for a run); people are asked about these when they
// come. AllowPlan waits for the answer. An error means that nobody was asked because the request is invalid: a program
// that cannot run is [analysis.Problems].
func (e *Executor) AllowPlan(ctx context.Context, r Request) (*preflight.PlanAnswer, error) {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	if limits, _ := e.rules.Limits(policy.Profile(), r.Client); len(r.Code) > limits.ProgramBytes {
		return nil, fmt.Errorf("the program has %d bytes, the limit is %d", len(r.Code), limits.ProgramBytes)
	}
	program, problems, err := e.programs.Read(ctx, r.Owner(), cmp.Or(r.Name, "program.ts"), r.Code)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, analysis.Problems(problems)
	}
	if len(program.Calls) > 0 {
		e.tools.Ready(ctx, registry.CheckWait)
	}
	program = preflight.Meant(ctx, e.tools, policy, program, nil, false)
	return e.people.Prompter(ClientOf(&r), policy, program).AllowPlan(ctx, hostfns.NewRunID(),
		cmp.Or(r.Profile, policy.ProfileName()))
}

// enter announces work that the end of the Evaluator cancels and waits for. leave ends it.
func (e *Executor) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := e.life.Enter(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.life.Ctx, func() { cancel(context.Cause(e.life.Ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		e.life.Running.Done()
	}, nil
}
