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
	// DefaultTimeout is how long a person has to answer when Options sets no timeout.
	DefaultTimeout = 2 * time.Minute
	// DefaultMinHuman is the shortest time for a person's refusal; a faster one counts as a program's. Reading a
	// question takes longer.
	DefaultMinHuman = 300 * time.Millisecond
	// maxTurns bounds how long a question may wait for its turn in a channel, in units of the timeout.
	maxTurns = 10
	// proposeWait bounds how long storing the questions of one moment may take.
	proposeWait = 4 * time.Second
)

// Options say how long to ask and what happens when nobody is available. The zero value refuses then.
type Options struct {
	Timeout time.Duration // zero is DefaultTimeout
	// Fallback allows the call when every channel says that it has no person (elicitationFallback "allow"). It never
	// counts for a risk above medium, nor after a channel failed or returned any answer, even an unclear one: a program
	// that can make a channel fail must not gain by it. The caller leaves Fallback out when a rule's condition was
	// unknown.
	Fallback bool
	// MinHuman is the least time a person needs. Zero judges refusals by DefaultMinHuman and accepts approvals of any
	// speed; a value judges both. It is a heuristic: an answer that took longer proves nothing.
	MinHuman time.Duration
	// OtherOnly says that the person who started the run may not answer (approver "other"): an answer counts only from
	// a channel that knows who gives it.
	OtherOnly bool
	// Await keeps a question open until its deadline for people who are not there yet. Without it, a channel has no
	// person if nobody is there when the question arrives; it makes no difference if somebody was there and left. It
	// ends when somebody closes the question or answers without a clear yes or no: then only people who are there count.
	Await bool
	// Borrowed marks questions of another process: without an answer they stay open.
	Borrowed bool
	// Answered, if set, is called with each answer as soon as it exists, and its index. Of the answers of one form, the
	// yeses come first. It may be called by several goroutines, and delays every later refusal.
	Answered func(i int, answer Result)
	// Leaving reports whether another process takes over the run; the questions then stay open for it. Nil means never.
	Leaving func() bool
}

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
