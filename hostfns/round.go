package hostfns

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A run asks its questions in rounds. A call that needs an answer waits for the next round. That round begins when the
// one before has its first answer and no further question is about to come. Unless the [Prompter] combines the calls of
// one moment, a round is one question. Each answer takes effect at once.

// A waiter is a call that waits for an answer.
type waiter struct {
	ctx      context.Context
	call     *callState
	waited   bool // behind another question
	before   bool // it already waited in another process
	answered chan struct{}
	closed   bool // answered is; under the run's lock

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

// join adds a call to the next round.
func (r *Run) join(q *waiter) {
	r.mu.Lock()
	r.waiting = append(r.waiting, q)
	q.waited = q.waited || r.open
	lead := !r.leading
	r.leading = true
	r.mu.Unlock()
	q.call.decided()
	if lead {
		go r.lead() // ends when no call waits any more
	}
}

// lead asks rounds of questions until no call waits.
func (r *Run) lead() {
	for {
		together := r.info.Prompter != nil && r.info.Prompter.Together()
		if together {
			r.gather()
		}
		r.mu.Lock()
		slices.SortStableFunc(r.waiting, func(a, b *waiter) int { return cmp.Compare(a.call.Call, b.call.Call) })
		round := r.waiting
		if !together && len(round) > 1 {
			round = round[:1:1]
		}
		r.waiting = r.waiting[len(round):]
		if len(round) == 0 {
			r.leading = false
			r.mu.Unlock()
			return
		}
		r.open = true
		for i, q := range slices.Concat(round, r.waiting) {
			q.waited = q.waited || i > 0
		}
		r.mu.Unlock()
		r.put(round)
	}
}

// close lets calls continue. After the first answer, later questions do not wait for the rest of the round.
func (r *Run) close(calls []*waiter, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = r.open && !answered
	for _, q := range calls {
		if !q.closed {
			q.closed = true
			close(q.answered)
		}
	}
}

// crashed ends the calls of a round after a panic.
func (r *Run) crashed(round []*waiter, cause any) {
	r.gate.deps.Log.Error("asking panicked", "run", r.info.ID, "panic", cause, "stack", string(debug.Stack()))
	r.mu.Lock()
	for _, q := range round {
		if !q.closed {
			q.refusal = &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
	}
	r.mu.Unlock()
	r.close(round, true)
}

// gather waits while further questions of the same moment may come. It counts its steps instead of time: while the
// whole machine is stopped, neither the program nor the decisions make progress.
func (r *Run) gather() {
	r.mu.Lock()
	if len(r.waiting) == 0 {
		r.mu.Unlock()
		return
	}
	first := r.waiting[0]
	r.mu.Unlock()
	last, quiet := 0, time.Duration(0)
	for computing, deciding := 0, 0; computing < int(gatherMost/gatherStep) && deciding < int(gatherDeciding/gatherStep); {
		calls, waiting := 0, false
		if first.call.in.Progress != nil {
			calls, waiting = first.call.in.Progress()
		}
		invoked, undecided := r.calls.progress()
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
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
			r.crashed(round, p)
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
			r.record.note(q.ctx, KindAsked, q.call)
		}
		open, questions = append(open, q), append(questions, r.question(q.call))
	}
	r.close(settled, len(open) == 0)
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
				r.crashed(open, p)
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
	r.record.note(q.ctx, KindAnswer, c)
	if answer.Allowed {
		c.approved(q.ctx)
		r.close([]*waiter{q}, true)
		return
	}
	if q.ctx.Err() == nil {
		q.refusal = denied(c.tool.Name, cmp.Or(answer.Code, reasonNoApprover), cmp.Or(answer.Detail,
			refusalDetail(answer)), c.decision.Lead().Rule)
		r.refusals.remember(c, q.refusal, counted)
	}
	if len(r.calls.unsent()) == 0 {
		r.close([]*waiter{q}, true)
		return
	}
	go func() { // ends when those calls, and calls that are allowed meanwhile, are sent or over
		for before := r.calls.unsent(); len(before) > 0; before = r.calls.unsent() {
			for _, begun := range before {
				<-begun
			}
		}
		r.close([]*waiter{q}, true)
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
			r.gate.deps.Log.Error("asking panicked", "run", r.info.ID, "panic", p, "stack", string(debug.Stack()))
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
			q.refusal = r.denial(c)
		case c.decision.Verdict == call.Allow && !c.isPut(): // otherwise a person may have refused it already
			return true
		}
	}
	if q.refusal == nil && !c.isPut() {
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
		r.record.note(q.ctx, KindAnswer, q.call)
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
