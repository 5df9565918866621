package approvals

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

var (
	// ErrTooMany says that the channel accepts no more questions of this run.
	ErrTooMany = errors.New("it takes no more questions")
	// ErrNoPerson says that nobody is available to answer over this channel.
	ErrNoPerson = errors.New("nobody is there")
	// ErrCannotAsk says that the channel has no means of asking, such as a client without elicitation. It is an
	// ErrNoPerson.
	ErrCannotAsk = fmt.Errorf("it cannot ask: %w", ErrNoPerson)
)

// errInvalid says that an approver returned an invalid decision. It counts as a no.
var errInvalid = errors.New("the decision is neither a refusal nor an approval")

// An approverError is why a function that decides gave no answer.
type approverError struct{ error }

func (e *approverError) Unwrap() error { return e.error }

// A crash is a panic in a channel.
type crash struct {
	value any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("the channel crashed: %v", c.value) }

func crashed(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &crash{p, debug.Stack()}
		}
	}()
	return do()
}

// judge is the only place that classifies a channel's answer.
func judge(got reply, minHuman time.Duration) Outcome {
	tooFast := got.took < minHuman && !got.Checked
	tooFastNo := tooFast
	if minHuman <= 0 && !got.Typed && !got.Checked {
		tooFastNo = got.took < DefaultMinHuman
	}
	_, ofApprover := errors.AsType[*approverError](got.Err)
	switch err := got.Err; {
	case ofApprover: // also a time-out of its own: no person let the time pass
		return failed
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
	case errors.Is(err, prompt.ErrPartial):
		return Partial
	case errors.Is(err, prompt.ErrUnclear):
		return unclear
	case errors.Is(err, context.DeadlineExceeded):
		return expired
	case err != nil:
		return failed
	case got.Allowed && tooFast:
		return TooFastYes
	case got.Allowed:
		return saidYes
	case tooFastNo:
		return TooFastNo
	}
	return saidNo
}

func declined(got reply) Result {
	a := call.Answer{How: call.ByPerson, Channel: got.name, By: got.By, Code: call.CodeDeclined,
		Reason: prompt.Words(got.Reason)}
	a.Detail = "a person refused this call and gave no reason; do not repeat it"
	if a.Reason != "" {
		a.Detail = "a person refused this call and wrote: " + prompt.QuoteWords(got.Reason)
	}
	return Result{Answer: a}
}

// judge classifies a reply. It sets the error of a yes that does not count.
func (a *ask) judge(got *reply) Outcome {
	outcome := judge(*got, a.options.MinHuman)
	said := outcome == saidYes || outcome == saidNo
	if said && a.request.Own(got.By) {
		outcome = own
	}
	if outcome == saidYes {
		if got.Err = a.notOffered(got); got.Err != nil {
			outcome = unclear
		}
	}
	return outcome
}

// notOffered returns an error if a yes contains something that the question did not offer: such a yes does not count.
func (a *ask) notOffered(got *reply) (err error) {
	remembered := got.Scope != "" && got.Scope != call.Once
	switch {
	case a.inquires() && (remembered || got.Args != nil):
		return fmt.Errorf("%w: an answer is neither remembered nor has arguments", prompt.ErrUnclear)
	case a.inquires():
		return a.request.Inquiry.CheckAnswer(&got.Answer)
	case len(got.Selected) > 0 || got.Text != "":
		return fmt.Errorf("%w: it answers a question of a program, and this is a call", prompt.ErrUnclear)
	case got.Args != nil && a.request.Edit == nil:
		return fmt.Errorf("%w: this question takes no other arguments", prompt.ErrUnclear)
	case got.Args != nil && !got.edits:
		return fmt.Errorf("%w: the channel cannot change arguments", prompt.ErrUnclear)
	case got.Args != nil && remembered:
		return fmt.Errorf("%w: an answer with other arguments is not remembered", prompt.ErrUnclear)
	case got.Args != nil && got.Checked: // the policy may have changed since, and the asker decides again
	case got.Args != nil:
		return a.request.Edit(got.Args)
	case remembered:
		got.grant, err = a.request.Draft(got.Answer, time.Now())
		return err
	}
	return nil
}

// note judges a reply and records the outcome of its channel.
func (a *ask) note(got *reply) Outcome {
	answered := got.Err == nil
	outcome := a.judge(got)
	t := Try{Channel: got.name, Outcome: outcome, Took: got.took}
	if got.Err != nil {
		t.Error = prompt.Words(got.Err.Error())
		_, own := errors.AsType[*approverError](got.Err)
		t.Told = own || answered && got.Args != nil
		if crash, ok := errors.AsType[*crash](got.Err); ok {
			t.Stack = string(crash.stack)
		}
	}
	a.tried = append(a.tried, t)
	return outcome
}
