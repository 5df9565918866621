package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

const (
	// personalMax is how many principals may be connected to one server at once. One more closes the connection that has
	// been idle the longest.
	personalMax = 256
	// personalIdle is how long a connection of a principal stays open without a call.
	personalIdle = 5 * time.Minute
)

// personal are the connections of principals to one server, each with its principal's own login. No two principals ever
// share one.
type personal struct {
	server *Server
	host   *host
	log    *slog.Logger
	grace  context.Context // see [supervisor.run]
	// listed is the tool as it was listed for the catalogue, which programs and people see.
	listed func(tool string) (Tool, bool)
	// offersChanged is that of the supervisor.
	offersChanged func()

	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	all    map[string]*connection // by principal, and by the token of the caller if that is exchanged
}

// A connection is that of one principal.
type connection struct {
	sup  *supervisor
	id   string // of the login
	used time.Time
	uses int // calls in flight
	idle *time.Timer
}

var (
	errNobody = errors.New("each principal reaches it with a login of its own, and nobody has verified who calls: call " +
		"with a token that names a principal")
	errNoToken = errors.New("it is reached with a token in exchange for the access token of the caller, and this call has " +
		"none: it comes from a static token, from this machine, or from a run that another process resumed")
	errCrowded = fmt.Errorf("%d principals have calls in flight there: repeat the call later", personalMax)
)

// ready returns nil if a principal has what it needs to reach the server, else a [*login.Error] in most cases. It sends
// nothing.
func (p *personal) ready(ctx context.Context, principal string, token login.Bearer) error {
	switch {
	case principal == "":
		return errNobody
	case p.server.OAuth.Exchange != nil && token.IsZero():
		return errNoToken
	case p.server.OAuth.Exchange != nil:
		return nil
	}
	_, err := p.account(principal, "").ID(ctx)
	return err
}

func (p *personal) account(principal, id string) *login.Account {
	return p.host.logins.Of(principal, p.server.Name, p.server.URL, id)
}

// enter returns the connection of a principal, for one request. It opens one if the principal has none, or has logged in
// anew: the session of the server belongs to the account of the earlier login. Call leave after the request.
func (p *personal) enter(ctx context.Context, principal string, token login.Bearer) (sup *supervisor, leave func(),
	err error) {
	if err := p.ready(ctx, principal, token); err != nil {
		if _, over := errors.AsType[*login.Error](err); over {
			p.drop(principal)
		}
		return nil, nil, err
	}
	key, id := principal, ""
	if x := p.server.OAuth.Exchange; x != nil {
		id = token.ID()
		key += " " + id // each token of a caller has a connection, and what was exchanged for it
	} else if id, err = p.account(principal, "").ID(ctx); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errors.New("it is stopped")
	}
	c := p.all[key]
	if c != nil && c.id != id {
		p.end(key, c)
		c = nil
	}
	if c == nil {
		if len(p.all) >= personalMax && !p.makeRoom() {
			return nil, nil, errCrowded
		}
		account := p.account(principal, id)
		if x := p.server.OAuth.Exchange; x != nil {
			account = login.Exchanged(principal, p.server.Name, p.server.URL, x, token)
		}
		c = &connection{sup: p.open(principal, account), id: id}
		p.all[key] = c
	}
	c.uses++
	return c.sup, func() { p.leave(key, c) }, nil
}

// open starts the connection of a principal. The caller holds p.mu.
func (p *personal) open(principal string, account *login.Account) *supervisor {
	sup := newSupervisor(*p.server, p.host, p.log.With("principal", principal))
	sup.account, sup.shown, sup.toolsChanged = account, p.listed, func([]Tool, string) {}
	sup.offersChanged = p.offersChanged
	ctx, stop := context.WithCancel(context.Background())
	sup.stop = stop
	sup.setState(Starting, nil, nil)
	p.running.Go(func() { sup.run(ctx, p.grace) })
	return sup
}

func (p *personal) leave(key string, c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.used = time.Now()
	if c.uses--; c.uses > 0 || p.all[key] != c {
		return
	}
	if c.idle != nil {
		c.idle.Stop()
	}
	c.idle = time.AfterFunc(personalIdle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.all[key] == c && c.uses == 0 && time.Since(c.used) >= personalIdle {
			p.end(key, c)
		}
	})
}

// drop ends the connection of a principal, with its calls.
func (p *personal) drop(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.all[principal]; c != nil {
		p.end(principal, c)
	}
}

// makeRoom ends the connection that has been idle the longest. The caller holds p.mu.
func (p *personal) makeRoom() bool {
	oldest := ""
	for key, c := range p.all {
		if c.uses == 0 && (oldest == "" || c.used.Before(p.all[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	p.end(oldest, p.all[oldest])
	return true
}

// end ends a connection, and does not wait for it. The caller holds p.mu.
func (p *personal) end(key string, c *connection) {
	delete(p.all, key)
	if c.idle != nil {
		c.idle.Stop()
	}
	c.sup.stop()
}

// close ends all connections; running waits for them.
func (p *personal) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for principal, c := range p.all {
		p.end(principal, c)
	}
}

func (p *personal) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}
