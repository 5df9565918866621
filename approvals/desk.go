package approvals

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Desk asks people. The zero value is ready; one Desk serves any number of asks at once.
type Desk struct {
	// Late, if set, is called with a person's answer to a question that was already decided, so that it can be
	// recorded. The answer changes nothing; its Channel and Took are set. Late may be called concurrently.
	Late func(r *prompt.Request, a call.Answer)
	// Opened, if set, is called with the new questions of one moment, so that people can be notified. It must not block.
	// It is called once for a question, in the process that asks it first.
	Opened func(all []Opening)
	// Store keeps the questions and their answers. Nil keeps them in memory, until the process ends.
	Store Store

	once     sync.Once
	channels sync.WaitGroup

	mu   sync.Mutex
	here map[string]bool // the questions that this process asks, by ID
}

func (d *Desk) store() Store {
	d.once.Do(func() {
		if d.Store == nil {
			d.Store = newStore(time.Now)
		}
	})
	return d.Store
}

// Use spends the yes of a [Result] on the one call that r describes now, if that is the call that was shown.
// [ErrChanged] says that the call is another one, [ErrTaken] that the yes is used or expired.
func (d *Desk) Use(ctx context.Context, t *Ticket, r *prompt.Request) error {
	if t == nil || !t.fits(r) {
		return ErrChanged
	}
	return d.store().Use(ctx, t.id, t.digest)
}

// Wait returns when every channel of every ask has returned, or when ctx ends. A channel that ignores its context may
// outlive its question. Start no Ask meanwhile.
func (d *Desk) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { d.channels.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for channels that do not stop: %w", context.Cause(ctx))
	}
}

// Ask sends r to every channel at once. The first clear answer wins, and Ask cancels the other channels. It always
// returns, at the latest when ctx or the time limit ends.
func (d *Desk) Ask(ctx context.Context, r *prompt.Request, channels []Channel, o Options) Result {
	return d.AskAll(ctx, []*prompt.Request{r}, channels, o)[0]
}

// AskAll sends calls to every channel at once, together where the channel is a [Gatherer], and returns an answer for
// each. Each call is decided separately: the first clear answer to it wins, whatever the answers to the others.
func (d *Desk) AskAll(ctx context.Context, calls []*prompt.Request, channels []Channel, o Options) []Result {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	together, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	from := make([]source, len(channels))
	for n, c := range channels {
		from[n] = sourceOf(n, c)
	}
	round := newRound()
	writing, cancel := context.WithTimeout(ctx, proposeWait) // for all of them: the asker waits for them together
	defer cancel()
	for _, r := range calls {
		a := d.open(ctx, writing, r, from, o)
		a.request.Elsewhere = WhoAnswers(Places(channels, r.Risk), call.Critical) // where no form suffices
		a.round, round.asks = round, append(round.asks, a)
	}
	asks := round.asks
	for n, c := range channels {
		d.put(together, c, from[n], asks)
	}
	d.opened(asks, channels, from)
	if store, ok := d.store().(SharedStore); ok {
		for _, a := range asks {
			if a.failed == nil && !a.refused {
				d.channels.Go(func() { a.follow(store) })
			}
		}
	}
	answers := make([]Result, len(asks))
	var deciding sync.WaitGroup
	for i, a := range asks {
		deciding.Go(func() {
			answers[i] = a.decide(ctx)
			if o.Answered != nil {
				o.Answered(i, answers[i])
			}
			close(a.told)
			if a.over != nil {
				a.over()
			}
		})
	}
	deciding.Wait()
	if len(answers) > 0 {
		stop(answers[len(answers)-1].closing())
	}
	return answers
}

// put sends the questions of a round that a channel can carry: together if the channel is a Gatherer, else one by one.
func (d *Desk) put(together context.Context, c Channel, from source, asks []*ask) {
	var those []*ask
	for _, a := range asks {
		switch {
		case a.failed != nil || a.refused:
		case !from.mayAnswer(a.request.Risk):
			a.tried = append(a.tried, Try{Channel: from.name, Outcome: tooWeak})
			if n, ok := c.(Noticer); ok {
				d.channels.Go(func() {
					_ = crashed(func() error { n.Notice(a.inner, a.request); return nil })
				})
			}
		case !from.mayCarry(a.request):
			a.tried = append(a.tried, Try{Channel: from.name, Outcome: Unable})
		default:
			a.waiting++
			those = append(those, a)
		}
	}
	if g, ok := c.(Gatherer); ok && len(those) > 1 && !slices.ContainsFunc(those, (*ask).inquires) {
		d.channels.Go(func() { newShowing(from, those).askAll(together, g) })
		return
	}
	for _, a := range those {
		d.channels.Go(func() { newShowing(from, []*ask{a}).ask(a.inner, c) })
	}
}

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
		store: d.store(), lateTo: d.Late, request: &copied, options: o, start: start, asked: start,
		replies: make(chan reply, len(channels)+1), moves: make(chan move), told: make(chan struct{}),
		no: make(chan struct{}), round: newRound(),
	}
	a.inner, a.stop = context.WithCancelCause(ctx)
	if !o.Borrowed {
		a.closed = func() { d.markHere(copied.ID, false) }
	}
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
			a.failed = propose(writing, a.store, &copied, channels, o)
		}
	}
	if !again || !o.Borrowed { // a repeated question may belong to this process, which asks another client
		d.markHere(copied.ID, !o.Borrowed)
	}
	return a
}

// useWithin is how long a yes stays usable after the last moment at which a person can give it.
const useWithin = time.Minute

// opened tells of the questions that are new.
func (d *Desk) opened(asks []*ask, channels []Channel, from []source) {
	if d.Opened == nil {
		return
	}
	var all []Opening
	for _, a := range asks {
		if a.failed != nil || a.refused || a.again {
			continue
		}
		o := Opening{Request: a.request, Over: a.told, stays: a.leaving}
		for n, c := range channels {
			if q, ok := c.(*Queue); ok && from[n].mayAnswer(a.request.Risk) {
				o.queues = append(o.queues, q)
			}
		}
		if a.waiting > 0 {
			all = append(all, o)
		}
	}
	if len(all) > 0 {
		d.Opened(all)
	}
}

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

// An Opening is a new question that somebody may answer. Do not change its request.
type Opening struct {
	Request *prompt.Request
	// Over is closed when this process no longer asks the question.
	Over <-chan struct{}

	stays  func() bool
	queues []*Queue // that can answer it
}

// OnPage reports whether people with a proven identity may answer the question elsewhere, on a page: at a queue of
// [NewStrongQueue].
func (o *Opening) OnPage() bool { return slices.ContainsFunc(o.queues, (*Queue).Strong) }

// Attended reports whether somebody has a seat at a [Queue] who may answer the question, in this process or in another
// one.
func (o *Opening) Attended() bool {
	return slices.ContainsFunc(o.queues, func(q *Queue) bool { return q.sees(o.Request) })
}

// StaysOpen reports, when the question is over here, whether it stays open for a process that takes over its run.
func (o *Opening) StaysOpen() bool { return o.stays != nil && o.stays() }

// sees reports whether somebody has a seat for a question, here or in another process.
func (q *Queue) sees(r *prompt.Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remoteSeat || q.somebody(r)
}
