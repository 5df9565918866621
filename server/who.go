package server

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// request begins the request of a call with who makes it, as far as the server
// knows by itself: overlays go by it. Of the arguments only the role is taken,
// which the record keeps and nothing else looks at.
func (s *Server) request(req *mcp.CallToolRequest, args arguments) (codemode.Request, error) {
	role, err := args.text("role", false)
	if err != nil {
		return codemode.Request{}, err
	}
	preflight, err := args.text("preflight", false)
	if err != nil {
		return codemode.Request{}, err
	}
	return codemode.Request{
		Principal: s.principal(req), Session: s.session(req), Client: clientName(req), Role: role,
		Preflight: strings.TrimSpace(preflight), Tool: req.Params.Name,
		Bound: s.options.Profile != "", Local: s.options.Local,
	}, nil
}

// session is the one that the server was started for, or that of the protocol.
func (s *Server) session(req *mcp.CallToolRequest) string {
	if s.options.Session != "" || req.Session == nil {
		return s.options.Session
	}
	return req.Session.ID()
}

// principal is the fingerprint of the token that came with the request, or,
// where requests have no headers, the one that the server was started for.
func (s *Server) principal(req *mcp.CallToolRequest) string {
	if req.Extra == nil || req.Extra.Header == nil {
		return s.options.Principal
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Extra.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") || token == "" {
		return ""
	}
	return codemode.Fingerprint(token)
}
