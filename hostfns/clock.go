package hostfns

import (
	"context"
	"sync"
	"time"
)

// A clock ends the context of a call when the call's time is up. It stands
// still while a person is awaited, and so does the run's.
type clock struct {
	end context.CancelCauseFunc
	run func() (resume func()) // stops the run's clock; may be nil

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration // what the timer had to go when it was started last
	began  time.Time     // when that was
	pauses int
}

type clockKey struct{}

// withClock is [context.WithTimeout] with a clock that [Pause] can stop. When
// the time is up the cause is [context.DeadlineExceeded].
func withClock(ctx context.Context, limit time.Duration, run func() func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{end: cancel, run: run, left: limit, began: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, clockKey{}, c), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		c.pauses++ // it is not started again
		cancel(nil)
	}
}

// Pause stops the clock of the call that ctx belongs to, and that of its run,
// while a person is awaited for it. The returned function lets both go on; it
// must be called once. Where there is no such call nothing happens.
func Pause(ctx context.Context) (resume func()) {
	c, _ := ctx.Value(clockKey{}).(*clock)
	if c == nil {
		return func() {}
	}
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
