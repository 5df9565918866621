package asking

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
)

// Connect asks the principal of the run to connect its account, and waits. Everybody who may see the questions of the
// principal sees this one and may refuse. Only [approvals.Desk.Connected] answers it with a yes.
func (a *Prompter) Connect(ctx context.Context, q *hostfns.Question) call.Answer {
	nobody := func(code, detail string) call.Answer {
		return call.Answer{How: call.ByNobody, Code: code, Detail: detail}
	}
	profile := a.policy.Profile()
	if profile == nil {
		return nobody(call.CodeNoApprover, "nothing is configured, so nobody is asked")
	}
	was := a.Earlier(q.Call)
	if was != nil && was.Kind() != "account" {
		was = nil
	}
	page := q.Page
	if page == "" && was != nil { // this process serves none
		page = was.Inquiry.Connect
	}
	r := newInquiry(prompt.Connection(a.principal, q.Tool.Server, page), a.principal, q.Run)
	r.Name, r.Tool, r.Server = prompt.ConnectTool, prompt.ConnectTool, q.Tool.Server
	r.ServerID = a.people.Rules.Server(r.Server).Identity
	r.Profile, r.ProfileDigest, r.Session, r.Call = q.Profile, profile.Digest(), a.session, q.Call

	asking := profile.Ask()
	channels := append(a.channelsFor(asking), &connected{a.people.Desk, q.Connected})
	if a.TakenOver {
		channels = append(channels, elsewhere("another process"))
	}
	o := a.options(asking, a.expects(channels, r.Profile, r.Risk), asking.Timeout, false)
	o.OtherOnly = false // it approves nothing
	o.Leaving = a.Leaving
	if was != nil {
		r.ID, r.Code, r.Digest, r.Expires, r.Time = was.ID, was.Code, was.Digest, was.Expires, was.Time
		o.Timeout = max(time.Until(Until(was)), time.Nanosecond)
		a.forgetEarlier(q.Call)
	} else if limit := a.exhausted(profile, q.Before); limit != "" {
		return nobody(call.CodeLimit, limit)
	}
	if o.Timeout == 0 {
		return nobody(call.CodeTimeout, outOfTime)
	}
	a.Put.Store(true)
	defer a.begin()()
	if a.caller != nil && a.caller.Asked != nil {
		defer a.caller.Asked("connecting the account of "+a.principal+" at "+r.Server, []string{"on the page " + page},
			time.Now().Add(o.Timeout))()
	}
	return a.put(ctx, []*prompt.Request{r}, channels, o)[0].Answer
}

// connected is a channel that reaches nobody. It looks for a login that was made before the question was stored:
// [approvals.Desk.Connected] did not find the question then.
type connected struct {
	desk  *approvals.Desk
	there func(context.Context) bool
}

func (c *connected) Name() string   { return approvals.LoginChannel }
func (c *connected) Inquires() bool { return true }

func (c *connected) Ask(ctx context.Context, s *approvals.Showing) (call.Answer, error) {
	if c.there(ctx) {
		if err := c.desk.Connected(ctx, s.Principal, s.Server); err != nil {
			return call.Answer{}, err
		}
	}
	return call.Answer{}, approvals.ErrCannotAsk
}
