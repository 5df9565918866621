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

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// Options are what a [Manager] needs from outside. The zero value works.
type Options struct {
	Log *slog.Logger // nil logs nothing

	// ToolsChanged receives the whole tool list of a server, with the server's
	// instructions, after the first reading and after every change. Lists of one
	// server come in order. May be nil.
	ToolsChanged func(server string, tools []Tool, instructions string)

	// OffersChanged receives the name of a server after a notice that its prompts or resources have changed, or a new
	// connection, if somebody has listed them. May be nil.
	OffersChanged func(server string)

	// Gone receives the name of a server that can no longer serve calls: the configuration removed or disabled it, or
	// gives nothing to start. A server that merely died is not gone: its last good list stays valid. May be nil.
	Gone func(server string)

	// Lazy starts servers at the first [Manager.Ready] or [Manager.Call], so that
	// a process that only answers for itself starts nothing.
	Lazy bool

	// Env looks up the few variables that children inherit; nil is this process's
	// environment.
	Env func(string) (string, bool)

	// Logins is the directory of the operator's tokens; "" stores none.
	Logins string
	// Descriptions is the directory of the descriptions of APIs, by their digests; "" keeps none after the end.
	Descriptions string
	// Principals are the logins of principals. Dir, Name and Version have no effect.
	Principals login.Options

	// Confine takes rights from a server's process: it returns the command to start instead of the given one. Nil starts
	// servers with all rights of this process.
	Confine func(*servers.Server, Command) (Command, error)

	Name, Version string // how we introduce ourselves to servers; "" is "codemode" and "dev"
}

// A Manager keeps servers connected. Many goroutines may call its methods.
type Manager struct {
	o        Options
	host     host
	grace    context.Context // ends when Close begins to kill
	endGrace context.CancelFunc

	mu          sync.Mutex
	started     bool // false while Lazy and before the first use
	closed      bool
	supervisors map[string]*supervisor
	last        map[string]chan struct{} // by server: closed at the end of the last supervisor or report of it
}

var errNoServer = errors.New("no such server is configured")

// NewManager returns a manager without servers.
func NewManager(o Options) *Manager {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.ToolsChanged == nil {
		o.ToolsChanged = func(string, []Tool, string) {}
	}
	if o.OffersChanged == nil {
		o.OffersChanged = func(string) {}
	}
	if o.Gone == nil {
		o.Gone = func(string) {}
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	m := &Manager{o: o, started: !o.Lazy, supervisors: map[string]*supervisor{}, last: map[string]chan struct{}{}}
	name, version := cmp.Or(o.Name, "codemode"), cmp.Or(o.Version, "dev")
	m.host = host{
		env: o.Env, confine: o.Confine, log: o.Log, name: name, version: version,
		starter: NewStarter(), descriptions: o.Descriptions,
	}
	logins := o.Principals
	logins.Dir, logins.Name, logins.Version = o.Logins, name, version
	m.host.logins = login.NewStore(logins)
	m.grace, m.endGrace = context.WithCancel(context.Background())
	return m
}

// Set replaces the configured servers: it starts new ones, all at once, stops
// those that are missing, and restarts those that changed. It does not wait for
// any of that. A configured server replaces a built-in one of the same name; of
// two others with one name the first counts.
func (m *Manager) Set(servers []Server) {
	wanted := map[string]Server{}
	for _, s := range servers {
		if other, ok := wanted[s.Name]; !ok || other.Transport == InProcess {
			wanted[s.Name] = s
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for name, sup := range m.supervisors {
		if _, ok := wanted[name]; !ok {
			delete(m.supervisors, name)
			m.stop(sup)
			m.reportGone(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		s := wanted[name]
		old := m.supervisors[name]
		if old != nil && reflect.DeepEqual(old.server, s) {
			continue
		}
		if old != nil {
			m.stop(old)
		}
		sup := newSupervisor(s, &m.host, m.o.Log)
		sup.offersChanged = func() { m.o.OffersChanged(name) }
		if s.OAuth.PerPrincipal() {
			sup.personal = &personal{server: &sup.server, host: &m.host, log: m.o.Log.With("server", name), grace: m.grace,
				listed: sup.tool, all: map[string]*connection{}, offersChanged: sup.offersChanged}
		}
		sup.toolsChanged = func(tools []Tool, instructions string) { m.o.ToolsChanged(name, tools, instructions) }
		m.supervisors[name] = sup
		switch {
		case !sup.neverStarts() && m.started:
			m.start(sup)
		case sup.neverStarts() && old != nil:
			m.reportGone(name)
		}
	}
}

// start runs the supervisor after the end of its predecessor. The caller holds m.mu.
func (m *Manager) start(sup *supervisor) {
	ctx, stop := context.WithCancel(context.Background())
	sup.stop, sup.started = stop, true
	sup.setState(Starting, nil, nil)
	before := m.last[sup.server.Name]
	m.last[sup.server.Name] = sup.done
	go func() {
		if before != nil {
			<-before
		}
		sup.run(ctx, m.grace)
	}()
}

// stop stops the supervisor and does not wait for it. The caller holds m.mu.
func (m *Manager) stop(sup *supervisor) {
	sup.stop()
	if sup.personal != nil {
		sup.personal.close()
	}
	if !sup.started && !sup.neverStarts() {
		sup.closeTried()
		close(sup.done)
	}
}

// reportGone calls Options.Gone after the end of the server's supervisor. The caller holds m.mu.
func (m *Manager) reportGone(name string) {
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

// startLazy starts the servers that [Options.Lazy] has delayed.
func (m *Manager) startLazy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return
	}
	m.started = true
	for _, sup := range m.supervisors {
		if !sup.neverStarts() {
			m.start(sup)
		}
	}
}

// Ready waits until every server has listed its tools once or failed once. Its error is that of ctx. A failed server is
// not an error: the others work, and [Manager.Status] shows it.
func (m *Manager) Ready(ctx context.Context) error {
	m.startLazy()
	m.mu.Lock()
	supervisors := slices.Collect(maps.Values(m.supervisors))
	m.mu.Unlock()
	for _, sup := range supervisors {
		select {
		case <-sup.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Call calls a tool, by its server's name for it, with args as a JSON object. It waits for a server that is just
// starting, and returns when ctx ends at the latest. The error is a [*ToolError] if the server says that the call
// failed, else an [*Error], with [Error.Unknown] for an unknown outcome. Call never repeats a call that the server may
// have acted on.
func (m *Manager) Call(ctx context.Context, server, tool string, args json.RawMessage, o CallOptions) (*Result, error) {
	sup, leave, err := m.enter(ctx, server, tool, o)
	if err != nil {
		return nil, err
	}
	defer leave()
	return sup.call(ctx, tool, args, o)
}

// enter returns what makes requests to a server: its supervisor, or that of the connection of a principal. Call leave
// after the request.
func (m *Manager) enter(ctx context.Context, server, tool string, o CallOptions) (sup *supervisor, leave func(),
	err error) {
	if sup = m.supervisor(server); sup == nil {
		return nil, nil, &Error{Server: server, Tool: tool, Err: errNoServer}
	}
	if sup.personal == nil {
		return sup, func() {}, nil
	}
	if sup, leave, err = sup.personal.enter(ctx, o.Principal, o.Token); err != nil {
		return nil, nil, &Error{Server: server, Tool: tool, Err: err}
	}
	return sup, leave, nil
}

// ReadResource fetches a resource of a server, such as one that a result links
// to. The value is a handle, see [HandleKey], or a list of handles if the
// resource has several parts. Of the options, Principal and Token count.
func (m *Manager) ReadResource(ctx context.Context, server, uri string, o CallOptions) (*Result, error) {
	return m.fetch(ctx, server, o, &fetching{
		args: marshal(uri),
		send: func(ctx context.Context, cs *mcp.ClientSession) error {
			_, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			return err
		},
		read: readContents,
	})
}

// fetch makes a request other than a call.
func (m *Manager) fetch(ctx context.Context, server string, o CallOptions, f *fetching) (*Result, error) {
	sup, leave, err := m.enter(ctx, server, "", o)
	if err != nil {
		return nil, err
	}
	defer leave()
	return sup.request(ctx, "", f.args, o.sent,
		func(ctx context.Context, l link) (*Result, error) { return l.fetch(ctx, f) })
}

// supervisor returns the supervisor of the server, nil if there is none.
func (m *Manager) supervisor(server string) *supervisor {
	m.startLazy()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.supervisors[server]
}

// Login logs in at a configured server over HTTP and stores the tokens: those of the operator, for "", in
// [Options.Logins], those of a principal in the database of
// [Options.Principals]. It returns when the person has come back
// from the page of the authorization server, or when ctx ends.
func (m *Manager) Login(ctx context.Context, server, principal string, o login.Browser) error {
	m.mu.Lock()
	sup := m.supervisors[server]
	m.mu.Unlock()
	if sup == nil {
		return errNoServer
	}
	s := &sup.server
	switch {
	case s.Transport == OpenAPI && s.OAuth == nil:
		return errors.New(`its entry in the configuration has no "auth": {"oauth": {...}}`)
	case s.Transport != HTTP && s.Transport != SSE && s.Transport != OpenAPI:
		return errors.New("it runs on this machine: logins are for servers over http")
	case s.Problem != "":
		return sup.mask(errors.New(s.Problem), nil)
	case s.Disabled:
		return errors.New("it is disabled in the configuration")
	case principal != "" && s.OAuth.PerPrincipal() && s.OAuth.Exchange != nil:
		return errors.New("it is reached with tokens in exchange for those of callers, so nobody has a login there")
	case principal != "" && !s.OAuth.PerPrincipal():
		return errors.New("all principals share one login there: " +
			`its entry in the configuration does not say "oauth": {"per": "principal"}`)
	case s.Headers.Get("Authorization") != "":
		return errors.New("its configuration has an Authorization header, which would be sent instead: remove that first")
	}
	to := login.Target{Server: s.Name, Principal: principal, URL: s.URL, SSE: s.Transport == SSE || s.SSEFirst,
		Settings: s.OAuth, Protocol: pinned}
	if s.Transport != OpenAPI { // which has nothing to find out
		wire, err := newHTTPWire(s, nil)
		if err != nil {
			return err
		}
		defer wire.close()
		wire.raw = true
		to.Client = wire.client()
	}
	if err := m.host.logins.LogIn(ctx, to, o); err != nil {
		return sup.mask(err, nil)
	}
	sup.retrySoon()
	return nil
}

// Logout deletes the operator's tokens of the server of that name, at all addresses that it had. It reports whether
// there were any.
func (m *Manager) Logout(server string) (bool, error) { return m.host.logins.LogOut(server) }

// Reconnect ends the connection to a server, also one that works, and opens a new one at once. Calls under way end with
// the connection, and their outcome may be unknown. It returns before the new connection is open.
func (m *Manager) Reconnect(server string) error {
	sup := m.supervisor(server)
	switch {
	case sup == nil:
		return errNoServer
	case sup.server.Transport == InProcess:
		return errors.New("it is part of codemode, and has no connection")
	}
	return sup.reconnect()
}

// LogoutOf deletes the tokens of a principal, and ends its connection. It reports whether there were any.
func (m *Manager) LogoutOf(ctx context.Context, server, principal string) (bool, error) {
	found, err := m.host.logins.LogOutOf(ctx, principal, server)
	m.mu.Lock()
	sup := m.supervisors[server]
	m.mu.Unlock()
	if sup != nil && sup.personal != nil {
		sup.personal.drop(principal)
	}
	return found, err
}

// Logins lists the logins of a principal, or with "" of all.
func (m *Manager) Logins(ctx context.Context, principal string) ([]*store.Login, error) {
	return m.host.logins.Logins(ctx, principal)
}

// SetPage gives the address at which principals log in, for errors.
func (m *Manager) SetPage(address string) { m.host.logins.SetPage(address) }

// Personal lists the servers at which each principal has a login of its own, sorted.
func (m *Manager) Personal() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, sup := range m.supervisors {
		if sup.personal != nil && sup.server.OAuth.Exchange == nil && !sup.neverStarts() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// DescribedText is what an earlier description of an API, by its digest, says of a tool; nil if it is no longer there.
func (m *Manager) DescribedText(digest, tool string) json.RawMessage {
	return describedText(m.o.Descriptions, digest, tool)
}

// Status describes all servers, sorted by name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	supervisors := slices.Collect(maps.Values(m.supervisors))
	m.mu.Unlock()
	var out []Status
	for _, sup := range supervisors {
		out = append(out, sup.status())
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// InProcess returns the tools of a server in this process, also before its start; nil for any other server.
func (m *Manager) InProcess(name string) []Tool {
	m.mu.Lock()
	sup := m.supervisors[name]
	m.mu.Unlock()
	if sup == nil || sup.server.BuiltIn == nil {
		return nil
	}
	all, _ := newInProcessLink(&sup.server, sup.log).list(context.Background()) // it never fails
	return all.tools
}

// Close stops all servers and returns when nothing of them is left. When ctx ends, it kills them, and returns the error
// of ctx. Callers may call it more than once.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	for _, sup := range m.supervisors {
		m.stop(sup)
	}
	clear(m.supervisors)
	last := slices.Collect(maps.Values(m.last))
	m.mu.Unlock()
	defer context.AfterFunc(ctx, m.endGrace)()
	for _, over := range last {
		<-over
	}
	m.host.starter.Close()
	return ctx.Err()
}

// LoggedIn returns nil if a principal has what it needs to call tools of a server. A [*login.Error] says that it has to
// log in. LoggedIn sends the server nothing; it may renew the login.
func (m *Manager) LoggedIn(ctx context.Context, server, principal string, token login.Bearer) error {
	sup := m.supervisor(server)
	if sup == nil || sup.personal == nil {
		return nil
	}
	p := sup.personal
	if principal == "" || p.server.OAuth.Exchange != nil {
		return p.ready(ctx, principal, token)
	}
	return p.account(principal, "").Usable(ctx)
}
