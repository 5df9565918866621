package approvals

import (
	"context"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// An ask is one open question.
type ask struct {
	store   Store
	lateTo  func(*prompt.Request, call.Answer) // see Desk.Late
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
	closed  func() // notes that this process no longer asks; nil for a question of another process

	mu    sync.Mutex
	ended bool
}

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

// A source identifies the channel that a reply comes from.
type source struct {
	n    int // index among the channels of the question
	name string

	strong, inquires, edits, notices bool
}

// mayAnswer reports whether a yes from this channel could count.
func (s *source) mayAnswer(risk call.Risk) bool { return risk.FormSuffices() || s.strong }

// mayCarry reports whether the channel can show this kind of question.
func (s *source) mayCarry(r *prompt.Request) bool { return r.Inquiry == nil || s.inquires }

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

// A move is a notice of a channel while the question is open.
type move struct {
	source
	turn int // +1: it has to wait for its turn; -1: it is showing the question now
	away int // +1: nobody is there; -1: somebody is
}

// A round is the questions that are asked at the same moment. Approvals take effect before refusals that come later or
// in the same form: a refusal may end the program that asked.
type round struct {
	asks []*ask

	mu   sync.Mutex
	open int           // yeses that were given and not yet delivered
	none chan struct{} // closed when open is 0
}

func newRound() *round {
	r := &round{none: make(chan struct{})}
	close(r.none)
	return r
}

// allowed counts a yes. Call told when the asker has received it, or when it does not count.
func (r *round) allowed() (told func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open++; r.open == 1 {
		r.none = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open--; r.open == 0 {
			close(r.none)
		}
	})
}

func (a *ask) inquires() bool { return a.request.Inquiry != nil }

// leaving reports whether the question stays open for another process that takes over the run.
func (a *ask) leaving() bool { return a.options.Leaving != nil && a.options.Leaving() }
