package hostfns

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
)

// DefaultCallTimeout is how long one call may take once it is sent.
const DefaultCallTimeout = 30 * time.Second

// defaultArgumentBytes bounds the arguments of one call.
const defaultArgumentBytes = 1 << 20

// Deps are the powers of a Gate.
type Deps struct {
	Tools    Finder   // required
	Recorder Recorder // required: what cannot be recorded does not happen
	Sender   Sender   // required
	// ResourceTool returns the name of the tool that stands for reading a server's resources, see [ReadResource]. Nil
	// disables it.
	ResourceTool func(server string) string
	// Library is the catalogue that search_tools and get_tools read; nil disables both.
	Library Library
	// Log receives errors that programs do not see, such as a failed write to the record; nil discards them.
	Log *slog.Logger
}

// A Gate is the only path from programs to upstreams. It keeps no state between calls. Any number of runs may use it at
// once.
type Gate struct {
	deps Deps
}

// NewGate panics when a required part is missing: a gate without a recorder or a catalogue is a programming error.
func NewGate(d Deps) *Gate {
	if d.Tools == nil || d.Recorder == nil || d.Sender == nil {
		panic("hostfns: a Gate needs Tools, a Recorder and a Sender")
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return &Gate{deps: d}
}

// RunInfo says on whose behalf and under which rules a run calls tools. The zero value may call nothing.
type RunInfo struct {
	ID        string // names the run in the record
	Profile   string // names the profile in the record and in prompts
	Principal string // who asked for the run, if known
	Client    string // through which program, if known
	Owner     string // whose budgets the calls use: Principal if it is verified; "" is all others together
	Session   string // of the client, if known
	Role      string // as the caller claims; for the record, it decides nothing
	Script    string // the name of the saved program, if it is one

	// Written are the calls that the text of the program shows. They show where arguments come from once the run has
	// read an untrusted server's answer; with nil, any argument may derive from that answer.
	Written []WrittenCall

	Policy   Policy   // nil denies every call
	Budgets  Budgets  // nil bounds nothing beyond the run
	Prompter Prompter // nil reaches nobody

	// Refused is called each time a person refuses a call of this run, with the number of refusals so far. It may end
	// the run. Nil is ignored.
	Refused func(n int)

	// Leaving reports whether another process resumes the run. Then calls that wait for a person end here without an
	// entry. Nil means never.
	Leaving func() bool

	// Results are what earlier runs kept; nil disables the function load. LoadBytes bounds what one call of it returns.
	Results   Results
	LoadBytes int

	// Keep keeps content for later runs of the principal, and returns its URI. The program reads the text of its error.
	// Nil disables the function keep.
	Keep func(ctx context.Context, c *Content) (uri string, err error)

	// Left is what [Run.Left] returned for the last program of the session in which the run goes on; nil is nothing.
	Left *Left

	CallTimeout   time.Duration // how long one call may take; zero is DefaultCallTimeout
	ArgumentBytes int           // zero is defaultArgumentBytes
}

// decide asks the policy.
func (i *RunInfo) decide(tool *call.Tool, args call.Arguments, before Counters) call.Decision {
	if i.Policy == nil {
		return call.Decision{Reasons: []call.Reason{{List: "configuration", Text: "no policy is in force"}}}
	}
	return i.Policy.Decide(tool, args, before)
}

// leaves reports whether another process resumes the run.
func (i *RunInfo) leaves() bool { return i.Leaving != nil && i.Leaving() }

// Run begins one run.
func (g *Gate) Run(info RunInfo) *Run {
	info.CallTimeout = cmp.Or(max(info.CallTimeout, 0), DefaultCallTimeout)
	info.ArgumentBytes = cmp.Or(max(info.ArgumentBytes, 0), defaultArgumentBytes)
	id := info.ID
	r := &Run{gate: g, info: info, log: func() *slog.Logger { return g.deps.Log.With("run", id) }}
	r.blocks.restore(nil, nil)
	r.blocks.store = info.Keep
	r.calls.seen = map[string]int{}
	r.refusals.scope, r.refusals.of = "this run", map[string]*Exception{}
	r.view = view{tools: g.deps.Tools, library: g.deps.Library, policy: info.Policy, taint: &r.taint}
	r.spending.info = &r.info
	r.record = entries{&r.info, g.deps.Recorder, g.deps.Log}
	r.rounds = rounds{calls: &r.calls, prompter: info.Prompter, put: r.put, log: r.log}
	r.accounts = accounts{info: &r.info, calls: &r.calls, refusals: &r.refusals, record: &r.record, log: r.log,
		asked: map[string]*connecting{}}
	if err := r.take(info.Left); err != nil { // then it may have been anything
		r.log().Error("a run counts as tainted", "error", err)
		r.taint.readBefore("what an untrusted server answered" + inSession)
	}
	return r
}

// A Run is one execution of a program as the Gate sees it. Its methods are the way of a call. What it knows and counts
// is in its parts, which guard themselves. Their locks are taken in this order: accounts, calls, any other one.
type Run struct {
	gate *Gate
	info RunInfo
	log  func() *slog.Logger

	view     view
	calls    callList
	refusals refusals
	taint    taint
	rounds   rounds
	accounts accounts
	spending spending
	blocks   blocks
	record   entries
}

// Seen counts the invocations that reached the run before it ended.
func (r *Run) Seen() int {
	n, _ := r.calls.progress()
	return n
}

// Report returns how a call has ended, or false if the run has no such call, or it is under way.
func (r *Run) Report(id int) (Report, bool) { return r.calls.report(id) }

// Now lists the calls of the run in the order in which the program made them. The State of a call without an outcome is
// "", or Asking.
func (r *Run) Now() []Report { return r.calls.now() }

// Carry waits until the calls that people have allowed are over, each at most for its own time limit, or until ctx
// ends. It is called when the program has ended, and with it the context of all other calls.
func (r *Run) Carry(ctx context.Context) { r.calls.carry(ctx) }

// End closes the run and returns its calls in the order in which the program made them. It reports a call without an
// answer as unknown if it was sent, else as not started; neither changes afterwards.
func (r *Run) End() []Report { return r.calls.end() }

// NewRunID makes the name of a run for the record. It is not a credential.
func NewRunID() string { return "r_" + strings.ToLower(rand.Text()[:10]) }
