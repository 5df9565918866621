package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/results"
	"github.com/codemode-project/codemode/internal/server/resources"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// behindItself refuses a codemode as client. That client may be this process itself, or a server that this process is a
// client of.
const behindItself = "this server is codemode, and so is its client: one codemode behind another runs programs without end; " +
	"remove this server from mcpServers of the client's configuration, and add the servers behind it there instead"

// fromCodemode reports whether a request comes from a codemode that has this server as an upstream. Such a client
// declares itself over every transport, also when a command in between has cleared the environment.
func fromCodemode(req mcp.Request) bool {
	var c *mcp.ClientCapabilities
	switch r := req.(type) {
	case *mcp.ServerRequest[*mcp.InitializeParams]:
		if r.Params != nil {
			c = r.Params.Capabilities
		}
	case *mcp.CallToolRequest:
		c = capabilities(r)
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

// receive stands between the SDK's server and its handlers.
func (s *shared) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if err := boundClientInfo(req); err != nil {
			return nil, err
		}
		if err := s.accept(ctx, method, req); err != nil {
			return nil, err
		}
		if read, ok := req.(*mcp.ReadResourceRequest); ok && strings.HasPrefix(read.Params.URI, results.URI) {
			return s.readResult(ctx, read)
		}
		v, err := s.exposed.viewOf(req)
		if err != nil {
			return nil, err
		}
		if call, ok := req.(*mcp.CallToolRequest); ok && v.lists() && isToolName(call.Params.Name) {
			ctx, req = called(ctx, call)
		}
		ctx, req = used(ctx, req)
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.exposed.instructions(v, reachOf(req))
		case *mcp.DiscoverResult:
			r.CacheScope = private
			r.Instructions = s.exposed.instructions(v, reachOf(req))
		case *mcp.ListResourceTemplatesResult:
			r.CacheScope = private
		case *mcp.ListToolsResult:
			r.CacheScope = private
			if v.single() {
				r.Tools, err = s.calledBy(ctx, req, v, r.Tools)
				return r, err
			}
			r.Tools = s.toolsFor(reachOf(req), r.Tools)
		case *mcp.ListResourcesResult:
			r.CacheScope, r.Resources = private, []*mcp.Resource{} // not null
			for _, file := range s.exposed.typeFiles(reachOf(req)) {
				r.Resources = append(r.Resources, resources.Types(file))
			}
		case *mcp.ReadResourceResult:
			r.CacheScope = private
		}
		return res, s.addOffers(ctx, req, res)
	}
}

// longLived are the requests that get an endless stream of notifications.
const longLived = "subscriptions/listen"

// accept checks a request before the SDK's handlers. An error refuses it.
func (s *shared) accept(ctx context.Context, method string, req mcp.Request) error {
	if fromCodemode(req) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: behindItself}
	}
	switch family, _, _ := strings.Cut(method, "/"); family {
	case "logging": // the SDK would accept it
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this server has no %s", method)}
	}
	h := httpRequestOf(req)
	if h != nil && method == longLived {
		h.answered()
		h.endTurn()
		h.endWithToken()
	}
	if h != nil && (method == "initialize" || method == "tools/call" || method == "resources/read" ||
		method == "prompts/get" || method == "server/discover") {
		s.access.Admit(ctx, h.owner, h.principal, openingClient(req), h.from())
	}
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion >= stateless {
		// Store the negotiated version: the SDK would remember the version that the client requested, and then refuse
		// to ask it anything.
		p.ProtocolVersion = legacy
	}
	if session, ok := req.GetSession().(*mcp.ServerSession); ok && method == "initialize" && h != nil {
		if err := h.opened(session); err != nil {
			return err
		}
	}
	if method == "tools/list" { // it is going to use the tools; a client that only probes starts no upstreams
		s.evaluator.Warm()
	}
	if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
		// A removed tool serves only waiting calls: [exchanges.resume] reads the requestState, which only clients on
		// MCP 2026-07-28 have.
		back := call.Params.RequestState != "" && call.ProtocolVersion() >= stateless && s.list.hasRetired(call.Params.Name)
		if !back {
			return s.mayBegin(call)
		}
	}
	return nil
}

// toolsFor filters the SDK's list to the tools that a caller may see, with descriptions for that caller.
func (s *shared) toolsFor(by reach, all []*mcp.Tool) []*mcp.Tool {
	tools := []*mcp.Tool{} // not null
	listed := s.exposed.listed(by)
	for _, t := range all {
		profile, runs := evalProfile(t.Name)
		if !s.shows(view{surface: surfacePrograms}, by, t.Name) || runs && !slices.Contains(listed, profile) {
			continue
		}
		if runs {
			described := *t
			described.Description = s.exposed.describe(by, profile)
			t = &described
		}
		tools = append(tools, t)
	}
	return tools
}

// calledBy lists what a client sees that calls tools one by one, of all that the SDK's server has and of the servers'.
func (s *shared) calledBy(ctx context.Context, req mcp.Request, v view, all []*mcp.Tool) ([]*mcp.Tool, error) {
	s.evaluator.Tools().ReadyOnce(ctx)
	s.list.mu.Lock()
	if s.list.single == "" { // before it looks, so that it misses no change
		s.list.single = s.exposed.calledTools()
	}
	s.list.mu.Unlock()
	shown := []*mcp.Tool{} // not null
	if v.lists() {
		tools, bytes, err := s.exposed.tools(ctx, s.senderOf(req), v.profile)
		switch {
		case err != nil:
			return nil, err
		case v.surface == surfaceDirect && bytes > directBytes:
			v.surface = surfaceSearch
		default:
			v.surface, shown = surfaceTools, append(shown, tools...)
		}
	}
	for _, t := range all {
		if s.shows(v, reachOf(req), t.Name) {
			shown = append(shown, t)
		}
	}
	slices.SortFunc(shown, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	return shown, nil
}

// shows reports whether a caller may see and use a tool of this server.
func (s *shared) shows(v view, by reach, name string) bool {
	profile, runs := evalProfile(name)
	switch {
	case !s.list.has(name):
		return false
	case name == callToolName, v.single() && name == searchToolName:
		return v.searches()
	case v.single():
		return name == collectToolName
	}
	return !runs || s.exposed.mayUse(by, profile)
}

// mayBegin refuses a new call of a tool that its caller may not use, such as that of a profile that this server does
// not expose.
func (s *shared) mayBegin(req *mcp.CallToolRequest) error {
	name := req.Params.Name
	v, err := s.exposed.viewOf(req)
	if err != nil {
		return err
	}
	if s.shows(v, reachOf(req), name) || v.lists() && isToolName(name) {
		return nil
	}
	s.log.Warn("a client called a tool that is not offered", "tool", fmt.Sprintf("%.80q", name))
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %.80q", name)}
}

// ignoreUndelivered drops the error of a notification that reached no client: one that went away, or has no stream for
// notifications, lists the tools again when it comes back. The SDK would warn of each with each change of the list.
func (s *shared) ignoreUndelivered(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil && strings.HasSuffix(method, "/list_changed") {
			s.log.Debug("a client did not hear that a list changed", "list", method, "error", err)
			return res, nil
		}
		return res, err
	}
}
