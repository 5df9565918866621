package approvals

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// An ask is one open question.
type ask struct {
	desk    *Desk
	request *prompt.Request
	options Options
	start   time.Time
	asked   time.Time  // when it was first asked: before start if another process asked it
	replies chan reply // has room for one reply per channel, so sending never blocks
	moves   chan move
	inner   context.Context // for channels that show this question alone
	stop    context.CancelCauseFunc
	round   *round        // the questions asked together with this one
	told    chan struct{} // closed when the asker has received the answer
	no      chan struct{} // closed when a no decides

	// Used by AskAll, then by decide.
	waiting int // channels that have not answered
	tried   []Try
	digest  string
	expires time.Time
	again   bool   // it was asked before, here or in another process
	failed  error  // why the question cannot be asked
	refused bool   // the store has the answer, a no
	over    func() // reports that the asker has received the deciding yes

	mu    sync.Mutex
	ended bool
}

// A reply is what one channel returned.
type reply struct {
	call.Answer
	source
	took   time.Duration // since the channel showed the question
	grant  *prompt.Grant
	stored *storedAnswer // another process received the answer and stored it
	told   func()        // for a yes, see round.allowed; otherwise nil
}

// decidesNothing must be called for a yes that does not count.
func (r *reply) decidesNothing() {
	if r.told != nil {
		r.told()
	}
}

// useWithin is how long a yes stays usable after the last moment at which a person can give it.
const useWithin = time.Minute

// open adds a question to the store. It must finish before writing ends.
func (d *Desk) open(ctx, writing context.Context, r *prompt.Request, channels []source, o Options) *ask {
	copied := *r
	copied.OtherOnly, copied.MinHuman = o.OtherOnly, o.MinHuman
	start := time.Now()
	if !o.Borrowed || copied.Until.IsZero() {
		copied.Until = start.Add(o.Timeout)
	}
	copied.Ends = &atomic.Pointer[time.Time]{}
	copied.Ends.Store(&copied.Until)
	if copied.ID == "" {
		copied.ID = newID()
	}
	a := &ask{
		desk: d, request: &copied, options: o, start: start, asked: start,
		replies: make(chan reply, len(channels)+1), moves: make(chan move), told: make(chan struct{}),
		no: make(chan struct{}), round: newRound(),
	}
	a.inner, a.stop = context.WithCancelCause(ctx)
	again := a.start.Before(copied.Expires)
	if again {
		a.expires = copied.Expires
		a.digest, a.failed = copied.Bind(a.expires)
		again = a.digest == copied.Digest // else the question has changed
	}
	a.again = again
	if again && !copied.Time.IsZero() {
		a.asked = copied.Time
	}
	if !again && !copied.Expires.IsZero() {
		if a.refused, a.failed = a.supersede(ctx); a.refused || a.failed != nil {
			a.digest, a.expires = copied.Digest, copied.Expires
			return a
		}
		copied.ID = newID()
	}
	if !again {
		a.expires = a.start.Add(maxTurns*o.Timeout + useWithin).UTC().Truncate(time.Microsecond) // as stores keep times
		if a.digest, a.failed = copied.Bind(a.expires); a.failed == nil {
			copied.Digest, copied.Expires = a.digest, a.expires
			d.markHere(copied.ID, true) // before others can see it
			a.failed = d.propose(writing, &copied, channels, o)
		}
	}
	if !again || !o.Borrowed { // a repeated question may belong to this process, which asks another client
		d.markHere(copied.ID, !o.Borrowed)
	}
	return a
}

func newID() string { return "q_" + rand.Text() }

// markHere records which questions this process asks.
func (d *Desk) markHere(id string, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here == nil {
		d.here = map[string]bool{}
	}
	if open {
		d.here[id] = true
	} else {
		delete(d.here, id)
	}
}

func (d *Desk) asksHere(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.here[id]
}

func (a *ask) inquires() bool { return a.request.Inquiry != nil }

// bring passes a reply to decide. A reply after the end is late.
func (a *ask) bring(got reply) {
	if got.Err == nil && got.Allowed {
		got.told = a.round.allowed()
	}
	a.mu.Lock()
	late := a.ended
	if !late {
		a.replies <- got
	}
	a.mu.Unlock()
	if late {
		got.decidesNothing()
		a.late(got)
	}
}

// late reports an answer as late, unless another process has already reported or counted it.
func (a *ask) late(got reply) {
	if got.stored == nil && got.Err == nil && !a.keepForSuccessor(got) {
		a.reportLate(got)
	}
}

// keepForSuccessor stores an answer that arrives while this process hands over its run, for the process that takes the
// run over. It reports whether the answer is stored.
func (a *ask) keepForSuccessor(got reply) bool {
	if _, shared := a.desk.store().(SharedStore); !shared || !a.leaving() {
		return false
	}
	ctx := context.Background()
	switch a.judge(&got) {
	case saidYes:
		_, err := a.allow(ctx, got)
		return err == nil
	case saidNo:
		return a.keep(ctx, a.request.ID, a.digest, got.toStore(false, "")) == nil
	}
	return false
}

// leaving reports whether the question stays open for another process that takes over the run.
func (a *ask) leaving() bool { return a.options.Leaving != nil && a.options.Leaving() }

// reportLate passes on an answer that decides nothing, so that it is recorded.
func (a *ask) reportLate(got reply) {
	if a.desk.Late != nil {
		got.Channel, got.Took = got.name, time.Since(a.start)
		a.desk.Late(a.request, got.Answer)
	}
}

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
	if !a.options.Borrowed {
		a.desk.markHere(a.request.ID, false)
	}
	answer.Tried, answer.Took = a.tried, cmp.Or(answer.Took, time.Since(a.asked))
	if a.inquires() && !answer.Allowed {
		answer.Detail = answer.unanswered()
	}
	return answer
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

// closeReplies makes every further reply a late one.
func (a *ask) closeReplies() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	for {
		select {
		case got := <-a.replies:
			got.decidesNothing()
			a.late(got)
		default:
			return
		}
	}
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
