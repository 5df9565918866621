package hostfns

import (
	"context"
	"sync"
	"time"
)

// A clock ends the context of a call when its time is up. It stops while the call waits for a person, and so does the
// clock of the run.
type clock struct {
	end context.CancelCauseFunc
	run func() (resume func()) // stops the run's clock; may be nil

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // the time left when the timer was last started
	began  time.Time     // when it was last started
	pauses int
}

// newClock starts the clock of a call. It returns the context that ends with it, with the cause
// [context.DeadlineExceeded]. Call over when the call is over.
func newClock(ctx context.Context, limit time.Duration, run func() func()) (timed context.Context, c *clock,
	over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c = &clock{end: cancel, run: run, left: limit, began: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		c.pauses++ // prevents a restart
		cancel(nil)
	}
}

// pause stops the clock of the call and that of its run. The returned function restarts both; call it exactly once.
func (c *clock) pause() (resume func()) {
	resumeRun := func() {}
	if c.run != nil {
		resumeRun = c.run()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && c.timer.Stop() {
		c.left -= time.Since(c.began)
	}
	return func() {
		resumeRun()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pauses--; c.pauses == 0 {
			c.began = time.Now()
			c.timer.Reset(max(c.left, 0))
		}
	}
}
