package hostfns

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A waiter is a call that waits for an answer.
type waiter struct {
	ctx      context.Context
	call     *callState
	waited   bool // behind another question
	answered chan struct{}
	closed   bool // answered is; under the lock of the rounds

	// Set before answered is closed.
	decided call.Decision // what was shown
	refusal *Exception
}

const (
	// gatherMost is the longest time that a question waits while the program computes.
	gatherMost = 2 * time.Second
	// gatherDeciding is the longest time that it waits for calls that are made and not yet decided.
	gatherDeciding = 10 * time.Second
	// gatherStep is how often the waiting questions are counted.
	gatherStep = 5 * time.Millisecond
	// gatherQuiet is how long no question must have come before a round begins, where the progress of the program is
	// unknown.
	gatherQuiet = 50 * time.Millisecond
	// gatherLost is how long a question waits for a call that the program has made and that has not come here. On a busy
	// machine it may still come; the engine may also have refused it.
	gatherLost = time.Second
)

// rounds are those in which a run asks its questions. A call that needs an answer waits for the next round. That round
// begins when the one before has its first answer and no further question is about to come. Unless the [Prompter]
// combines the calls of one moment, a round is one question. Each answer takes effect at once.
type rounds struct {
	calls    *callList
	prompter Prompter // nil reaches nobody
	put      func(round []*waiter)
	log      func() *slog.Logger

	mu      sync.Mutex
	waiting []*waiter // calls that wait for the next round
	leading bool      // a goroutine puts the rounds
	open    bool      // a round is under way
}

// join adds a call to the next round.
func (o *rounds) join(q *waiter) {
	o.mu.Lock()
	o.waiting = append(o.waiting, q)
	q.waited = q.waited || o.open
	lead := !o.leading
	o.leading = true
	o.mu.Unlock()
	q.call.decided()
	if lead {
		go o.lead() // ends when no call waits any more
	}
}

// lead asks rounds of questions until no call waits.
func (o *rounds) lead() {
	for {
		together := o.prompter != nil && o.prompter.Together()
		if together {
			o.gather()
		}
		o.mu.Lock()
		slices.SortStableFunc(o.waiting, func(a, b *waiter) int { return cmp.Compare(a.call.Call, b.call.Call) })
		round := o.waiting
		if !together && len(round) > 1 {
			round = round[:1:1]
		}
		o.waiting = o.waiting[len(round):]
		if len(round) == 0 {
			o.leading = false
			o.mu.Unlock()
			return
		}
		o.open = true
		for i, q := range slices.Concat(round, o.waiting) {
			q.waited = q.waited || i > 0
		}
		o.mu.Unlock()
		o.put(round)
	}
}

// close lets calls continue. After the first answer, later questions do not wait for the rest of the round.
func (o *rounds) close(calls []*waiter, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = o.open && !answered
	for _, q := range calls {
		if !q.closed {
			q.closed = true
			close(q.answered)
		}
	}
}

// crashed ends the calls of a round after a panic.
func (o *rounds) crashed(round []*waiter, cause any) {
	panicked(o.log(), cause)
	o.mu.Lock()
	for _, q := range round {
		if !q.closed {
			q.refusal = &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
	}
	o.mu.Unlock()
	o.close(round, true)
}

func panicked(log *slog.Logger, cause any) {
	log.Error("asking panicked", "panic", cause, "stack", string(debug.Stack()))
}

// gather waits while further questions of the same moment may come. It counts its steps instead of time: while the
// whole machine is stopped, neither the program nor the decisions make progress.
func (o *rounds) gather() {
	o.mu.Lock()
	if len(o.waiting) == 0 {
		o.mu.Unlock()
		return
	}
	first := o.waiting[0]
	o.mu.Unlock()
	last, quiet := 0, time.Duration(0)
	for computing, deciding := 0, 0; computing < int(gatherMost/gatherStep) && deciding < int(gatherDeciding/gatherStep); {
		calls, waiting := 0, false
		if first.call.in.Progress != nil {
			calls, waiting = first.call.in.Progress()
		}
		invoked, undecided := o.calls.progress()
		o.mu.Lock()
		n := len(o.waiting)
		o.mu.Unlock()
		if n != last || undecided > 0 {
			last, quiet = n, 0
		}
		if undecided > 0 {
			deciding++
		} else {
			computing++
		}
		switch {
		case waiting && undecided == 0 && (invoked >= calls || quiet >= gatherLost):
			return
		case first.call.in.Progress == nil && quiet >= gatherQuiet:
			return
		}
		select {
		case <-time.After(gatherStep):
			quiet += gatherStep
		case <-first.ctx.Done():
			return
		}
	}
}

// put asks about the calls of a round.
func (r *Run) put(round []*waiter) {
	defer func() {
		if p := recover(); p != nil {
			r.rounds.crashed(round, p)
		}
	}()
	ctx, cancel := whileAny(round)
	var settled, open []*waiter
	var questions []*Question
	for _, q := range round {
		if r.settled(q) {
			settled = append(settled, q)
			continue
		}
		q.decided = q.call.decision
		if !q.call.nowPut() {
			r.record.asked(q.ctx, q.call)
		}
		open, questions = append(open, q), append(questions, r.question(q.call))
	}
	r.rounds.close(settled, len(open) == 0)
	if len(open) == 0 {
		cancel()
		return
	}
	first := make(chan struct{})
	begun := sync.OnceFunc(func() { close(first) })
	go func() { // ends when every question has its answer, at the latest with the contexts of the calls
		defer begun()
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				r.rounds.crashed(open, p)
			}
		}()
		counted := false
		r.answers(ctx, questions, func(i int, answer call.Answer, use Use) {
			r.answered(open[i], answer, use, &counted)
			begun()
		})
	}()
	<-first
}

// answered lets a call with an answer continue. A refused call continues after all calls allowed so far are sent: its
// refusal may end the program.
func (r *Run) answered(q *waiter, answer call.Answer, use Use, counted *bool) {
	c := q.call
	c.answer, c.use = answer, use
	r.record.answered(q.ctx, c)
	if answer.Allowed {
		c.approved(q.ctx)
		r.rounds.close([]*waiter{q}, true)
		return
	}
	if q.ctx.Err() == nil {
		q.refusal = denied(c.tool.Name, cmp.Or(answer.Code, reasonNoApprover), cmp.Or(answer.Detail,
			refusalDetail(answer)), c.decision.Lead().Rule)
		r.refusals.remember(c, q.refusal, counted)
	}
	if len(r.calls.unsent()) == 0 {
		r.rounds.close([]*waiter{q}, true)
		return
	}
	go func() { // ends when those calls, and calls that are allowed meanwhile, are sent or over
		for before := r.calls.unsent(); len(before) > 0; before = r.calls.unsent() {
			for _, begun := range before {
				<-begun
			}
		}
		r.rounds.close([]*waiter{q}, true)
	}()
}

// answers asks. A panic of the Prompter counts as no answer.
func (r *Run) answers(ctx context.Context, questions []*Question, answered func(i int, a call.Answer, use Use)) {
	has := make([]bool, len(questions))
	var mu sync.Mutex // answers may come at the same moment
	tell := func(i int, a call.Answer, use Use) {
		mu.Lock()
		defer mu.Unlock()
		if !has[i] {
			has[i] = true
			answered(i, a, use)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			panicked(r.log(), p)
		}
		for i := range questions {
			tell(i, call.Answer{How: call.ByNobody, Code: call.CodeNoApprover}, nil)
		}
	}()
	if r.info.Prompter != nil {
		r.info.Prompter.Ask(ctx, questions, tell)
	}
}

// settled reports whether no person needs to be asked any more. A call that waited is decided again: the profile or the
// counters of the run may have changed.
func (r *Run) settled(q *waiter) bool {
	c := q.call
	if q.waited {
		r.tally(c)
		q.refusal = r.refresh(q.ctx, c)
		switch {
		case q.refusal != nil:
		case q.ctx.Err() != nil:
			q.refusal = runEnded(c)
		case c.decision.Verdict == call.Deny:
			q.refusal = c.denial()
		case c.decision.Verdict == call.Allow && !c.before.Asked: // otherwise a person may have refused it already
			return true
		}
	}
	if q.refusal == nil && !c.before.Asked {
		q.refusal = r.refusals.before(c)
	}
	return q.refusal != nil || q.waited && r.remembered(q)
}

// remembered answers a question with an earlier approval.
func (r *Run) remembered(q *waiter) bool {
	if r.info.Prompter == nil || q.call.decision.Firm {
		return false
	}
	if r.refusals.before(q.call) != nil {
		return false // an equal call stays refused for the rest of the run
	}
	answer, ok := r.info.Prompter.Remembered(q.ctx, r.question(q.call))
	if ok {
		q.call.answer, q.decided = answer, q.call.decision
		r.record.answered(q.ctx, q.call)
	}
	return ok
}

// whileAny returns a context that ends when the contexts of all calls of a round have ended.
func whileAny(round []*waiter) (context.Context, context.CancelFunc) {
	if len(round) == 1 {
		return context.WithCancel(round[0].ctx)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(round[0].ctx))
	ended := make(chan struct{}, len(round))
	var stops []func() bool
	for _, q := range round {
		stops = append(stops, context.AfterFunc(q.ctx, func() {
			if ended <- struct{}{}; len(ended) == cap(ended) {
				cancel(context.Cause(q.ctx))
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}
