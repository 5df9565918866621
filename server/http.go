package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/internal/fair"
)

// Path is where an [HTTP] is mounted, with everything below it: Path/<profile> offers that profile alone.
const Path = "/mcp"

// HTTPOptions are the settings of an [HTTP].
type HTTPOptions struct {
	// Env looks up the variables that the tokens of the configuration are in; nil knows none.
	Env func(name string) (string, bool)
	// Public says that others than programs on this machine can reach it: then nobody gets in without a token.
	Public bool
}

// HTTP offers a [Server] over streamable HTTP, in both generations of the protocol. Who may come in is said by the key "http" of the
// configuration, at each moment.
type HTTP struct {
	server  *Server
	options HTTPOptions
	config  atomic.Pointer[httpConfig]
	handler http.Handler // for requests that were let in
	visits  *visits
	shares  *shares

	connections *connections
	stop        func() // following the configuration
}

// maxBody is what a request may have: a program, its input and the answers of people fit in many times.
const maxBody = 4 << 20

// HTTP makes a handler for [Path]. An error is one of the configuration. End it with Close.
func (s *Server) HTTP(o HTTPOptions) (*HTTP, error) {
	capacity := s.evaluator.Loader().Capacity()
	shares := newShares(capacity.Sessions, capacity.Requests)
	h := &HTTP{server: s, options: o, shares: shares, visits: newVisits(s, shares), connections: newConnections(shares.connections)}
	config, err := h.read()
	if err != nil {
		return nil, err
	}
	h.config.Store(config)
	get := func(*http.Request) *mcp.Server { return s.mcp }
	log := quiet(s.log)
	legacy := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true})
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		Stateless: true, PropagateRequestCancellation: true})
	// The visitor is found by then: this hands it on to where the SDK gives it to the handlers of calls.
	enter := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		v, ok := ctx.Value(visitorKey{}).(*visitor)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: v.user(), Extra: map[string]any{visitorName: v}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	h.handler = enter(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			modern.ServeHTTP(w, r)
		} else {
			legacy.ServeHTTP(w, r)
		}
	}))
	h.stop = s.evaluator.Subscribe(h.reload)
	return h, nil
}

func (h *HTTP) read() (*httpConfig, error) {
	return readHTTP(h.server.evaluator.Config(), h.options.Env)
}

// reload takes a changed configuration. One that cannot be used changes nothing.
func (h *HTTP) reload() {
	config, err := h.read()
	if err != nil {
		h.server.log.Error("who may come in over HTTP stays as it was", "problem", err)
		return
	}
	h.config.Store(config)
}

// NeedsToken reports whether nobody gets in without a token, and whether there is any that is accepted.
func (h *HTTP) NeedsToken() (needs, any bool) {
	any = len(h.config.Load().tokens) > 0
	return any || h.options.Public, any
}

// Guard turns away requests that are not meant for this listener, such as those of a web page that made its name point here: what it
// lets through has a Host that is ours, and comes from no page of another origin unless it only reads.
func (h *HTTP) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := h.config.Load()
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !c.serves(r.Host, local) {
			h.refuse(w, r, "", http.StatusForbidden, "wrong_host", "this is not a name of this server; http.hosts in the configuration adds names")
			return
		}
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && !c.fromHere(r) {
			h.refuse(w, r, "", http.StatusForbidden, "foreign_origin", "pages of other origins are not served")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromHere reports whether a request comes from no page, or from one that may send it.
func (c *httpConfig) fromHere(r *http.Request) bool {
	if len(r.Header.Values("Origin")) > 1 || !c.admits(r.Header.Get("Origin"), r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Origin") != "" // one that the configuration names
}

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Guard(http.HandlerFunc(h.serve)).ServeHTTP(w, r)
}

func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) {
	c := h.config.Load()
	if !c.fromHere(r) { // an event stream is for nobody else either
		h.refuse(w, r, "", http.StatusForbidden, "foreign_origin", "pages of other origins are not served")
		return
	}
	v, ok := h.admit(w, r, c)
	if !ok {
		return
	}
	if err := h.connections.own(r, v.share); err != nil {
		refuseFull(w, fair.IsFull(err))
		return
	}
	switch status, err := h.visits.enter(v, r); {
	case errors.Is(err, errForeignSession):
		h.refuse(w, r, v.principal, status, "wrong_session", err.Error())
		return
	case fair.IsFull(err) != nil:
		refuseFull(w, fair.IsFull(err))
		return
	case err != nil:
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), status)
		return
	}
	defer h.visits.leave(v)
	v.body = &bodyHold{budget: h.shares.bodies, owner: v.share}
	defer v.body.release()
	body, err := readBody(w, r, v.body)
	if full := fair.IsFull(err); full != nil {
		refuseFull(w, full)
		return
	}
	if err != nil {
		status := bodyStatus(err)
		http.Error(w, http.StatusText(status), status)
		return
	}
	draining := h.server.work.begin()
	v.answered = sync.OnceFunc(h.server.work.end)
	defer v.answered()
	if r.Method == http.MethodGet {
		v.answered() // a stream of news
	} else if draining && begins(body) {
		refuseStopping(w)
		return
	}
	if r.Method == http.MethodPost {
		if v.waits, err = h.shares.turn(r.Context(), v.share); err != nil {
			if full := fair.IsFull(err); full != nil {
				refuseFull(w, full)
			}
			return // or else the client is gone
		}
		defer v.waits()
	}
	s := &stream{ResponseWriter: w, control: http.NewResponseController(w)}
	defer s.end()
	v.stream = s
	r = r.Clone(context.WithValue(r.Context(), visitorKey{}, v))
	v.gone = r.Context()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer -") // the real one is known to nobody from here on
	r.Header.Del("Cookie")
	h.handler.ServeHTTP(s, r)
	if len(body) > keptBody {
		h.replaceLast(r, cmp.Or(r.Header.Get(sessionHeader), w.Header().Get(sessionHeader)))
	}
}

// keptBody is how large a request of a session may be, in bytes, that is left to the SDK.
const keptBody = 8 << 10

const sessionHeader = "Mcp-Session-Id"

// roleHeader names the session that a person made for a role, in which a client's programs run. [codemode.Evaluator.NewSession]
// makes its id; the protocol's own session has one beside it, which clients are given by the server.
const roleHeader = "Codemode-Session"

// replaceLast has the SDK forget a large request: it keeps the last one of each session in the array of a queue, until the next one
// takes its place. That is a notification which nobody looks at.
func (h *HTTP) replaceLast(r *http.Request, session string) {
	if session == "" || r.Header.Get("Mcp-Protocol-Version") >= stateless {
		return // it ended with the request
	}
	const nothing = `{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "-", "progress": 0}}`
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader(nothing)), int64(len(nothing))
	r.Header.Set(sessionHeader, session)
	h.handler.ServeHTTP(discard{http.Header{}}, r)
}

// discard is a response that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

const (
	// bodyWait is how long a client may take to send what it wants.
	bodyWait = 30 * time.Second
	// maxOpening is how large a request may be, in bytes, that belongs to no session and is none of MCP 2026-07-28: it can do
	// nothing but open one.
	maxOpening = 64 << 10
	// firstBody is how much room a request gets at first, in bytes; each time it is full it is doubled.
	firstBody = 4 << 10
)

// readBody reads all of a request, so that from then on a client that says nothing is one that waits. Room is taken as it fills, not as
// the client announces. The error is a [*fair.Full] if there is none, or one for bodyStatus.
func readBody(w http.ResponseWriter, r *http.Request, hold *bodyHold) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWait)) // what cannot have one is no connection
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	most := int64(maxBody)
	if r.Header.Get(sessionHeader) == "" && r.Header.Get("Mcp-Protocol-Version") < stateless {
		most = maxOpening
	}
	from := http.MaxBytesReader(w, r.Body, most)
	if err := hold.grow(firstBody); err != nil {
		return nil, err
	}
	body := make([]byte, 0, firstBody)
	for {
		if len(body) == cap(body) {
			if err := hold.grow(int64(2 * cap(body))); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, 2*cap(body)), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}

// bodyStatus is the status for a request that could not be read.
func bodyStatus(err error) int {
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// admit finds out who sends a request, or turns it away.
func (h *HTTP) admit(w http.ResponseWriter, r *http.Request, c *httpConfig) (*visitor, bool) {
	unauthorized := func(state, detail string) (*visitor, bool) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="codemode"`)
		h.refuse(w, r, "", http.StatusUnauthorized, state, detail)
		return nil, false
	}
	v := &visitor{server: h.server, visits: h.visits, address: clientAddress(r), waits: func() {}}
	token := bearerToken(r.Header)
	switch needs, _ := h.NeedsToken(); {
	case needs && token == "":
		return unauthorized("no_token", "a bearer token is needed; http.tokens in the configuration says which")
	case needs:
		// Digests are compared, so that how long it takes says nothing about a token.
		v.fingerprint = inforce.Fingerprint(token)
		who := c.tokens[v.fingerprint]
		if who == nil {
			return unauthorized("unknown_token", "this token is not known")
		}
		if who.answers {
			h.refuse(w, r, who.principal, http.StatusForbidden, "answers_only", answersOnly)
			return nil, false
		}
		v.principal, v.reach = who.principal, who.reach
		v.share = v.principal
	default: // every program on this machine may come in
		v.reach = reach{all: true}
		if token != "" {
			v.principal = inforce.Fingerprint(token)
			v.fingerprint = v.principal
		}
	}
	if inforce.IsMadeSession(r.Header.Get(sessionHeader)) {
		http.Error(w, "this session was made for a role; send its id as "+roleHeader+", and leave "+sessionHeader+" to the protocol", http.StatusNotFound)
		return nil, false
	}
	if v.role = cmp.Or(r.Header.Get(roleHeader), h.server.madeSession()); v.role != "" {
		if len(r.Header.Values(roleHeader)) > 1 || !inforce.IsMadeSession(v.role) {
			h.refuse(w, r, v.principal, http.StatusBadRequest, "wrong_session", roleHeader+" takes one id of a session that was made for a role, as the page for people gives it: cms_...")
			return nil, false
		}
		if _, err := h.server.evaluator.Rules().Session(r.Context(), v.role); err != nil {
			h.refuse(w, r, v.principal, http.StatusForbidden, "wrong_session", err.Error())
			return nil, false
		}
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, Path+"/"); ok && rest != "" {
		if !h.server.mayUse(v, rest) {
			h.refuse(w, r, v.principal, http.StatusNotFound, "unknown_profile", "there is no such profile here")
			return nil, false
		}
		v.reach.bound = rest
	}
	return v, true
}

func bearerToken(h http.Header) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return token
}

func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// refuse answers a request that is not let in, and has it recorded.
func (h *HTTP) refuse(w http.ResponseWriter, r *http.Request, principal string, status int, state, detail string) {
	h.server.access.refused(r.Context(), principal, clientAddress(r), state)
	http.Error(w, detail, status)
}

// closeWait is how long calls have to end once they were told to.
const closeWait = 5 * time.Second

// Close ends every call and every session, so that nothing is left that a client waits for. It may be called twice.
func (h *HTTP) Close() {
	h.stop()
	h.visits.close()
	h.server.access.flush()
}
