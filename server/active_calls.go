package server

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errClientGone ends the calls of a client that has disconnected.
var errClientGone = errors.New("the client is gone")

// An activeCall is a call in progress that other code can cancel.
type activeCall struct {
	session *mcp.ServerSession // nil if the call is not bound to one
	http    *httpRequest       // nil over stdio
	cancel  context.CancelCauseFunc
}

// activeCalls holds the calls in progress. A holder of any other lock may acquire its lock.
type activeCalls struct {
	mu  sync.Mutex
	all map[*activeCall]struct{}
}

// begin adds a call until done is called.
func (cs *activeCalls) begin(c *activeCall) (done func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = map[*activeCall]struct{}{}
	}
	cs.all[c] = struct{}{}
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.all, c)
	}
}

// end cancels the matching calls.
func (cs *activeCalls) end(because error, match func(*activeCall) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.all {
		if match(c) {
			c.cancel(because)
		}
	}
}

// overHTTP matches calls that came over [HTTP].
func overHTTP(c *activeCall) bool { return c.http != nil }

// of matches the calls of one session.
func of(session *mcp.ServerSession) func(*activeCall) bool {
	return func(c *activeCall) bool { return c.session == session }
}
