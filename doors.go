package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/preflight"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/registry"
	"github.com/codemode-project/codemode/runs"
)

// What other parts of a program need of an Evaluator, beside running programs.

// Scripts lists the saved programs that may be run, by name.
func (e *Evaluator) Scripts(ctx context.Context) []inforce.Script { return e.rules.SavedScripts(ctx) }

// Script is the saved program of that name, as it is now. The error is a [*ScriptError] if nobody allowed it.
func (e *Evaluator) Script(name string) (inforce.Script, error) {
	saved, err := e.rules.Script(name)
	if err != nil {
		return inforce.Script{}, err
	}
	return saved.Script, nil
}

// NewSession makes a session for a role, for 10 minutes, an hour or a day.
// Its id is a secret of those it is made for.
func (e *Evaluator) NewSession(role string, life time.Duration) (inforce.Session, error) {
	return e.rules.NewSession(e.life.Ctx, role, life)
}

// EndSession ends a session before its time; nothing more is run in it.
func (e *Evaluator) EndSession(id string) error { return e.rules.EndSession(e.life.Ctx, id) }

// MadeSession finds a session that was made for a role, by this process or by another one that shares the store. The
// error is [ErrSessionOver] if there is none, or not any more.
func (e *Evaluator) MadeSession(ctx context.Context, id string) (inforce.Session, error) {
	return e.rules.Session(ctx, id)
}

// Became waits until the record says how a call ended that a person allowed, and says it in a few words. It gives "" if
// the record does not say so before ctx ends, or if there is no record. It is made for [approvals.Queue.Outcome].
func (e *Evaluator) Became(ctx context.Context, r *prompt.Request) string {
	return e.record.Became(ctx, r)
}

// Journal is the record that the Evaluator keeps by itself; nil when
// Options.Recorder keeps it.
func (e *Evaluator) Journal() *recorder.Journal {
	j, _ := e.record.To.(*recorder.Journal)
	return j
}

// Check says what a program would do under a profile.
func (e *Evaluator) Check(ctx context.Context, r Request) (*preflight.Plan, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	policy, saved, err := runs.Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	return e.checker.Check(ctx, runs.SubmissionOf(&r), policy, saved)
}

// SetRulesPage says where people find the page of this process on which the rules are
// changed. Links lead there unless the configuration has an address of its own.
func (e *Evaluator) SetRulesPage(address string) { e.checker.Page.Store(&address) }

// Note says what a caller should know about the rules before anything else:
// that the file is broken, and its last good version holds. "" is nothing.
func (e *Evaluator) Note() string {
	if err := e.Stale(); err != nil {
		return preflight.StaleText(err)
	}
	return ""
}

// PreflightWarning says what is weak about the secret that tokens are signed
// with, once a profile depends on it; "" is nothing.
func (e *Evaluator) PreflightWarning() string {
	cfg := e.rules.Config()
	if cfg == nil {
		return ""
	}
	required := cfg.Profile("").RequirePreflight()
	for _, name := range cfg.All() {
		required = required || cfg.Profile(name).RequirePreflight()
	}
	switch {
	case !required:
		return ""
	case !cfg.Exposes("codemode_check"):
		return `programs have to be checked before they run, and "expose" leaves out codemode_check: none can run`
	case e.checker.Tokens.Ephemeral:
		return preflight.SecretVariable + " is not set: pre-flight tokens are signed with a secret of this process, and count for nothing once it ends or in another one"
	}
	return ""
}

// Probe puts a test question over one channel, to find out whether it reaches a
// person (POLICY.md H8), and says what became of it. A channel that is none of
// [Options.Channels] is one that other processes have, which share this one's
// store. Nothing is allowed by an answer.
func (e *Evaluator) Probe(ctx context.Context, channel, principal string, wait time.Duration) (approvals.Result, error) {
	if err := e.life.Enter(); err != nil {
		return approvals.Result{}, err
	}
	defer e.life.Running.Done()
	return e.people.Probe(ctx, channel, principal, wait)
}

// AskUser puts a question to the people that a run of r could ask, and waits for
// one of them. args are {header, question, options, multiple, freeText}. An
// error means that nobody was asked.
func (e *Evaluator) AskUser(ctx context.Context, r Request, args json.RawMessage) (*asking.UserAnswer, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	policy, _, err := runs.Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.life.Ctx, func() { cancel(context.Cause(e.life.Ctx)) })()
	return e.people.Prompter(runs.ClientOf(&r), policy, nil).
		Inquire(ctx, &hostfns.Question{Run: hostfns.NewRunID(), Profile: cmp.Or(r.Profile, policy.ProfileName()), Args: args})
}

// People says who could be asked now over the channels of [Options.Channels],
// beside those that each request brings. Channels that do not know who is there
// are left out.
func (e *Evaluator) People() []asking.Presence {
	return e.people.Present()
}

// AllowPlan asks the people that a run of r could ask whether they allow, for one run, the calls that the program's
// text shows and that would be asked about. What cannot be allowed beforehand (denied, of a high risk, not shown
// whole, under a profile that does not let answers be remembered for a run) is left out, and asked about when it
// comes. It waits for the answer. An error means that nobody was asked because the request is not right: a program
// that cannot run is [Problems].
func (e *Evaluator) AllowPlan(ctx context.Context, r Request) (*preflight.PlanAnswer, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	policy, _, err := runs.Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	profile := policy.Profile()
	if limits, _ := e.rules.Limits(profile); len(r.Code) > limits.ProgramBytes {
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.life.Ctx, func() { cancel(context.Cause(e.life.Ctx)) })()
	return e.people.Prompter(runs.ClientOf(&r), policy, program).AllowPlan(ctx, hostfns.NewRunID(), cmp.Or(r.Profile, policy.ProfileName()))
}

// Grants keeps what people have allowed for more than one call.
func (e *Evaluator) Grants() approvals.GrantStore { return e.people.Grants }

// Eval runs a program. The Response is never nil, and its Text tells what came of the program, whatever the error:
// [analysis.Problems] say why it was not started, a [*sandbox.Error] how it ended. With any other error no run began, and
// Response.Run is "".
func (e *Evaluator) Eval(ctx context.Context, r Request) (*Response, error) {
	if err := e.life.Enter(); err != nil {
		return &Response{}, err
	}
	defer e.life.Running.Done()
	response, err := e.runs.Eval(ctx, r)
	if response == nil {
		response = &Response{}
	}
	return response, err
}

// Rejoin is for a client that comes back for a run which this process does not have: it puts the open questions of the run to
// the channels of r, wherever the run is, and returns what the run comes to. Of r the principal, the channels and the
// caller count. The error is [ErrNoRun] where there is nothing to come back for.
func (e *Evaluator) Rejoin(ctx context.Context, run string, r Request) (*Response, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	return e.runs.Rejoin(ctx, run, r)
}

// Ended tells how a run ended that was parked and whose client was gone. [store.ErrNotFound] says that it has not, or that
// there is no such run of that principal.
func (e *Evaluator) Ended(ctx context.Context, run, principal string) (*Ended, error) {
	return e.runs.Ended(ctx, run, principal)
}

// Drain has the runs that wait for nothing but people go on in another process, or in this one after a restart: their
// questions stay open. Without a database there is no other place, and they end with the Evaluator. From then on each run that
// comes to wait is left to others too, and no run of another process is taken up; runs that compute or wait for an upstream
// go on. Drain returns when those that wait are put away, or ctx ends. It is called before [Evaluator.Close], and before the
// connections of clients are closed.
func (e *Evaluator) Drain(ctx context.Context) { e.runs.Drain(ctx) }
