package approvals

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

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

// A move is a notice of a channel while the question is open.
type move struct {
	source
	turn int // +1: it has to wait for its turn; -1: it is showing the question now
	away int // +1: nobody is there; -1: somebody is
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

// A crash is a panic in a channel.
type crash struct {
	value any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("the channel crashed: %v", c.value) }

func crashed(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &crash{p, debug.Stack()}
		}
	}()
	return do()
}
