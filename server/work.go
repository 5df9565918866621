package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// work counts what must end before the process may stop: HTTP requests until their responses, and calls that continue
// without a request.
type work struct {
	mu       sync.Mutex
	n        int
	draining bool
	idle     chan struct{} // closed when n is 0; nil until drain
}

// begin reports whether the process is about to stop. Every begin needs an end, whatever it returns.
func (w *work) begin() (draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return w.draining
}

func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// drain returns a channel that is closed when there is no work.
func (w *work) drain() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	idle := make(chan struct{})
	if w.n == 0 {
		close(idle)
	} else {
		w.idle = idle
	}
	return idle
}

// closeWait is how long calls have to end after their cancellation.
const closeWait = 5 * time.Second

// within waits for a group and reports whether it ended in time.
func within(wait time.Duration, group *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(wait):
		return false
	}
}

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
