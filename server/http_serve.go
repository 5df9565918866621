package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/server/direct"
	"github.com/codemode-project/codemode/internal/server/origins"
)

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

// keptBody is the least size of a request that replaceLast replaces, in bytes.
const keptBody = 8 << 10

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
