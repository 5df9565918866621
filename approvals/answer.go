package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Result is the answer to a question, plus what only the Desk knows. Its zero value is a no.
type Result struct {
	call.Answer
	Tried  []Try         // the channels that ended before the question did, in that order
	Ticket *Ticket       // when Allowed: [Desk.Use] takes it before the call is made. With Args it is about those
	Draft  *prompt.Grant // when a person wants the answer remembered: the grant to give to a [GrantStore]
}

// A Ticket is an unused yes. It is good for one call, the one that was shown.
type Ticket struct {
	id      string
	digest  string
	args    json.RawMessage
	expires time.Time
}

// fits reports whether t still matches r as it is now.
func (t *Ticket) fits(r *prompt.Request) bool {
	d, err := r.Bind(t.expires)
	return err == nil && d == t.digest && string(r.Args) == string(t.args)
}

// A Try records the outcome of one channel.
type Try struct {
	Channel string
	Outcome Outcome
	Error   string // what the channel said, escaped; for logs, and for the program if Told
	Told    bool   // the error is of an approver, or about the arguments that it changed
	Stack   string // of a panic
	Took    time.Duration
}

// Failed reports whether the channel failed or answered what does not count, other than by what a person did.
func (t *Try) Failed() bool {
	return t.Outcome == failed || t.Outcome == invalid || t.Outcome == unclear && t.Told
}

// Reached reports whether the channel reached somebody, or failed; not, where nobody was there.
func (t Try) Reached() bool {
	return !slices.Contains([]Outcome{absent, Empty, Unable, tooWeak}, t.Outcome)
}

// An Outcome classifies a channel's answer.
type Outcome string

const (
	saidYes     Outcome = "said yes"
	saidNo      Outcome = "said no"
	TooFastYes  Outcome = "said yes faster than a person can read"
	TooFastNo   Outcome = "said no faster than a person can read"
	TooFastShut Outcome = "closed the question faster than a person can read"
	shut        Outcome = "closed the question without an answer"
	unclear     Outcome = "gave no clear answer"
	invalid     Outcome = "gave an invalid decision"
	absent      Outcome = "has nobody there"
	Empty       Outcome = "has nobody there yet"
	Unable      Outcome = "cannot ask"
	tooWeak     Outcome = "does not prove who answers, which a call of critical risk needs"
	expired     Outcome = "had no answer in its time"
	Partial     Outcome = "cannot allow what it does not show whole"
	spent       Outcome = "takes no more questions of this run"
	own         Outcome = "does not show that somebody other than the requester answered"
	failed      Outcome = "failed"
)

// noAnswer is a no that does not come from a person.
func noAnswer(code, detail string) Result {
	return Result{Answer: call.Answer{How: call.ByNobody, Code: code, Detail: detail}}
}

func timedOut(limit time.Duration) Result {
	return noAnswer(call.CodeTimeout, fmt.Sprintf("this call needs a person's approval and nobody answered within %v",
		limit))
}

func withdrawn(ctx context.Context) Result {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return noAnswer(call.CodeTimeout, "the run's time was over before a person answered")
	}
	return noAnswer(call.CodeCanceled, "the run ended before a person answered")
}

// unapproved is the answer when every channel came back without a person's yes or no.
func unapproved(tried []Try, r *prompt.Request, fallback bool) Result {
	has := func(o Outcome) bool {
		return slices.ContainsFunc(tried, func(t Try) bool { return t.Outcome == o })
	}
	only := func(os ...Outcome) bool {
		return !slices.ContainsFunc(tried, func(t Try) bool { return !slices.Contains(os, t.Outcome) })
	}
	switch {
	case fallback && !r.Firm && !r.Risk.Grave() && only(absent, Empty, Unable):
		return Result{Answer: call.Answer{Allowed: true, How: call.ByFallback}}
	case has(invalid):
		return noAnswer(call.CodeInvalid,
			"the decision about this call is neither a refusal nor an approval, so it counts as a refusal")
	case has(shut):
		return noAnswer(call.CodeCanceled, "the question about this call was closed without an answer")
	case has(expired):
		return noAnswer(call.CodeTimeout, "this call needs a person's approval and nobody answered in time")
	case has(spent) && only(spent, absent, Empty, Unable, tooWeak):
		return noAnswer(call.CodeTooMany,
			"this client takes no more questions of this run (nine of one call in MCP 2026-07-28): calls that begin "+
				"together, as in await Promise.all([a(), b()]), are one question")
	case has(tooWeak):
		return noAnswer(call.CodeNoApprover,
			"a call of critical risk is approved only where it is known who answers, on the page for people "+
				"or the terminal of codemode run, and nobody approved it there: "+summary(tried))
	case only(Unable):
		return noAnswer(call.CodeUnsupported, "this call needs a person's approval and there is no means of asking one here")
	}
	return noAnswer(call.CodeNoApprover, "this call needs a person's approval and nobody gave one: "+summary(tried))
}

// unanswered tells the program, in a sentence, why its own question has no answer.
func (a *Result) unanswered() string {
	switch a.Code {
	case call.CodeDeclined:
		if a.Reason == "" {
			return "a person declined to answer"
		}
		return `a person declined to answer and wrote: "` + a.Reason + `"`
	case call.CodeTimeout:
		return "nobody answered in time"
	case call.CodeCanceled:
		return "the question was closed without an answer"
	case call.CodeTooMany:
		return "this client takes no more questions of this run"
	case call.CodeUnsupported:
		return "there is no means of asking a person here"
	}
	if len(a.Tried) > 0 {
		return "nobody could be asked: " + summary(a.Tried)
	}
	return "nobody could be asked"
}

// summary says what became of a question in each channel. Channels come back in any order; the text has one order.
func summary(tried []Try) string {
	byName := func(a, b Try) int { return strings.Compare(a.Channel, b.Channel) }
	var s []string
	for _, t := range slices.SortedStableFunc(slices.Values(tried), byName) {
		text := t.Channel + " " + string(t.Outcome)
		if t.Told {
			text += " (" + t.Error + ")"
		}
		s = append(s, text)
	}
	return strings.Join(s, ", ")
}

// closing tells the channels that lost why their question closes.
func (a *Result) closing() error {
	switch {
	case a.How == call.ByPerson:
		return errors.New("answered over " + a.Channel)
	case a.Code == call.CodeTimeout:
		return errors.New("the time to answer is over")
	}
	return errors.New("no longer needed")
}

// shownError is the part of an error that a program and a person may read. It hides file and host names of the store.
func shownError(err error) string {
	if known, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok {
		return known.Reason()
	}
	return prompt.Words(err.Error())
}
