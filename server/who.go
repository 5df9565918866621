package server

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/discovery"
	"github.com/codemode-project/codemode/inforce"
)

// request begins the request of a call with who makes it, as far as the server
// knows by itself: overlays go by it. The arguments say nothing about that: the role is for
// the record, and nothing else looks at it.
func (s *Server) request(req *mcp.CallToolRequest, args arguments) (codemode.Request, error) {
	role, err := args.text("role", false)
	if err != nil {
		return codemode.Request{}, err
	}
	preflight, err := args.text("preflight", false)
	if err != nil {
		return codemode.Request{}, err
	}
	everyCall, err := args.flag("listCalls")
	if err != nil {
		return codemode.Request{}, err
	}
	key, err := idempotencyKey(req)
	if err != nil {
		return codemode.Request{}, err
	}
	return codemode.Request{
		IdempotencyKey: key, Principal: s.principal(req), Fingerprint: fingerprint(req), Session: s.session(req),
		Client: clientName(req), Role: role, Preflight: strings.TrimSpace(preflight), Tool: req.Params.Name,
		Unchecked: unchecked(req), EveryCall: everyCall,
		Bound: s.options.Profile != "", Local: s.options.Local && visitorOf(req) == nil,
	}, nil
}

// query selects tools for who makes a call, by the same knowledge of who that is.
func (s *Server) query(req *mcp.CallToolRequest, text string, limit int) discovery.Query {
	return discovery.Query{
		Profiles: s.offered(visitorOf(req)), Principal: s.principal(req), Fingerprint: fingerprint(req), Session: s.session(req), Text: text, Limit: limit,
	}
}

// fingerprint is that of the token that a request came with; "" without one.
func fingerprint(req mcp.Request) string {
	if v := visitorOf(req); v != nil {
		return v.fingerprint
	}
	return ""
}

// session is the one that was made for a role, or that the server was started for, or else that of the protocol.
func (s *Server) session(req *mcp.CallToolRequest) string {
	if v := visitorOf(req); v != nil && v.role != "" {
		return v.role
	}
	if s.options.Session != "" && visitorOf(req) == nil || req.Session == nil {
		return s.options.Session
	}
	return req.Session.ID()
}

// madeSession is the one that the server was started for, if it was made for a role: clients over HTTP run in it too.
func (s *Server) madeSession() string {
	if inforce.IsMadeSession(s.options.Session) {
		return s.options.Session
	}
	return ""
}

// madeSession is the fingerprint of the session that was made for a role and that a request is in; "" is none.
func madeSession(req mcp.Request) string {
	if v := visitorOf(req); v != nil && v.role != "" {
		return inforce.Fingerprint(v.role)
	}
	return ""
}

// principal is who sent a request over HTTP, or whom the server was started for.
// Where the SDK's own handler was mounted instead of [HTTP], nobody has looked at
// the token: it only tells callers apart.
func (s *Server) principal(req *mcp.CallToolRequest) string {
	if v := visitorOf(req); v != nil {
		return v.principal
	}
	if req.Extra == nil || req.Extra.Header == nil {
		return s.options.Principal
	}
	if token := bearerToken(req.Extra.Header); token != "" {
		return inforce.Fingerprint(token)
	}
	return ""
}

// unchecked reports whether nobody has looked at who sent a request over HTTP: any program on this machine, with any token or none.
func unchecked(req mcp.Request) bool {
	if v := visitorOf(req); v != nil {
		return v.share == ""
	}
	extra := req.GetExtra()
	return extra != nil && extra.Header != nil
}

// clientName reads the name once for each HTTP request: on MCP 2026-07-28 it is in the parameters, which the SDK decodes each time.
func clientName(req *mcp.CallToolRequest) string {
	v := visitorOf(req)
	if v == nil {
		return nameOf(req.ClientInfo())
	}
	if name := v.client.Load(); name != nil {
		return *name
	}
	name := nameOf(req.ClientInfo())
	v.client.Store(&name)
	return name
}

func nameOf(info *mcp.Implementation) string {
	if info == nil {
		return ""
	}
	return strings.TrimSpace(cutName(info.Name) + " " + cutName(info.Version))
}

// newcomer is the name of the client that sends one of the requests that clients begin with.
func newcomer(req mcp.Request) string {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return clientName(r)
	case *mcp.ServerRequest[*mcp.DiscoverParams]:
		return nameOf(r.ClientInfo())
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		return nameOf(r.Params.ClientInfo)
	}
	return ""
}
