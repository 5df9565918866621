package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/runs/results"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// Eval returns no Response if no run began.
func (e *Executor) Eval(ctx context.Context, r Request) (*Response, error) {
	return e.eval(ctx, r, nil)
}

// eval is Eval of a request, whose program may have been read before.
func (e *Executor) eval(ctx context.Context, r Request, prepared *Prepared) (*Response, error) {
	policy, saved, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(&r, e.record)
	if err != nil {
		return nil, err
	}
	if key != nil {
		if run, err := findByKey(ctx, e.record, key); err != nil {
			return nil, err
		} else if run != "" {
			return e.repeated(ctx, run, r)
		}
	}
	if err := e.record.Full(r.Owner()); err != nil {
		e.recorded.notStarted(ctx, &r, policy, err)
		return nil, fmt.Errorf("not started: %w", err)
	}
	if err := cmp.Or(notJSON(r.Input), saved.Takes(ctx, r.Input), e.checker.CheckedBefore(SubmissionOf(&r), policy)); err != nil {
		e.recorded.notStarted(ctx, &r, policy, err)
		return nil, err
	}
	resp := &Response{Run: hostfns.NewRunID(), name: r.file(), source: r.Code}
	limits, reply := e.rules.Limits(policy.Profile(), r.Client)
	resp.limit = reply
	if err := tooLong(r.Code, limits); err != nil {
		e.recorded.end(ctx, resp, &r, policy, time.Time{}, err)
		return resp, err
	}
	if e.engine.own.Load() == nil {
		e.life.Background(func() { _, _ = e.engine.get() }) // the first time takes as long as reading the program
	}
	program, problems, err := e.read(ctx, &r, prepared)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		e.recorded.end(ctx, resp, &r, policy, time.Time{}, analysis.Problems(problems))
		return resp, analysis.Problems(problems)
	}
	resp.mistaken = slices.DeleteFunc(slices.Clone(program.Unawaited),
		func(u analysis.Unawaited) bool { return !u.Wrong })
	resp.source = cmp.Or(program.Text(), r.Code)
	limits.ProgramBytes = max(limits.ProgramBytes, len(program.JS)) // the limit is on what was sent
	engine, err := e.engine.get()
	if err != nil {
		return nil, err
	}
	use, row, err := e.begin(ctx, key, &r, policy, resp.Run, engine)
	if errors.Is(err, errKeyTaken) {
		return e.lostRace(ctx, key, r)
	}
	if err != nil {
		return nil, err
	}
	x, done := e.newExecution(ctx, r, policy, program, resp, limits, engine, use)
	defer done()
	if row != nil {
		x.row = row
		x.endWhenLost(row)
	}
	x.started = time.Now()
	if r.Caller != nil && r.Caller.Began != nil {
		r.Caller.Began(resp.Run)
	}
	e.recorded.begin(ctx, resp, &r, policy)
	x.run = e.tools.Gate(r.Caller, r.verified(), e.record.To).Run(x.info())
	if err := x.inSession(); err != nil {
		return resp, x.end(nil, err)
	}
	guest := x.watched()
	guest.Source, guest.Name, guest.Owner = x.program.JS, resp.name, r.Owner()
	guest.Input, guest.Limits = r.Input, limits
	r.Deterministic.applyTo(&guest)
	result, err := x.execute(guest)
	return resp, x.end(result, err)
}

// newExecution registers a run. Call done when it has ended.
func (e *Executor) newExecution(ctx context.Context, r Request, p *inforce.Policy, program *analysis.Program,
	resp *Response, limits sandbox.Limits, engine Engine, use *sessions.Use) (x *execution, done func()) {
	e.life.Background(func() { e.tools.Manager.Ready(e.life.Ctx) }) // starts the servers that are not running yet
	var session *preflight.Declared
	if use != nil {
		session = &preflight.Declared{}
		session.Names, session.Known = use.Names()
	}
	program = preflight.Meant(ctx, e.tools, p, program, session, use != nil)
	x = &execution{
		e: e, request: r, policy: p, program: program, resp: resp, limits: limits, engine: engine, use: use,
		seat:   seat{waits: map[int]bool{}, pauses: map[*pause]bool{}, news: make(chan struct{}, 1)},
		slots:  make(chan struct{}, limits.InFlight),
		parts:  preflight.NewParts(e.tools, program),
		events: newFeed(resp.Run, r.Observe, &e.UnderWay.viewers, e.log),
	}
	resp.everyCall, resp.key = r.EveryCall, cmp.Or(r.IdempotencyKey, resp.Run)
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.calls, x.ended = context.WithCancelCause(x.ctx)
	carried, drop := context.WithCancelCause(ctx)
	x.carried = carried
	noMore := context.AfterFunc(x.ctx, func() {
		// After refusals, calls that people have allowed are still made.
		if cause := context.Cause(x.ctx); cause != ErrRefusals {
			drop(cause)
		}
	})
	x.asking = e.people.Prompter(ClientOf(&x.request), p, program)
	x.asking.Claim = x.claim
	x.asking.Leaving = x.leaving
	stop := context.AfterFunc(e.life.Ctx, func() {
		x.cancel(context.Cause(e.life.Ctx))
		drop(context.Cause(e.life.Ctx))
	})
	e.UnderWay.add(x)
	return x, func() {
		stop()
		noMore()
		x.cancel(nil)
		drop(nil)
		e.parked.remove(x)
		e.UnderWay.remove(x)
		x.events.Drop()
		x.events.Happened()
	}
}

// info returns the principal and the rules under which the run calls tools.
func (x *execution) info() hostfns.RunInfo {
	r, policy := &x.request, x.policy
	return hostfns.RunInfo{
		Budgets: x.e.CallBudgets,
		ID:      x.resp.Run, Profile: cmp.Or(r.Profile, policy.ProfileName()), Principal: r.Principal, Owner: r.Owner(),
		Client:  r.Client,
		Session: r.ClientSession, Role: r.Role, Script: r.Script,
		Policy: policy, Prompter: x.asking, Leaving: x.leaving, Written: preflight.Written(x.program, policy.Profile()),
		Results: x.e.Results, LoadBytes: int(min(x.limits.Memory/loadShare, results.MostRead)), Keep: x.keepContent,
		Left:        left(r.Thread, x.use),
		CallTimeout: x.e.rules.CallTimeout(policy.Profile()), ArgumentBytes: x.limits.ArgumentBytes,
		Refused: func(n int) {
			if p := policy.Profile(); p != nil && n >= p.Bounded(profiles.Limits{Refusals: DefaultRefusals}).Refusals {
				x.cancel(ErrRefusals)
			}
		},
	}
}

// end fills the response of a run that has ended, and records the end.
func (x *execution) end(result *sandbox.Result, err error) error {
	x.ended(errors.New("the run has ended"))
	e, resp, ctx := x.e, x.resp, x.ctx
	x.run.Carry(x.carried)
	resp.Missing = x.run.Missed()
	resp.Calls = x.run.End()
	if x.leaving() { // another process has the run, and needs its grants
		later := func(c hostfns.Report) bool { return c.State == hostfns.NotStarted } // that one makes them
		resp.Calls = slices.DeleteFunc(resp.Calls, later)
	} else if err := e.people.Grants.EndRun(context.WithoutCancel(ctx), resp.Run, x.asking.TakenOver); err != nil {
		e.log.Error("revoking the grants of a run failed", "run", resp.Run, "error", err)
	}
	resp.Queued = queued(x.run, result)
	if result != nil {
		resp.Value, resp.Console, resp.ConsoleDropped, resp.Usage = result.Value, result.Console, result.ConsoleDropped,
			result.Usage
		resp.timers = result.Dropped.Timers
	}
	resp.Absent = x.parts.Notes()
	resp.Blocks, resp.BlocksLeft = x.run.Blocks(resp.Value)
	if ended, ok := errors.AsType[*sandbox.Error](err); ok && ctx.Err() != nil {
		err = canceled(ended, context.Cause(ctx))
	} else if err == nil && context.Cause(ctx) == ErrRefusals {
		// The program caught the exceptions that followed, and ended before the stop reached it.
		resp.Value, err = nil, canceled(&sandbox.Error{Kind: sandbox.Canceled}, ErrRefusals)
	}
	x.leaveSession(result, err)
	if !x.leaving() { // else it has not ended
		x.keepResults(err)
		x.linger(resp.Outcome(err))
		e.recorded.end(ctx, resp, &x.request, x.policy, x.started, err)
	}
	x.finish(err)
	x.events.End(resp.Calls, resp.Outcome(err))
	return err
}

// queued counts the calls that had not reached the Gate when the run ended.
func queued(run *hostfns.Run, result *sandbox.Result) int {
	if result == nil {
		return 0
	}
	return max(result.Usage.Calls-run.Seen(), 0)
}

// Run runs the program with an input in JSON, which it sees as `input`; nil is undefined. Changes are made to the
// request of this run, such as an idempotency key of its own. Results and errors are those of Evaluator.Eval. A saved
// program runs as its file is now.
func (p *Prepared) Run(ctx context.Context, input json.RawMessage, changes ...func(*Request)) (*Response, error) {
	e := p.executor
	if err := e.life.Enter(); err != nil {
		return &Response{}, err
	}
	defer e.life.Running.Done()
	r := p.request
	r.Input = input
	for _, change := range changes {
		change(&r)
	}
	response, err := e.eval(ctx, r, p)
	if response == nil {
		response = &Response{}
	}
	return response, err
}

// A Prepared is a program that was read once and runs many times. It keeps nothing else of its runs: each one is
// decided by the rules of its moment, is recorded, and has its own name. Many goroutines may use it.
type Prepared struct {
	executor   *Executor
	request    Request
	name, code string // of the program that was read; a saved one has them from its file
	program    *analysis.Program
}

// Prepare reads the program of a request and runs nothing. The error says why no run would begin: [analysis.Problems],
// a [*sandbox.Error] for a text that is too long, or what is wrong with the profile.
func (e *Executor) Prepare(ctx context.Context, r Request) (*Prepared, error) {
	p := &Prepared{executor: e, request: r}
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	if limits, _ := e.rules.Limits(policy.Profile(), r.Client); tooLong(r.Code, limits) != nil {
		return nil, tooLong(r.Code, limits)
	}
	program, problems, err := e.read(ctx, &r, nil)
	if err == nil && len(problems) > 0 {
		err = analysis.Problems(problems)
	}
	if err != nil {
		return nil, err
	}
	p.name, p.code, p.program = r.file(), r.Code, program
	return p, nil
}

// read returns the program of a request, which may have been read before.
func (e *Executor) read(ctx context.Context, r *Request, p *Prepared) (*analysis.Program, []analysis.Problem, error) {
	if p != nil && p.code == r.Code && p.name == r.file() {
		return p.program, nil, nil
	}
	program, problems, err := e.programs.Read(ctx, r.Owner(), r.file(), r.Code)
	if err == nil && len(problems) == 0 {
		problems = program.Nothing(r.file(), r.Session != "")
	}
	return program, problems, err
}
