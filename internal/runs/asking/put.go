package asking

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/profiles"
)

// All questions of a run take the same path: questions about calls, questions of the program, and a plan before the
// run.

// outOfTime is the error when the run has used up the time budget of its profile for questions.
const outOfTime = "this run has used up its time for questions"

// options returns how a profile wants people to be asked. limit is how long a question may be open; zero is the
// default. expected says that absent people are expected to come. A timeout of zero in the result says that the run has
// used up its budget.
func (a *Prompter) options(asking profiles.Asking, expected bool, limit time.Duration,
	fallback bool) approvals.Options {
	o := approvals.Options{
		Timeout: cmp.Or(a.patience(), limit, approvals.DefaultTimeout), Fallback: fallback, MinHuman: asking.MinHuman,
		OtherOnly: asking.OtherOnly, Await: asking.Awaits(expected, fallback),
	}
	if asking.Budget > 0 {
		o.Timeout = max(0, min(o.Timeout, asking.Budget-a.Patience.Used()))
	}
	return o
}

// noOther is why nobody can answer where the profile wants somebody other than the caller.
const noOther = `the profile wants somebody other than the caller to allow it ("approver": "other"), and nobody verified ` +
	`who the caller is; that takes tokens ("http.tokens") or sign-in ("http.oauth")`

// isNobody reports whether the profile wants somebody other than the caller, and nobody verified who the caller is: it
// may be whoever answers.
func (a *Prompter) isNobody(asking profiles.Asking) bool {
	return asking.OtherOnly && a.policy.Owner == ""
}

// begin counts a question as open until over is called.
func (a *Prompter) begin() (over func()) {
	counted, timed := a.people.Rules.Asks.Begin(time.Now(), a.policy.Owner), a.Patience.begin()
	return func() {
		timed()
		counted()
	}
}

// put asks people questions, and returns the answers.
func (a *Prompter) put(ctx context.Context, questions []*prompt.Request, channels []approvals.Channel,
	o approvals.Options) []approvals.Result {
	if questions[0].Inquiry == nil {
		defer a.tellCaller(questions, channels, time.Now().Add(o.Timeout))()
	}
	answered := o.Answered
	o.Answered = func(i int, got approvals.Result) {
		a.logFailures(questions[i], got.Tried)
		if answered != nil {
			answered(i, got)
		}
	}
	return a.people.Desk.AskAll(ctx, questions, channels, o)
}

// logFailures tells the operator which channels could not ask, and why.
func (a *Prompter) logFailures(r *prompt.Request, tried []approvals.Try) {
	for _, t := range tried {
		if t.Failed() {
			attributes := []any{"channel", t.Channel, "outcome", t.Outcome, "error", t.Error, "run", r.Run, "call", r.Call,
				"tool", r.Name}
			if t.Stack != "" {
				attributes = append(attributes, "stack", t.Stack)
			}
			a.people.Log.Error("asking a person failed", attributes...)
		}
	}
}

// tellCaller tells those who wait for the run that people are asked, until over is called.
func (a *Prompter) tellCaller(questions []*prompt.Request, channels []approvals.Channel,
	until time.Time) (over func()) {
	if a.caller == nil || a.caller.Asked == nil {
		return func() {}
	}
	about := prompt.Heading(questions[0])
	if len(questions) > 1 {
		about = fmt.Sprintf("%s and %d more", about, len(questions)-1)
	}
	return a.caller.Asked(about, approvals.Places(channels, questions[0].Risk), until)
}

// acquire waits until no other question of the run is open.
func (a *Prompter) acquire(ctx context.Context) (release func(), err error) {
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// exhausted returns which limit the program has reached; "" if it may ask.
func (a *Prompter) exhausted(profile *profiles.Profile, n hostfns.Counters) string {
	lastMinute, pending := a.people.Rules.Asks.Count(a.policy.Now(), a.policy.Owner)
	l := profile.Bounded(askUserLimits)
	for _, x := range []struct {
		limit, used int
		what        string
	}{
		{l.Asks, n.Asks, "questions in this run"},
		{l.AsksPerMinute, lastMinute, "questions within a minute"},
		{l.Pending, pending, "questions that are open now, in all runs and clients of this principal"},
		{l.Refusals, n.Refusals, "refusals in this run"},
	} {
		if x.limit > 0 && x.used >= x.limit {
			return fmt.Sprintf("there have been %d %s, and the limit is %d", x.used, x.what, x.limit)
		}
	}
	return ""
}

// recorded asks a question that is not about a call. It records the question before a person sees it, and the answer
// before anybody learns of it. For calls, the Gate does this. add completes the entry of the answer.
func (a *Prompter) recorded(
	ctx context.Context, r *prompt.Request, put func() approvals.Result,
	add func(approvals.Result, *call.Entry),
) (approvals.Result, error) {
	entry := call.Entry{
		Time: time.Now(), Kind: call.KindCall, State: call.Pending, Run: r.Run, Call: r.Call, Principal: r.Principal,
		Session: r.Session, Owner: a.policy.Owner, Client: a.client, Profile: r.Profile, ProfileDigest: r.ProfileDigest,
		Tool: r.Name, ToolDefinition: r.Definition, Verdict: call.Ask.String(), Risk: string(r.Risk),
	}
	if args := call.Unread(r.Args); args.Given() {
		entry.Args = &call.EntryArgs{RawProposed: args, RawShown: args}
	}
	if err := a.people.Record.To.Record(ctx, entry); err != nil {
		return approvals.Result{}, fmt.Errorf("recording that a person is asked failed: %w", err)
	}
	got := put()
	entry.Time, entry.Kind, entry.Reason, entry.Detail = time.Now(), call.KindApproval, got.Code, got.Reason
	entry.DecidedBy = &call.DecidedBy{How: got.How, Channel: got.Channel, Principal: got.By, Proof: got.Proof,
		LatencyMS: got.Took.Milliseconds()}
	entry.Args = nil
	add(got, &entry)
	entry.State = cmp.Or(entry.Reason, call.Allowed)
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recorder.NoteWait)
	defer cancel()
	if err := a.people.Record.To.Record(recording, entry); err != nil {
		return got, fmt.Errorf("recording the answer failed: %w", err)
	}
	return got, nil
}

// askUserLimits limit the questions of programs where the profile sets no limits: unlike calls, questions need no rule
// that allows them.
var askUserLimits = profiles.Limits{Asks: 20, AsksPerMinute: 20, Pending: 5}
