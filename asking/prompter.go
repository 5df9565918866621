package asking

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/registry"
)

// People are those who can be asked, and what they have allowed.
type People struct {
	Log      *slog.Logger
	Rules    *inforce.Rules
	Tools    *registry.Registry
	Record   *recorder.Recorder
	Desk     *approvals.Desk
	Grants   *Grants
	Channels []approvals.Channel // beside those of each request
}

// asker puts the questions of one run to people over the channels that the
// run's caller has, and those of the Evaluator.
type Prompter struct {
	people    *People
	policy    *inforce.Policy
	principal string
	session   string
	client    string
	caller    *registry.Caller // nil if nobody wants to know
	turn      chan struct{}    // holds an element while a question of the run is open; nil lets all be open at once
	channels  []approvals.Channel
	preview   prompt.Preview
	Trace     *Trace
	Claim     func(ctx context.Context, calls []int) error // see [execution.claim]
	Leaving   func() bool                                  // see [execution.leaving]
	mu        sync.Mutex                                   // guards before
	Before    map[int]*prompt.Request                      // by call: what was asked in another process
	Adopted   bool                                         // the run began in another process, and people see it wherever they are

	program *analysis.Program         // nil for a question without a run
	Display map[string]prompt.Display // by tool: what narrows the arguments that are shown; nil is nothing
	asked   bool                      // a question of the run was put; only the first one offers the plan
	planned atomic.Bool               // the plan was given
	hash    string                    // of the program's text
	ahead   sync.Mutex
	looked  bool // for what was allowed before the run; under ahead

	Put      atomic.Bool // a question was put
	Patience Patience
}

// A Patience is how long people have been asked by a run in all, however many questions were open at once.
type Patience struct {
	mu    sync.Mutex
	Spent time.Duration
	open  int
	since time.Time // when the first of those that are open was put
}

// begin notes that a question is open until over is called.
func (p *Patience) begin() (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open++; p.open == 1 {
		p.since = time.Now()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open--; p.open == 0 {
			p.Spent += time.Since(p.since)
		}
	}
}

func (p *Patience) Used() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open > 0 {
		return p.Spent + time.Since(p.since)
	}
	return p.Spent
}

// A Client is whoever wants something that people are asked about.
type Client struct {
	Principal, Session, Name string
	Channels                 []approvals.Channel // that reach people, beside those of all requests
	Caller                   *registry.Caller    // nil is nobody
	Code                     string              // of the program, if there is one
}

// newAsker asks for one run, or, without a program, one question.
func (w *People) Prompter(r *Client, p *inforce.Policy, program *analysis.Program) *Prompter {
	a := &Prompter{
		people: w, policy: p, principal: r.Principal, session: r.Session, client: r.Name, caller: r.Caller, turn: make(chan struct{}, 1), Trace: &Trace{},
		channels: append(slices.Clone(r.Channels), w.Channels...),
	}
	if program == nil { // a question without a run
		return a
	}
	a.preview, a.program, a.hash = preview(program), program, inforce.ProgramHash(r.Code)
	for _, c := range program.Calls {
		a.Trace.Written(c.Args)
		if c.Outline != nil {
			a.Trace.Written(c.Outline.Shown)
		}
	}
	return a
}

func preview(p *analysis.Program) prompt.Preview {
	v := prompt.Preview{Dynamic: len(p.Dynamic) > 0}
	for _, c := range p.Calls {
		if c.Host && c.How == analysis.Value {
			continue // a server, handed on: no call, and among the dynamic places
		}
		v.Calls = append(v.Calls, prompt.PreviewCall{Name: c.Name, Line: c.Line, Column: c.Column})
	}
	return v
}

// Together reports whether the questions of one moment become one form, which is so unless the profile says otherwise.
func (a *Prompter) Together() bool {
	profile := a.policy.Profile()
	return profile != nil && (profile.Ask().Batch == nil || *profile.Ask().Batch)
}

// Ask puts questions of one moment, and tells the answer to each. The next ones may be put when the first of them is answered.
func (a *Prompter) Ask(ctx context.Context, qs []*hostfns.Question, answered func(i int, answer hostfns.Answer)) {
	all := func(with hostfns.Answer) {
		for i := range qs {
			answered(i, with)
		}
	}
	done, err := a.take(ctx) // a question of the program may be open
	if err != nil {
		all(hostfns.Answer{How: "none", Code: approvals.CodeCanceled})
		return
	}
	done = sync.OnceFunc(done)
	defer done()
	profile := a.policy.Profile()
	if profile == nil {
		all(hostfns.Answer{How: "none", Code: approvals.CodeNoApprover})
		return
	}
	asking := profile.Ask()
	channels := a.through(asking)
	timeout := approvals.DefaultTimeout
	for i, q := range qs {
		if limit := q.Decision.Timeout; limit > 0 && (i == 0 || limit < timeout) {
			timeout = limit
		}
	}
	if asking.Budget > 0 {
		timeout = min(timeout, asking.Budget-a.Patience.Used())
		if timeout <= 0 {
			all(hostfns.Answer{How: "none", Code: approvals.CodeTimeout, Detail: "this run has used up the time that people give it"})
			return
		}
	}
	offers := !a.asked && !a.hasEarlier() && !a.planned.Load()
	a.asked = true
	a.Put.Store(true)
	defer a.people.Rules.Asks.Begin(time.Now(), a.policy.Owner)()
	defer a.Patience.begin()()
	var calls []*prompt.Request
	var numbers []int
	var left []time.Duration
	fallback := false
	for _, q := range qs {
		fallback = fallback || q.Decision.Fallback
		r := a.request(q)
		r.Sources = a.Trace.Sources(q.Args)
		if asking.Edit != nil && *asking.Edit {
			r.Edit = q.Check
			if len(q.Tool.Input) <= maxInput {
				r.Input = q.Tool.Input
			}
		}
		if was := a.Earlier(q.Call); was != nil {
			r.ID, r.Code, r.Digest, r.Expires, r.Time = was.ID, was.Code, was.Digest, was.Expires, was.Time
			r.Plan = was.Plan
			left = append(left, time.Until(Until(was)))
			a.putAgain(q.Call)
		}
		numbers = append(numbers, q.Call)
		calls = append(calls, r)
	}
	if len(left) == len(calls) { // they wait on, until when people were told
		timeout = max(slices.Max(left), time.Nanosecond)
	}
	if offers {
		plan := a.plan(qs[0].Run, qs[0].Profile, calls)
		for _, r := range calls {
			r.Plan = plan
		}
	}
	if a.Adopted {
		channels = append(channels, anywhere{})
	}
	defer a.tellCaller(calls, channels, time.Now().Add(timeout))()
	expected := expects(channels)
	a.people.Desk.AskAll(ctx, calls, channels, approvals.Options{
		Timeout: timeout, Fallback: fallback, MinHuman: asking.MinHuman, OtherOnly: asking.OtherOnly, Leaving: a.Leaving,
		Await: asking.Awaits(expected, fallback),
		Answered: func(i int, answer approvals.Answer) {
			done()
			if answer.Code == approvals.CodeUnsupported && len(channels) == 0 {
				answer.Code, answer.Detail = approvals.CodeNoApprover, "it needs a person's approval and there is nobody to ask"
			}
			if answer.Code == approvals.CodeNoApprover && asking.Absent == "" && !expected && unreachable(answer.Tried) {
				answer.Code, answer.Detail = approvals.CodeUnsupported, "this call needs a person's approval and there is no means of asking one here"
			}
			if answer.Code == approvals.CodeNoApprover && calls[i].Risk == call.Critical {
				answer.Detail += wayToPage(channels)
			}
			answered(i, a.answer(ctx, calls[i].Run, numbers[i], answer))
		},
	})
}

// tellCaller tells who waits for the run that people are asked, until over is called.
func (a *Prompter) tellCaller(calls []*prompt.Request, channels []approvals.Channel, until time.Time) (over func()) {
	if a.caller == nil || a.caller.Asked == nil {
		return func() {}
	}
	about := prompt.Heading(calls[0])
	if len(calls) > 1 {
		about = fmt.Sprintf("%s and %d more", about, len(calls)-1)
	}
	var where []string
	for _, c := range channels {
		if q, ok := c.(*approvals.Queue); ok && q.Where != "" {
			where = append(where, q.Where)
		}
	}
	return a.caller.Asked(about, where, until)
}

// through are the channels that a profile lets be used.
func (a *Prompter) through(asking profiles.Asking) []approvals.Channel {
	channels := slices.Clone(a.channels)
	if asking.Channels != nil { // an empty list is none of them
		channels = slices.DeleteFunc(channels, func(c approvals.Channel) bool { return !slices.Contains(asking.Channels, c.Name()) })
	}
	return channels
}

// expects reports whether people may be expected on a channel who are not there yet. Of a run that another process began, its
// question was put to somebody.
func expects(channels []approvals.Channel) bool {
	return slices.ContainsFunc(channels, func(c approvals.Channel) bool {
		switch c := c.(type) {
		case *approvals.Queue:
			return c.Expects == nil || c.Expects()
		case anywhere:
			return true
		}
		return false
	})
}

// Earlier is the question about a call that another process has put, and this one has not; nil is none.
func (a *Prompter) Earlier(call int) *prompt.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Before[call]
}

func (a *Prompter) hasEarlier() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.Before) > 0
}

// putAgain notes that this process has taken over such a question.
func (a *Prompter) putAgain(call int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.Before, call)
}

// unreachable reports whether a client could show no form, and nobody was anywhere else.
func unreachable(tried []approvals.Try) bool {
	none := func(t approvals.Try) bool { return t.Outcome == approvals.Unable }
	return slices.ContainsFunc(tried, none) &&
		!slices.ContainsFunc(tried, func(t approvals.Try) bool { return !none(t) && t.Outcome != approvals.Empty })
}

// answer is what the Gate is told of an answer to a call. It counts if the run is this process's.
func (a *Prompter) answer(ctx context.Context, run string, call int, got approvals.Answer) hostfns.Answer {
	if a.Claim == nil { // a question without a run
	} else if err := a.Claim(ctx, []int{call}); err != nil {
		a.people.Log.Warn("a person's answer does not count: the run could not be claimed", "run", run, "call", call, "error", err)
		return hostfns.Answer{How: "none", Code: approvals.CodeCanceled, Detail: "the store of runs could not be asked who goes on with this one"}
	}
	answer := hostfns.Answer{
		Allowed: got.Allowed, How: got.How, Channel: got.Channel, By: got.By, Args: got.Args,
		Code: got.Code, Reason: got.Reason, Detail: got.Detail, Took: got.Took,
	}
	if got.Allowed {
		answer.Use = a.use(got)
	}
	if got.Grant != nil {
		answer.Grant, answer.Scope = got.Grant.ID, string(got.Grant.Scope)
	}
	return answer
}

// wayToPage says how a person comes to answer a question that only the page may answer. A terminal may answer it too,
// and then the person was at it.
func wayToPage(channels []approvals.Channel) string {
	for _, c := range channels {
		if s, ok := c.(approvals.Strong); ok && s.Strong() && c.Name() == "terminal" {
			return ""
		}
	}
	return "; codemode console opens the page, and codemode serve --console 127.0.0.1:7391 serves it where none is"
}

// maxInput is how long a tool's schema may be, in bytes, that goes with a question: it is kept with it.
const maxInput = 32 << 10

// anywhere stands for the people who see, in whatever process, a question that another process asked.
type anywhere struct{}

func (anywhere) Name() string { return "another process" }
func (anywhere) Strong() bool { return true } // the channel that brings the answer was judged when it did
func (anywhere) Ask(ctx context.Context, _ *prompt.Request) (prompt.Reply, error) {
	<-ctx.Done()
	return prompt.Reply{}, context.Cause(ctx)
}

// use takes a yes for the call as it is now, and keeps what it is to be remembered for.
func (a *Prompter) use(answer approvals.Answer) func(context.Context, *hostfns.Question) error {
	return func(ctx context.Context, now *hostfns.Question) error {
		switch err := a.people.Desk.Use(ctx, answer.Ticket, a.request(now)); {
		case errors.Is(err, approvals.ErrChanged):
			return fmt.Errorf("%w: %w", hostfns.ErrChanged, err)
		case errors.Is(err, approvals.ErrTaken):
			return hostfns.ErrTooLate
		case err != nil:
			return err
		}
		if answer.Grant != nil {
			return a.give(ctx, answer.Grant)
		}
		return nil
	}
}

// grantWait is how long grants may take to be read before a person is asked. A store that does not answer says so
// before: then the question cannot be kept either, and that is found out at once.
const grantWait = 4 * time.Second

// Remembered answers a question from what people have allowed before.
func (a *Prompter) Remembered(ctx context.Context, q *hostfns.Question) (hostfns.Answer, bool) {
	r := a.request(q)
	if len(r.Terms.Scopes) == 0 {
		return hostfns.Answer{}, false
	}
	reading, cancel := context.WithTimeout(ctx, grantWait)
	defer cancel()
	a.foretold(reading, q)
	g, err := approvals.Granted(reading, a.people.Grants, r, a.policy.Now())
	if err != nil {
		a.people.Log.Error("grants could not be read, so a person is asked", "run", q.Run, "error", err)
	}
	if g == nil {
		return hostfns.Answer{}, false
	}
	if was := a.Earlier(q.Call); was != nil {
		if !a.people.Desk.WithdrawUnanswered(reading, was.ID) {
			return hostfns.Answer{}, false // a person has answered it since: that counts, and a no above all
		}
		a.putAgain(q.Call)
	}
	return hostfns.Answer{Allowed: true, How: "grant", Channel: g.Channel, Grant: g.ID}, true
}

// request describes a call to package approvals.
func (a *Prompter) request(q *hostfns.Question) *prompt.Request {
	r := &prompt.Request{
		Server: q.Tool.Server, Tool: q.Tool.Raw, Name: q.Tool.Name, ServerID: a.people.Rules.Server(q.Tool.Server).Identity, Definition: q.Tool.Digest,
		Profile: q.Profile, ProfileDigest: q.Decision.Digest,
		Risk: q.Decision.Risk, Rule: q.Decision.Lead().Rule, Reasons: reasonTexts(q),
		Firm: q.Decision.Firm, Principal: a.principal, Session: a.session,
		Args: q.Args, Title: q.Tool.Title, Description: q.Tool.Description,
		Preview: a.preview, Code: prompt.NewCode(), Run: q.Run, Call: q.Call, Time: time.Now(),
	}
	if q.Decision.Verdict == call.Ask && len(q.Decision.Remember.Scopes) > 0 {
		r.Terms = terms(q.Decision)
	}
	if profile := a.policy.Profile(); profile != nil {
		redact := profile.Redact()
		own := a.Display[q.Tool.Name]
		r.Display = prompt.Display{
			Keys: slices.Concat(redact.Keys, own.Keys), Pointers: slices.Concat(redact.Pointers, own.Pointers), NoDetect: redact.NoDetect,
			String: own.String, Items: own.Items, Depth: own.Depth,
		}
	}
	return r
}

// reasonTexts are why a person is asked: the reasons of the decision, and what the server itself says of its tool.
func reasonTexts(q *hostfns.Question) []string {
	var texts, said []string
	add := func(text string) {
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, r := range q.Decision.Reasons {
		add(r.String())
		said = append(said, r.Text)
	}
	if q.Decision.Verdict != call.Ask {
		return texts
	}
	for _, text := range profiles.Warnings(q.Tool.Annotations) {
		if !slices.Contains(said, text) {
			add(text)
		}
	}
	return texts
}

// terms are what a profile lets people give with the answer to a question.
func terms(d call.Decision) prompt.Terms {
	t := prompt.Terms{Default: d.Remember.Default, Max: d.Remember.Max, Args: prompt.Coverage(d.Remember.Args), Pointers: d.Pointers}
	for _, scope := range d.Remember.Scopes {
		t.Scopes = append(t.Scopes, prompt.Scope(scope))
	}
	return t
}
