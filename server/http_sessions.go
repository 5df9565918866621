package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// sessionIdle is how long a session without an open stream may be silent. Clients then begin a new one, as the protocol
// says.
const sessionIdle = time.Hour

// httpSessions are the sessions of clients over HTTP up to MCP 2025-11-25. The SDK keeps them for ever when a client
// disappears without closing its session; here they end.
type httpSessions struct {
	server *shared
	quotas *limits.Quotas

	mu      sync.Mutex
	all     map[string]*httpSession // by the id of the session
	closed  bool
	reaper  *time.Timer
	closing sync.WaitGroup
}

func newHTTPSessions(s *shared, q *limits.Quotas) *httpSessions {
	hs := &httpSessions{server: s, quotas: q, all: map[string]*httpSession{}}
	hs.reaper = time.AfterFunc(sessionIdle/10, hs.reap)
	return hs
}

var (
	errForeignSession = errors.New("this session belongs to somebody else")
	errStopping       = errors.New("the server is stopping")
)

// begin counts a request, with its session if it names one; end pairs with it. An error says why the server refuses the
// request.
func (hs *httpSessions) begin(h *httpRequest, r *http.Request) error {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return errStopping
	}
	session := hs.all[r.Header.Get(sessionHeader)]
	if session != nil && session.user != h.user() {
		return errForeignSession
	}
	if err := hs.quotas.Requests.Try(h.owner, 1); err != nil {
		return err
	}
	if session != nil {
		session.requests++
		session.used = time.Now()
		h.session = session
		if h.ends = r.Method == http.MethodDelete; h.ends {
			hs.removeAtEnd(session)
			hs.server.calls.end(errClientGone, of(session.session)) // otherwise the SDK waits for them
		}
	}
	return nil
}

func (hs *httpSessions) end(h *httpRequest) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.quotas.Requests.Release(h.owner, 1)
	if h.session != nil {
		h.session.requests--
		h.session.used = time.Now()
	}
	if h.ends && !h.stream.has(http.StatusNoContent) { // the session goes on
		h.session.ending.Store(false)
	}
}

// add counts a session that a client opens.
func (hs *httpSessions) add(session *mcp.ServerSession, h *httpRequest) error {
	id := session.ID()
	if id == "" {
		return nil // ctx ends with the request
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return errStopping
	}
	if hs.all[id] != nil {
		return nil
	}
	err := hs.quotas.Sessions.Try(h.owner, 1)
	for err != nil && hs.evict(h.owner) {
		err = hs.quotas.Sessions.Try(h.owner, 1)
	}
	if err != nil {
		return err
	}
	hs.all[id] = &httpSession{session: session, user: h.user(), owner: h.owner, used: time.Now()}
	return nil
}

// removeAtEnd removes a session that its client ends, when it has ended: the SDK may refuse the request. Only then does
// a goroutine wait for it, because a thousand sessions would keep a thousand of them. The caller holds mu.
func (hs *httpSessions) removeAtEnd(session *httpSession) {
	if session.ending.Swap(true) {
		return
	}
	hs.closing.Go(func() {
		_ = session.session.Wait() // however it ends
		hs.mu.Lock()
		hs.remove(session.session.ID())
		hs.mu.Unlock()
	})
}

// remove releases the quota of a session. The caller holds mu.
func (hs *httpSessions) remove(id string) {
	if session := hs.all[id]; session != nil {
		delete(hs.all, id)
		hs.quotas.Sessions.Release(session.owner, 1)
	}
}

// evict ends an owner's session that has been silent for longest, if there is one. The caller holds mu.
func (hs *httpSessions) evict(owner string) bool {
	var oldest *httpSession
	for _, session := range hs.all {
		if session.owner == owner && session.requests == 0 && (oldest == nil || session.used.Before(oldest.used)) {
			oldest = session
		}
	}
	if oldest == nil {
		return false
	}
	hs.remove(oldest.session.ID())
	hs.close(oldest.session)
	return true
}

// close ends a session. The session's calls must have ended.
func (hs *httpSessions) close(session *mcp.ServerSession) {
	hs.closing.Go(func() {
		hs.server.calls.end(errClientGone, of(session))
		session.Close()
	})
}

// reap ends sessions that have been silent for too long.
func (hs *httpSessions) reap() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed {
		return
	}
	for id, session := range hs.all {
		if session.requests == 0 && time.Since(session.used) >= sessionIdle {
			hs.remove(id)
			hs.close(session.session)
		}
	}
	hs.reaper.Reset(sessionIdle / 10)
}

// closeAll ends everything, and waits at most as long as calls may take to end.
func (hs *httpSessions) closeAll() {
	hs.mu.Lock()
	hs.closed = true
	hs.reaper.Stop()
	hs.mu.Unlock()
	hs.server.calls.end(codemode.ErrClosed, overHTTP)
	for session := range hs.server.mcp.Sessions() {
		if _, local := hs.server.local.Load(session); !local {
			hs.close(session)
		}
	}
	if !within(closeWait, &hs.closing) {
		hs.server.log.Warn("some calls did not end in time")
	}
}
