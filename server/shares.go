package server

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/codemode-project/codemode/internal/fair"
)

// What clients over HTTP share. One principal gets at most three quarters of each, so that something is left for the others.
const (
	// maxRequests is how many requests are served at once, event streams that are open among them.
	maxRequests = 4096
	// maxBodies bounds, in bytes, the requests that were received or are being received, for as long as they are served.
	maxBodies = 64 << 20
	// maxSessions is how many sessions there are, up to MCP 2025-11-25.
	maxSessions = 4096
	// maxConnections is how many connections have sent a request that was let in.
	maxConnections = 4096
)

// shares are what the clients of one [HTTP] share.
type shares struct {
	requests, bodies, sessions, connections *fair.Budget
}

// newShares makes them for so many sessions, and requests at once; 0 is as many as usual.
func newShares(sessions, requests int) *shares {
	return &shares{
		requests:    fair.New("requests at once", int64(cmp.Or(requests, maxRequests)), 0),
		bodies:      fair.New("memory for requests", maxBodies, 0),
		sessions:    fair.New("sessions", int64(cmp.Or(sessions, maxSessions)), 0),
		connections: fair.New("connections", int64(max(requests, maxConnections)), 0),
	}
}

// retryAfter is how long a client is told to wait when a share is used up, in seconds.
const retryAfter = 2

// refuseFull answers a request for which nothing is left: of the caller's own share, or of the whole.
func refuseFull(w http.ResponseWriter, full *fair.Full) {
	status := http.StatusServiceUnavailable
	if full.Own {
		status = http.StatusTooManyRequests
	}
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.Header().Set("Connection", "close") // what is left of the request is not waited for
	http.Error(w, full.Error(), status)
}

// A bodyHold is the memory that requests of one owner take.
type bodyHold struct {
	budget *fair.Budget
	owner  string
	bytes  int64
}

// grow takes more, up to n bytes in all. The error is a [*fair.Full].
func (b *bodyHold) grow(n int64) error {
	if n <= b.bytes {
		return nil
	}
	if err := b.budget.Try(b.owner, n-b.bytes); err != nil {
		return err
	}
	b.bytes = n
	return nil
}

func (b *bodyHold) release() {
	if b.bytes > 0 {
		b.budget.Release(b.owner, b.bytes)
		b.bytes = 0
	}
}

// again holds as much once more, for what outlives the request. The error is a [*fair.Full].
func (b *bodyHold) again() (release func(), err error) {
	own := &bodyHold{budget: b.budget, owner: b.owner}
	return own.release, own.grow(b.bytes)
}
