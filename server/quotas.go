package server

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// What callers over HTTP share. One owner gets at most three quarters of each, so that something is left for the others.
const (
	// maxRequests is how many requests are served at once, open event streams included.
	maxRequests = 4096
	// maxBodies bounds the memory of all requests from their first byte to their answer, in bytes.
	maxBodies = 64 << 20
	// maxSessions is how many sessions there are, up to MCP 2025-11-25.
	maxSessions = 4096
	// maxConnections is how many connections with a request that was let in may be open.
	maxConnections = 4096
)

// quotas are what the clients of one [HTTP] share.
type quotas struct {
	requests, bodies, sessions, connections, turns *fair.Budget

	turnLength time.Duration
}

// newQuotas makes them for so many sessions and requests at once; 0 is the default.
func newQuotas(sessions, requests int) *quotas {
	return &quotas{
		requests:    fair.New("requests at once", int64(cmp.Or(requests, maxRequests)), 0),
		bodies:      fair.New("memory for requests", maxBodies, 0),
		sessions:    fair.New("sessions", int64(cmp.Or(sessions, maxSessions)), 0),
		connections: fair.New("connections", int64(max(requests, maxConnections)), 0),
		turns:       fair.New("turns", int64(max(4, turnsPerProcessor*runtime.GOMAXPROCS(0))), cmp.Or(requests, maxRequests)),
		turnLength:  turnLength,
	}
}

const (
	// turnsPerProcessor is how many requests each processor works on at once.
	turnsPerProcessor = 2
	// turnLength is how long a turn is at most. A request that takes longer waits for something, or its program has turns of
	// its own in the sandbox.
	turnLength = 10 * time.Millisecond
)

// turn waits until this process may work on a request, from its decoding to its answer or to the first tool that its
// program calls. Without turns the owner who sends most would get most: of 1,001 requests at once each gets a thousandth.
// Owners alternate, so a request waits for those in work, not for all that another owner has in the queue. over ends the
// turn, and may be called often; the error is the cause of ctx.
func (s *quotas) turn(ctx context.Context, owner string) (over func(), err error) {
	if err := s.turns.Acquire(ctx, owner, 1); err != nil {
		return nil, err
	}
	end := sync.OnceFunc(func() { s.turns.Release(owner, 1) })
	timer := time.AfterFunc(s.turnLength, end)
	return func() { timer.Stop(); end() }, nil
}

// retryAfter is how long a client is told to wait before it tries again, in seconds.
const retryAfter = 2

// refuseFull answers a request for which no quota is left: of the caller's own, or of all.
func refuseFull(w http.ResponseWriter, full *fair.Full) {
	status := http.StatusServiceUnavailable
	if full.Own {
		status = http.StatusTooManyRequests
	}
	retryLater(w, status, full.Error())
}

// retryLater refuses a request that may succeed later. The connection closes: the server waits for no more of the request,
// and the next one may find another process.
func retryLater(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}
