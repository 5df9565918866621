package sandbox

import (
	"sync"
	"time"
)

// epoch is when this process started; clocks count from it, so that they never go back.
var epoch = time.Now()

func now() time.Duration { return time.Since(epoch) }

// tick is the last moment until t at which the real-time clock, in milliseconds, ticked. A program has two clocks. If
// they ticked at different moments, it could tell parts of a millisecond.
func tick(t time.Duration) time.Duration {
	return t - time.Duration(epoch.Add(t).Nanosecond())%time.Millisecond
}

// A stopwatch measures the time of a run, without pauses.
type stopwatch struct {
	mu      sync.Mutex
	started time.Duration
	pauses  int // that are under way
	since   time.Duration
	paused  time.Duration // in all, until since
}

// read returns the time from the start to t, and whether it runs.
func (w *stopwatch) read(t time.Duration) (d time.Duration, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d = t - w.started - w.paused
	if w.pauses > 0 {
		d -= t - w.since
	}
	return d, w.pauses == 0
}

func (w *stopwatch) at(t time.Duration) time.Duration {
	d, _ := w.read(t)
	return d
}

// pause stops it, until as many calls of resume.
func (w *stopwatch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses++; w.pauses == 1 {
		w.since = now()
	}
}

func (w *stopwatch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses--; w.pauses == 0 {
		w.paused += now() - w.since
	}
}

// An alarm is a timer for one goroutine.
type alarm struct {
	timer *time.Timer   // nil until it is first set
	rings time.Duration // when the timer fires; 0 after it has
}

// set makes the timer fire at that time, or earlier: its user then checks again, and resetting the timer for each call
// costs more.
func (a *alarm) set(at time.Duration) {
	switch {
	case a.timer == nil:
		a.timer = time.NewTimer(at - now())
	case a.rings > 0 && a.rings <= at:
		return
	default:
		a.timer.Reset(at - now())
	}
	a.rings = at
}
