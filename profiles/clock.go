package profiles

import (
	"sync"
	"time"
)

// A Clock keeps time from going back, for [Call.Time]: setting the system's clock back does not revive a rule after its
// "until". The zero value is ready.
type Clock struct {
	mu     sync.Mutex
	latest time.Time
}

// At returns now, or the latest time that it ever got if that is later.
func (c *Clock) At(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.latest) {
		c.latest = now
	}
	return c.latest
}
