package approvals

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

const (
	// DefaultTimeout is how long a person has when Options says nothing.
	DefaultTimeout = 2 * time.Minute
	// DefaultMinHuman is the time below which a refusal is taken for a program's. Reading a question takes longer.
	DefaultMinHuman = 300 * time.Millisecond
	// maxTurns bounds how long a question may wait for its turn in a channel, in units of the timeout.
	maxTurns = 10
	// proposeWait bounds how long the questions of one moment may take to be entered into the store.
	proposeWait = 4 * time.Second
)

// Options say how long to ask and what happens if nobody is there. The zero value refuses then.
type Options struct {
	Timeout time.Duration // zero is DefaultTimeout
	// Fallback allows the call when every channel says that it has no person (elicitationFallback "allow"). It never
	// counts for a risk above medium, nor after a channel failed or was answered, however oddly: a program that can
	// make a channel fail must not win by it. The caller leaves it out when a rule's condition was unknown.
	Fallback bool
	// MinHuman is how long a person needs at least. Zero judges refusals by DefaultMinHuman and leaves approvals alone;
	// a value judges both. It is a heuristic: an answer that took longer proves nothing.
	MinHuman time.Duration
	// OtherOnly says that who asked for the run may not answer (approver "other"): an answer counts only from a channel
	// that knows who gives it.
	OtherOnly bool
	// Await has a question wait for people who are not there yet, until its time is over. Without it, a channel where
	// nobody is when the question comes has no person; one who was there and left changes nothing.
	Await bool
	// Borrowed says that these are questions of another process: without an answer they stay open.
	Borrowed bool
	// Answered, if set, is told of each answer as soon as there is one, with its index: of those of one form the yeses
	// come first. It may be called by several goroutines, and holds up whatever is refused later.
	Answered func(i int, answer Result)
	// Leaving reports whether another process takes over the run. Then the questions stay open for it. Nil is never.
	Leaving func() bool
}

// A Desk asks people. The zero value is ready; one Desk serves any number of asks at once.
type Desk struct {
	// Late, if set, is told of a person's answer to a question that was already decided, to be recorded. The answer
	// changes nothing; its Channel and Took are set. It may be called concurrently.
	Late func(r *prompt.Request, a call.Answer)
	// Store keeps the questions and their answers; nil is one in memory, with which both end with the process.
	Store Store

	once     sync.Once
	channels sync.WaitGroup

	mu   sync.Mutex
	here map[string]bool // the questions that are asked here, by ID
}

func (d *Desk) store() Store {
	d.once.Do(func() {
		if d.Store == nil {
			d.Store = newStore(time.Now)
		}
	})
	return d.Store
}

// Use turns the yes of a [Result] into the one call that it is good for: the one that r describes now, if that is the
// one that was shown. [ErrChanged] says that it is another one, [ErrTaken] that the yes was used before or its time is
// over.
func (d *Desk) Use(ctx context.Context, t *Ticket, r *prompt.Request) error {
	if t == nil || !t.fits(r) {
		return ErrChanged
	}
	return d.store().Use(ctx, t.id, t.digest)
}

// Wait returns when every channel of every ask has returned, or when ctx ends. A channel may outlive its question when
// it does not honour its context. No Ask may start meanwhile.
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

// Ask puts r to every channel at once; the first clear answer wins and the other channels are cancelled. It always
// returns, at the latest when ctx or the time limit ends.
func (d *Desk) Ask(ctx context.Context, r *prompt.Request, channels []Channel, o Options) Result {
	return d.AskAll(ctx, []*prompt.Request{r}, channels, o)[0]
}

// AskAll puts calls to every channel at once, together where the channel is a [Gatherer], and returns an answer for
// each. Each call is decided by itself: the first clear answer to it wins, whatever becomes of the others.
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
	writing, cancel := context.WithTimeout(ctx, proposeWait) // all of them: who asks waits for them together
	defer cancel()
	for _, r := range calls {
		a := d.open(ctx, writing, r, from, o)
		a.round, round.asks = round, append(round.asks, a)
	}
	asks := round.asks
	for n, c := range channels {
		d.put(together, c, from[n], asks)
	}
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

// put puts over a channel those of a round that it can carry: together where the channel gathers, else each by itself.
func (d *Desk) put(together context.Context, c Channel, from source, asks []*ask) {
	var those []*ask
	for _, a := range asks {
		switch {
		case a.failed != nil || a.refused:
		case !from.mayAnswer(a.request.Risk):
			a.tried = append(a.tried, Try{Channel: from.name, Outcome: tooWeak})
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
