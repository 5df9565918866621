package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
)

// work counts what has to come to its end before the process may stop: requests over HTTP that get an answer, and
// calls that go on without one.
type work struct {
	mu       sync.Mutex
	n        int
	draining bool
	idle     chan struct{} // closed when there is none any more; nil until drain
}

// begin reports whether the process is about to stop. end has to be called in any case.
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

// Drain prepares for the end of the process: from now on new programs and new sessions are refused with 503 and
// Retry-After. Programs that run go on, and their clients get their answers; runs that wait for a person are put
// away, and their clients are told how to come back. When ctx ends, what still runs is ended, and its clients are
// told what it did. It is called once, before Close.
func (h *HTTP) Drain(ctx context.Context) {
	idle := h.server.work.drain()
	h.server.evaluator.Runs().Drain(ctx)
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	h.server.calls.end(codemode.ErrClosed, overHTTP)
	select {
	case <-idle:
	case <-time.After(closeWait):
	}
}

// Draining reports whether Drain was called.
func (h *HTTP) Draining() bool {
	w := &h.server.work
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

// Grace is what the configuration says about how long programs have to finish, http.grace; nil is nothing.
func (h *HTTP) Grace() *time.Duration { return h.config.Load().grace }

// begins reports whether a request begins something, or comes back for something that waits: calls of tools, and new
// sessions.
func begins(body []byte) bool {
	type message struct {
		Method string `json:"method"`
	}
	var one message
	var batch []message
	if json.Unmarshal(body, &one) == nil {
		batch = append(batch, one)
	} else if json.Unmarshal(body, &batch) != nil {
		return false // the SDK says what is wrong with it
	}
	for _, m := range batch {
		if m.Method == "tools/call" || m.Method == "initialize" {
			return true
		}
	}
	return false
}
