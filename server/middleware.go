package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stateless is the first protocol version without questions to the client.
const stateless = "2026-07-28"

// initialize keeps the version that was agreed on and the one the SDK
// remembers the same: it would remember the version a client asked for, and
// then refuse to put questions to it. It also writes the instructions of the moment.
func (s *Server) initialize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion >= stateless {
			p.ProtocolVersion = versions[0]
		}
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.InitializeResult); ok && r != nil {
			r.Instructions = s.instructions()
		}
		return res, err
	}
}

// listWait is how long the first tools/list waits for upstreams to say what
// they offer, so that descriptions can tell. A client that only probes the server starts nothing.
const listWait = 3 * time.Second

// list writes the descriptions of the moment: which servers there are and how
// many tools each has.
func (s *Server) list(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			s.evaluator.Warm()
			s.evaluator.WaitReady(ctx, listWait)
		}
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.ListToolsResult); ok && r != nil {
			r.Tools = slices.Clone(r.Tools)
			for i, t := range r.Tools {
				if profile, ok := s.evalTool(t.Name); ok {
					described := *t
					described.Description = s.describe(profile)
					r.Tools[i] = &described
				}
			}
		}
		return res, err
	}
}

// notice logs calls of tools that are not offered, such as one of a profile
// that this server was not told to expose. The SDK refuses them.
func (s *Server) notice(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && p != nil {
			s.mu.Lock()
			_, offered := s.tools[p.Name]
			s.mu.Unlock()
			if !offered {
				s.log.Warn("a client called a tool that is not offered", "tool", fmt.Sprintf("%.80q", p.Name))
			}
		}
		return next(ctx, method, req)
	}
}

type answerKey struct{}

// An answer is what a client replied to a question, before the SDK has
// completed or refused it.
type answer struct{ result *mcp.ElicitResult }

// keepAnswers puts the client's reply aside for [elicitation.Ask]. The SDK
// would report an accept that does not fit the form as an error, and fill in
// defaults; what a person is taken to have said must be what came.
func keepAnswers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if a, ok := ctx.Value(answerKey{}).(*answer); ok {
			if r, ok := res.(*mcp.ElicitResult); ok && r != nil && err == nil {
				a.result = &mcp.ElicitResult{Action: r.Action, Content: maps.Clone(r.Content)}
			}
		}
		return res, err
	}
}
