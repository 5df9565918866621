package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// An httpRequest is one admitted HTTP request, with what was verified about its caller.
type httpRequest struct {
	caller      // principal is the token's fingerprint if the configuration names none, "" without a token
	sessions    *httpSessions
	fingerprint string          // of the token; "" without one, and for a token of an issuer
	holder      *oauth.Identity // of a token of an issuer; nil for others
	token       login.Bearer    // of an issuer; none for others
	// id of the session made for a role that the request names; "" is none
	role    string
	address string                 // the remote address
	owner   string                 // owner of the quotas that it uses; "" without tokens: then all callers share them
	client  atomic.Pointer[string] // the name of the client's program, once read
	session *httpSession           // the request's session; nil without one
	ends    bool                   // it asks for the end of the session

	trace  map[string]any  // traceparent and tracestate of its header; nil without
	stream *stream         // the response
	body   *limits.Memory  // the request's memory
	gone   context.Context // ends with the request
	leave  func()          // ends the request

	endTurn  func() // ends the request's turn, because it waits for others than this process; idempotent
	answered func() // lets the process stop without answering the request; idempotent
}

// extraKey is the key under which the SDK keeps the httpRequest for us.
const extraKey = "codemode request"

// tokenInfo makes the SDK pass the request on to the handlers of MCP calls.
func (h *httpRequest) tokenInfo() *auth.TokenInfo {
	return &auth.TokenInfo{UserID: h.user(), Extra: map[string]any{extraKey: h}}
}

// httpRequestOf returns the HTTP request that a message came with; nil if it did not come over [HTTP].
func httpRequestOf(req mcp.Request) *httpRequest {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	h, _ := extra.TokenInfo.Extra[extraKey].(*httpRequest)
	return h
}

// sessionOf returns the session of the client that made a call: all its calls have the same one. The session that the
// SDK names may be of one call, see [direct.Session].
func sessionOf(req *mcp.CallToolRequest) *mcp.ServerSession {
	if h := httpRequestOf(req); h != nil && h.session != nil {
		return h.session.session
	}
	return req.Session
}

// from says where a request comes from and whose account vouches for it, for the record.
func (h *httpRequest) from() string {
	if h.holder == nil {
		return h.address
	}
	return fmt.Sprintf("%s, as %.200q of %s", h.address, h.holder.Subject, h.holder.Issuer)
}

// user is what a session is bound to: its caller, the profile of its path, and the session made for a role.
func (h *httpRequest) user() string { return "u:" + h.principal + "\n" + h.reach.bound + "\n" + h.role }

// A sender identifies who made a call, from what this server itself knows. Overlays match it; arguments have no
// influence on it.
type sender struct {
	principal   string // the caller over HTTP, or the principal that the server was started for
	fingerprint string // of the token; "" without one
	session     string // the one made for a role, or the server's own, else the protocol's
	roleSession string // fingerprint of a session made for a role; "" is none
	address     string // "" if not over [HTTP]
	client      string // name of the client's program
	reach       reach
	unchecked   bool // over HTTP and unauthenticated: any program on this machine, with any token or none
	local       bool // not over [HTTP]
}

func (s *Server) senderOf(req mcp.Request) sender {
	from := sender{session: s.options.Session, client: openingClient(req), reach: reachOf(req)}
	h, extra := httpRequestOf(req), req.GetExtra()
	switch {
	case h != nil:
		from.principal, from.fingerprint, from.address, from.unchecked = h.principal, h.fingerprint, h.address, h.owner == ""
	case extra == nil || extra.Header == nil:
		from.local, from.principal = true, s.options.Principal
	default: // over HTTP through an embedder's transport, which passes on no verified caller
		from.unchecked = true
	}
	session, _ := req.GetSession().(*mcp.ServerSession)
	switch {
	case h != nil && h.role != "":
		from.session, from.roleSession = h.role, inforce.Fingerprint(h.role)
	case session != nil && (h != nil || s.options.Session == ""):
		from.session = session.ID()
	}
	return from
}

// request begins the request of a call. The role is only for the record.
func (s *toolset) request(c *conversation, a *arguments) (codemode.Request, error) {
	key, err := idempotencyKey(c.request)
	if err == nil && a.SessionWait && a.Session == "" {
		err = errors.New(`the argument "sessionWait" needs a "session" to wait for`)
	}
	return codemode.Request{
		Unrestricted:   true, // the base tool without a default profile, where it is listed
		IdempotencyKey: key, Principal: c.from.principal, Fingerprint: c.from.fingerprint, ClientSession: c.from.session,
		Client: c.from.client, Role: a.Role, Preflight: strings.TrimSpace(a.Preflight), Tool: c.request.Params.Name,
		Input: a.Input, Unchecked: c.from.unchecked, EveryCall: a.ListCalls,
		Session: a.Session, SessionWait: a.SessionWait, Bound: s.options.Profile != "",
		Local: s.options.Local && c.from.local,
	}, err
}

// query selects tools for the sender of a request.
func (e *exposure) query(from sender, text string, limit int) registry.Query {
	return registry.Query{
		Profiles: e.offered(from.reach), Principal: from.principal, Fingerprint: from.fingerprint, Session: from.session,
		Text: text, Limit: limit,
	}
}
