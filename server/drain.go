package server

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
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

// Drain prepares for the end of the process: from now on the server refuses new programs and new sessions with 503 and
// Retry-After. Running programs continue, and their clients get their answers. Drain parks runs that wait for a person,
// and tells their clients how to come back. When ctx ends, Drain ends the programs that still run, and tells their
// clients what the programs did. Call it once, before Close.
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

// Grace is how long the configuration gives programs to finish, http.HTTP.Grace; nil if it does not say.
func (h *HTTP) Grace() *time.Duration { return h.config.Load().HTTP.Grace }

// ShutdownDelay is how long the configuration wants the process to go on after the signal to stop.
func (h *HTTP) ShutdownDelay() time.Duration { return h.config.Load().HTTP.ShutdownDelay }

// TLS is the certificate that the configuration names; nil if it names none.
func (h *HTTP) TLS() *config.TLS { return h.config.Load().HTTP.TLS }

// begins reports whether a request starts a session or a tool call, or comes back to a waiting call.
func begins(body []byte) bool {
	return slices.ContainsFunc(messages(body), func(m message) bool {
		return m.Method == "tools/call" || m.Method == "initialize"
	})
}

// A message is what the server reads of a message of the protocol before the SDK does.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// messages reads the messages of a request. The SDK reports what is wrong with them.
func messages(body []byte) (all []message) {
	var one message
	if json.Unmarshal(body, &one) == nil {
		return []message{one}
	}
	_ = json.Unmarshal(body, &all)
	return all
}

// tool returns the name of the tool that a message calls, "" if it calls none.
func (m message) tool() string {
	var call struct {
		Name string `json:"name"`
	}
	if m.Method != "tools/call" || json.Unmarshal(m.Params, &call) != nil {
		return ""
	}
	return call.Name
}
