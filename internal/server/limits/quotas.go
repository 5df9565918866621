// Package limits bounds what callers over HTTP can use up: connections, requests, sessions, memory, turns of the
// processors, and entries of the record. It knows nothing of MCP.
package limits

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// These limits are for all callers over HTTP together. One owner gets at most three quarters of each, so that the
// others keep a share.
const (
	// maxRequests is how many requests the server handles at once, including open event streams.
	maxRequests = 4096
	// maxBodies bounds the memory of all requests from their first byte to their response, in bytes.
	maxBodies = 64 << 20
	// maxSessions is how many sessions there are, up to MCP 2025-11-25.
	maxSessions = 4096
	// maxConnections is how many connections with an admitted request may be open.
	maxConnections = 4096
)

// Quotas are what the clients of one listener share. Sessions are those up to MCP 2025-11-25.
type Quotas struct {
	Requests, Bodies, Sessions, Connections, Turns *fair.Budget

	TurnLength time.Duration // at most

	group string
}

// New makes them for so many sessions and requests at once; 0 is the default. group is the tenant of their owners, ""
// without tenants.
func New(sessions, requests int, group string) *Quotas {
	turns := fair.Cores() + 1
	if group != "" {
		turns = (4*turns + 2) / 3 // a group may have three quarters of a budget
	}
	return &Quotas{
		group:       group,
		Requests:    fair.New("requests at once", int64(cmp.Or(requests, maxRequests)), 0),
		Bodies:      fair.New("memory for requests", maxBodies, 0),
		Sessions:    fair.New("sessions", int64(cmp.Or(sessions, maxSessions)), 0),
		Connections: fair.New("connections", int64(max(requests, maxConnections)), 0),
		Turns:       fair.New("turns", int64(turns), cmp.Or(requests, maxRequests)).ByTime(fair.Processors),
		TurnLength:  turnLength,
	}
}

// turnLength is the maximum length of a turn. A request that takes longer is waiting for something.
const turnLength = 10 * time.Millisecond

// Turn waits until this process may work on a request, from decoding it to its response, or until its program waits for
// something or has computed for a while: then it has turns of its own in the sandbox. Without turns the owner who sends
// most would get most: of 1,001 concurrent requests each gets a thousandth. Owners get the same time of
// [fair.Processors], with that of their guests, so a request waits for the requests in progress, not for another
// owner's whole queue. over ends the turn; callers may call it repeatedly. The error is the cause of ctx.
func (q *Quotas) Turn(ctx context.Context, owner string) (over func(), err error) {
	owner = fair.In(q.group, owner)
	if err := q.Turns.Acquire(ctx, owner, 1); err != nil {
		return nil, err
	}
	began := time.Now()
	end := sync.OnceFunc(func() {
		fair.Processors.Charge(owner, time.Since(began))
		q.Turns.Release(owner, 1)
	})
	timer := time.AfterFunc(q.TurnLength, end)
	return func() { timer.Stop(); end() }, nil
}

// Memory begins to hold memory for a request.
func (q *Quotas) Memory(owner string) *Memory { return &Memory{budget: q.Bodies, owner: owner} }

// A Memory is what a request of an owner holds of [Quotas.Bodies]. The zero value is not usable; see [Quotas.Memory].
type Memory struct {
	budget *fair.Budget
	owner  string
	bytes  int64
}

// Grow acquires more, up to n bytes in all. The error is a [*fair.Full].
func (b *Memory) Grow(n int64) error {
	if n <= b.bytes {
		return nil
	}
	if err := b.budget.Try(b.owner, n-b.bytes); err != nil {
		return err
	}
	b.bytes = n
	return nil
}

// Release releases all of it. Callers may call it twice.
func (b *Memory) Release() {
	if b.bytes > 0 {
		b.budget.Release(b.owner, b.bytes)
		b.bytes = 0
	}
}

// Again acquires the same amount once more, for data that outlives the request. The error is a [*fair.Full].
func (b *Memory) Again() (release func(), err error) {
	own := &Memory{budget: b.budget, owner: b.owner}
	return own.Release, own.Grow(b.bytes)
}
