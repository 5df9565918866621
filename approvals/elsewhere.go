package approvals

import (
	"context"
	"errors"
	"time"

	"github.com/codemode-project/codemode/call"
)

// Another process than the asking one can answer questions in a [SharedStore], even when the asking process has ended.

// ErrLeaving is the cause of a context that ends because this process hands the run over to another process.
var ErrLeaving = errors.New("another process takes over the run")

// withdraw closes a question that ended without an answer, for people who see it in other processes. An answer stored
// there in the meantime counts while the run lives: those people were told that their answer is accepted.
func (a *ask) withdraw(ctx context.Context, answer Result) Result {
	store, ok := a.store.(SharedStore)
	stays := a.options.Borrowed || a.leaving()
	if !ok || a.failed != nil || stays || answer.How != call.ByNobody {
		return answer
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if !errors.Is(store.Withdraw(closing, a.request.ID), ErrTaken) {
		return answer // it is closed, or it expires by itself
	}
	got, err := a.inStore(closing, store)
	switch {
	case err != nil: // it was closed before
		return answer
	case ctx.Err() != nil:
		a.reportLate(got)
		return answer
	}
	return a.answeredElsewhere(ctx, got)
}

// follow delivers the stored answer from any process.
func (a *ask) follow(store SharedStore) {
	got, err := a.inStore(a.inner, store)
	if err != nil {
		return // the question is over, or the store cannot be read: answering here will report that
	}
	a.bring(got)
}

// inStore waits for the stored answer.
func (a *ask) inStore(ctx context.Context, store SharedStore) (reply, error) {
	yes, answer, err := store.Answered(ctx, a.request.ID)
	if err != nil {
		return reply{}, err
	}
	return readAnswer(answer).fromStore(yes), nil
}

// answeredElsewhere converts an answer that was given in another process.
func (a *ask) answeredElsewhere(ctx context.Context, got reply) (answer Result) {
	defer func() {
		if given := got.stored.Given; !given.IsZero() {
			answer.Took = max(0, given.Sub(a.asked)) // clocks of two machines may differ
		}
	}()
	t := Try{Channel: got.name, Outcome: saidNo, Took: time.Since(a.start)}
	if got.Allowed {
		t.Outcome = saidYes
	}
	if a.tried = append(a.tried, t); !got.Allowed {
		close(a.no)
		a.closeReplies()
		a.afterYeses(ctx)
		return declined(got)
	}
	answer, err := a.allowedElsewhere(ctx, got)
	if err != nil {
		return noAnswer(call.CodeNoApprover, "a person's yes could not be read: "+shownError(err))
	}
	return answer
}

func (a *ask) allowedElsewhere(ctx context.Context, got reply) (answer Result, err error) {
	if a.inquires() && a.request.Kind() != "account" { // of those, the store has a yes only from a login
		if err := a.request.Inquiry.CheckAnswer(&got.Answer); err != nil {
			return answer, err
		}
	}
	if got.Scope != "" && got.Scope != call.Once {
		at := time.Now()
		if given := got.stored.Given; !given.IsZero() && given.Before(at) { // this process took the run over since
			at = given
		}
		if got.grant, err = a.request.Draft(got.Answer, at); err != nil {
			return answer, err
		}
	}
	answer = a.yes(got)
	if got.stored.Edited == "" {
		return answer, nil
	}
	store, ok := a.store.(SharedStore)
	if !ok {
		return answer, errors.New("there is no shared store")
	}
	p, err := store.Find(ctx, got.stored.Edited)
	if err != nil {
		return answer, err
	}
	other, err := ReadPending(p)
	switch {
	case err != nil:
		return answer, err
	case a.request.Edit == nil || other.Run != a.request.Run || other.Call != a.request.Call:
		return answer, errors.New("this question takes no other arguments")
	}
	if err := a.request.Edit(other.Args); err != nil {
		return answer, err
	}
	answer.Args = other.Args
	answer.Ticket = &Ticket{id: other.ID, digest: p.Digest, args: other.Args, expires: a.expires}
	return answer, nil
}

// supersede closes the stored question because the call, or what decides it, has changed since another process asked.
// If the stored question has an answer, a no still counts and decides. A yes answered a different question, and is
// late. After an error the stored question may be open: then nobody may be asked another one about the call.
func (a *ask) supersede(ctx context.Context) (refused bool, err error) {
	store, ok := a.store.(SharedStore)
	if !ok {
		return false, nil
	}
	reading, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := store.Withdraw(reading, a.request.ID); !errors.Is(err, ErrTaken) {
		return false, err
	}
	got, err := a.inStore(reading, store)
	switch {
	case errors.Is(err, ErrTaken): // it was closed before
		return false, nil
	case err != nil:
		return false, err
	case !got.Allowed:
		a.replies <- got
		return true, nil
	}
	a.reportLate(got)
	return false, nil
}
