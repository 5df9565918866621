package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/upstream"
)

// behindItself refuses a codemode as client. It may be the very same process, or one that this one is a client of.
const behindItself = "this server is codemode, and so is its client: one codemode behind another runs programs without end; " +
	"remove this server from mcpServers of the client's configuration, and add the servers behind it there instead"

// fromCodemode reports whether a request comes from a codemode that has this server as one of its own. It says so itself,
// over every transport, and when a command in between has cleared the environment.
func fromCodemode(req mcp.Request) bool {
	var c *mcp.ClientCapabilities
	switch r := req.(type) {
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		if r.Params != nil {
			c = r.Params.Capabilities
		}
	case interface {
		ClientCapabilities() *mcp.ClientCapabilities
	}:
		c = r.ClientCapabilities()
	}
	if c == nil {
		return false
	}
	_, ok := c.Experimental[upstream.GateCapability]
	return ok
}

// declared answers requests for what this server does not have at all, which
// the SDK would answer with empty lists.
func (s *Server) declared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if fromCodemode(req) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: behindItself}
		}
		family, _, _ := strings.Cut(method, "/")
		switch family {
		case "prompts", "resources", "logging", "completion":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this server has tools, and no %s", family)}
		}
		if v := visitorOf(req); v != nil && method == longLived {
			v.answered()
			v.waits()
		}
		if v := visitorOf(req); v != nil && (method == "initialize" || method == "tools/call" || method == "server/discover") {
			s.access.admit(ctx, v.share, v.principal, newcomer(req), v.address)
		}
		return next(ctx, method, req)
	}
}

// initialize keeps the version that was agreed on and the one the SDK
// remembers the same: it would remember the version a client asked for, and
// then refuse to put questions to it. It also writes the instructions of the moment.
func (s *Server) initialize(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion >= stateless {
			p.ProtocolVersion = legacy
		}
		if session, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" {
			if v := visitorOf(req); v != nil {
				if err := v.visits.begin(session, v); err != nil {
					return nil, err
				}
			}
		}
		res, err := next(ctx, method, req)
		switch r := res.(type) {
		case *mcp.InitializeResult:
			if r != nil {
				r.Instructions = s.instructions(visitorOf(req))
			}
		case *mcp.DiscoverResult:
			if r != nil {
				r.CacheScope = private
				r.Instructions = s.instructions(visitorOf(req))
			}
		}
		return res, err
	}
}

// private keeps shared caches from giving one caller's list to another.
const private = "private"

// list writes the descriptions for whoever asks. A client that lists the tools is going to use them, so the upstreams start;
// one that only probes the server starts nothing.
func (s *Server) list(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			s.evaluator.Warm()
		}
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.ListToolsResult); ok && r != nil {
			v := visitorOf(req)
			r.CacheScope = private
			listed := s.listed(v)
			r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t *mcp.Tool) bool {
				profile, runs := s.evalTool(t.Name)
				return !s.shows(v, t.Name) || runs && !slices.Contains(listed, profile)
			})
			for i, t := range r.Tools {
				if profile, ok := s.evalTool(t.Name); ok {
					described := *t
					described.Description = s.describe(v, profile)
					r.Tools[i] = &described
				}
			}
		}
		return res, err
	}
}

// shows reports whether a tool is there for a visitor.
func (s *Server) shows(v *visitor, name string) bool {
	s.mu.Lock()
	_, offered := s.tools[name]
	s.mu.Unlock()
	profile, runs := s.evalTool(name)
	return offered && (!runs || s.mayUse(v, profile))
}

// notice refuses calls of tools that are not there for a visitor, such as one of
// a profile that this server was not told to expose. A tool that was taken away
// takes back calls that wait, and nothing else: [exchanges.resume] reads the
// requestState, which only clients on MCP 2026-07-28 have.
func (s *Server) notice(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			back := call.Params.RequestState != "" && call.ProtocolVersion() >= stateless && s.hasRetired(call.Params.Name)
			if !back {
				if err := s.mayBegin(call); err != nil {
					return nil, err
				}
			}
		}
		return next(ctx, method, req)
	}
}

// mayBegin refuses a new call of a tool that is not there for whoever calls it.
func (s *Server) mayBegin(req *mcp.CallToolRequest) error {
	name := req.Params.Name
	if s.shows(visitorOf(req), name) {
		return nil
	}
	s.log.Warn("a client called a tool that is not offered", "tool", fmt.Sprintf("%.80q", name))
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %.80q", name)}
}

// tolerate lets nobody hear that a notification reached no client: one that went away, or has no stream for news, asks
// again when it comes back. The SDK would warn about each of them with each change of the list of tools.
func (s *Server) tolerate(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil && method == "notifications/tools/list_changed" {
			s.log.Debug("a client did not hear that the list of tools changed", "error", err)
			return res, nil
		}
		return res, err
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
