package approvals

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A Channel is a way to reach a person. Ask shows s.Request, waits for an answer and returns it. It returns early when
// ctx ends: its [context.Cause] says why in words fit to show. It may be called for several questions at once, and must
// not change the request.
//
// An error means that this channel has no answer; it never counts as a person's no. Some errors say more:
// [ErrNoPerson], [ErrCannotAsk], [prompt.ErrDismissed], [prompt.ErrUnclear].
type Channel interface {
	Name() string
	Ask(ctx context.Context, s *Showing) (call.Answer, error)
}

// A Strong channel knows more about who answers than that some program sent a form: a typed code on the person's own
// terminal, or a page behind a login. Only a strong channel may approve a call of critical risk; the Desk does not ask
// the others.
type Strong interface {
	Channel
	Strong() bool
}

// A Gatherer is a Channel that shows several calls, s.Calls, as one form with a decision for each. It returns an answer
// to each call, in the order of s.Calls. The Desk asks other channels about each call separately.
type Gatherer interface {
	Channel
	AskAll(ctx context.Context, s *Showing) ([]call.Answer, error)
}

// An Inquirer is a channel that can ask a [prompt.Inquiry]. The Desk does not ask other channels: they report that they
// cannot ask it.
type Inquirer interface {
	Channel
	Inquires() bool
}

// An Editor is a channel that lets a person change the arguments it shows, and reliably reports when they did.
type Editor interface {
	Channel
	Edits() bool
}

// A Noticer is a channel that shows questions that it may not answer, so that people learn of them. Notice returns when
// ctx ends. Whoever sees the question there does not count as somebody who may answer it.
type Noticer interface {
	Channel
	Notice(ctx context.Context, r *prompt.Request)
}

// CheckChannels returns an error if one of the channels is nil; list is their name in the error.
func CheckChannels(list string, channels []Channel) error {
	for i, c := range channels {
		if v := reflect.ValueOf(c); c == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%s[%d] is nil", list, i)
		}
	}
	return nil
}

// MaxRounds is how many questions one call of a tool may return in MCP 2026-07-28 before clients give up.
const MaxRounds = 9

// guarded calls a method of a channel. If the method panics, guarded returns no: a crash must not bypass the question.
func guarded[T any](no T, method func() T) (got T) {
	defer func() {
		if recover() != nil {
			got = no
		}
	}()
	return method()
}

// sourceOf describes channel number n of a question.
func sourceOf(n int, c Channel) source {
	from := source{n: n, name: prompt.Words(guarded("unnamed", func() string { return c.Name() }))}
	if s, ok := c.(Strong); ok {
		from.strong = guarded(false, s.Strong)
	}
	if i, ok := c.(Inquirer); ok {
		from.inquires = guarded(false, i.Inquires)
	}
	if e, ok := c.(Editor); ok {
		from.edits = guarded(false, e.Edits)
	}
	_, from.notices = c.(Noticer)
	return from
}

// A Showing is a question on its way to people over one channel. It accepts the channel's notices before there is an
// answer. In a Showing that the Desk did not make, such as &Showing{Request: r} in a test, notices have no effect.
type Showing struct {
	*prompt.Request                   // the question; the first of several calls
	Calls           []*prompt.Request // all calls of one form, for a [Gatherer]

	from    source
	asks    []*ask
	brought []bool // used only by the goroutine of the channel

	mu sync.Mutex
	at time.Time // when it was shown
}

func newShowing(from source, asks []*ask) *Showing {
	s := &Showing{Request: asks[0].request, from: from, asks: asks, brought: make([]bool, len(asks)), at: asks[0].start}
	for _, a := range asks {
		s.Calls = append(s.Calls, a.request)
	}
	return s
}

func (s *Showing) tell(m move) {
	m.source = s.from
	for _, a := range s.asks {
		select {
		case a.moves <- m:
		case <-a.inner.Done():
		}
	}
}

// Waiting tells the Desk that the question waits for its turn in a channel that shows one at a time. The clock of the
// question stands still until the channel calls the returned function, when it shows the question.
func (s *Showing) Waiting() (shown func()) {
	if s == nil {
		return func() {}
	}
	s.tell(move{turn: +1})
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.at = time.Now()
		s.mu.Unlock()
		s.tell(move{turn: -1})
	})
}

// absent tells the Desk that nobody is there to see the question now, though somebody may come. The question ends when
// every channel without an answer has called absent. Call the returned function when somebody has come.
func (s *Showing) absent() (back func()) {
	s.tell(move{away: +1})
	return sync.OnceFunc(func() { s.tell(move{away: -1}) })
}

// Answered delivers the answer to call i of an AskAll before the answers to the others: it takes effect at once. The
// result of AskAll for that call no longer counts. Call it from the goroutine of AskAll.
func (s *Showing) Answered(i int, a call.Answer) {
	if i < len(s.asks) {
		s.bring(i, a, s.sinceShown())
	}
}

func (s *Showing) bring(i int, a call.Answer, took time.Duration) {
	if !s.brought[i] {
		s.brought[i] = true
		s.asks[i].bring(reply{source: s.from, Answer: a, took: took})
	}
}

func (s *Showing) sinceShown() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.at)
}

// ask sends one question over a channel. A panic must not bypass the question.
func (s *Showing) ask(ctx context.Context, c Channel) {
	var a call.Answer
	err := crashed(func() (err error) { a, err = c.Ask(ctx, s); return err })
	if err != nil {
		a = call.Answer{Err: err}
	}
	s.bring(0, a, s.sinceShown())
}

// askAll sends several questions over a channel that shows them together. Approvals come first, see round.
func (s *Showing) askAll(ctx context.Context, g Gatherer) {
	var all []call.Answer
	err := crashed(func() (err error) { all, err = g.AskAll(ctx, s); return err })
	if err == nil && len(all) != len(s.asks) {
		err = fmt.Errorf("%w: %d answers to %d questions", prompt.ErrUnclear, len(all), len(s.asks))
	}
	took := s.sinceShown()
	for _, yes := range []bool{true, false} {
		for i := range s.asks {
			a := call.Answer{Err: err}
			if err == nil {
				a = all[i]
			}
			if yes == (a.Err == nil && a.Allowed) {
				s.bring(i, a, took)
			}
		}
	}
}
