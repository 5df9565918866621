package limits

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

const (
	// headerWait and idleWait end connections when the client sends nothing.
	headerWait = 10 * time.Second
	idleWait   = 2 * time.Minute
	// requestWait is how long a client may take to send its request, and answerWait how long until it has read an answer
	// to it. Handlers that take longer set deadlines of their own.
	requestWait = 30 * time.Second
	answerWait  = time.Minute
	// maxHeader is far more than any client sends, in bytes.
	maxHeader = 64 << 10
	// maxAnonymous is how many connections may be open without an admitted request.
	maxAnonymous = 1024
	// anonymousWait is how long a connection has to send its request, and a request to be admitted, before the server may
	// close it for a newer one. The server accepts no more connections meanwhile.
	anonymousWait = 250 * time.Millisecond
)

// Connections tracks the connections of one listener. When there are too many, it closes one for a new one. Among
// connections without an owner it closes one from the address with the most: the longest idle one, or if none is
// idle for long the one whose request began first. Among those of a principal it closes this principal's longest idle
// one.
type Connections struct {
	budget        *fair.Budget
	mostAnonymous int

	mu        sync.Mutex
	all       map[net.Conn]*connection
	anonymous map[string]int // those without an owner, by address
	unowned   int            // the sum of anonymous
}

type connection struct {
	net.Conn
	address string
	owned   bool // a request was admitted
	owner   string
	busy    bool      // the server serves a request
	since   time.Time // when it was accepted, became busy or became idle
}

// NewConnections counts connections with owners to a budget.
func NewConnections(budget *fair.Budget) *Connections { return newConnections(budget, maxAnonymous) }

// WithoutOwners bounds the connections of a listener whose handler does not call Assign.
func WithoutOwners(most int) *Connections { return newConnections(nil, most) }

func newConnections(budget *fair.Budget, anonymous int) *Connections {
	return &Connections{budget: budget, mostAnonymous: anonymous, all: map[net.Conn]*connection{},
		anonymous: map[string]int{}}
}

// Use returns how many have owners.
func (cs *Connections) Use() fair.Use { return cs.budget.Use() }

// Protect makes a listener's server close connections of clients that do not send or do not read, and bounds how many
// there are. It keeps a bound for headers that the server has. The server's handler calls Assign; Protect wraps it, and
// panics if there is none yet.
func (cs *Connections) Protect(s *http.Server) {
	if s.Handler == nil {
		panic("limits: Protect needs the handler of the server")
	}
	s.Handler = withDeadlines(s.Handler)
	s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes = headerWait, idleWait, cmp.Or(s.MaxHeaderBytes, maxHeader)
	s.ConnState = cs.changed
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
}

// withDeadlines bounds what no handler bounds: answers to requests that are refused, and the rest of their bodies,
// which net/http reads after the handler. [http.Server.ReadTimeout] would end requests that wait for a person.
func withDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(requestWait)) // tests have responses without one
		}
		_ = control.SetWriteDeadline(time.Now().Add(answerWait))
		next.ServeHTTP(w, r)
	})
}

// connectionKey finds the connection of a request in its context; [http.Server.ConnContext] stores it. It is only an
// identity.
type connectionKey struct{}

// changed tracks the state of a connection.
func (cs *Connections) changed(c net.Conn, state http.ConnState) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	k := cs.all[c]
	if k == nil {
		if state != http.StateNew {
			return
		}
		k = &connection{Conn: c, address: hostOf(c.RemoteAddr())}
		cs.all[c] = k
		cs.anonymous[k.address]++
		cs.unowned++
	}
	switch state {
	case http.StateNew: // the accepting goroutine calls this
		k.since = time.Now()
		cs.makeRoom()
	case http.StateIdle:
		k.busy, k.since = false, time.Now()
		if !k.owned && cs.unowned > cs.mostAnonymous {
			cs.close(k) // the server refused its request
		}
	case http.StateActive:
		k.busy, k.since = true, time.Now()
	default:
		cs.remove(k)
	}
}

// makeRoom closes connections without an owner until there are not too many. Each has had its time. The caller holds
// mu, which makeRoom releases while it waits.
func (cs *Connections) makeRoom() {
	for cs.unowned > cs.mostAnonymous {
		here := cs.fromBusiestAddress()
		idle := cs.oldest(func(k *connection) bool { return here(k) && !k.busy })
		busy := cs.oldest(func(k *connection) bool { return here(k) && k.busy })
		switch {
		case idle != nil && time.Since(idle.since) >= anonymousWait && !unread(idle.Conn):
			cs.close(idle)
		case busy != nil && time.Since(busy.since) >= anonymousWait:
			cs.close(busy)
		default:
			cs.mu.Unlock()
			time.Sleep(acceptPause)
			cs.mu.Lock()
		}
	}
}

// acceptPause is how often the server checks whether it may accept more.
const acceptPause = 2 * time.Millisecond

func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(a.String())
	return host
}

// disown ends the counting of a connection as one without an owner. The caller holds mu.
func (cs *Connections) disown(k *connection) {
	cs.unowned--
	if cs.anonymous[k.address]--; cs.anonymous[k.address] == 0 {
		delete(cs.anonymous, k.address)
	}
}

// remove forgets a closed or hijacked connection. The caller holds mu.
func (cs *Connections) remove(k *connection) {
	if cs.all[k.Conn] != k {
		return
	}
	delete(cs.all, k.Conn)
	if k.owned {
		cs.budget.Release(k.owner, 1)
	} else {
		cs.disown(k)
	}
}

// fromBusiestAddress matches the anonymous connections of the address with the most of them. The caller holds mu.
func (cs *Connections) fromBusiestAddress() func(*connection) bool {
	var at string
	for address, n := range cs.anonymous {
		if n > cs.anonymous[at] {
			at = address
		}
	}
	return func(k *connection) bool { return !k.owned && k.address == at }
}

// oldest is the matching connection that has been in its state for longest, nil if there is none. The caller holds mu.
func (cs *Connections) oldest(among func(*connection) bool) (oldest *connection) {
	for _, k := range cs.all {
		if among(k) && (oldest == nil || k.since.Before(oldest.since)) {
			oldest = k
		}
	}
	return oldest
}

// close closes a connection. The caller holds mu.
func (cs *Connections) close(k *connection) {
	cs.remove(k)
	go k.Close() // may wait for the server's work on it
}

// closeOldest closes the longest idle connection of an owner and reports whether there was one. The caller holds mu.
func (cs *Connections) closeOldest(owner string) bool {
	oldest := cs.oldest(func(k *connection) bool { return k.owned && k.owner == owner && !k.busy })
	if oldest != nil {
		cs.close(oldest)
	}
	return oldest != nil
}

// Assign assigns a connection to the owner of an admitted request on it. The error is a [*fair.Full] if too many of the
// owner's connections are busy.
func (cs *Connections) Assign(r *http.Request, owner string) error {
	c, ok := r.Context().Value(connectionKey{}).(net.Conn)
	if !ok {
		return nil // of a server without Protect
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	k := cs.all[c]
	if k == nil || k.owned && k.owner == owner {
		return nil
	}
	err := cs.budget.Try(owner, 1)
	for err != nil && cs.closeOldest(owner) {
		err = cs.budget.Try(owner, 1)
	}
	if err != nil {
		return err
	}
	if k.owned { // a proxy's connection serves several owners
		cs.budget.Release(k.owner, 1)
	} else {
		cs.disown(k)
	}
	k.owned, k.owner = true, owner
	return nil
}
