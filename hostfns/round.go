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

// Questions of one run are put in rounds. A call that has to be asked about waits for the next one; a round begins when the
// one before has its first answer and no further question is about to join it. Unless the [Asker] puts calls of one moment
// together, a round is one question. Each answer takes effect when it is given.

// An asked call waits for an answer.
type asked struct {
	ctx       context.Context
	call      *ongoing
	admission *admission
	progress  func() (calls int, waiting bool)
	waited    bool // behind another question
	before    bool // it waited in another process already
	answered  chan struct{}
	closed    bool // answered is; under the run's lock

	// Set before answered is closed.
	decided call.Decision // what was shown
	refusal *Exception
}

const (
	// gatherMost is how long a question waits at most for a program that computes on.
	gatherMost = 2 * time.Second
	// gatherDeciding is how long it waits at most for other calls of the program, made but not decided yet.
	gatherDeciding = 10 * time.Second
	// gatherStep is how often it is looked whether others are coming.
	gatherStep = 5 * time.Millisecond
	// gatherQuiet is how long nothing may have come where nobody knows what the program does.
	gatherQuiet = 50 * time.Millisecond
)

// arrived notes that a call is decided, and will join no round that it has not joined.
func (r *Run) arrived(c *ongoing) {
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
		together := r.info.Asker != nil && r.info.Asker.Together()
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
		r.put(round)
	}
}

// close lets calls go on. With the first that was answered, what is asked from then on does not wait behind the round.
func (r *Run) close(calls []*asked, answered bool) {
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

// crashed ends the calls of a round that could not be brought to its end.
func (r *Run) crashed(round []*asked, cause any) {
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

// gather waits while further questions of the same moment may come. It counts looks and no time: where the whole machine
// stood still, neither the program nor the decisions had any.
func (r *Run) gather() {
	r.mu.Lock()
	if len(r.waiting) == 0 {
		r.mu.Unlock()
		return
	}
	first := r.waiting[0]
	r.mu.Unlock()
	last, since := 0, time.Now()
	for computing, deciding := 0, 0; computing < int(gatherMost/gatherStep) && deciding < int(gatherDeciding/gatherStep); {
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
		if coming > 0 {
			deciding++
		} else {
			computing++
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
func (r *Run) put(round []*asked) {
	defer func() {
		if p := recover(); p != nil {
			r.crashed(round, p)
		}
	}()
	ctx, cancel := whileAny(round)
	var settled, open []*asked
	var questions []*Question
	for _, q := range round {
		if r.settled(q) {
			settled = append(settled, q)
			continue
		}
		q.decided = q.admission.decision
		if !r.nowPut(q.call) {
			r.note(q.ctx, KindAsked, q.call, q.admission)
		}
		open, questions = append(open, q), append(questions, r.question(q.call, q.admission))
	}
	r.close(settled, len(open) == 0)
	if len(open) == 0 {
		cancel()
		return
	}
	first := make(chan struct{})
	begun := sync.OnceFunc(func() { close(first) })
	go func() { // ends when every question has its answer, at the latest with the calls' contexts
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

// isPut reports whether people see the question about a call since before the run was saved. An equal call may have been refused
// meanwhile, but who answers this one is told that the answer is taken.
func (r *Run) isPut(c *ongoing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.before.Asked
}

// nowPut notes that people see the question about a call, and reports whether they did before.
func (r *Run) nowPut(c *ongoing) (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before = c.before.Asked; !before {
		r.asks++
		c.before.Asked = true
	}
	return before
}

// answered lets a call go on that has its answer. One that was refused goes on after all that were allowed so far have been
// sent: its refusal may end the program.
func (r *Run) answered(q *asked, answer call.Answer, use Use, counted *bool) {
	a := q.admission
	a.answer, a.use = answer, use
	r.note(q.ctx, KindAnswer, q.call, a)
	if answer.Allowed {
		r.approved(q)
		r.close([]*asked{q}, true)
		return
	}
	if q.ctx.Err() == nil {
		q.refusal = denied(a.tool.Name, cmp.Or(answer.Code, ReasonNoApprover), cmp.Or(answer.Detail, refusalDetail(answer)), a.decision.Lead().Rule)
		r.remember(q.call, a, q.refusal, counted)
	}
	if len(r.unsent()) == 0 {
		r.close([]*asked{q}, true)
		return
	}
	go func() { // ends when those calls, and those that are allowed meanwhile, are sent or over
		for before := r.unsent(); len(before) > 0; before = r.unsent() {
			for _, c := range before {
				<-c.begun
			}
		}
		r.close([]*asked{q}, true)
	}()
}

// approved notes that a person allowed a call: it is made even if the program ends first.
func (r *Run) approved(q *asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.admission.answer.How != call.ByPerson || q.ctx.Err() != nil {
		return
	}
	q.call.begun, q.call.done = make(chan struct{}), make(chan struct{})
}

// unsent lists the calls that a person allowed and that are on their way to be sent.
func (r *Run) unsent() (calls []*ongoing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.begun != nil && !c.sent && !c.over {
			calls = append(calls, c)
		}
	}
	return calls
}

// Carry waits until the calls that people have allowed are over, each at most as long as its own time limit lets it be, or
// until ctx ends. It is called when the program has ended, and with it the context of the calls that nobody has allowed.
func (r *Run) Carry(ctx context.Context) {
	r.mu.Lock()
	var carried []*ongoing
	for _, c := range r.calls {
		if c.done != nil && !c.over {
			carried = append(carried, c)
		}
	}
	r.mu.Unlock()
	for _, c := range carried {
		select {
		case <-c.done:
		case <-ctx.Done():
			return
		}
	}
}

// answers asks, and takes a crash of the Asker for no answer.
func (r *Run) answers(ctx context.Context, questions []*Question, answered func(i int, a call.Answer, use Use)) {
	has := make([]bool, len(questions))
	var mu sync.Mutex // of what is answered at the same moment
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
	if r.info.Asker != nil {
		r.info.Asker.Ask(ctx, questions, tell)
	}
}

// settled reports whether nobody has to be asked any more. A call that had to
// wait is decided again: the profile or the run's counters may have moved on.
func (r *Run) settled(q *asked) bool {
	c, a := q.call, q.admission
	if q.waited {
		r.tally(c, a)
		q.refusal = r.refresh(q.ctx, c, a)
		switch {
		case q.refusal != nil:
		case q.ctx.Err() != nil:
			q.refusal = runEnded(c)
		case a.decision.Verdict == call.Deny:
			q.refusal = r.denial(a)
		case a.decision.Verdict == call.Allow && !r.isPut(c): // else somebody may have refused it already
			return true
		}
	}
	if q.refusal == nil && !r.isPut(c) {
		q.refusal = r.refusedBefore(a)
	}
	return q.refusal != nil || q.waited && r.remembered(q)
}

// remembered answers a question with what was allowed before.
func (r *Run) remembered(q *asked) bool {
	if r.info.Asker == nil || q.admission.decision.Firm {
		return false
	}
	if r.refusedBefore(q.admission) != nil {
		return false // what was refused in this run stays refused
	}
	answer, ok := r.info.Asker.Remembered(q.ctx, r.question(q.call, q.admission))
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
