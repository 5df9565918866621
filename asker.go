package codemode

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
)

// asker puts the questions of one run to people over the channels that the
// run's caller has, and those of the Evaluator.
type asker struct {
	e         *Evaluator
	policy    *policy
	principal string
	session   string
	client    string
	turn      chan struct{} // holds an element while a question of the run is open; nil lets all be open at once
	channels  []approvals.Channel
	preview   approvals.Preview
	trace     *approvals.Trace
	claim     func(ctx context.Context, calls []int) error // see [execution.claim]
	leaving   func() bool                                  // see [execution.leaving]
	before    map[int]*approvals.Request                   // by call: what was asked in another process
	adopted   bool                                         // the run began in another process, and people see it wherever they are

	program *analysis.Program            // nil for a question without a run
	display map[string]approvals.Display // by tool: what narrows the arguments that are shown; nil is nothing
	asked   bool                         // a question of the run was put; only the first one offers the plan
	planned atomic.Bool                  // the plan was given

	put    atomic.Bool   // a question was put
	waited time.Duration // in all; the Gate puts one round of questions of a run at a time
}

func (e *Evaluator) newAsker(r *Request, p *policy, program *analysis.Program) *asker {
	a := &asker{
		e: e, policy: p, principal: r.Principal, session: r.Session, client: r.Client, turn: make(chan struct{}, 1), trace: &approvals.Trace{},
		channels: append(slices.Clone(r.Channels), e.options.Channels...),
	}
	if program == nil { // a question without a run
		return a
	}
	a.preview, a.program = preview(program), program
	for _, c := range program.Calls {
		a.trace.Written(c.Args)
		if c.Outline != nil {
			a.trace.Written(c.Outline.Shown)
		}
	}
	return a
}

func preview(p *analysis.Program) approvals.Preview {
	v := approvals.Preview{Dynamic: len(p.Dynamic) > 0}
	for _, c := range p.Calls {
		v.Calls = append(v.Calls, approvals.PreviewCall{Name: c.Name, Line: c.Line, Column: c.Column})
	}
	return v
}

func (a *asker) Ask(ctx context.Context, q *hostfns.Question) hostfns.Answer {
	return a.AskAll(ctx, []*hostfns.Question{q})[0]
}

// Gathers reports whether the questions of one moment become one form, which is so unless the profile says otherwise.
func (a *asker) Gathers() bool {
	profile := a.policy.profile()
	return profile != nil && (profile.Ask().Batch == nil || *profile.Ask().Batch)
}

// AskAll puts questions of one moment, and returns an answer to each.
func (a *asker) AskAll(ctx context.Context, qs []*hostfns.Question) []hostfns.Answer {
	answers := make([]hostfns.Answer, len(qs))
	all := func(with hostfns.Answer) []hostfns.Answer {
		for i := range answers {
			answers[i] = with
		}
		return answers
	}
	done, err := a.take(ctx) // a question of the program may be open
	if err != nil {
		return all(hostfns.Answer{How: "none", Code: approvals.CodeCanceled})
	}
	defer done()
	profile := a.policy.profile()
	if profile == nil {
		return all(hostfns.Answer{How: "none", Code: approvals.CodeNoApprover})
	}
	asking := profile.Ask()
	channels := slices.Clone(a.channels)
	if asking.Channels != nil { // an empty list is none of them
		channels = slices.DeleteFunc(channels, func(c approvals.Channel) bool { return !slices.Contains(asking.Channels, c.Name()) })
	}
	timeout := approvals.DefaultTimeout
	for i, q := range qs {
		if limit := q.Decision.AskTimeout; limit > 0 && (i == 0 || limit < timeout) {
			timeout = limit
		}
	}
	if asking.Budget > 0 {
		timeout = min(timeout, asking.Budget-a.waited)
		if timeout <= 0 {
			return all(hostfns.Answer{How: "none", Code: approvals.CodeTimeout, Detail: "this run has used up the time that people give it"})
		}
	}
	var plan []*approvals.Grant
	if !a.asked && len(a.before) == 0 {
		plan = a.plan(qs[0].Run, qs[0].Profile)
	}
	a.asked = true
	start := time.Now()
	a.put.Store(true)
	defer a.e.asks.begin(start, a.policy.owner)()
	defer func() { a.waited += time.Since(start) }()
	var calls []*approvals.Request
	var numbers []int
	fallback := false
	for _, q := range qs {
		fallback = fallback || q.Decision.Fallback
		r := a.request(q)
		r.Sources = a.trace.Sources(q.Args)
		if asking.Edit != nil && *asking.Edit {
			r.Edit = q.Check
		}
		if was := a.before[q.Call]; was != nil {
			r.ID, r.Code, r.Digest, r.Expires = was.ID, was.Code, was.Digest, was.Expires
			r.Plan = was.Plan
			timeout = max(timeout, time.Until(was.Expires))
			delete(a.before, q.Call)
		}
		numbers = append(numbers, q.Call)
		calls = append(calls, r)
	}
	if plan = a.rest(plan, calls); len(plan) > 0 {
		for _, r := range calls {
			r.Plan = plan
		}
	}
	if a.adopted {
		channels = append(channels, anywhere{})
	}
	got := a.e.desk.AskAll(ctx, calls, channels, approvals.Options{
		Timeout: timeout, Fallback: fallback, MinHuman: asking.MinHuman, OtherOnly: asking.OtherOnly, Leaving: a.leaving,
	})
	if a.claim == nil { // a question without a run
	} else if err := a.claim(ctx, numbers); err != nil {
		a.e.log.Warn("people's answers do not count: the run could not be claimed", "run", calls[0].Run, "error", err)
		return all(hostfns.Answer{How: "none", Code: approvals.CodeCanceled, Detail: "the store of runs could not be asked who goes on with this one"})
	}
	for i, answer := range got {
		if answer.Code == approvals.CodeUnsupported && len(channels) == 0 {
			answer.Code, answer.Detail = approvals.CodeNoApprover, "it needs a person's approval and there is nobody to ask"
		}
		answers[i] = hostfns.Answer{
			Allowed: answer.Allowed, How: answer.How, Channel: answer.Channel, By: answer.By, Args: answer.Args,
			Code: answer.Code, Reason: answer.Reason, Detail: answer.Detail, Took: answer.Took,
		}
		if answer.Allowed {
			answers[i].Use = a.use(answer)
		}
		if answer.Grant != nil {
			answers[i].Grant, answers[i].Scope = answer.Grant.ID, string(answer.Grant.Scope)
		}
	}
	return answers
}

// anywhere stands for the people who see, in whatever process, a question that another process asked.
type anywhere struct{}

func (anywhere) Name() string { return "another process" }
func (anywhere) Strong() bool { return true } // the channel that brings the answer was judged when it did
func (anywhere) Ask(ctx context.Context, _ *approvals.Request) (approvals.Reply, error) {
	<-ctx.Done()
	return approvals.Reply{}, context.Cause(ctx)
}

// use takes a yes for the call as it is now, and keeps what it is to be remembered for.
func (a *asker) use(answer approvals.Answer) func(context.Context, *hostfns.Question) error {
	return func(ctx context.Context, now *hostfns.Question) error {
		if err := a.e.desk.Use(ctx, answer.Ticket, a.request(now)); err != nil {
			return err
		}
		if answer.Grant != nil {
			return a.give(ctx, answer.Grant)
		}
		return nil
	}
}

// grantWait is how long grants may take to be read before a person is asked.
const grantWait = 2 * time.Second

// Remembered answers a question from what people have allowed before.
func (a *asker) Remembered(ctx context.Context, q *hostfns.Question) (hostfns.Answer, bool) {
	r := a.request(q)
	if len(r.Terms.Scopes) == 0 {
		return hostfns.Answer{}, false
	}
	reading, cancel := context.WithTimeout(ctx, grantWait)
	defer cancel()
	g, err := approvals.Granted(reading, a.e.grants, r, a.policy.now())
	if err != nil {
		a.e.log.Error("grants could not be read, so a person is asked", "run", q.Run, "error", err)
	}
	if g == nil {
		return hostfns.Answer{}, false
	}
	return hostfns.Answer{Allowed: true, How: "grant", Channel: g.Channel, Grant: g.ID}, true
}

// late records an answer that came when the question was decided.
func (e *Evaluator) late(recorder hostfns.Recorder) func(approvals.LateAnswer) {
	return func(l approvals.LateAnswer) {
		ctx, cancel := context.WithTimeout(context.Background(), noteWait)
		defer cancel()
		verdict := "refused"
		if l.Reply.Decision == approvals.AllowOnce {
			verdict = "allowed"
		}
		r := l.Request
		err := recorder.Record(ctx, hostfns.Entry{
			Time: time.Now(), Kind: hostfns.KindLate, Run: r.Run, Call: r.Call, Principal: r.Principal, Session: r.Session,
			Profile: r.Profile, ProfileDigest: r.ProfileDigest, Server: r.Server, Tool: r.Name, ToolDefinition: r.Definition,
			Verdict: hostfns.Ask.String(), Risk: r.Risk, Rule: r.Rule, DecidedBy: approvals.ByPerson, Channel: l.Channel, By: l.Reply.By, Waited: l.Took,
			Reason: hostfns.KindLate, Detail: "it said " + verdict + ", and changes nothing", Words: approvals.Words(l.Reply.Reason),
		})
		if err != nil {
			e.log.Error("a late answer could not be recorded", "run", r.Run, "call", r.Call, "error", err)
		}
	}
}

// request describes a call to package approvals.
func (a *asker) request(q *hostfns.Question) *approvals.Request {
	r := &approvals.Request{
		Server: q.Tool.Server, Tool: q.Tool.Raw, Name: q.Tool.Name, ServerID: (*a.e.identities.Load())[q.Tool.Server], Definition: q.Tool.Digest,
		Profile: q.Profile, ProfileDigest: q.Decision.ProfileDigest, Risk: q.Decision.Risk, Rule: q.Decision.Rule, Reasons: q.Decision.Reasons,
		Firm: q.Decision.Firm, Principal: a.principal, Session: a.session,
		Args: q.Args, Title: q.Tool.Title, Description: q.Tool.Description,
		Preview: a.preview, Code: approvals.NewCode(), Run: q.Run, Call: q.Call, Time: time.Now(),
	}
	if terms, ok := q.Decision.Remember.(approvals.Terms); ok {
		r.Terms = terms
	}
	if profile := a.policy.profile(); profile != nil {
		redact := profile.Redact()
		own := a.display[q.Tool.Name]
		r.Display = approvals.Display{
			Keys: slices.Concat(redact.Keys, own.Keys), Pointers: slices.Concat(redact.Pointers, own.Pointers), NoDetect: redact.NoDetect,
			String: own.String, Items: own.Items, Depth: own.Depth,
		}
	}
	return r
}

// terms are what a profile lets people give with the answer to a question.
func terms(d profiles.Decision) approvals.Terms {
	t := approvals.Terms{Default: d.Remember.Default, Max: d.Remember.Max, Args: approvals.Coverage(d.Remember.Args), Pointers: d.Pointers}
	for _, scope := range d.Remember.Scopes {
		t.Scopes = append(t.Scopes, approvals.Scope(scope))
	}
	return t
}

// Grants keeps what people have allowed for more than one call.
func (e *Evaluator) Grants() approvals.Keeper { return e.grants }
