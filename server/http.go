package server

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
)

// HTTPOptions holds the settings of an [HTTP].
type HTTPOptions struct {
	// Env looks up the variables that hold the tokens of the configuration; nil knows none.
	Env func(name string) (string, bool)
	// Public says that other machines can reach the listener: then every request needs a token.
	Public bool
	// Check refuses a value of the key "http" that would not do here; nil refuses none.
	Check func(config.HTTP) error
	// Connections are those of a listener with several of these handlers; nil makes them for this one alone. Group is
	// then the name of this handler among them, see [fair.In].
	Connections *limits.Connections
	Group       string
}

// HTTP offers a [Server] over streamable HTTP, in both generations of the protocol. It admits callers by the key "http"
// of the current configuration.
type HTTP struct {
	server   *Server
	options  HTTPOptions
	config   atomic.Pointer[httpConfig]
	sdk      http.Handler // for admitted requests
	sessions *httpSessions
	quotas   *limits.Quotas

	connections *limits.Connections
	stop        func() // stops following the configuration
}

// HTTP makes a handler for [Path]. Close ends it. The error is about the configuration.
func (s *Server) HTTP(o HTTPOptions) (*HTTP, error) {
	capacity := s.evaluator.Loader().Capacity()
	quotas := limits.New(capacity.Sessions, capacity.Requests, o.Group)
	h := &HTTP{
		server: s, options: o, quotas: quotas,
		sessions: newHTTPSessions(s.shared, quotas), connections: o.Connections,
	}
	if h.connections == nil {
		h.connections = limits.NewConnections(quotas.Connections)
	}
	config, err := h.read()
	if err != nil {
		return nil, err
	}
	h.verifyTokens(config, nil)
	h.config.Store(config)
	get := func(*http.Request) *mcp.Server { return s.mcp }
	log := quiet(s.log)
	legacy := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true})
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true,
		Stateless:                  true, PropagateRequestCancellation: true})
	h.sdk = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			modern.ServeHTTP(w, r)
		} else {
			legacy.ServeHTTP(w, r)
		}
	})
	h.stop = s.evaluator.Subscribe(h.reload)
	return h, nil
}

func (h *HTTP) read() (*httpConfig, error) {
	c, err := readHTTP(h.server.evaluator.Config(), h.options.Env)
	if err == nil && h.options.Check != nil {
		err = h.options.Check(c.HTTP)
	}
	return c, err
}

// reload applies a changed configuration. One with a problem changes nothing.
func (h *HTTP) reload() {
	if h.config.Load().of == h.server.evaluator.Config() {
		return // only the tools changed
	}
	config, err := h.read()
	if err != nil {
		h.server.log.Error("the key \"http\" has an error; its previous value stays in force", "error", err)
		return
	}
	old := h.config.Load()
	h.verifyTokens(config, old)
	h.config.Store(config)
	if old.oauth != config.oauth && old.oauth != nil {
		old.oauth.Close()
	}
}

// verifyTokens gives a configuration what verifies access tokens: that of the old one if nothing changed for it, with
// what it knows of the issuers.
func (h *HTTP) verifyTokens(c, old *httpConfig) {
	switch {
	case c.OAuth == nil:
	case old != nil && reflect.DeepEqual(c.OAuth, old.OAuth):
		c.oauth = old.oauth
	default:
		c.oauth = oauth.New(c.OAuth, h.server.log)
	}
}

// Metadata answers at [oauth.MetadataPath], where clients find out who issues access tokens for this server.
func (h *HTTP) Metadata(w http.ResponseWriter, r *http.Request) {
	if c := h.config.Load(); c.oauth != nil {
		c.oauth.ServeHTTP(w, r)
	} else {
		http.NotFound(w, r)
	}
}

// NeedsToken reports whether every request needs a token, and whether the configuration has tokens
// or issuers of tokens.
func (h *HTTP) NeedsToken() (needs, any bool) {
	c := h.config.Load()
	any = len(c.tokens) > 0 || c.oauth != nil
	return any || h.options.Public, any
}

// Budgets returns what the clients share and use at this moment: requests, memory for them, sessions, turns, and
// connections unless another handler has them too.
func (h *HTTP) Budgets() []fair.Use {
	q := h.quotas
	all := []fair.Use{q.Requests.Use(), q.Bodies.Use(), q.Sessions.Use(), q.Turns.Use()}
	if h.options.Connections == nil {
		all = append(all, h.connections.Use())
	}
	return all
}

// Protect makes a listener's server close idle connections, and bounds their number. The server's handler must include
// h.
func (h *HTTP) Protect(s *http.Server) { h.connections.Protect(s) }

// Close ends every call and every session. Callers may call it twice.
func (h *HTTP) Close() {
	h.stop()
	h.sessions.closeAll()
	if c := h.config.Load(); c.oauth != nil {
		c.oauth.Close()
	}
	h.server.access.Flush()
}

// Drain prepares for the end of the process: from now on the server refuses new programs and new sessions with 503 and
// Retry-After. Running programs continue, and their clients get their answers. Drain parks runs that wait for a person,
// and tells their clients how to come back. When ctx ends, Drain ends the programs that still run, and tells their
// clients what the programs did. Call it once, before Close.
func (h *HTTP) Drain(ctx context.Context) {
	idle := h.server.work.drain()
	h.server.evaluator.Runs().Drain(ctx)
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	h.server.calls.end(codemode.ErrClosed, overHTTP)
	select {
	case <-idle:
	case <-time.After(closeWait):
	}
}

// Grace is how long the configuration gives programs to finish, http.HTTP.Grace; nil if it does not say.
func (h *HTTP) Grace() *time.Duration { return h.config.Load().HTTP.Grace }

// ShutdownDelay is how long the configuration wants the process to go on after the signal to stop.
func (h *HTTP) ShutdownDelay() time.Duration { return h.config.Load().HTTP.ShutdownDelay }

// TLS is the certificate that the configuration names; nil if it names none.
func (h *HTTP) TLS() *config.TLS { return h.config.Load().HTTP.TLS }

// httpConfig is the key "http" of a configuration. If it lists tokens, every caller needs one, also on this machine.
type httpConfig struct {
	config.HTTP
	of     *config.Config     // what it was read from; nil without a configuration
	tokens map[string]*caller // by their fingerprints
	oauth  *oauth.Resource    // verifies access tokens of issuers; nil accepts none
}

// readHTTP reads the key "http", with the variables of env. The error is [config.Problems].
func readHTTP(cfg *config.Config, env func(string) (string, bool)) (*httpConfig, error) {
	h, err := cfg.HTTP(env)
	if err != nil {
		return nil, err
	}
	if h.OAuth != nil { // requests come for its address
		if u, err := url.Parse(h.OAuth.Resource); err == nil {
			h.Hosts = append(slices.Clip(h.Hosts), strings.ToLower(u.Hostname()))
		}
	}
	c := &httpConfig{HTTP: h, of: cfg, tokens: map[string]*caller{}}
	for _, t := range h.Tokens {
		who := &caller{principal: cmp.Or(t.Principal, t.Fingerprint), answers: t.Answers}
		if !t.Answers {
			who.reach = reach{all: t.Profiles == nil, names: t.Profiles}
		}
		c.tokens[t.Fingerprint] = who
	}
	return c, nil
}
