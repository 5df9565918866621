package codemode

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrClosed is the error of an [Evaluator] that has been closed.
var ErrClosed = errors.New("the evaluator is closed")

// A lifetime is that of an Evaluator: what runs in it is waited for at its end.
type lifetime struct {
	ctx    context.Context // ends when the end begins; it is no call's context
	cancel context.CancelCauseFunc
	drain  chan struct{} // closed when [Evaluator.Drain] begins

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // what the end waits for; added to under mu
}

func newLifetime(ctx context.Context) *lifetime {
	l := &lifetime{drain: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

// background runs f on a goroutine that the end waits for.
func (l *lifetime) background(f func()) {
	if l.enter() == nil {
		go func() {
			defer l.running.Done()
			f()
		}()
	}
}

// enter announces work that the end has to wait for; running.Done ends it.
func (l *lifetime) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.running.Add(1)
	return nil
}

// end begins the end. It reports whether it is the first to do so.
func (l *lifetime) end() (first bool) {
	l.mu.Lock()
	first = !l.closed
	l.closed = true
	l.mu.Unlock()
	l.cancel(ErrClosed)
	return first
}

// wait waits for what runs, at most until ctx ends.
func (l *lifetime) wait(ctx context.Context) error {
	finished := make(chan struct{})
	go func() {
		l.running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for running programs: %w", ctx.Err())
	}
}
