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

// private keeps shared caches from giving one caller's list to another.
const private = "private"

// readResult serves resources/read of a result. The SDK's server only lists the template: it would look for the one that
// fits an address, and wants the parts of a query in their order.
func (s *shared) readResult(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	from := s.senderOf(req)
	result, err := resources.ReadResult(ctx, s.evaluator, &codemode.Request{Principal: from.principal,
		Client: from.client, ClientSession: from.session}, req.Params.URI, s.log)
	if err != nil {
		return nil, err
	}
	result.CacheScope = private
	return result, nil
}

// offerTypes updates the resources of the SDK's server, which tells clients if they changed. The caller holds the mutex
// of the list.
func (s *shared) offerTypes() {
	want := strings.Join(s.exposed.typeFiles(everyProfile), "\n")
	switch {
	case want == s.list.types:
		return
	case want == "":
		s.mcp.RemoveResources(resources.TypesURI + catalog.Index)
		s.mcp.RemoveResourceTemplates(resources.AnyTypes().URITemplate)
	default:
		s.mcp.AddResource(resources.Types(catalog.Index), s.readTypes)
		s.mcp.AddResourceTemplate(resources.AnyTypes(), s.readTypes)
	}
	s.list.types = want
}

// typeFiles names the files of declarations that a caller sees. Without get_tools there are none.
func (e *exposure) typeFiles(by reach) []string {
	if !e.exposes(getToolName) {
		return nil
	}
	return resources.TypeFiles(e.evaluator, e.offered(by))
}

// readTypes serves resources/read of declarations.
func (s *shared) readTypes(ctx context.Context, req *mcp.ReadResourceRequest) (res *mcp.ReadResourceResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("declaring tools crashed", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res, err = nil, errors.New(
				"declaring the tools crashed, which is a mistake in codemode; the log of the server says where")
		}
	}()
	from := s.senderOf(req)
	query, files := s.exposed.query(from, "", 0), s.exposed.typeFiles(from.reach)
	return resources.ReadTypes(ctx, s.evaluator, query, files, req.Params.URI)
}
