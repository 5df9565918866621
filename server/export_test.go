package server

import (
	"context"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// Shrink makes what clients share small, for tests. It is called before the first request.
func (h *HTTP) Shrink(requests, bodies, sessions, connections int64) {
	small := &limits.Quotas{
		Requests: fair.New("requests at once", requests, 0), Bodies: fair.New("memory for requests", bodies, 0),
		Sessions: fair.New("sessions", sessions, 0), Connections: fair.New("connections", connections, 0),
		Turns: h.quotas.Turns, TurnLength: h.quotas.TurnLength,
	}
	*h.quotas = *small
}

// Shared says how much is in use: requests, bytes, sessions, connections.
func (h *HTTP) Shared() [4]int64 {
	return [4]int64{h.quotas.Requests.Used(), h.quotas.Bodies.Used(), h.quotas.Sessions.Used(),
		h.quotas.Connections.Used()}
}

// LongTurns has a turn last until it is given back. It is called before the first request.
func (h *HTTP) LongTurns() { h.quotas.TurnLength = time.Hour }

// LogAccess makes a function receive what the record would get about callers, instead of the record.
func (s *Server) LogAccess(record func(ctx context.Context, principal, client, state, detail string)) {
	s.access = limits.NewAccessLog(record)
}
