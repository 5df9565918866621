package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/server/direct"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/internal/server/origins"
)

// Path is where callers mount an [HTTP], with everything below it: Path/<profile> offers only that profile.
const Path = "/mcp"

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

// maxBody bounds a request, in bytes. It is many times the size of a program with its input and people's answers.
const maxBody = 4 << 20

// HTTP makes a handler for [Path]. Close ends it. The error is about the configuration.
func (s *Server) HTTP(o HTTPOptions) (*HTTP, error) {
	capacity := s.evaluator.Loader().Capacity()
	quotas := limits.New(capacity.Sessions, capacity.Requests, o.Group)
	h := &HTTP{
		server: s, options: o, quotas: quotas,
		sessions: newHTTPSessions(s, quotas), connections: o.Connections,
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

// Guard refuses requests that are not meant for this listener, such as those of a web page that uses DNS rebinding to
// reach it. A request passes only if its Host is ours and it comes from no page of another origin, unless it only
// reads.
func (h *HTTP) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := h.config.Load()
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !origins.Serves(c.Hosts, r.Host, local) {
			h.refuse(w, r, "", http.StatusForbidden, "wrong_host",
				"this is not a name of this server; http.hosts in the configuration adds names")
			return
		}
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && !origins.FromHere(c.Origins, r) {
			h.refuse(w, r, "", http.StatusForbidden, "foreign_origin", "pages of other origins are not served")
			return
		}
		next.ServeHTTP(w, r)
	})
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

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Guard(http.HandlerFunc(h.serve)).ServeHTTP(w, r)
}

func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) {
	c := h.config.Load()
	if !origins.FromHere(c.Origins, r) { // event streams too
		h.refuse(w, r, "", http.StatusForbidden, "foreign_origin", "pages of other origins are not served")
		return
	}
	in, ok := h.authenticate(w, r, c)
	if !ok {
		return
	}
	if err := h.connections.Assign(r, fair.In(h.options.Group, in.owner)); err != nil {
		h.fail(w, r, in, err)
		return
	}
	if err := h.sessions.begin(in, r); err != nil {
		h.fail(w, r, in, err)
		return
	}
	defer h.sessions.end(in)
	in.body = h.quotas.Memory(in.owner)
	defer in.body.Release()
	body, err := readBody(w, r, in.body)
	if err != nil {
		h.fail(w, r, in, err)
		return
	}
	if no := h.needsMore(in, body); no != nil {
		h.refuseToken(w, r, c, no)
		return
	}
	draining := h.server.work.begin()
	in.answered = sync.OnceFunc(h.server.work.end)
	defer in.answered()
	if r.Method == http.MethodGet {
		in.answered() // a stream of notifications
	} else if draining && begins(body) {
		retryLater(w, http.StatusServiceUnavailable, "this server is stopping, and takes no new programs and sessions; "+
			"nothing was run: send the request again")
		return
	}
	if r.Method == http.MethodPost {
		if in.endTurn, err = h.quotas.Turn(r.Context(), in.owner); err != nil {
			h.fail(w, r, in, err)
			return
		}
		defer in.endTurn()
	}
	s := &stream{ResponseWriter: w, control: http.NewResponseController(w)}
	defer s.end()
	in.stream = s
	in.gone, in.leave = context.WithCancel(r.Context())
	defer in.leave()
	if r.Method == http.MethodGet {
		in.endWithToken()
	}
	in.trace = traceContext(mcp.Meta{"traceparent": r.Header.Get("Traceparent"), "tracestate": r.Header.Get("Tracestate")})
	r = r.Clone(in.gone)
	r.Header.Set("Authorization", "Bearer -") // no handler gets the real one
	r.Header.Del("Cookie")
	extra := &mcp.RequestExtra{TokenInfo: in.tokenInfo(), Header: r.Header}
	if call := direct.Read(r, body); call != nil {
		direct.Serve(s, r, call, h.server.mcp, extra)
		return
	}
	session := in.session
	if session != nil && !session.ending.Load() && session.calls.Serve(s, r, body, h.server.mcp, session.session, extra) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.forward(s, r, in)
	if session != nil && s.has(http.StatusAccepted) {
		session.calls.Take(body)
	}
	if len(body) > keptBody {
		h.replaceLast(r, in, cmp.Or(r.Header.Get(sessionHeader), w.Header().Get(sessionHeader)))
	}
}

// forward lets the SDK serve a request. The SDK's handlers find the request again with [httpRequestOf].
func (h *HTTP) forward(w http.ResponseWriter, r *http.Request, in *httpRequest) {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) { return in.tokenInfo(), nil }
	auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h.sdk).ServeHTTP(w, r)
}

// fail answers an admitted request that the server cannot serve.
func (h *HTTP) fail(w http.ResponseWriter, r *http.Request, in *httpRequest, err error) {
	full := fair.IsFull(err)
	switch {
	case full != nil:
		refuseFull(w, full)
	case errors.Is(err, errForeignSession):
		h.refuse(w, r, in.principal, http.StatusForbidden, "wrong_session", err.Error())
	case errors.Is(err, errStopping):
		retryLater(w, http.StatusServiceUnavailable, err.Error())
	case r.Context().Err() != nil: // the client has disconnected
	default:
		status := bodyStatus(err)
		http.Error(w, http.StatusText(status), status)
	}
}

// retryAfter is how long the server tells a client to wait before it retries, in seconds.
const retryAfter = 2

// refuseFull answers a request when no quota is left, either the caller's own or that of all callers.
func refuseFull(w http.ResponseWriter, full *fair.Full) {
	status := http.StatusServiceUnavailable
	if full.Own {
		status = http.StatusTooManyRequests
	}
	retryLater(w, status, full.Error())
}

// retryLater refuses a request that may succeed later. The connection closes: the server does not wait for the rest of
// the request, and the next one may find another process.
func retryLater(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}

// keptBody is the least size of a request that replaceLast replaces, in bytes.
const keptBody = 8 << 10

const sessionHeader = "Mcp-Session-Id"

// roleHeader names the session that a person made for a role; the client's programs run in it. Its id comes from
// [codemode.Evaluator.NewSession]; the protocol's session has an id of its own.
const roleHeader = "Codemode-Session"

// replaceLast makes the SDK drop a large request: it keeps the last one of each session in memory until the next one
// arrives. The next one is a small notification without effect.
func (h *HTTP) replaceLast(r *http.Request, in *httpRequest, session string) {
	if session == "" || r.Header.Get("Mcp-Protocol-Version") >= stateless {
		return // it ended with the request
	}
	const nothing = `{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "-", "progress": 0}}`
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(nothing)), int64(len(nothing))
	r.Header.Set(sessionHeader, session)
	h.forward(discard{http.Header{}}, r, in)
}

// discard is a response that nobody sends.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// Close ends every call and every session. Callers may call it twice.
func (h *HTTP) Close() {
	h.stop()
	h.sessions.closeAll()
	if c := h.config.Load(); c.oauth != nil {
		c.oauth.Close()
	}
	h.server.access.Flush()
}
