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
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/runs/results"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// A Request is one program to run. As JSON it is what another process needs to go on with the run: channels and caller
// belong to this one.
type Request struct {
	// Profile is the profile that the program runs under. "" is defaultProfile of the configuration. If it has none, the
	// request is [inforce.ErrNoProfile], unless Unrestricted is set; without any configuration, every call is denied.
	Profile string `json:"profile,omitempty"`
	// Unrestricted lets a request without a profile run although the configuration has no defaultProfile: the program
	// may make every call that the floor and the overlays allow, and nobody is asked. It lifts no profile.
	Unrestricted bool `json:"unrestricted,omitempty"`

	Code  string          `json:"code,omitempty"`  // JavaScript or TypeScript
	Input json.RawMessage `json:"input,omitempty"` // what the program sees as `input`, in JSON; nil is undefined
	Name  string          `json:"name,omitempty"`  // shown in problems and stacks; "" is program.ts
	// Deterministic makes the run repeatable. Nil gives it real randomness and a real clock.
	Deterministic *Deterministic `json:"deterministic,omitempty"`

	// Channels reach the people who may approve calls of this run, see [approvals.Approver]. Without channels, nobody
	// can be asked.
	Channels []approvals.Channel `json:"-"`

	// Caller receives questions and progress of upstreams during the run; nil means nobody.
	Caller *registry.Caller `json:"-"`

	// Observe sees what happens in the run: one event after the other, in the order in which they happened, on a
	// goroutine of its own. The run does not wait for it, except that the end waits up to a second. If 4,096 events wait,
	// further ones are lost, and an event says how many. A panic in it is logged. A run that never began has no events,
	// and those of another process, which resumes the run, are not seen here. Nil is ignored.
	Observe func(Event) `json:"-"`

	// Script names a saved program to run instead of Code. It runs under the profile of its rule, or else under
	// Profile.
	Script string `json:"script,omitempty"`
	// Bound says that a saved program must not run under a profile other than Profile.
	Bound bool `json:"bound,omitempty"`

	// Preflight is the token of a check, see [preflight.Plan]. Some profiles require one.
	Preflight string `json:"-"`
	// Tool is the MCP tool through which the caller runs programs, for messages.
	Tool string `json:"tool,omitempty"`
	// EveryCall says that [Response.Text] lists each call separately, with its time.
	EveryCall bool `json:"everyCall,omitempty"`
	// IdempotencyKey identifies repeated requests: a second request with the key gets the run that the first one began,
	// in any process that shares the store. The same key with another program, input or profile is [ErrKeyReused]. Each
	// principal has its own keys. A key expires a day after the end of its run. It has up to [MaxIdempotencyKey] bytes
	// of printable ASCII; "" is none. It needs Options.RecordDir of package codemode.
	//
	// The response to a repeated request has Run, Text, and Value if the text shows all of it; its error has the kind of
	// the first one. If the process of a run dies, an Evaluator with Options.GoOn ends the run, such as that of the next
	// process. The repeated request then gets an error, and a text with the calls that were made: the program does not
	// run again. The store keeps the latest 1,000 results of each principal.
	IdempotencyKey string `json:"-"`
	// Local says that the caller sits at this machine: links may name its files.
	Local bool `json:"local,omitempty"`

	// Session names the session in which the program runs: what earlier programs of the same session declared at the top
	// level is there, by reference. A name that has no session yet begins one. A session belongs to its principal and to
	// the profile that it began under; programs of other profiles are refused, and other principals have sessions of
	// their own. A program that returns or throws leaves a new version of the session; any other end leaves the session as
	// it was. "" is no session. A name has 1 to 64 letters, digits, dots, hyphens and underscores.
	Session string `json:"session,omitempty"`
	// SessionWait waits while another program runs in the session. Otherwise the error is a [*sessions.ErrBusy].
	SessionWait bool `json:"-"`

	// Principal, ClientSession and Client identify who asks for the run, in which session of its client and through which
	// program. Overlays match a run by the first two, so these must be values that the server knows, not claims of the
	// caller. ClientSession is one of the protocol, or one that a person made for a role; it has nothing to do with
	// Session.
	Principal     string `json:"principal,omitempty"`
	ClientSession string `json:"clientSession,omitempty"`
	Client        string `json:"client,omitempty"`
	// Fingerprint is the fingerprint of the caller's token, where Principal is another name of the caller. Overlays
	// match a run by either.
	Fingerprint string `json:"token,omitempty"`
	Role        string `json:"role,omitempty"` // as the caller claims, for the record alone
	// Unchecked says that nobody verified Principal, which the caller claims. It distinguishes callers, but has no
	// share of its own. All requests of such callers use one share.
	Unchecked bool `json:"unchecked,omitempty"`
}

// Owner is the principal that provides the share for a request; "" is the common share of all that have none of their
// own.
func (r *Request) Owner() string {
	w := r.wish()
	return w.Owner()
}

// away tells the caller that the run goes on without it for a while.
func (r *Request) away() {
	if r.Caller != nil && r.Caller.Waits != nil {
		r.Caller.Waits()
	}
}

// verified is the principal, if somebody has verified it: nobody uses logins at upstreams under a name that is only
// claimed.
func (r *Request) verified() string {
	if r.Unchecked {
		return ""
	}
	return r.Principal
}

// ClientOf converts a request for package asking.
func ClientOf(r *Request) *asking.Client {
	return &asking.Client{Principal: r.Principal, Session: r.ClientSession, Name: r.Client, Channels: r.Channels,
		Caller: r.Caller, Code: r.Code}
}

// SubmissionOf converts a request for package preflight.
func SubmissionOf(r *Request) *preflight.Submission {
	return &preflight.Submission{Wish: r.wish(), Tool: r.Tool, Token: r.Preflight, Local: r.Local}
}

func (r *Request) wish() inforce.Wish {
	return inforce.Wish{
		Profile: r.Profile, Unrestricted: r.Unrestricted, Code: r.Code, Name: r.Name, Script: r.Script, Bound: r.Bound,
		Principal: r.Principal, Session: r.ClientSession, Fingerprint: r.Fingerprint, Role: r.Role, Unchecked: r.Unchecked,
	}
}

// Prepare finds the program of a request, which it stores in the request, and the policy for it. The saved program is
// nil when the request brings its own.
func Prepare(ctx context.Context, in *inforce.Rules, r *Request) (*inforce.Policy, *inforce.SavedProgram, error) {
	if err := approvals.CheckChannels("Request.Channels", r.Channels); err != nil {
		return nil, nil, err
	}
	w := r.wish()
	p, saved, err := in.Prepare(ctx, &w)
	r.Profile, r.Code, r.Name = w.Profile, w.Code, w.Name
	return p, saved, err
}

// A Response is the result of a run, however it ended.
type Response struct {
	Run            string          // its name in the record; "" if no run began
	Value          json.RawMessage // nil is undefined
	Console        []sandbox.Line
	ConsoleDropped int // bytes
	ConsoleSeen    int // lines that the reader of Text and Notes has seen already; they leave these out
	Calls          []hostfns.Report
	Queued         int             // calls that had not reached the Gate when the run ended
	Blocks         []hostfns.Block // content on the host with handles in Value
	BlocksLeft     int             // how many of them did not fit
	Missing        []string        // servers that were starting when the program looked for tools
	Usage          sandbox.Usage
	Kept           []*Kept     // what Text does not show in full, kept for later programs
	Session        *SessionEnd // nil without Request.Session
	Absent         []string    // parts that the program reads of results and that none of them had, in sentences

	mistaken []analysis.Unawaited // where the program takes a promise for its value
	timers   int                  // that repeat, and that were left when it had ended

	key    string // its client reattaches with it
	kept   *Ended // how the run ended in another process
	source string // the program's text, for excerpts
	name   string
	limit  int // bytes of Text

	everyCall bool

	keptValue, keptConsole *Kept // those of Kept; nil if nothing of it was cut
}

// DefaultRefusals is how many refusals by people end a run when its profile sets no number.
const DefaultRefusals = 3

// ErrRefusals ends a run after people have refused too many of its calls.
var ErrRefusals = errors.New("too_many_refusals: people refused so many calls that the run was ended")

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

// notJSON is an error if the input of a program is none that it could see.
func notJSON(input json.RawMessage) error {
	if len(input) == 0 || json.Valid(input) {
		return nil
	}
	return fmt.Errorf("not started: the input is not JSON: %w", json.Unmarshal(input, new(any)))
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
		Left:        left(x.use),
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

// canceled describes the end of a run after its context ended. If failed calls then caused an exception, it is not the
// program's own.
func canceled(ended *sandbox.Error, cause error) error {
	if ended.Kind != sandbox.Canceled && ended.Kind != sandbox.Threw {
		return ended
	}
	message := "the run was canceled"
	switch {
	case cause == ErrClosed:
		message = "codemode stopped before the run ended"
	case cause == ErrRefusals, cause == errWaitedLongest, errors.Is(cause, approvals.ErrLeaving):
		message = cause.Error()
	}
	return &sandbox.Error{Kind: sandbox.Canceled, Message: message, Err: cause}
}

// queued counts the calls that had not reached the Gate when the run ended.
func queued(run *hostfns.Run, result *sandbox.Result) int {
	if result == nil {
		return 0
	}
	return max(result.Usage.Calls-run.Seen(), 0)
}
