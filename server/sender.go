package server

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

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

func (s *shared) senderOf(req mcp.Request) sender {
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

// query selects tools for the sender of a request.
func (e *exposure) query(from sender, text string, limit int) registry.Query {
	return registry.Query{
		Profiles: e.offered(from.reach), Principal: from.principal, Fingerprint: from.fingerprint, Session: from.session,
		Text: text, Limit: limit,
	}
}

// What clients say about themselves stays in memory as long as their sessions, and in the record. The server truncates
// it on receipt.
const (
	// longestName bounds a client's name and a client's version, each in characters.
	longestName = 200
	// longestToken bounds a progress token, in bytes. The server sends it back with each report.
	longestToken = 256
	// longestMeta bounds a value of _meta that the session keeps, in bytes.
	longestMeta = 200
)

// boundClientInfo truncates what a client says about itself before anything stores it. The error refuses what it cannot
// truncate.
func boundClientInfo(req mcp.Request) error {
	switch p := req.GetParams().(type) {
	case *mcp.InitializeParams:
		if p != nil {
			cutInitialize(p)
		}
	case *mcp.CallToolParamsRaw:
		if p == nil {
			break
		}
		if token, ok := p.GetProgressToken().(string); ok && len(token) > longestToken {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
				Message: fmt.Sprintf("the progress token has %d bytes; send one of at most %d", len(token), longestToken)}
		}
	}
	return nil
}

// cutInitialize keeps only what this server reads, because the SDK keeps the request as long as the session.
func cutInitialize(p *mcp.InitializeParams) {
	if c := p.ClientInfo; c != nil {
		p.ClientInfo = &mcp.Implementation{Name: cutName(c.Name), Version: cutName(c.Version)}
	}
	if c := p.Capabilities; c != nil {
		own := *c
		own.Experimental, own.Extensions = nil, nil
		if _, ok := c.Experimental[upstream.GateCapability]; ok { // fromCodemode reads it
			own.Experimental = map[string]any{upstream.GateCapability: map[string]any{}}
		}
		p.Capabilities = &own
	}
	p.ProtocolVersion = strings.Clone(p.ProtocolVersion[:min(len(p.ProtocolVersion), longestMeta)])
	meta := mcp.Meta{}
	for key, value := range p.Meta {
		if text, ok := value.(string); ok && len(text) <= longestMeta && strings.HasPrefix(key, "io.modelcontextprotocol/") &&
			len(key) <= longestMeta {
			meta[key] = text
		}
	}
	p.Meta = meta
}

// cutName keeps the visible ones of the first characters of a client's name.
func cutName(name string) string {
	var b strings.Builder
	n := 0
	for _, c := range name {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			c = ' '
		}
		if n == longestName {
			b.WriteRune('…')
			break
		}
		b.WriteRune(c)
		n++
	}
	return strings.TrimSpace(b.String())
}

// openingClient returns the client's name if the request is one that opens a conversation.
func openingClient(req mcp.Request) string {
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return clientName(r)
	case *mcp.ReadResourceRequest:
		return nameOf(r.ClientInfo())
	case *mcp.GetPromptRequest:
		return nameOf(r.ClientInfo())
	case *mcp.ServerRequest[*mcp.DiscoverParams]:
		return nameOf(r.ClientInfo())
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		return nameOf(r.Params.ClientInfo)
	}
	return ""
}

// clientName returns the name of the client's program, and reads it once per HTTP request.
func clientName(req *mcp.CallToolRequest) string {
	h := httpRequestOf(req)
	if h == nil {
		return nameOf(infoOf(req))
	}
	if name := h.client.Load(); name != nil {
		return *name
	}
	name := nameOf(infoOf(req))
	h.client.Store(&name)
	return name
}

// capabilities returns what codemode needs to know of those of the client that made a call. Over HTTP the SDK's session
// has them, decoded: it lasts as long as the request.
func capabilities(req *mcp.CallToolRequest) *mcp.ClientCapabilities {
	if raw, ok := req.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok && httpRequestOf(req) == nil {
		c := &mcp.ClientCapabilities{}
		c.Experimental, _ = raw["experimental"].(map[string]any)
		c.Extensions, _ = raw["extensions"].(map[string]any)
		if e, ok := raw["elicitation"].(map[string]any); ok {
			c.Elicitation = &mcp.ElicitationCapabilities{}
			if e["form"] != nil {
				c.Elicitation.Form = &mcp.FormElicitationCapabilities{}
			}
			if e["url"] != nil {
				c.Elicitation.URL = &mcp.URLElicitationCapabilities{}
			}
		}
		return c
	}
	return opening(req).Capabilities
}

// infoOf returns the name and version of the client that made a call, as it says.
//
// In MCP 2026-07-28 each request has them, and the capabilities, in its parameters. The SDK checks that they are what
// they should be, and its own methods decode them anew on every call, each into a buffer of 32 KiB.
func infoOf(req *mcp.CallToolRequest) *mcp.Implementation {
	if raw, ok := req.Params.Meta[mcp.MetaKeyClientInfo].(map[string]any); ok && httpRequestOf(req) == nil {
		info := &mcp.Implementation{}
		info.Name, _ = raw["name"].(string)
		info.Version, _ = raw["version"].(string)
		return info
	}
	return opening(req).ClientInfo
}

// opening is what the client said when it opened its session.
func opening(req *mcp.CallToolRequest) *mcp.InitializeParams {
	if req.Session != nil {
		if p := req.Session.InitializeParams(); p != nil {
			return p
		}
	}
	return &mcp.InitializeParams{}
}

func nameOf(info *mcp.Implementation) string {
	if info == nil {
		return ""
	}
	return strings.TrimSpace(cutName(info.Name) + " " + cutName(info.Version))
}
