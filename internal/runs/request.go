package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/registry"
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

	// Thread joins the program with others of its client; nil with none.
	Thread *Thread `json:"-"`

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

func (r *Request) wish() inforce.Wish {
	return inforce.Wish{
		Profile: r.Profile, Unrestricted: r.Unrestricted, Code: r.Code, Name: r.Name, Script: r.Script, Bound: r.Bound,
		Principal: r.Principal, Session: r.ClientSession, Fingerprint: r.Fingerprint, Role: r.Role, Unchecked: r.Unchecked,
	}
}

// file is the name of the program in problems and stacks.
func (r *Request) file() string { return cmp.Or(r.Name, "program.ts") }

// ClientOf converts a request for package asking.
func ClientOf(r *Request) *asking.Client {
	return &asking.Client{Principal: r.Principal, Session: r.ClientSession, Name: r.Client, Channels: r.Channels,
		Caller: r.Caller, Code: r.Code}
}

// SubmissionOf converts a request for package preflight.
func SubmissionOf(r *Request) *preflight.Submission {
	return &preflight.Submission{Wish: r.wish(), Tool: r.Tool, Token: r.Preflight, Local: r.Local}
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

// notJSON is an error if the input of a program is none that it could see.
func notJSON(input json.RawMessage) error {
	if len(input) == 0 || json.Valid(input) {
		return nil
	}
	return fmt.Errorf("not started: the input is not JSON: %w", json.Unmarshal(input, new(any)))
}

// tooLong returns the error for a text beyond the limit, nil for others.
func tooLong(code string, limits sandbox.Limits) error {
	if len(code) <= limits.ProgramBytes {
		return nil
	}
	return &sandbox.Error{Kind: sandbox.Refused,
		Message: fmt.Sprintf("the program has %d bytes, the limit is %d", len(code), limits.ProgramBytes)}
}

// Deterministic makes a run depend on nothing but its program, its input, its limits and the answers of its calls: for
// tests of programs, simulations, and to repeat a run. The same of these gives the same value, console, error and
// Usage.Steps, in every process and on every machine that has the same guest, also if the run waits for people
// meanwhile. [sandbox.Deterministic] says how time passes, and what still ends a run early.
type Deterministic struct {
	// Seed gives the numbers of Math.random and of crypto, which are no secrets then.
	Seed uint64 `json:"seed"`
	// Start is what the clock says when the program starts, to the millisecond; the zero Time means 1970-01-01.
	Start time.Time `json:"start,omitzero"`
	// Steps is how many steps the program may make, see [sandbox.Usage]: one more ends it as
	// [sandbox.TooManySteps], at the same place everywhere. The limit of processor time ends it earlier on a slow
	// machine. Zero means that there is no other limit.
	Steps int64 `json:"steps,omitempty"`
}

// applyTo makes a program of the sandbox deterministic, unless d is nil.
func (d *Deterministic) applyTo(p *sandbox.Program) {
	if d != nil {
		p.Deterministic = &sandbox.Deterministic{Seed: d.Seed, Start: d.Start}
		p.Limits.Steps = d.Steps
	}
}
