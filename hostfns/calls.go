package hostfns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
)

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
	list *callList

	// Used only by the call's own goroutine, and by that of its round while the call waits in one. A change of tool is
	// under the lock too: a run that waits is saved.
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
	undecided bool // it counts in callList.undecided; under the lock

	// Made under the lock when a person allows the call. begun is closed when it is sent, done when it is over.
	begun, done chan struct{}

	asking   bool // it waits for a person
	asked    bool // the record may say that it waited for one; used only by the call's own goroutine
	connects int  // it waits for an account; the number of the call under which the principal was asked. Else 0
	sent     bool
	over     bool
}

// A callList has the calls of one run, in the order in which they came.
type callList struct {
	mu        sync.Mutex // also guards how far each call came
	ended     bool
	all       []*callState
	seen      map[string]int // how often each call was made, by its key
	invoked   int            // invocations, of tools and of host functions
	undecided int            // calls that are not decided yet
	asks      int            // questions put to people
}

// begin adds a call to the list, unless it calls a host function. Nil means that the run is over.
func (l *callList) begin(in Invocation, function bool) *callState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.invoked++
	c := &callState{Report: Report{Call: in.ID, Tool: in.Name}, list: l, before: Counters{Calls: len(l.all)}, in: in}
	if !function {
		c.undecided = true
		l.all = append(l.all, c)
		l.undecided++
	}
	return c
}

// progress counts what reached the run, and what of it is not decided yet.
func (l *callList) progress() (invoked, undecided int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.invoked, l.undecided
}

// asking returns a call that waits for a person, or nil.
func (l *callList) asking(id int) *callState {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range slices.Backward(l.all) {
		if c.Call == id && c.asking { // also if the run has ended since
			return c
		}
	}
	return nil
}

func (l *callList) report(id int) (Report, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range slices.Backward(l.all) {
		if c.Call == id {
			return c.Report, c.over
		}
	}
	return Report{}, false
}

func (l *callList) now() []Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	var reports []Report
	for _, c := range l.all {
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

func (l *callList) end() []Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	reports := make([]Report, 0, len(l.all))
	for _, c := range l.all {
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

func sortReports(reports []Report) {
	slices.SortStableFunc(reports, func(a, b Report) int { return cmp.Compare(a.Call, b.Call) })
}

// unsent lists the calls that a person allowed and that are not sent yet, by the channels that say that they are.
func (l *callList) unsent() (begun []<-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		if c.begun != nil && !c.sent && !c.over {
			begun = append(begun, c.begun)
		}
	}
	return begun
}

func (l *callList) carry(ctx context.Context) {
	l.mu.Lock()
	var carried []<-chan struct{}
	for _, c := range l.all {
		if c.done != nil && !c.over {
			carried = append(carried, c.done)
		}
	}
	l.mu.Unlock()
	for _, done := range carried {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// counters are Calls and Asks before a question that is no call's own. It counts from now on, with asked.
func (l *callList) counters(asked int) Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks += asked
	return Counters{Calls: len(l.all), Asks: l.asks - asked}
}

// key is equal for calls of the same tool with the same arguments.
func (c *callState) key() string { return c.tool.Name + "\x00" + c.args.Digest() }

// count counts calls of the same tool with the same arguments.
func (c *callState) count() {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	c.before.Repeat = c.list.seen[c.key()]
	c.list.seen[c.key()]++
}

// update changes a call under the lock. It reports false, and changes nothing, if the call is over.
func (c *callState) update(change func()) bool {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	if c.over {
		return false
	}
	change()
	return true
}

// decided records that a call is decided: it joins no further round.
func (c *callState) decided() {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	if c.undecided {
		c.undecided = false
		c.list.undecided--
	}
}

// nowPut records that people see the question about a call, and reports whether they saw it before. From then on their
// answer counts, even if an equal call is refused meanwhile.
func (c *callState) nowPut() (before bool) {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	if before = c.before.Asked; !before {
		c.list.asks++
		c.before.Asked = true
	}
	return before
}

// approved records that a person allowed a call: it is sent even if the program ends first.
func (c *callState) approved(ctx context.Context) {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	if c.answer.How == call.ByPerson && ctx.Err() == nil {
		c.begun, c.done = make(chan struct{}), make(chan struct{})
	}
}

// forgetAnswer prepares a call for another question.
func (c *callState) forgetAnswer(why string) {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	c.answer, c.use, c.again, c.before.Asked = call.Answer{}, nil, why, false
	if c.done != nil { // nobody waits for it longer
		close(c.begun)
		close(c.done)
		c.begun, c.done = nil, nil
	}
}

// wait begins the waiting of a call for people, until goOn, unless it waits already. While all open calls of the run
// wait, [Run.Save] can save it.
func (c *callState) wait() {
	if c.goesOn != nil {
		return
	}
	c.update(func() { c.asking = true })
	if o := c.in.Order; o != nil {
		o.Admitted()
		o.Sent()
	}
	c.goesOn = func() {}
	if c.in.Asking != nil {
		c.goesOn = c.in.Asking()
	}
}

// goOn ends the waiting of a call, if it waits, and makes sure that it continues in this process and in no other.
func (c *callState) goOn(ctx context.Context) (x *Exception) {
	if c.goesOn == nil {
		return nil
	}
	if c.in.Claim != nil {
		if err := c.in.Claim(ctx); err != nil && ctx.Err() == nil {
			x = denied(c.tool.Name, ReasonCanceled, "the store did not tell which process owns this run", "")
		}
	}
	c.update(func() { c.asking = false })
	c.goesOn()
	c.goesOn = nil
	return x
}

// edited replaces the program's arguments by those that a person allowed instead.
func (c *callState) edited(ctx context.Context, most int) *Exception {
	if c.answer.Args == nil {
		return nil
	}
	args, err := call.Freeze(bytes.Clone(c.answer.Args), most)
	if err == nil && c.tool.Validate != nil {
		err = c.tool.Validate(ctx, args)
	}
	if err != nil {
		return denied(c.tool.Name, call.CodeBadArguments,
			"a person changed the arguments, and they are not right: "+err.Error(), "")
	}
	if !c.proposed.Given() {
		c.proposed = c.args
	}
	c.args = args
	c.update(func() { c.Changed = changed(c.proposed.JSON(), c.args.JSON()) })
	return nil
}

// RunEnded is the detail of a call that is not made because its run has ended.
const RunEnded = "the run ended first"

func runEnded(c *callState) *Exception { return denied(c.Tool, ReasonCanceled, RunEnded, "") }

// finish records how a call ended, and tells those who wait for the end of one that a person allowed.
func (c *callState) finish(sent time.Time, err error) {
	c.list.mu.Lock()
	defer c.list.mu.Unlock()
	if !c.over {
		c.over = true
		// They may be megabytes, and the list is long.
		c.in, c.args, c.proposed, c.shown = Invocation{}, call.Arguments{}, call.Arguments{}, call.Arguments{}
		if !sent.IsZero() {
			c.Took = time.Since(sent)
		}
		c.setState(err)
	}
	if c.done != nil {
		close(c.done)
		if !c.sent {
			close(c.begun)
		}
	}
}

// setState records how a call ended. The caller holds the lock of the run.
func (c *callState) setState(err error) {
	x, ok := errors.AsType[*Exception](err)
	if err == nil {
		c.State = Done
		return
	}
	c.State, c.Detail = Failed, err.Error()
	if !ok {
		return
	}
	c.Detail = x.Message
	switch x.Class {
	case ToolCallDenied, LimitClass:
		c.State = Refused
		c.Reason, _ = x.Props["reason"].(string)
		c.Detail, _ = x.Props["detail"].(string)
		if c.Reason == ReasonCanceled && !c.sent && c.Detail == RunEnded {
			c.State = NotStarted
		}
	case upstreamFailure:
		c.Reason, c.State = call.Unknown, Unknown
		if x.Props["outcome"] == call.NotSent {
			c.Reason, c.State = call.NotSent, NotStarted
		}
	case toolNotFound, InvalidArguments, invalidResult, ToolErrorClass:
		c.Reason = x.Class
	default: // an internal error
		if c.sent {
			c.State = Unknown
		}
	}
}

// ReportOf is the report of a call of a host function, which no run lists.
func ReportOf(in *Invocation, err error) Report {
	c := &callState{Report: Report{Call: in.ID, Tool: in.Name}}
	c.setState(err)
	return c.Report
}
