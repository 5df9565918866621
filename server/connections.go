package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/fair"
)

const (
	// headerWait and idleWait end connections on which nothing is sent.
	headerWait = 10 * time.Second
	idleWait   = 2 * time.Minute
	// maxHeader is far more than any client sends, in bytes.
	maxHeader = 64 << 10
	// maxStrangers is how many connections may be open on which no request was let in yet, and none is being served.
	maxStrangers = 1024
	// strangerWait is how long a connection has to send its request before it may be closed for a newer one. The server accepts no
	// more meanwhile.
	strangerWait = 250 * time.Millisecond
)

// connections are those of one listener. A connection that is silent makes way for a new one: of those that nobody has shown a token on,
// the oldest from the address that has most of them; of those of a principal, the one of this principal that was silent for longest.
type connections struct {
	budget *fair.Budget

	mu        sync.Mutex
	all       map[net.Conn]*connection
	strangers map[string]int // silent ones without an owner, by address
}

type connection struct {
	net.Conn
	address string
	owned   bool // a request was let in
	owner   string
	silent  time.Time // since when; zero while a request is being served
}

func newConnections(budget *fair.Budget) *connections {
	return &connections{budget: budget, all: map[net.Conn]*connection{}, strangers: map[string]int{}}
}

// Protect has a listener's server end connections on which nothing comes, and bounds how many there are. It is for a server
// with h somewhere in its handler.
func (h *HTTP) Protect(s *http.Server) {
	s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes = headerWait, idleWait, maxHeader
	s.ConnState = h.connections.changed
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
}

type connectionKey struct{}

// changed follows the state of a connection.
func (cs *connections) changed(c net.Conn, state http.ConnState) {
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
	case http.StateNew: // the goroutine that accepts connections calls this
		cs.silence(k)
		for cs.silentStrangers() > maxStrangers {
			oldest := cs.oldest(cs.largestStranger())
			if time.Since(oldest.silent) >= strangerWait && !unread(oldest.Conn) {
				cs.close(oldest)
				continue
			}
			cs.mu.Unlock()
			time.Sleep(strangerPause)
			cs.mu.Lock()
		}
	case http.StateIdle:
		cs.silence(k)
		if !k.owned && cs.silentStrangers() > maxStrangers {
			cs.close(k) // its request was refused
		}
	case http.StateActive:
		cs.speaks(k)
	default:
		cs.forget(k)
	}
}

// strangerPause is how often the server looks whether it may accept more.
const strangerPause = 2 * time.Millisecond

func hostOf(a net.Addr) string {
	host, _, _ := net.SplitHostPort(addrText(a))
	return host
}

// silence notes that no request is being served on a connection. The caller holds mu.
func (cs *connections) silence(k *connection) {
	if k.silent.IsZero() && !k.owned {
		cs.strangers[k.address]++
	}
	k.silent = time.Now()
}

// speaks pairs with silence. The caller holds mu.
func (cs *connections) speaks(k *connection) {
	if k.silent.IsZero() {
		return
	}
	k.silent = time.Time{}
	if !k.owned {
		if cs.strangers[k.address]--; cs.strangers[k.address] == 0 {
			delete(cs.strangers, k.address)
		}
	}
}

// forget is called when a connection is closed, or belongs to nobody here any more. The caller holds mu.
func (cs *connections) forget(k *connection) {
	if cs.all[k.Conn] != k {
		return
	}
	cs.speaks(k)
	delete(cs.all, k.Conn)
	if k.owned {
		cs.budget.Release(k.owner, 1)
	}
}

func (cs *connections) silentStrangers() (n int) {
	for _, of := range cs.strangers {
		n += of
	}
	return n
}

// largestStranger picks from the connections of the address that has most silent strangers. The caller holds mu.
func (cs *connections) largestStranger() func(*connection) bool {
	var at string
	for address, n := range cs.strangers {
		if n > cs.strangers[at] {
			at = address
		}
	}
	return func(k *connection) bool { return !k.owned && k.address == at }
}

// oldest is the connection that was silent for longest among some, nil if there is none. The caller holds mu.
func (cs *connections) oldest(among func(*connection) bool) (oldest *connection) {
	for _, k := range cs.all {
		if !k.silent.IsZero() && among(k) && (oldest == nil || k.silent.Before(oldest.silent)) {
			oldest = k
		}
	}
	return oldest
}

// close closes a connection. The caller holds mu.
func (cs *connections) close(k *connection) {
	cs.forget(k)
	go k.Close() // may wait for the server's own work on it
}

// closeOldest closes the connection that was silent for longest among some. It reports whether there was one. The caller holds mu.
func (cs *connections) closeOldest(among func(*connection) bool) bool {
	oldest := cs.oldest(among)
	if oldest != nil {
		cs.close(oldest)
	}
	return oldest != nil
}

// own notes whom a connection belongs to, on which a request was let in. The error is a [*fair.Full] if its owner has too many that
// are busy.
func (cs *connections) own(r *http.Request, owner string) error {
	c, ok := r.Context().Value(connectionKey{}).(net.Conn)
	if !ok {
		return nil // of a server that is not protected
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
	if k.owned { // a proxy's, which serves several
		cs.budget.Release(k.owner, 1)
	}
	cs.speaks(k)
	k.owned, k.owner = true, owner
	return nil
}
