package approvals

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// DefaultTimeout is how long a person has when Options says nothing.
	DefaultTimeout = 2 * time.Minute
	// DefaultMinHuman is the time below which a refusal is taken for a program's. Reading a question takes longer.
	DefaultMinHuman = 300 * time.Millisecond
	// maxTurns bounds how long a question may wait for its turn in a channel, in units of the timeout.
	maxTurns = 10
)

// Options say how long to ask and what an empty room means. The zero value refuses when nobody is there.
type Options struct {
	Timeout time.Duration // zero is DefaultTimeout
	// Fallback allows the call when every channel says that it has no person (elicitationFallback "allow"). It never counts
	// for a risk above medium, nor after a channel failed or was answered, however oddly: a program that can make a channel
	// fail must not win by it. The caller leaves it out when a rule's condition was unknown.
	Fallback bool
	// MinHuman is how long a person needs at least. Zero judges refusals by DefaultMinHuman and leaves approvals alone; a
	// value judges both. It is a heuristic: an answer that took longer proves nothing.
	MinHuman time.Duration
}

// A Desk asks people. The zero value is ready; one Desk serves any number of asks at once.
type Desk struct {
	// Late, if set, is told of answers that came after the end, to be recorded. It may be called concurrently.
	Late func(LateAnswer)

	channels sync.WaitGroup
}

// A LateAnswer is a person's answer to a question that was already decided. It changes nothing.
type LateAnswer struct {
	Request *Request
	Channel string
	Reply   Reply
	Took    time.Duration
}

// Wait returns when every channel of every ask has returned, or when ctx ends. A channel may outlive its question when it does
// not honour its context. No Ask may start meanwhile.
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

// Ask puts r to every channel at once; the first clear answer wins and the other channels are cancelled. It always returns, at
// the latest when ctx or the time limit ends.
func (d *Desk) Ask(ctx context.Context, r *Request, channels []Channel, o Options) Answer {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	inner, stop := context.WithCancelCause(ctx)
	a := &ask{
		desk: d, request: r, options: o, start: time.Now(),
		replies: make(chan reply, len(channels)), turns: make(chan int), over: inner.Done(),
	}
	open := 0
	for _, c := range channels {
		name := nameOf(c)
		if !mayAnswer(c, r.Risk) {
			a.tried = append(a.tried, Try{Channel: name, Outcome: TooWeak})
			continue
		}
		open++
		d.channels.Go(func() { a.put(inner, c, name) })
	}
	answer := a.wait(ctx, open)
	stop(fmt.Errorf("%s", answer.closing()))
	a.end()
	answer.Tried, answer.Took = a.tried, time.Since(a.start)
	return answer
}

// An ask is one question while it is open.
type ask struct {
	desk    *Desk
	request *Request
	options Options
	start   time.Time
	replies chan reply // holds one of each channel, so that sending never blocks
	turns   chan int   // +1: a channel has to wait for its turn; -1: it is showing the question now
	over    <-chan struct{}
	tried   []Try // touched by Ask alone

	mu    sync.Mutex
	ended bool
}

// A reply is what one channel brought.
type reply struct {
	Reply
	channel string
	err     error
	took    time.Duration // since the channel showed the question
}

// put asks over one channel. What comes after the end goes to Desk.Late.
func (a *ask) put(ctx context.Context, c Channel, name string) {
	shown := a.start
	ctx = context.WithValue(ctx, pauseKey{}, func() func() {
		a.turn(+1)
		var once sync.Once
		return func() {
			once.Do(func() {
				a.mu.Lock()
				shown = time.Now()
				a.mu.Unlock()
				a.turn(-1)
			})
		}
	})
	got := reply{channel: name}
	got.Reply, got.err = askOver(ctx, c, a.request)

	a.mu.Lock()
	got.took = time.Since(shown)
	late := a.ended
	if !late {
		a.replies <- got
	}
	a.mu.Unlock()
	if late {
		a.late(got)
	}
}

func (a *ask) turn(n int) {
	select {
	case a.turns <- n:
	case <-a.over:
	}
}

func (a *ask) late(got reply) {
	if got.err == nil && a.desk.Late != nil {
		a.desk.Late(LateAnswer{Request: a.request, Channel: got.channel, Reply: got.Reply, Took: time.Since(a.start)})
	}
}

// end closes the question: replies that nobody looked at any more are late.
func (a *ask) end() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	for {
		select {
		case got := <-a.replies:
			a.late(got)
		default:
			return
		}
	}
}

// wait returns the answer of the first channel that brings a clear one, or says why there is none.
func (a *ask) wait(ctx context.Context, open int) Answer {
	deadline := a.start.Add(a.options.Timeout)
	timer := time.NewTimer(a.options.Timeout)
	last := time.NewTimer(maxTurns * a.options.Timeout)
	defer timer.Stop()
	defer last.Stop()
	waiting := 0
	for open > 0 {
		select {
		case <-ctx.Done():
			return withdrawn(ctx)
		case <-timer.C:
			return timedOut(a.options.Timeout)
		case <-last.C:
			return timedOut(maxTurns * a.options.Timeout)
		case n := <-a.turns:
			waiting += n
			if waiting > 0 {
				timer.Stop()
			} else {
				deadline = time.Now().Add(a.options.Timeout)
				timer.Reset(a.options.Timeout)
			}
		case got := <-a.replies:
			open--
			switch outcome := a.note(got); {
			case outcome == No:
				return declined(got)
			case outcome != Yes:
			case ctx.Err() != nil:
				a.late(got)
				return withdrawn(ctx)
			case waiting == 0 && !time.Now().Before(deadline):
				a.late(got)
				return timedOut(a.options.Timeout)
			default:
				if no, ok := a.contradicted(); ok {
					return declined(no)
				}
				return Answer{Allowed: true, How: ByPerson, Channel: got.channel, Reason: Words(got.Reason)}
			}
		}
	}
	if ctx.Err() != nil {
		return withdrawn(ctx)
	}
	return nobody(a.tried, a.request.Risk, a.options.Fallback)
}

// contradicted looks for a no that arrived together with a yes: of two answers at the same moment the no counts.
func (a *ask) contradicted() (reply, bool) {
	for {
		select {
		case got := <-a.replies:
			switch a.note(got) {
			case No:
				return got, true
			case Yes:
				a.late(got)
			}
		default:
			return reply{}, false
		}
	}
}

// note judges a reply and remembers how its channel fared.
func (a *ask) note(got reply) Outcome {
	outcome := judge(got, a.options.MinHuman)
	t := Try{Channel: got.channel, Outcome: outcome, Took: got.took}
	if got.err != nil {
		t.Error = Words(got.err.Error())
	}
	a.tried = append(a.tried, t)
	return outcome
}
