package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// decide waits for the answer and closes the question: replies that come after the answer are late.
func (a *ask) decide(ctx context.Context) Result {
	var answer Result
	if a.failed != nil {
		answer = noAnswer(call.CodeNoApprover, "a person cannot be asked about this call: "+shownError(a.failed))
	} else {
		answer = a.wait(ctx)
	}
	a.stop(answer.closing())
	a.closeReplies()
	answer = a.withdraw(ctx, answer)
	if a.closed != nil {
		a.closed()
	}
	answer.Tried, answer.Took = a.tried, cmp.Or(answer.Took, time.Since(a.asked))
	if a.inquires() && !answer.Allowed {
		answer.Detail = answer.unanswered()
	}
	return answer
}

// A wait is the state of an ask while it waits for its answer.
type wait struct {
	*ask
	deadline time.Time
	timer    *time.Timer    // until the deadline; stopped while the question waits for its turn
	turns    int            // channels in which the question waits for its turn
	away     map[int]string // channels without a person, by index; see open
	stored   bool           // another process was faster: its answer will come from the store
}

// wait returns the answer of the first channel that gives a clear one, or the reason why there is none.
func (a *ask) wait(ctx context.Context) Result {
	limit := a.options.Timeout
	w := &wait{ask: a, deadline: a.start.Add(limit), timer: time.NewTimer(limit), away: map[int]string{},
		stored: a.refused}
	last := time.NewTimer(maxTurns * limit)
	defer w.timer.Stop()
	defer last.Stop()
	for w.open() {
		select {
		case <-ctx.Done():
			return withdrawn(ctx)
		case <-w.timer.C:
			return timedOut(limit)
		case <-last.C:
			return timedOut(maxTurns * limit)
		case m := <-a.moves:
			w.move(m)
		case got := <-a.replies:
			if answer, decided := w.reply(ctx, got); decided {
				return answer
			}
		}
	}
	if ctx.Err() != nil {
		return withdrawn(ctx)
	}
	return w.unapproved(ctx)
}

// open reports whether an answer may still come.
func (w *wait) open() bool {
	return w.stored || w.waiting > 0 && (w.options.Await || w.waiting > len(w.away))
}

func (w *wait) move(m move) {
	switch {
	case m.away > 0:
		w.away[m.n] = m.name
	case m.away < 0:
		delete(w.away, m.n)
	}
	if m.turn == 0 {
		return
	}
	if w.turns += m.turn; w.turns > 0 {
		w.timer.Stop()
		w.request.Ends.Store(nil)
		return
	}
	now := time.Now().Add(w.options.Timeout)
	w.deadline = now
	w.timer.Reset(w.options.Timeout)
	w.request.Ends.Store(&now)
}

// reply reports whether a reply decides, and the answer.
func (w *wait) reply(ctx context.Context, got reply) (answer Result, decided bool) {
	if got.stored != nil {
		w.over = got.told
		return w.answeredElsewhere(ctx, got), true
	}
	w.waiting--
	delete(w.away, got.n)
	late := func(r Result) (Result, bool) {
		got.decidesNothing()
		w.late(got)
		return r, true
	}
	switch outcome := w.note(&got); {
	case outcome == saidNo:
		return w.refuse(ctx, got), true
	case outcome == unclear, outcome == shut && errors.Is(got.Err, prompt.ErrDismissed):
		w.options.Await = false // somebody was there: the question does not wait for people who are not
		got.decidesNothing()
		return Result{}, false
	case outcome != saidYes:
		got.decidesNothing()
		return Result{}, false
	case ctx.Err() != nil:
		return late(withdrawn(ctx))
	case w.turns == 0 && !time.Now().Before(w.deadline):
		return late(timedOut(w.options.Timeout))
	}
	if no, ok := w.contradicted(); ok {
		got.decidesNothing()
		return w.refuse(ctx, no), true
	}
	answer, err := w.allow(ctx, got)
	switch {
	case err == nil:
		w.over = got.told
		return answer, true
	case errors.Is(err, ErrTaken):
		_, w.stored = w.store.(SharedStore)
		_, _ = late(Result{})
		return Result{}, false
	}
	got.decidesNothing()
	return noAnswer(call.CodeNoApprover, "a person's yes could not be kept: "+shownError(err)), true
}

// contradicted looks for a no that arrived together with a yes: of two simultaneous answers the no counts.
func (a *ask) contradicted() (reply, bool) {
	for {
		select {
		case got := <-a.replies:
			if got.stored != nil { // the store will deliver it
				a.replies <- got
				return reply{}, false
			}
			switch a.note(&got) {
			case saidNo:
				return got, true
			case saidYes:
				a.late(got)
			}
			got.decidesNothing()
		default:
			return reply{}, false
		}
	}
}

// unapproved is the answer when every channel has returned without one.
func (w *wait) unapproved(ctx context.Context) Result {
	for _, n := range slices.Sorted(maps.Keys(w.away)) {
		w.tried = append(w.tried, Try{Channel: w.away[n], Outcome: Empty, Took: time.Since(w.start)})
	}
	answer := unapproved(w.tried, w.request, w.options.Fallback && !w.inquires())
	if answer.Allowed {
		if err := w.store.Answer(ctx, w.request.ID, w.digest, true, call.ByFallback, json.RawMessage(`{}`)); err != nil {
			return noAnswer(call.CodeNoApprover, "the answer could not be kept: "+shownError(err))
		}
		answer.Ticket = w.ticket()
	}
	return answer
}

func (a *ask) refuse(ctx context.Context, got reply) Result {
	close(a.no)
	a.closeReplies() // a yes to it that comes now is late, and nobody waits for it
	a.keepNo(ctx, got)
	a.afterYeses(ctx)
	return declined(got)
}

// keepNo stores a no. It stands, whether or not it can be stored. If a yes from another process was stored first, that
// one is late.
func (a *ask) keepNo(ctx context.Context, got reply) {
	err := a.keep(ctx, a.request.ID, a.digest, got.toStore(false, ""))
	store, shared := a.store.(SharedStore)
	if !shared || !errors.Is(err, ErrTaken) {
		return
	}
	ctx, cancel := keeping(ctx)
	defer cancel()
	if first, err := a.inStore(ctx, store); err == nil && first.Allowed {
		a.reportLate(first)
	}
}
