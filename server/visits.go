package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// visitIdle is how long a session may be silent, without a stream that is open. The protocol has clients begin a new one.
	visitIdle = time.Hour
)

// visits are the sessions of clients over HTTP up to MCP 2025-11-25. The SDK keeps them for ever when a client goes away without
// a word; here they end.
type visits struct {
	server *Server
	shares *shares

	mu      sync.Mutex
	all     map[string]*visit // by the id of the session
	closed  bool
	reaper  *time.Timer
	closing sync.WaitGroup
}

// A visit is one session.
type visit struct {
	session  *mcp.ServerSession
	user     string
	share    string // whose share of the sessions it is
	requests int    // that are open
	used     time.Time
}

func newVisits(s *Server, shares *shares) *visits {
	vs := &visits{server: s, shares: shares, all: map[string]*visit{}}
	vs.reaper = time.AfterFunc(visitIdle/10, vs.reap)
	return vs
}

var errForeignSession = errors.New("this session belongs to somebody else")

// enter announces a request; an error says why it is not served. leave ends it.
func (vs *visits) enter(v *visitor, r *http.Request) (status int, err error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.closed {
		return http.StatusServiceUnavailable, errors.New("the server is stopping")
	}
	visit := vs.all[r.Header.Get("Mcp-Session-Id")]
	if visit != nil && visit.user != v.user() {
		return http.StatusForbidden, errForeignSession
	}
	if err := vs.shares.requests.Try(v.share, 1); err != nil {
		return 0, err
	}
	if visit != nil {
		visit.requests++
		visit.used = time.Now()
		v.visit = visit
		if r.Method == http.MethodDelete {
			vs.server.calls.end(errClientGone, func(c *call) bool { return c.session == visit.session }) // or the SDK waits for them
		}
	}
	return 0, nil
}

func (vs *visits) leave(v *visitor) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.shares.requests.Release(v.share, 1)
	if v.visit != nil {
		v.visit.requests--
		v.visit.used = time.Now()
	}
}

// begin takes a session that a client opens into account.
func (vs *visits) begin(session *mcp.ServerSession, v *visitor) error {
	id := session.ID()
	if id == "" {
		return nil // it ends with the request
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.closed {
		return errors.New("the server is stopping")
	}
	if vs.all[id] != nil {
		return nil
	}
	err := vs.shares.sessions.Try(v.share, 1)
	for err != nil && vs.evict(v.share) {
		err = vs.shares.sessions.Try(v.share, 1)
	}
	if err != nil {
		return err
	}
	vs.all[id] = &visit{session: session, user: v.user(), share: v.share, used: time.Now()}
	vs.closing.Go(func() {
		_ = session.Wait() // however it ends
		vs.mu.Lock()
		vs.forget(id)
		vs.mu.Unlock()
	})
	return nil
}

// forget gives the share of a session back. The caller holds mu.
func (vs *visits) forget(id string) {
	if visit := vs.all[id]; visit != nil {
		delete(vs.all, id)
		vs.shares.sessions.Release(visit.share, 1)
	}
}

// evict ends the session that was silent for longest of those that use a share, if there is one. The caller holds mu.
func (vs *visits) evict(share string) bool {
	var oldest *visit
	var at string
	for id, visit := range vs.all {
		if visit.share == share && visit.requests == 0 && (oldest == nil || visit.used.Before(oldest.used)) {
			oldest, at = visit, id
		}
	}
	if oldest == nil {
		return false
	}
	vs.forget(at)
	vs.end(oldest.session)
	return true
}

// end ends a session, whose calls have to end before.
func (vs *visits) end(session *mcp.ServerSession) {
	vs.closing.Go(func() {
		vs.server.calls.end(errClientGone, func(c *call) bool { return c.session == session })
		session.Close()
	})
}

// reap ends the sessions that were silent for too long.
func (vs *visits) reap() {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.closed {
		return
	}
	for id, visit := range vs.all {
		if visit.requests == 0 && time.Since(visit.used) >= visitIdle {
			vs.forget(id)
			vs.end(visit.session)
		}
	}
	vs.reaper.Reset(visitIdle / 10)
}

// close ends everything, and waits for it as long as calls may take to end.
func (vs *visits) close() {
	vs.mu.Lock()
	vs.closed = true
	vs.reaper.Stop()
	vs.mu.Unlock()
	vs.server.calls.end(codemode.ErrClosed, func(c *call) bool { return c.visitor != nil })
	for session := range vs.server.mcp.Sessions() {
		if !vs.server.isLocal(session) {
			vs.end(session)
		}
	}
	done := make(chan struct{})
	go func() { vs.closing.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(closeWait):
		vs.server.log.Warn("some calls did not end in time")
	}
}
