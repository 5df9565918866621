package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

const (
	// maxVisits is how many sessions there are at most; one that is opened then ends the one that was silent for longest.
	maxVisits = 4096
	// visitIdle is how long a session may be silent, without a stream that is open. The protocol has clients begin a new one.
	visitIdle = time.Hour
	// maxRequests is how many requests are served at once, streams that are open among them.
	maxRequests = 8192
)

// visits are the sessions of clients over HTTP up to MCP 2025-11-25. The SDK keeps them for ever when a client goes away without
// a word; here they end.
type visits struct {
	server *Server

	mu       sync.Mutex
	all      map[string]*visit // by the id of the session
	requests int
	closed   bool
	reaper   *time.Timer
	closing  sync.WaitGroup
}

// A visit is one session.
type visit struct {
	session  *mcp.ServerSession
	user     string
	requests int // that are open
	used     time.Time
}

func newVisits(s *Server) *visits {
	vs := &visits{server: s, all: map[string]*visit{}}
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
	if vs.requests >= maxRequests {
		return http.StatusServiceUnavailable, errors.New("too many requests are open")
	}
	if visit := vs.all[r.Header.Get("Mcp-Session-Id")]; visit != nil {
		if visit.user != v.user() {
			return http.StatusForbidden, errForeignSession
		}
		visit.requests++
		visit.used = time.Now()
		v.visit = visit
		if r.Method == http.MethodDelete {
			vs.server.calls.end(errClientGone, func(c *call) bool { return c.session == visit.session }) // or the SDK waits for them
		}
	}
	vs.requests++
	return 0, nil
}

func (vs *visits) leave(v *visitor) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.requests--
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
	if len(vs.all) >= maxVisits && !vs.evict() {
		return errors.New("there are too many sessions")
	}
	vs.all[id] = &visit{session: session, user: v.user(), used: time.Now()}
	vs.closing.Go(func() {
		_ = session.Wait() // however it ends
		vs.mu.Lock()
		delete(vs.all, id)
		vs.mu.Unlock()
	})
	return nil
}

// evict ends the session that was silent for longest, if there is one. The caller holds mu.
func (vs *visits) evict() bool {
	var oldest *visit
	var at string
	for id, visit := range vs.all {
		if visit.requests == 0 && (oldest == nil || visit.used.Before(oldest.used)) {
			oldest, at = visit, id
		}
	}
	if oldest == nil {
		return false
	}
	delete(vs.all, at)
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
			delete(vs.all, id)
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
