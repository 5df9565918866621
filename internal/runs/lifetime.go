package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/sandbox"
)

// ErrClosed is the error of an [Evaluator] that has been closed.
var ErrClosed = errors.New("the evaluator is closed")

// A Lifetime is the lifetime of an Evaluator: its end waits for everything that the Evaluator runs.
type Lifetime struct {
	Ctx    context.Context // ends when [Lifetime.End] is called
	cancel context.CancelCauseFunc
	drain  chan struct{} // closed when [Evaluator.Drain] begins

	mu      sync.Mutex
	closed  bool
	Running sync.WaitGroup // the work that the end waits for; added to under mu
}

func NewLifetime(ctx context.Context) *Lifetime {
	l := &Lifetime{drain: make(chan struct{})}
	l.Ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

// Background runs f on a goroutine that the end waits for.
func (l *Lifetime) Background(f func()) {
	if l.Enter() == nil {
		go func() {
			defer l.Running.Done()
			f()
		}()
	}
}

// Enter registers work that the end has to wait for, until Running.Done is called.
func (l *Lifetime) Enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.Running.Add(1)
	return nil
}

// End cancels the context and refuses new work. It reports whether it is the first call.
func (l *Lifetime) End() (first bool) {
	l.mu.Lock()
	first = !l.closed
	l.closed = true
	l.mu.Unlock()
	l.cancel(ErrClosed)
	return first
}

// Wait waits for running work, at most until ctx ends.
func (l *Lifetime) Wait(ctx context.Context) error {
	finished := make(chan struct{})
	go func() {
		l.Running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for running programs: %w", ctx.Err())
	}
}

// draining reports whether [Executor.Drain] was called.
func (l *Lifetime) draining() bool {
	select {
	case <-l.drain:
		return true
	default:
		return false
	}
}

// DefaultRefusals is how many refusals by people end a run when its profile sets no number.
const DefaultRefusals = 3

// ErrRefusals ends a run after people have refused too many of its calls.
var ErrRefusals = errors.New("too_many_refusals: people refused so many calls that the run was ended")

// errGivenUp ends a run in a process that stops; another one resumes it.
var errGivenUp = fmt.Errorf("%w: %w", ErrClosed, approvals.ErrLeaving)

// errTakenOver ends a run in a process from which another process has taken it.
var errTakenOver = fmt.Errorf("this process was taken for dead: %w", approvals.ErrLeaving)

// errWaitedLongest ends a run in favour of a later one of its principal.
var errWaitedLongest = errors.New("too_many_waiting: this principal's share of runs that wait for people is used up, and this " +
	"run has waited longest: answer or end some, and run it again")

// canceled describes the end of a run after its context ended. If failed calls then caused an exception, it is not the
// program's own.
func canceled(ended *sandbox.Error, cause error) error {
	if ended.Kind != sandbox.Canceled && ended.Kind != sandbox.Threw {
		return ended
	}
	message := "the run was canceled"
	switch {
	case cause == ErrClosed:
		message = "codemode stopped before the run ended"
	case cause == ErrRefusals, cause == errWaitedLongest, errors.Is(cause, approvals.ErrLeaving):
		message = cause.Error()
	}
	return &sandbox.Error{Kind: sandbox.Canceled, Message: message, Err: cause}
}
