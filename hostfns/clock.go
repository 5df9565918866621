package hostfns

import (
	"context"
	"sync"
	"time"
)

// A clock ends the context of a call when its time is up. It is stopped while a person is awaited, and so is the clock
// of the run.
type clock struct {
	end context.CancelCauseFunc
	run func() (resume func()) // stops the run's clock; may be nil

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // what the timer had to go when it was started last
	began  time.Time     // when that was
	pauses int
}

// newClock begins the time of a call. It gives the context that ends with it, whose cause is then
// [context.DeadlineExceeded]. over has to be called when the call is over.
func newClock(ctx context.Context, limit time.Duration, run func() func()) (timed context.Context, c *clock,
	over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c = &clock{end: cancel, run: run, left: limit, began: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		c.pauses++ // it is not started again
		cancel(nil)
	}
}

// pause stops the clock of the call and that of its run. The returned function lets both go on; it must be called once.
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
