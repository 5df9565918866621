package limits

import (
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
	// maxHeader is far more than any client sends, in bytes.
	maxHeader = 64 << 10
	// maxAnonymous is how many idle connections may be open without an admitted request.
	maxAnonymous = 1024
	// anonymousWait is how long a connection has to send its request before the server may close it for a newer one.
	// The server accepts no more connections meanwhile.
	anonymousWait = 250 * time.Millisecond
)

// Connections tracks the connections of one listener. When there are too many, it closes an idle one for a new one.
// Among connections without a token it closes the oldest from the address with the most. Among those of a principal it
// closes this principal's longest idle one.
type Connections struct {
	budget *fair.Budget

	mu        sync.Mutex
	all       map[net.Conn]*connection
	anonymous map[string]int // idle ones without an owner, by address
}

type connection struct {
	net.Conn
	address string
	owned   bool // a request was admitted
	owner   string
	idle    time.Time // since when; zero while the server serves a request
}

// NewConnections counts connections with owners to a budget.
func NewConnections(budget *fair.Budget) *Connections {
	return &Connections{budget: budget, all: map[net.Conn]*connection{}, anonymous: map[string]int{}}
}

// Use returns how many have owners.
func (cs *Connections) Use() fair.Use { return cs.budget.Use() }

// Protect makes a listener's server close idle connections and bounds how many there are. The server's handler calls
// Assign.
func (cs *Connections) Protect(s *http.Server) {
	s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes = headerWait, idleWait, maxHeader
	s.ConnState = cs.changed
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
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
	}
	switch state {
	case http.StateNew: // the accepting goroutine calls this
		cs.markIdle(k)
		for cs.idleAnonymous() > maxAnonymous {
			oldest := cs.oldest(cs.fromBusiestAddress())
			if time.Since(oldest.idle) >= anonymousWait && !unread(oldest.Conn) {
				cs.close(oldest)
				continue
			}
			cs.mu.Unlock()
			time.Sleep(acceptPause)
			cs.mu.Lock()
		}
	case http.StateIdle:
		cs.markIdle(k)
		if !k.owned && cs.idleAnonymous() > maxAnonymous {
			cs.close(k) // the server refused its request
		}
	case http.StateActive:
		cs.markBusy(k)
	default:
		cs.remove(k)
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

// markIdle notes that the server serves no request on a connection. The caller holds mu.
func (cs *Connections) markIdle(k *connection) {
	if k.idle.IsZero() && !k.owned {
		cs.anonymous[k.address]++
	}
	k.idle = time.Now()
}

// markBusy pairs with markIdle. The caller holds mu.
func (cs *Connections) markBusy(k *connection) {
	if k.idle.IsZero() {
		return
	}
	k.idle = time.Time{}
	if !k.owned {
		if cs.anonymous[k.address]--; cs.anonymous[k.address] == 0 {
			delete(cs.anonymous, k.address)
		}
	}
}

// remove forgets a closed or hijacked connection. The caller holds mu.
func (cs *Connections) remove(k *connection) {
	if cs.all[k.Conn] != k {
		return
	}
	cs.markBusy(k)
	delete(cs.all, k.Conn)
	if k.owned {
		cs.budget.Release(k.owner, 1)
	}
}

func (cs *Connections) idleAnonymous() (n int) {
	for _, of := range cs.anonymous {
		n += of
	}
	return n
}

// fromBusiestAddress matches the anonymous connections of the address with the most idle ones. The caller holds mu.
func (cs *Connections) fromBusiestAddress() func(*connection) bool {
	var at string
	for address, n := range cs.anonymous {
		if n > cs.anonymous[at] {
			at = address
		}
	}
	return func(k *connection) bool { return !k.owned && k.address == at }
}

// oldest is the longest idle matching connection, nil if there is none. The caller holds mu.
func (cs *Connections) oldest(among func(*connection) bool) (oldest *connection) {
	for _, k := range cs.all {
		if !k.idle.IsZero() && among(k) && (oldest == nil || k.idle.Before(oldest.idle)) {
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

// closeOldest closes the longest idle matching connection and reports whether there was one. The caller holds mu.
func (cs *Connections) closeOldest(among func(*connection) bool) bool {
	oldest := cs.oldest(among)
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
	for err != nil && cs.closeOldest(func(other *connection) bool { return other.owned && other.owner == owner }) {
		err = cs.budget.Try(owner, 1)
	}
	if err != nil {
		return err
	}
	if k.owned { // a proxy's connection serves several owners
		cs.budget.Release(k.owner, 1)
	}
	cs.markBusy(k)
	k.owned, k.owner = true, owner
	return nil
}
