package profiles

import (
	"sync"
	"time"
)

// A Clock keeps time from going back, for [Call.Time]: a rule whose "until" has passed is
// not brought back to life by setting the system's clock. The zero value is ready.
type Clock struct {
	mu     sync.Mutex
	latest time.Time
}

// At gives now, or the latest time it was ever given if that is later.
func (c *Clock) At(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.latest) {
		c.latest = now
	}
	return c.latest
}
