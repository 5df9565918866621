package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/upstream/child"
	"github.com/codemode-project/codemode/upstream/login"
)

// Options are what a [Manager] needs from outside. The zero value works.
type Options struct {
	Log *slog.Logger // nil logs nothing

	// ToolsChanged is told the whole list of a server when it was first read and
	// whenever it has become another one, with the server's instructions. What it
	// is told about one server comes in order. Nil tells nobody.
	ToolsChanged func(server string, tools []Tool, instructions string)

	// Gone is told that a server is no longer there to be called: removed,
	// disabled, or configured in a way that cannot be started. A server that
	// merely died is not gone: its last good list stands. Nil tells nobody.
	Gone func(server string)

	// Lazy leaves servers alone until the first [Manager.Ready] or [Manager.Call],
	// so that a process that is only asked for its name starts nothing.
	Lazy bool

	// Env is where the few variables that children inherit come from; nil is this
	// process's environment.
	Env func(string) (string, bool)

	// Logins is the directory in which [Manager.Login] keeps tokens; "" uses none.
	Logins string

	Name, Version string // how we introduce ourselves to servers; "" is "codemode" and "dev"
}

// A Manager keeps servers connected. Its methods may be called at the same time.
type Manager struct {
	o      Options
	host   host
	polite context.Context // ends when Close has run out of patience
	hurry  context.CancelFunc

	mu      sync.Mutex
	started bool // false while Lazy and not needed yet
	closed  bool
	keepers map[string]*keeper
	last    map[string]chan struct{} // by server: closed when what was begun last for it is over
}

var errNoServer = errors.New("no such server is configured")

// NewManager returns a manager without servers.
func NewManager(o Options) *Manager {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.ToolsChanged == nil {
		o.ToolsChanged = func(string, []Tool, string) {}
	}
	if o.Gone == nil {
		o.Gone = func(string) {}
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	m := &Manager{o: o, started: !o.Lazy, keepers: map[string]*keeper{}, last: map[string]chan struct{}{}}
	m.host = host{env: o.Env, log: o.Log, starter: child.NewStarter(), name: cmp.Or(o.Name, "codemode"), version: cmp.Or(o.Version, "dev")}
	m.host.logins = login.NewStore(o.Logins, m.host.name, m.host.version)
	m.polite, m.hurry = context.WithCancel(context.Background())
	return m
}

// Set makes servers the configured ones: new ones are started, all at once,
// those that are missing are stopped, and those that changed are stopped and
// started again. It does not wait for any of that. A configured server takes
// the place of a built-in one of the same name; of two others with one name the first counts.
func (m *Manager) Set(servers []Server) {
	wanted := map[string]Server{}
	for _, s := range servers {
		if other, ok := wanted[s.Name]; !ok || other.Transport == InHere {
			wanted[s.Name] = s
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for name, k := range m.keepers {
		if _, ok := wanted[name]; !ok {
			delete(m.keepers, name)
			m.leave(k)
			m.gone(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		s := wanted[name]
		old := m.keepers[name]
		if old != nil && reflect.DeepEqual(old.server, s) {
			continue
		}
		if old != nil {
			m.leave(old)
		}
		k := newKeeper(s, &m.host, m.o.Log)
		k.told = func(tools []Tool, instructions string) { m.o.ToolsChanged(name, tools, instructions) }
		m.keepers[name] = k
		switch {
		case !k.idle() && m.started:
			m.begin(k)
		case k.idle() && old != nil:
			m.gone(name)
		}
	}
}

// begin runs the keeper, after what was begun for its server before is over. m.mu is held.
func (m *Manager) begin(k *keeper) {
	ctx, stop := context.WithCancel(context.Background())
	k.stop, k.begun = stop, true
	k.move(Starting, nil, nil)
	before := m.last[k.server.Name]
	m.last[k.server.Name] = k.done
	go func() {
		if before != nil {
			<-before
		}
		k.run(ctx, m.polite)
	}()
}

// leave stops the keeper without waiting for it. m.mu is held.
func (m *Manager) leave(k *keeper) {
	k.stop()
	if !k.begun && !k.idle() {
		k.settled()
		close(k.done)
	}
}

// gone tells that a server is gone, after what was begun for it is over. m.mu is held.
func (m *Manager) gone(name string) {
	before, over := m.last[name], make(chan struct{})
	m.last[name] = over
	go func() {
		if before != nil {
			<-before
		}
		m.o.Gone(name)
		close(over)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.last[name] == over {
			delete(m.last, name)
		}
	}()
}

// needed starts what [Options.Lazy] has put off.
func (m *Manager) needed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return
	}
	m.started = true
	for _, k := range m.keepers {
		if !k.idle() {
			m.begin(k)
		}
	}
}

// Ready waits until every server has listed its tools once or failed once, or
// until ctx ends, whose error it then returns. A server that failed is no error
// here: the others work, and [Manager.Status] tells.
func (m *Manager) Ready(ctx context.Context) error {
	m.needed()
	m.mu.Lock()
	keepers := slices.Collect(maps.Values(m.keepers))
	m.mu.Unlock()
	for _, k := range keepers {
		select {
		case <-k.first:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Call calls a tool, by the name its server gives it, with args as a JSON
// object. It waits for a server that is just starting, and returns when ctx
// ends at the latest. The error is a [*ToolError] if the server says that the
// call failed, else an [*Error], which tells whether the outcome is known. A
// call that may have been acted on is never sent again.
func (m *Manager) Call(ctx context.Context, server, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	k := m.keeper(server)
	if k == nil {
		return nil, &Error{Server: server, Tool: tool, Err: errNoServer}
	}
	return k.call(ctx, tool, args, o)
}

// ReadResource fetches a resource that a server has, such as one that a result
// links to. Its value is a handle, see [HandleKey], or a list of them if the
// resource has several parts.
func (m *Manager) ReadResource(ctx context.Context, server, uri string) (*Result, error) {
	k := m.keeper(server)
	if k == nil {
		return nil, &Error{Server: server, Err: errNoServer}
	}
	return k.do(ctx, "", func(ctx context.Context, l link) (*Result, error) { return l.read(ctx, uri) })
}

// keeper returns the one of the server, nil if there is none.
func (m *Manager) keeper(server string) *keeper {
	m.needed()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keepers[server]
}

// Login logs in at a configured server over HTTP and stores the tokens in
// [Options.Logins]. It returns when the person has come back from the page of
// the authorization server, or when ctx ends.
func (m *Manager) Login(ctx context.Context, server string, o login.Options) error {
	m.mu.Lock()
	k := m.keepers[server]
	m.mu.Unlock()
	if k == nil {
		return errNoServer
	}
	s := &k.server
	switch {
	case s.Transport != HTTP && s.Transport != SSE:
		return errors.New("it runs on this machine: logins are for servers over http")
	case s.Problem != "":
		return k.mask(errors.New(s.Problem))
	case s.Disabled:
		return errors.New("it is disabled in the configuration")
	case s.Headers.Get("Authorization") != "":
		return errors.New("its configuration has an Authorization header, which would be sent instead: remove that first")
	}
	wire, err := newHTTPWire(s, nil)
	if err != nil {
		return err
	}
	defer wire.close()
	err = m.host.logins.LogIn(ctx, login.Target{
		Server: s.Name, URL: s.URL, SSE: s.Transport == SSE || s.SSEFirst, Settings: s.OAuth, Client: wire.client(), Protocol: pinned,
	}, o)
	if err != nil {
		return k.mask(err)
	}
	k.hurry()
	return nil
}

// Logout deletes the tokens of the server of that name, at all addresses that
// it had. It reports whether there were any.
func (m *Manager) Logout(server string) (bool, error) { return m.host.logins.LogOut(server) }

// Status describes all servers, sorted by name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	keepers := slices.Collect(maps.Values(m.keepers))
	m.mu.Unlock()
	var out []Status
	for _, k := range keepers {
		out = append(out, k.status())
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Close stops all servers and returns when nothing of them is left. They are
// asked politely until ctx ends and killed then; the error is that of ctx if it
// came to that. It may be called more than once.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	for _, k := range m.keepers {
		m.leave(k)
	}
	clear(m.keepers)
	last := slices.Collect(maps.Values(m.last))
	m.mu.Unlock()
	defer context.AfterFunc(ctx, m.hurry)()
	for _, over := range last {
		<-over
	}
	m.host.starter.Close()
	return ctx.Err()
}
