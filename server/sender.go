package server

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/discovery"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/server/limits"
)

// An httpRequest is one HTTP request that was let in, with its caller as far as that was checked.
type httpRequest struct {
	caller      // principal is the token's fingerprint if the configuration names none, "" without a token
	sessions    *httpSessions
	fingerprint string // of the token; "" without one
	// id of the session that a person made for a role, which the request names; "" is none
	role    string
	address string                 // that it comes from
	owner   string                 // whose quotas it uses; "" without tokens, where all callers share them
	client  atomic.Pointer[string] // the name of the client's program, once it was read
	session *httpSession           // that the request belongs to; nil without one

	stream *stream         // the response
	body   *limits.Memory  // that the request takes
	gone   context.Context // ends with the request

	endTurn  func() // says that the request waits for others than this process; may be called often
	answered func() // says that the process may stop without answering the request; may be called often
}

// extraKey is where the SDK keeps the httpRequest for us.
const extraKey = "codemode request"

// tokenInfo has the SDK hand the request on to the handlers of MCP calls.
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

// user is what a session is bound to: its caller, the profile of its path, and the session that was made for a role.
func (h *httpRequest) user() string { return "u:" + h.principal + "\n" + h.reach.bound + "\n" + h.role }

// A sender is who made a call, as far as this server knows by itself. Overlays go by it; arguments say nothing about
// it.
type sender struct {
	principal   string // the caller over HTTP, or whom the server was started for
	fingerprint string // of the token; "" without one
	session     string // made for a role, or the server was started for, or else that of the protocol
	roleSession string // fingerprint of a session that was made for a role; "" is none
	address     string // "" if not over [HTTP]
	client      string // name of the client's program
	reach       reach
	unchecked   bool // over HTTP, and nobody looked at who sent it: any program on this machine, with any token or none
	local       bool // not over [HTTP]
}

func (s *Server) senderOf(req *mcp.CallToolRequest) sender {
	from := sender{session: s.options.Session, client: clientName(req), reach: reachOf(req)}
	h := httpRequestOf(req)
	switch {
	case h != nil:
		from.principal, from.fingerprint, from.address, from.unchecked = h.principal, h.fingerprint, h.address, h.owner == ""
	case req.Extra == nil || req.Extra.Header == nil:
		from.local, from.principal = true, s.options.Principal
	default: // over HTTP through a transport of an embedder, which hands on no checked caller
		from.unchecked = true
	}
	switch {
	case h != nil && h.role != "":
		from.session, from.roleSession = h.role, inforce.Fingerprint(h.role)
	case req.Session != nil && (h != nil || s.options.Session == ""):
		from.session = req.Session.ID()
	}
	return from
}

// madeSession is the session that the server was started for, if it was made for a role: clients over HTTP run in it
// too.
func (s *Server) madeSession() string {
	if inforce.IsMadeSession(s.options.Session) {
		return s.options.Session
	}
	return ""
}

// request begins the request of a call. The role is for the record, and nothing else looks at it.
func (s *Server) request(c *conversation, a *arguments) (codemode.Request, error) {
	key, err := idempotencyKey(c.request)
	return codemode.Request{
		IdempotencyKey: key, Principal: c.from.principal, Fingerprint: c.from.fingerprint, Session: c.from.session,
		Client: c.from.client, Role: a.Role, Preflight: strings.TrimSpace(a.Preflight), Tool: c.request.Params.Name,
		Input: a.Input, Unchecked: c.from.unchecked, EveryCall: a.ListCalls,
		Bound: s.options.Profile != "", Local: s.options.Local && c.from.local,
	}, err
}

// query selects tools for the sender of a call.
func (s *Server) query(c *conversation, text string, limit int) discovery.Query {
	return discovery.Query{
		Profiles: s.offered(c.from.reach), Principal: c.from.principal, Fingerprint: c.from.fingerprint,
		Session: c.from.session,
		Text:    text, Limit: limit,
	}
}
