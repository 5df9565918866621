package hostfns

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"time"
)

// Questions of one run are put in rounds. A call that has to be asked about
// waits for the next one; a round begins when the one before is over and no
// further question is about to join it. With an Asker that is no [Gatherer], a
// round is one question.

// A Gatherer is an Asker that puts several questions at once. It returns an
// answer to each, in their order.
type Gatherer interface {
	Asker
	AskAll(ctx context.Context, qs []*Question) []Answer
	// Gathers reports whether questions are to be put together at the moment.
	Gathers() bool
}

// A Rememberer is an Asker that knows what people have allowed before. It is
// asked first; false means that a person has to be.
type Rememberer interface {
	Asker
	Remembered(ctx context.Context, q *Question) (Answer, bool)
}

// An asked call waits for an answer.
type asked struct {
	ctx       context.Context
	call      *call
	admission *admission
	progress  func() (calls int, waiting bool)
	waited    bool // behind another question
	answered  chan struct{}
	closed    bool // answered is; touched by whoever leads

	// Set before answered is closed.
	decided Decision // what was shown
	refusal *Exception
}

const (
	// gatherMost is how long a question waits at most for others of its moment: a
	// program that computes on meanwhile holds no question up for longer.
	gatherMost = 2 * time.Second
	// gatherStep is how often it is looked whether others are coming.
	gatherStep = 5 * time.Millisecond
	// gatherQuiet is how long nothing may have come where nobody knows what the program does.
	gatherQuiet = 50 * time.Millisecond
)

// arrived notes that a call is decided, and will join no round that it has not joined.
func (r *Run) arrived(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.coming {
		c.coming = false
		r.coming--
	}
}

// join enters a call for the next round.
func (r *Run) join(q *asked) {
	r.mu.Lock()
	r.waiting = append(r.waiting, q)
	q.waited = q.waited || r.open
	lead := !r.leading
	r.leading = true
	r.mu.Unlock()
	r.arrived(q.call)
	if lead {
		go r.lead() // until nobody waits; those who wait for it outlive it but for its last step
	}
}

// lead puts rounds of questions until none is left.
func (r *Run) lead() {
	for {
		gatherer, _ := r.info.Asker.(Gatherer)
		together := gatherer != nil && gatherer.Gathers()
		if together {
			r.gather()
		}
		r.mu.Lock()
		slices.SortStableFunc(r.waiting, func(a, b *asked) int { return cmp.Compare(a.call.Call, b.call.Call) })
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
		r.put(round, gatherer)
	}
}

// close lets calls go on. With the last of a round, what is asked from then on does not wait behind it.
func (r *Run) close(calls []*asked, last bool) {
	r.mu.Lock()
	r.open = r.open && !last
	r.mu.Unlock()
	for _, q := range calls {
		if !q.closed {
			q.closed = true
			close(q.answered)
		}
	}
}

// crashed ends the calls of a round that could not be brought to its end.
func (r *Run) crashed(round []*asked, cause any) {
	r.gate.deps.Log.Error("asking panicked", "run", r.info.ID, "panic", cause, "stack", string(debug.Stack()))
	for _, q := range round {
		if !q.closed {
			q.refusal = &Exception{Class: "Error", Message: "an internal error ended this call"}
		}
	}
	r.close(round, true)
}

// gather waits while further questions of the same moment may come.
func (r *Run) gather() {
	r.mu.Lock()
	if len(r.waiting) == 0 {
		r.mu.Unlock()
		return
	}
	first := r.waiting[0]
	r.mu.Unlock()
	last, since := 0, time.Now()
	for start := time.Now(); time.Since(start) < gatherMost; {
		calls, waiting := 0, false
		if first.progress != nil {
			calls, waiting = first.progress()
		}
		r.mu.Lock()
		n, coming, invoked := len(r.waiting), r.coming, r.invoked
		r.mu.Unlock()
		if n != last || coming > 0 {
			last, since = n, time.Now()
		}
		switch {
		case waiting && coming == 0 && (invoked >= calls || time.Since(since) >= 4*gatherQuiet):
			return
		case first.progress == nil && time.Since(since) >= gatherQuiet:
			return
		}
		select {
		case <-time.After(gatherStep):
		case <-first.ctx.Done():
			return
		}
	}
}

// put asks about the calls of a round.
func (r *Run) put(round []*asked, gatherer Gatherer) {
	defer func() {
		if p := recover(); p != nil {
			r.crashed(round, p)
		}
	}()
	ctx, cancel := whileAny(round)
	defer cancel()
	var settled, open []*asked
	var questions []*Question
	for _, q := range round {
		if r.settled(q) {
			settled = append(settled, q)
			continue
		}
		q.decided = q.admission.decision
		r.mu.Lock()
		r.asks++
		r.mu.Unlock()
		r.note(q.ctx, KindAsked, q.call, q.admission)
		open, questions = append(open, q), append(questions, r.question(q.call, q.admission))
	}
	r.close(settled, len(open) == 0)
	if len(open) == 0 {
		return
	}
	answers := r.answers(ctx, gatherer, questions)
	counted := false
	for i, q := range open {
		a := q.admission
		a.answer = answers[i]
		r.note(q.ctx, KindAnswer, q.call, a)
		if !a.answer.Allowed && q.ctx.Err() == nil {
			q.refusal = denied(a.tool.Name, cmp.Or(a.answer.Code, ReasonNoApprover), cmp.Or(a.answer.Detail, refusalDetail(a.answer)), a.decision.Rule)
			r.remember(q.call, a, q.refusal, &counted)
		}
	}
	r.close(open, true)
}

// answers asks, and takes a crash of the Asker for no answer.
func (r *Run) answers(ctx context.Context, gatherer Gatherer, questions []*Question) (answers []Answer) {
	defer func() {
		if p := recover(); p != nil {
			r.gate.deps.Log.Error("asking panicked", "run", r.info.ID, "panic", p, "stack", string(debug.Stack()))
			answers = nil
		}
		for len(answers) < len(questions) {
			answers = append(answers, Answer{How: "none", Code: ReasonNoApprover})
		}
	}()
	switch {
	case r.info.Asker == nil:
		return nil
	case gatherer != nil && len(questions) > 1:
		return gatherer.AskAll(ctx, questions)
	}
	for _, q := range questions {
		answers = append(answers, r.info.Asker.Ask(ctx, q))
	}
	return answers
}

// settled reports whether nobody has to be asked any more. A call that had to
// wait is decided again: the profile or the run's counters may have moved on.
func (r *Run) settled(q *asked) bool {
	c, a := q.call, q.admission
	if q.waited {
		r.tally(c)
		q.refusal = r.refresh(q.ctx, c, a)
		switch {
		case q.refusal != nil:
		case q.ctx.Err() != nil:
			q.refusal = r.runEnded(a)
		case a.decision.Verdict == Deny:
			q.refusal = r.denial(a)
		case a.decision.Verdict == Allow:
			return true
		}
	}
	if q.refusal == nil {
		q.refusal = r.refusedBefore(a)
	}
	return q.refusal != nil || q.waited && r.remembered(q)
}

// remembered answers a question with what was allowed before.
func (r *Run) remembered(q *asked) bool {
	memory, ok := r.info.Asker.(Rememberer)
	if !ok || q.admission.decision.Firm {
		return false
	}
	if r.refusedBefore(q.admission) != nil {
		return false // what was refused in this run stays refused
	}
	answer, ok := memory.Remembered(q.ctx, r.question(q.call, q.admission))
	if ok {
		q.admission.answer, q.decided = answer, q.admission.decision
		r.note(q.ctx, KindAnswer, q.call, q.admission)
	}
	return ok
}

// whileAny is a context that ends when those of all calls of a round have.
func whileAny(round []*asked) (context.Context, context.CancelFunc) {
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
