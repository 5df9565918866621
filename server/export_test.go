package server

import (
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

// Shrink makes what clients share small, for tests. It is called before the first request.
func (h *HTTP) Shrink(requests, bodies, sessions, connections int64) {
	small := &quotas{
		requests: fair.New("requests at once", requests, 0), bodies: fair.New("memory for requests", bodies, 0),
		sessions: fair.New("sessions", sessions, 0), connections: fair.New("connections", connections, 0),
		turns: h.quotas.turns, turnLength: h.quotas.turnLength,
	}
	*h.quotas = *small
	h.connections.budget = small.connections
}

// Shared says how much is in use: requests, bytes, sessions, connections.
func (h *HTTP) Shared() [4]int64 {
	return [4]int64{h.quotas.requests.Used(), h.quotas.bodies.Used(), h.quotas.sessions.Used(), h.quotas.connections.Used()}
}

// LongTurns has a turn last until it is given back. It is called before the first request.
func (h *HTTP) LongTurns() { h.quotas.turnLength = time.Hour }
