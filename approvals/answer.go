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
)

// Codes of an Answer that is a no.
const (
	CodeDeclined    = "elicitation_declined"    // a person said no
	CodeUnsupported = "elicitation_unsupported" // no channel has the means to ask
	CodeNoApprover  = "no_approver"             // channels were tried, none brought a person's clear answer
	CodeTimeout     = "timeout"                 // the question was open until its time was over
	CodeCanceled    = "canceled"                // the question was closed without an answer, or the run ended
	codeTooMany     = "too_many_asks"           // the run has asked as often as its channels can carry
	CodeInvalid     = "invalid_decision"        // an approver decided something that is no decision
)

// What decided, in Answer.How.
const (
	ByPerson   = "person"
	byFallback = "fallback"
	ByNobody   = "none"
)

// An Answer is the end of an ask. Its zero value is a no.
type Answer struct {
	Allowed bool
	How     string        // ByPerson, ByFallback, ByNobody
	Channel string        // over which a person answered
	Code    string        // why not, when not Allowed
	Reason  string        // the person's own words, escaped and at most 300 characters
	Detail  string        // one sentence for the program and the record, when not Allowed; it marks the person's words as such
	Took    time.Duration // from the question to its end
	Tried   []Try         // the channels that ended before the question did, in that order

	By     string          // who answered, if the channel knows
	Ticket *Ticket         // when Allowed: what [Desk.Use] takes before the call is made
	Args   json.RawMessage // when a person allowed other arguments: those, to be decided on again; the Ticket is about them
	Grant  *prompt.Grant   // when a person wants the answer remembered: what is to be given to a [GrantStore]

	Selected []int  // the answer to an Inquiry: the options that were chosen
	Text     string // and the words, as they came
}

// A Try tells how one channel fared.
type Try struct {
	Channel string
	Outcome Outcome
	Error   string // what the channel said, escaped; for logs, not for the program
	Took    time.Duration
}

// An Outcome is what a channel's reply amounts to.
type Outcome string

const (
	saidYes     Outcome = "said yes"
	saidNo      Outcome = "said no"
	TooFastYes  Outcome = "said yes faster than a person can read"
	TooFastNo   Outcome = "said no faster than a person can read"
	TooFastShut Outcome = "closed the question faster than a person can read"
	shut        Outcome = "closed the question without an answer"
	unclear     Outcome = "gave no clear answer"
	invalid     Outcome = "gave a decision that is none"
	absent      Outcome = "has nobody there"
	Empty       Outcome = "has nobody there yet"
	Unable      Outcome = "cannot ask"
	tooWeak     Outcome = "is no proof enough for a call of critical risk"
	expired     Outcome = "had no answer in its time"
	spent       Outcome = "has carried as many questions of this run as it can"
	own         Outcome = "does not show that somebody else answers than who asked"
	failed      Outcome = "failed"
)

// judge is the one place that says what a reply amounts to.
func judge(got reply, minHuman time.Duration) Outcome {
	tooFast := got.took < minHuman && !got.Checked
	tooFastNo := tooFast
	if minHuman <= 0 && !got.Typed && !got.Checked {
		tooFastNo = got.took < DefaultMinHuman
	}
	switch err := got.err; {
	case errors.Is(err, ErrTooMany):
		return spent
	case errors.Is(err, ErrCannotAsk):
		return Unable
	case errors.Is(err, ErrNoPerson):
		return absent
	case errors.Is(err, prompt.ErrDismissed) && tooFastNo:
		return TooFastShut
	case errors.Is(err, prompt.ErrDismissed), errors.Is(err, context.Canceled): // by a person, or with the connection
		return shut
	case errors.Is(err, errInvalid):
		return invalid
	case errors.Is(err, prompt.ErrUnclear):
		return unclear
	case errors.Is(err, context.DeadlineExceeded):
		return expired
	case err != nil:
		return failed
	}
	switch {
	case got.Decision == prompt.AllowOnce && tooFast:
		return TooFastYes
	case got.Decision == prompt.AllowOnce:
		return saidYes
	case got.Decision == prompt.Refuse && tooFastNo:
		return TooFastNo
	case got.Decision == prompt.Refuse:
		return saidNo
	}
	return unclear
}

func declined(got reply) Answer {
	a := Answer{How: ByPerson, Channel: got.name, By: got.By, Code: CodeDeclined, Reason: prompt.Words(got.Reason)}
	if a.Reason == "" {
		a.Detail = "a person refused this call and gave no reason; do not repeat it"
	} else {
		a.Detail = "a person refused this call and wrote: " + prompt.QuoteWords(got.Reason)
	}
	return a
}

func timedOut(limit time.Duration) Answer {
	return Answer{How: ByNobody, Code: CodeTimeout, Detail: fmt.Sprintf("this call needs a person's approval and nobody answered within %v", limit)}
}

func withdrawn(ctx context.Context) Answer {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Answer{How: ByNobody, Code: CodeTimeout, Detail: "the run's time was over before a person answered"}
	}
	return Answer{How: ByNobody, Code: CodeCanceled, Detail: "the run ended before a person answered"}
}

// nobody is the answer when every channel came back without a person's yes or no.
func nobody(tried []Try, r *prompt.Request, fallback bool) Answer {
	has := func(o Outcome) bool {
		return slices.ContainsFunc(tried, func(t Try) bool { return t.Outcome == o })
	}
	only := func(os ...Outcome) bool {
		return !slices.ContainsFunc(tried, func(t Try) bool { return !slices.Contains(os, t.Outcome) })
	}
	if fallback && !r.Firm && !r.Risk.Grave() && only(absent, Empty, Unable) {
		return Answer{Allowed: true, How: byFallback}
	}
	a := Answer{How: ByNobody}
	switch {
	case has(invalid):
		a.Code, a.Detail = CodeInvalid, "what was decided about this call is neither a refusal nor an approval, which is a no"
	case has(shut):
		a.Code, a.Detail = CodeCanceled, "the question about this call was closed without an answer"
	case has(expired):
		a.Code, a.Detail = CodeTimeout, "this call needs a person's approval and nobody answered in time"
	case has(spent) && only(spent, absent, Empty, Unable, tooWeak):
		a.Code, a.Detail = codeTooMany, "this run has asked people as often as this client can carry; ask for less, or for several calls at once"
	case has(tooWeak):
		a.Code, a.Detail = CodeNoApprover, "a call of critical risk is approved only where it is known who answers, on the page for people or the terminal of codemode run, and nobody approved it there: "+summary(tried)
	case only(Unable):
		a.Code, a.Detail = CodeUnsupported, "this call needs a person's approval and there is no means of asking one here"
	default:
		a.Code, a.Detail = CodeNoApprover, "this call needs a person's approval and nobody gave one: "+summary(tried)
	}
	return a
}

// unanswered says in a sentence for the program why there is no answer.
func unanswered(a *Answer) string {
	switch a.Code {
	case CodeDeclined:
		if a.Reason == "" {
			return "a person declined to answer"
		}
		return `a person declined to answer and wrote: "` + a.Reason + `"`
	case CodeTimeout:
		return "nobody answered in time"
	case CodeCanceled:
		return "the question was closed without an answer"
	case codeTooMany:
		return "this run has asked people as often as this client can carry"
	case CodeUnsupported:
		return "there is no means of asking a person here"
	}
	if len(a.Tried) > 0 {
		return "nobody could be asked: " + summary(a.Tried)
	}
	return "nobody could be asked"
}

func summary(tried []Try) string {
	var s []string
	for _, t := range tried {
		s = append(s, t.Channel+" "+string(t.Outcome))
	}
	return strings.Join(s, ", ")
}

// closing says to the channels that lost why their question goes away.
func (a *Answer) closing() string {
	switch {
	case a.How == ByPerson:
		return "answered over " + a.Channel
	case a.Code == CodeTimeout:
		return "the time to answer is over"
	}
	return "no longer needed"
}
