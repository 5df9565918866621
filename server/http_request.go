package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/server/direct"
	"github.com/codemode-project/codemode/internal/server/limits"
	"github.com/codemode-project/codemode/internal/server/oauth"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// An httpRequest is one admitted HTTP request, with what was verified about its caller.
type httpRequest struct {
	caller                      // principal is the token's fingerprint if the configuration names none, "" without a token
	fingerprint string          // of the token; "" without one, and for a token of an issuer
	holder      *oauth.Identity // of a token of an issuer; nil for others
	token       login.Bearer    // of an issuer; none for others
	// id of the session made for a role that the request names; "" is none
	role    string
	surface string                 // that the address asks for; "" is none
	address string                 // the remote address
	owner   string                 // owner of the quotas that it uses; "" without tokens: then all callers share them
	client  atomic.Pointer[string] // the name of the client's program, once read
	session *httpSession           // the request's session; nil without one
	ends    bool                   // it asks for the end of the session

	trace  map[string]any                 // traceparent and tracestate of its header; nil without
	stream *stream                        // the response
	body   *limits.Memory                 // the request's memory
	gone   context.Context                // ends with the request
	leave  func()                         // ends the request
	opened func(*mcp.ServerSession) error // notes the session that it opens; the error refuses it

	endTurn  func() // ends the request's turn, because it waits for others than this process; idempotent
	answered func() // lets the process stop without answering the request; idempotent
}

type httpSession struct {
	session  *mcp.ServerSession
	calls    direct.Session // those in progress that the SDK's handler does not see
	user     string
	owner    string // the owner of the quota that it uses
	requests int    // that are open
	used     time.Time
	ending   atomic.Bool // because its client said so: then the SDK's handler answers whether it is there
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

// endWithToken ends a stream of notifications when the token expires. Calls continue.
func (h *httpRequest) endWithToken() {
	if h.holder == nil || h.holder.Expires.IsZero() {
		return
	}
	timer := time.AfterFunc(time.Until(h.holder.Expires), h.leave)
	context.AfterFunc(h.gone, func() { timer.Stop() })
}

// reachOf returns the reach of a request's caller.
func reachOf(req mcp.Request) reach {
	if h := httpRequestOf(req); h != nil {
		return h.reach
	}
	return everyProfile
}

func clientAddress(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // "" if there is none
	return host
}

// profileOf returns the profile that the path of a request names, "" for none.
func profileOf(r *http.Request) string {
	if profile, ok := strings.CutPrefix(r.URL.Path, Path+"/"); ok {
		return profile
	}
	return ""
}
