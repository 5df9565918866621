package upstream

import (
	"math/rand/v2"
	"time"
)

// How long to wait before restarting a server. The first restart after a steady time is almost immediate; the
// supervisor tries a server that keeps failing once a minute.
const (
	firstPause = 100 * time.Millisecond
	basePause  = 500 * time.Millisecond
	maxPause   = time.Minute

	// steadyTime is how long a connection must last to count as a good one.
	steadyTime = 30 * time.Second
)

// A backoff gives the pauses after failures in a row.
type backoff struct{ failures int }

// next returns a pause that doubles each time, with a jitter of up to a half, so
// that servers that died together do not start together.
func (b *backoff) next() time.Duration {
	d := firstPause
	if b.failures > 0 {
		d = min(basePause<<min(b.failures-1, 16), maxPause)
	}
	b.failures++
	return d/2 + rand.N(d)
}

func (b *backoff) reset() { b.failures = 0 }
