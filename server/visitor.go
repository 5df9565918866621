package server

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A visitor is who sends one HTTP request, as far as that was checked. Clients over stdio have none: they are whoever started us.
type visitor struct {
	server      *Server
	visits      *visits
	principal   string                 // from the configuration, or the token's fingerprint; "" is anybody on this machine
	fingerprint string                 // of the token; "" without one
	reach       reach                  // which profiles they may use
	role        string                 // the session that a person made for a role, which the request names; "" names none
	address     string                 // that it comes from
	share       string                 // whose share of everything it uses; "" without tokens, where all are one
	client      atomic.Pointer[string] // the name of the client's program, once it was read
	visit       *visit                 // the session that the request belongs to; nil without one

	stream *stream         // what is written back
	body   *bodyHold       // the memory that the request takes
	gone   context.Context // ends with the request

	waits    func() // says that the request waits for others than this process; may be called often
	answered func() // says that the request needs no answer any more for the process to stop; may be called often
}

type visitorKey struct{}

// visitorName is where the SDK keeps the visitor for us.
const visitorName = "codemode visitor"

// visitorOf returns who sent a request; nil if it did not come over HTTP.
func visitorOf(req mcp.Request) *visitor {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	v, _ := extra.TokenInfo.Extra[visitorName].(*visitor)
	return v
}

// user is what a session is bound to: who opened it, where, and in which session that was made for a role.
func (v *visitor) user() string { return "u:" + v.principal + "\n" + v.reach.bound + "\n" + v.role }

// addressOf is where a request comes from; "" if not over HTTP.
func addressOf(req mcp.Request) string {
	if v := visitorOf(req); v != nil {
		return v.address
	}
	return ""
}
