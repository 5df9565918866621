package asking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
)

var _ hostfns.Prompter = (*Prompter)(nil)

// Ask asks the questions of one moment, and passes on the answer to each. The next questions may begin when the first
// one is answered.
func (a *Prompter) Ask(
	ctx context.Context, qs []*hostfns.Question, answered func(i int, answer call.Answer, use hostfns.Use),
) {
	none := func(code, detail string) {
		for i := range qs {
			answered(i, call.Answer{How: call.ByNobody, Code: code, Detail: detail}, nil)
		}
	}
	release, err := a.acquire(ctx) // a question of the program may be open
	if err != nil {
		none(call.CodeCanceled, "")
		return
	}
	release = sync.OnceFunc(release)
	defer release()
	profile := a.policy.Profile()
	if profile == nil {
		none(call.CodeNoApprover, "")
		return
	}
	asking := profile.Ask()
	if a.isNobody(asking) {
		none(call.CodeNoApprover, "this call needs a person's approval: "+noOther)
		return
	}
	channels := a.channelsFor(asking)
	if a.TakenOver {
		channels = append(channels, elsewhere("another process"))
	}
	limit, fallback := limitOf(qs)
	expected := slices.ContainsFunc(qs, func(q *hostfns.Question) bool {
		return a.expects(channels, q.Profile, q.Decision.Risk)
	})
	o := a.options(asking, expected, limit, fallback)
	if o.Timeout == 0 {
		none(call.CodeTimeout, outOfTime)
		return
	}
	defer a.begin()()
	requests, again := a.requests(asking, qs)
	o.Leaving = a.Leaving
	if again > 0 { // they wait until the deadline that people were shown
		o.Timeout = again
	}
	o.Answered = func(i int, got approvals.Result) {
		release()
		a.explain(&got, asking, requests[i], channels)
		answer, use := a.answer(ctx, requests[i], got)
		answered(i, answer, use)
	}
	a.put(ctx, requests, channels, o)
}

// limitOf returns how long questions may be open together, and whether one may succeed without an answer.
func limitOf(qs []*hostfns.Question) (limit time.Duration, fallback bool) {
	limit = approvals.DefaultTimeout
	for i, q := range qs {
		fallback = fallback || q.Decision.Fallback
		if own := q.Decision.Timeout; own > 0 && (i == 0 || own < limit) {
			limit = own
		}
	}
	return limit, fallback
}

// requests makes requests from questions about calls. The first questions of a run offer its plan. again is how long
// the questions still wait if another process has asked all of them before.
func (a *Prompter) requests(
	asking profiles.Asking, qs []*hostfns.Question,
) (requests []*prompt.Request, again time.Duration) {
	offers := !a.asked && !a.hasEarlier() && !a.planned.Load()
	a.asked = true
	a.Put.Store(true)
	var left []time.Duration
	for _, q := range qs {
		r := a.request(q)
		r.Sources = a.Provenance.Sources(q.Args)
		if asking.Edit != nil && *asking.Edit {
			r.Edit = q.Check
			if q.Tool.Input != nil {
				if input := q.Tool.Input(); len(input) <= maxInput {
					r.Input = input
				}
			}
		}
		if was := a.Earlier(q.Call); was != nil {
			r.ID, r.Code, r.Digest, r.Expires, r.Time = was.ID, was.Code, was.Digest, was.Expires, was.Time
			r.Plan = was.Plan
			left = append(left, time.Until(Until(was)))
			a.forgetEarlier(q.Call)
		}
		requests = append(requests, r)
	}
	if len(left) == len(requests) {
		again = max(slices.Max(left), time.Nanosecond)
	}
	if offers {
		plan := a.plan(qs[0].Run, qs[0].Profile, requests)
		for _, r := range requests {
			r.Plan = plan
		}
	}
	return requests, again
}

// maxInput limits the size of a tool's schema that is stored with a question, in bytes.
const maxInput = 32 << 10

// Earlier returns the question about a call that another process asked and this one did not; nil if there is none.
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

// forgetEarlier records that this process has taken over the question about a call.
func (a *Prompter) forgetEarlier(call int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.Before, call)
}

// explain completes an answer that does not come from a person: it says what is missing here.
func (a *Prompter) explain(got *approvals.Result, asking profiles.Asking, r *prompt.Request,
	channels []approvals.Channel) {
	if got.Code == call.CodeUnsupported && len(channels) == 0 {
		got.Code, got.Detail = call.CodeNoApprover, "it needs a person's approval and there is nobody to ask"
	}
	if got.Code == call.CodeNoApprover && asking.Absent == "" && !a.expects(channels, r.Profile, r.Risk) &&
		unreachable(got.Tried) {
		got.Code = call.CodeUnsupported
	}
	if got.Code == call.CodeUnsupported {
		got.Detail = "this call needs a person's approval and " + nobodyThere(channels, r.Risk)
	}
	risk := r.Risk
	if slices.ContainsFunc(got.Tried, func(t approvals.Try) bool { return t.Outcome == approvals.Partial }) {
		risk = call.Critical // no form suffices for it either
	}
	if got.Code == call.CodeNoApprover && !atTerminal(channels) && (!risk.FormSuffices() ||
		len(approvals.Places(channels, r.Risk)) > 0 && !slices.ContainsFunc(got.Tried, (approvals.Try).Reached)) {
		got.Detail += ". " + approvals.WhoAnswers(approvals.Places(channels, r.Risk), risk) + "; then run the program again"
	}
}

// atTerminal reports whether the person at the terminal of codemode run is asked, who can answer everything.
func atTerminal(channels []approvals.Channel) bool {
	return slices.ContainsFunc(channels, func(c approvals.Channel) bool {
		s, ok := c.(approvals.Strong)
		return ok && s.Strong() && c.Name() == "terminal"
	})
}

// unreachable reports whether a client could show no form, and no other channel had a person.
func unreachable(tried []approvals.Try) bool {
	none := func(t approvals.Try) bool { return t.Outcome == approvals.Unable }
	return slices.ContainsFunc(tried, none) &&
		!slices.ContainsFunc(tried, func(t approvals.Try) bool { return !none(t) && t.Outcome != approvals.Empty })
}

// answer returns the answer to a call for the Gate. It counts only if this process can claim the run.
func (a *Prompter) answer(ctx context.Context, r *prompt.Request, got approvals.Result) (call.Answer, hostfns.Use) {
	if a.Claim != nil { // else it is a question without a run
		if ctx.Err() != nil { // many runs may end at once, and what they would claim they remove
			return call.Answer{How: call.ByNobody, Code: call.CodeCanceled, Detail: hostfns.RunEnded}, nil
		}
		if err := a.Claim(ctx, []int{r.Call}); err != nil {
			a.people.Log.Warn("claiming the run failed, so a person's answer does not count", "run", r.Run, "call", r.Call,
				"error", err)
			return call.Answer{How: call.ByNobody, Code: call.CodeCanceled,
				Detail: "the store did not tell which process owns this run"}, nil
		}
	}
	if !got.Allowed {
		return got.Answer, nil
	}
	return got.Answer, func(ctx context.Context, now *hostfns.Question) error { return a.use(ctx, got, now) }
}

// use spends a yes on the call as it is now, and stores the grant that comes with it.
func (a *Prompter) use(ctx context.Context, yes approvals.Result, now *hostfns.Question) error {
	switch err := a.people.Desk.Use(ctx, yes.Ticket, a.request(now)); {
	case errors.Is(err, approvals.ErrChanged):
		return fmt.Errorf("%w: %w", hostfns.ErrChanged, err)
	case errors.Is(err, approvals.ErrTaken):
		return hostfns.ErrTooLate
	case err != nil || yes.Draft == nil:
		return err
	}
	return a.give(ctx, yes.Draft)
}

// grantWait bounds the reading of grants before a person is asked. An unreachable store reports an error earlier: then
// the question cannot be stored either, which shows at once.
const grantWait = 4 * time.Second

// Remembered answers a question from what people have allowed before.
func (a *Prompter) Remembered(ctx context.Context, q *hostfns.Question) (call.Answer, bool) {
	r, profile := a.request(q), a.policy.Profile()
	if len(r.Terms.Scopes) == 0 || profile == nil || a.isNobody(profile.Ask()) {
		return call.Answer{}, false
	}
	reading, cancel := context.WithTimeout(ctx, grantWait)
	defer cancel()
	a.useAheadGrant(reading, q)
	g, err := approvals.Granted(reading, a.people.Grants, r, a.policy.Now())
	if err != nil {
		a.people.Log.Error("reading grants failed, so a person is asked", "run", q.Run, "error", err)
	}
	if g == nil {
		return call.Answer{}, false
	}
	if was := a.Earlier(q.Call); was != nil {
		if !a.people.Desk.WithdrawUnanswered(reading, was.ID) {
			return call.Answer{}, false // a person has answered it since: that answer counts, above all a no
		}
		a.forgetEarlier(q.Call)
	}
	return call.Answer{Allowed: true, How: call.ByGrant, Channel: g.Channel, Grant: g.ID}, true
}
