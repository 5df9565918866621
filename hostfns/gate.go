package hostfns

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
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
	if info.CallTimeout <= 0 {
		info.CallTimeout = DefaultCallTimeout
	}
	if info.ArgumentBytes <= 0 {
		info.ArgumentBytes = defaultArgumentBytes
	}
	r := &Run{gate: g, info: info, refused: map[string]*Exception{}, seen: map[string]int{},
		connecting: map[string]*connecting{}}
	r.record = entries{&r.info, g.deps.Recorder, g.deps.Log}
	r.blocks.restore(nil, nil)
	r.functions = map[string]function{emitName: r.blocks.emit}
	if info.Keep != nil {
		r.functions[keepName] = func(ctx context.Context, handle json.RawMessage) (json.RawMessage, error) {
			return r.blocks.keepContent(ctx, handle, info.Keep)
		}
	}
	r.view = &view{tools: g.deps.Tools, library: g.deps.Library, policy: info.Policy, taint: &r.taint}
	maps.Copy(r.functions, r.view.functions())
	if err := r.take(info.Left); err != nil { // then it may have been anything
		g.deps.Log.Error("a run counts as tainted", "run", info.ID, "error", err)
		r.taint.readBefore("what an untrusted server answered" + inSession)
	}
	return r
}

// A Run is one execution of a program as the Gate sees it.
type Run struct {
	gate      *Gate
	info      RunInfo
	functions map[string]function // host functions that are no tools, by name
	blocks    blocks
	taint     taint
	view      *view
	record    entries

	mu        sync.Mutex
	waiting   []*waiter // calls that wait for the next round of questions
	leading   bool      // a goroutine asks them
	open      bool      // a round of questions is under way
	undecided int       // calls that are not decided yet
	ended     bool
	calls     []*callState
	seen      map[string]int        // how often each call was made, by tool and arguments
	refused   map[string]*Exception // refusals by a person, or because nobody could be asked, likewise
	// beyondBudget are the budgets that the record says had no room.
	beyondBudget map[string]bool
	asks         int
	invoked      int                    // invocations, of tools and of host functions
	refusals     int                    // by people
	connecting   map[string]*connecting // by server
}

// A State says how far a call came.
type State string

const (
	Done       State = "done"        // the upstream answered
	Refused    State = "refused"     // by the policy or a person; nothing was sent
	Failed     State = "failed"      // the tool said so, or the call was wrong
	Unknown    State = "unknown"     // it was sent and may or may not have happened
	NotStarted State = "not started" // the run ended, or the upstream could not be reached, before it was sent

	// Asking is the state of a call that waits for a person, in [Run.Now].
	Asking State = "asking"
)

// A Report is one call of a run and how it ended.
type Report struct {
	Call     int
	Tool     string
	State    State
	Reason   string        // of a refusal or failure, as programs see it
	Detail   string        // a sentence
	Approved string        // who allowed a call that was asked about, such as "person, elicitation"
	Changed  []string      // JSON Pointers to what a person changed in its arguments
	Warning  string        // what is odd about a call that the upstream answered
	Took     time.Duration // from the moment it was sent
	Reads    bool          // it was sent, and its upstream declares the tool read-only
}

// A callState is one call on its way through the Gate.
type callState struct {
	Report

	// Used only by the call's own goroutine.
	in       Invocation
	tool     *call.Tool
	args     call.Arguments
	proposed call.Arguments // what the program gave, where a person allowed other arguments
	shown    call.Arguments // what people were asked about; none before that
	again    string         // why they are asked again; under the lock
	before   Counters       // what happened before it
	decision call.Decision
	answer   call.Answer // zero unless somebody had to be asked
	use      Use         // uses the approval in answer; nil uses nothing
	refusal  int         // the run's refusals so far, if a person refused this call; else 0
	goesOn   func()      // ends the waiting for people; nil while it does not wait

	redefined bool // since the question, its name has come to mean another tool
	undecided bool // it counts in Run.undecided; under the lock

	// Made under the lock when a person allows the call. begun is closed when it is sent, done when it is over.
	begun, done chan struct{}

	asking   bool // it waits for a person
	asked    bool // the record may say that it waited for one; used only by the call's own goroutine
	connects int  // it waits for an account; the number of the call under which the principal was asked. Else 0
	sent     bool
	over     bool
}

// Seen counts the invocations that reached the run before it ended.
func (r *Run) Seen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.invoked
}

// begin adds a call to the list, unless it calls a host function. Nil means that the run is over.
func (r *Run) begin(in Invocation) *callState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.invoked++
	if r.functions[in.Name] != nil || in.Name == askUserName || in.Name == loadName && r.info.Results != nil {
		return &callState{}
	}
	c := &callState{Report: Report{Call: in.ID, Tool: in.Name}, before: Counters{Calls: len(r.calls)}, in: in,
		undecided: true}
	r.calls = append(r.calls, c)
	r.undecided++
	return c
}

// update changes a call under the lock. It reports false, and changes nothing, if the call is over.
func (r *Run) update(c *callState, change func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.over {
		return false
	}
	change()
	return true
}

// Report returns how a call has ended, or false if the run has no such call, or it is under way.
func (r *Run) Report(id int) (Report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.calls) {
		if c.Call == id {
			return c.Report, c.over
		}
	}
	return Report{}, false
}

// Now lists the calls of the run in the order in which the program made them. The State of a call without an outcome is
// "", or Asking.
func (r *Run) Now() []Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	var reports []Report
	for _, c := range r.calls {
		report := c.Report
		if !c.over {
			report.State = ""
			if c.asking {
				report.State = Asking
			}
		}
		reports = append(reports, report)
	}
	sortReports(reports)
	return reports
}

// ReportOf is the report of a call of a host function, which no run lists.
func ReportOf(in *Invocation, err error) Report {
	c := &callState{Report: Report{Call: in.ID, Tool: in.Name}}
	c.setState(err)
	return c.Report
}

// End closes the run and returns its calls in the order in which the program made them. It reports a call without an
// answer as unknown if it was sent, else as not started; neither changes afterwards.
func (r *Run) End() []Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	reports := make([]Report, 0, len(r.calls))
	for _, c := range r.calls {
		switch {
		case c.over, c.State != "": // how it ended is known
		case c.sent:
			c.State, c.Detail = Unknown, "the run ended before the upstream answered"
		default:
			c.State, c.Detail = NotStarted, RunEnded
		}
		c.over = true
		reports = append(reports, c.Report)
	}
	sortReports(reports)
	return reports
}

// NewRunID makes the name of a run for the record. It is not a credential.
func NewRunID() string { return "r_" + strings.ToLower(rand.Text()[:10]) }
