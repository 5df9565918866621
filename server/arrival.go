package server

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/upstream"
)

// What clients say about themselves is kept for as long as their sessions last, and in the record. It is cut when it arrives.
const (
	// longestName bounds the name and the version of a client each, in characters.
	longestName = 200
	// longestToken bounds a progress token, in bytes. It goes back to the client with each report.
	longestToken = 256
	// longestMeta bounds a value of _meta that is kept with a session, in bytes.
	longestMeta = 200
)

// arrive cuts what a client says about itself before anything keeps it, and refuses what cannot be cut.
func (s *Server) arrive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch p := req.GetParams().(type) {
		case *mcp.InitializeParams:
			if p != nil {
				cutNewcomer(p)
			}
		case *mcp.CallToolParamsRaw:
			if p == nil {
				break
			}
			if token, ok := p.GetProgressToken().(string); ok && len(token) > longestToken {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
					Message: fmt.Sprintf("the progress token has %d bytes; send one of at most %d", len(token), longestToken)}
			}
		}
		return next(ctx, method, req)
	}
}

// cutNewcomer leaves of the request that opens a session what this server looks at, since the SDK keeps it as long as the session.
func cutNewcomer(p *mcp.InitializeParams) {
	if c := p.ClientInfo; c != nil {
		p.ClientInfo = &mcp.Implementation{Name: cutName(c.Name), Version: cutName(c.Version)}
	}
	if c := p.Capabilities; c != nil {
		own := *c
		own.Experimental, own.Extensions = nil, nil
		if _, ok := c.Experimental[upstream.GateCapability]; ok { // which fromCodemode looks for
			own.Experimental = map[string]any{upstream.GateCapability: map[string]any{}}
		}
		p.Capabilities = &own
	}
	p.ProtocolVersion = strings.Clone(p.ProtocolVersion[:min(len(p.ProtocolVersion), longestMeta)])
	meta := mcp.Meta{}
	for key, value := range p.Meta {
		if text, ok := value.(string); ok && len(text) <= longestMeta && strings.HasPrefix(key, "io.modelcontextprotocol/") && len(key) <= longestMeta {
			meta[key] = text
		}
	}
	p.Meta = meta
}

// cutName is what is kept of the name that a client gives itself: what can be seen of its first characters.
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
