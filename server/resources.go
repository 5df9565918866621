package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/resources"
	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// keepsResults reports whether any results are kept at this moment.
func (s *Server) keepsResults() bool { return !s.evaluator.Config().KeptResults().Off }

// offerResults adds the template. The SDK lists it; [Server.readResult] reads, because the SDK would look for the
// template that fits an address, and wants the parts of a query in their order.
func (s *Server) offerResults() { s.mcp.AddResourceTemplate(resources.Results(), s.readResult) }

// readResult serves resources/read of a result.
func (s *Server) readResult(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	from := s.senderOf(req)
	result, err := resources.ReadResult(ctx, s.evaluator, &codemode.Request{Principal: from.principal,
		Client: from.client, ClientSession: from.session}, req.Params.URI, s.log)
	if err != nil {
		return nil, err
	}
	result.CacheScope = private
	return result, nil
}

// offerTypes updates the resources of the SDK's server, which tells clients if the list changed. The caller holds s.mu.
func (s *Server) offerTypes() {
	want := strings.Join(s.typeFiles(everyProfile), "\n")
	switch {
	case want == s.types:
		return
	case want == "":
		s.mcp.RemoveResources(resources.TypesURI + catalog.Index)
		s.mcp.RemoveResourceTemplates(resources.AnyTypes().URITemplate)
	default:
		s.mcp.AddResource(resources.Types(catalog.Index), s.readTypes)
		s.mcp.AddResourceTemplate(resources.AnyTypes(), s.readTypes)
	}
	s.types = want
}

// typeFiles names the files of declarations that a caller sees. Without get_tools there are none.
func (s *Server) typeFiles(by reach) []string {
	if cfg := s.evaluator.Config(); cfg != nil && !cfg.Exposes(getToolName) {
		return nil
	}
	return resources.TypeFiles(s.evaluator, s.offered(by))
}

// typesFor is the list of resources for a caller.
func (s *Server) typesFor(by reach) []*mcp.Resource {
	list := []*mcp.Resource{} // not null
	for _, file := range s.typeFiles(by) {
		list = append(list, resources.Types(file))
	}
	return list
}

// readTypes serves resources/read of declarations.
func (s *Server) readTypes(ctx context.Context, req *mcp.ReadResourceRequest) (res *mcp.ReadResourceResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("declaring tools crashed", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res, err = nil, errors.New(
				"declaring the tools crashed, which is a mistake in codemode; the log of the server says where")
		}
	}()
	from := s.senderOf(req)
	return resources.ReadTypes(ctx, s.evaluator, s.query(from, "", 0), s.typeFiles(from.reach), req.Params.URI)
}
